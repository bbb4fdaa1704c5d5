//! The text of the codec axis: every operation, the ratios of the pair of records, and the bytes on the wire.

use crate::codec::{Axis, AxisCase, Toolchain, WireBytes};
use crate::report::bench::doubt_text;
use crate::report::heading::heading;
use crate::report::number::{or_dash, significant};
use crate::report::table::render;

/// The report, ending in a newline.
#[must_use]
pub fn text(axis: &Axis) -> String {
    let core = axis.core.map_or("not pinned".to_owned(), |core| format!("core {core}"));
    let mut lines = vec![
        heading("codec", &axis.started_at, &axis.environment),
        format!("{core}; {}", built(&axis.toolchain)),
        format!(
            "medians of {} interleaved rounds; times zap: how long it takes beside zap's own, round by round",
            rounds(axis)
        ),
    ];
    lines.push(cases(axis));
    lines.extend(summary(axis));
    if !axis.wire_bytes.is_empty() {
        lines.push(String::new());
        lines.push("bytes on the wire, framing and headers included".to_owned());
        lines.push(wire_bytes(axis));
    }
    lines.extend(axis.validity.iter().map(|doubt| doubt_text(doubt, "")));
    if axis.interrupted {
        lines.push("interrupted: rounds are missing".to_owned());
    }
    let mut out = String::new();
    for line in lines {
        out.push_str(line.trim_end_matches('\n'));
        out.push('\n');
    }
    out
}

/// What measured it, in words.
pub(crate) fn built(toolchain: &Toolchain) -> String {
    let wide = ["avx2", "avx512f", "sve"];
    let wide: Vec<&str> =
        toolchain.target_features.iter().map(String::as_str).filter(|feature| wide.contains(feature)).collect();
    let wide = if wide.is_empty() { String::new() } else { format!(" with {}", wide.join(", ")) };
    let debug = if toolchain.debug_assertions { ", with debug assertions: times mean nothing" } else { "" };
    format!("{}, for {}{wide}, opt-level {}{debug}", toolchain.rustc, toolchain.target, toolchain.opt_level)
}

fn rounds(axis: &Axis) -> usize {
    axis.cases.iter().map(|case| case.elapsed_ns.len()).max().unwrap_or(0)
}

fn cases(axis: &Axis) -> String {
    let counted = axis.cases.iter().any(|case| case.instructions.is_some());
    let mut heading: Vec<String> =
        ["message", "operation", "codec", "ns/op", "times\nzap", "allocs\n/op"].map(str::to_owned).into();
    if counted {
        heading.push("instructions\n/op".to_owned());
    }
    heading.push("bytes\n/op".to_owned());
    let row = |case: &AxisCase| {
        let times = axis.twin(case, "zap").filter(|_| case.codec != "zap").and_then(|zap| case.times(zap));
        let mut cells = vec![
            case.message.clone(),
            case.operation.clone(),
            case.codec.clone(),
            or_dash(case.ns_per_operation()),
            times.map_or_else(String::new, significant),
            or_dash(case.allocations_per_operation()),
        ];
        if counted {
            cells.push(or_dash(case.instructions));
        }
        cells.push(case.bytes.to_string());
        cells
    };
    render(&heading, &axis.cases.iter().map(row).collect::<Vec<_>>(), 3)
}

/// For every operation on the pair of records: how much longer the plain and the fastest JSON library take.
pub(crate) fn summary(axis: &Axis) -> Vec<String> {
    let zap = axis.cases.iter().filter(|case| case.message == "rpc" && case.codec == "zap");
    let line = |zap: &AxisCase| {
        let rivals = axis
            .cases
            .iter()
            .filter(|case| (&case.message, &case.operation) == (&zap.message, &zap.operation) && case.codec != "zap");
        let times: Vec<(&str, f64)> = rivals.filter_map(|case| Some((case.codec.as_str(), case.times(zap)?))).collect();
        let fastest = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let plain = times.iter().find(|(codec, _)| *codec == "serde_json");
        let plain = plain
            .map_or_else(String::new, |(_, times)| format!("serde_json takes {} times as long, ", significant(*times)));
        Some(format!("rpc {}: {plain}the fastest JSON ({}) {} times", zap.operation, fastest.0, significant(fastest.1)))
    };
    zap.filter_map(line).collect()
}

fn wire_bytes(axis: &Axis) -> String {
    let heading = [
        "scenario",
        "wire",
        "request",
        "of it\nbody",
        "answer",
        "of it\nbody",
        "answer\ncopied",
        "both",
        "zap/http\nboth",
    ]
    .map(str::to_owned);
    let both = |row: &WireBytes| row.request + row.answer;
    let ratio = |row: &WireBytes| {
        let http = axis.wire_bytes.iter().find(|other| other.scenario == row.scenario && other.wire == "http");
        http.filter(|_| row.wire == "zap").map(|http| both(row) as f64 / both(http).max(1) as f64)
    };
    let row = |row: &WireBytes| {
        let numbers = [row.request, row.request_body, row.answer, row.answer_body, row.answer_copied, both(row)]
            .map(|n| n.to_string());
        let mut cells = vec![row.scenario.clone(), row.wire.clone()];
        cells.extend(numbers);
        cells.push(ratio(row).map_or_else(String::new, significant));
        cells
    };
    render(&heading, &axis.wire_bytes.iter().map(row).collect::<Vec<_>>(), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(operation: &str, codec: &str, ns: u64) -> AxisCase {
        AxisCase {
            message: "rpc".to_owned(),
            operation: operation.to_owned(),
            codec: codec.to_owned(),
            bytes: 162,
            operations: 10,
            elapsed_ns: vec![10 * ns; 3],
            allocations: if codec == "zap" { 0 } else { 1500 },
            allocations_over: 1000,
            instructions: (codec == "zap").then_some(56.5),
        }
    }

    #[test]
    fn ratios_allocations_and_instructions_stand_beside_the_times() {
        let row = WireBytes {
            scenario: "rpc".to_owned(),
            wire: "zap".to_owned(),
            request: 100,
            answer: 100,
            ..WireBytes::default()
        };
        let axis = Axis {
            cases: vec![case("decode", "zap", 8), case("decode", "serde_json", 240), case("decode", "sonic-rs", 160)],
            wire_bytes: vec![row.clone(), WireBytes { wire: "http".to_owned(), request: 300, ..row }],
            interrupted: true,
            ..Axis::default()
        };
        let text = text(&axis);
        for line in [
            "rpc decode: serde_json takes 30.0 times as long, the fastest JSON (sonic-rs) 20.0 times",
            "interrupted: rounds are missing",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let cells = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(text.lines().any(|line| cells(line) == ["rpc", "decode", "zap", "8.00", "0", "56.5", "162"]), "{text}");
        assert!(text.lines().any(|line| line.contains("serde_json") && line.contains("30.0") && line.contains("1.50")));
        assert!(text.lines().any(|line| line.contains("zap") && line.ends_with("0.500")), "{text}");
    }
}
