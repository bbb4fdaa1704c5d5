//! The axis as one document: every case measured, bytes on the wire, and what it was built by.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use codec::json::Library;
use codec::scenario::Scenario;
use results::codec::{Axis, AxisCase, WireBytes};
use server::Wire;

use crate::case::Case;
use crate::error::AxisError;
use crate::exchange::{Exchange, exchange, word};
use crate::limits::COUNTED_OPERATIONS;
use crate::timing::{Allocations, measure};
use crate::toolchain::toolchain;
use crate::{instructions, messages, record};

/// Every case, the pair of records first.
///
/// # Errors
/// [`AxisError::Exchange`]: a bug.
pub fn cases() -> Result<Vec<Case>, AxisError> {
    let mut all = record::cases();
    all.extend(messages::header_blocks());
    all.extend(messages::of_scenarios()?);
    Ok(all)
}

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Cases whose name starts with this; all where it is empty.
    pub only: &'a str,
    /// Rounds; see [`crate::limits::ROUNDS`].
    pub rounds: usize,
    /// Counts allocations.
    pub allocations: Allocations,
    /// This program, to be run under valgrind; `None` for no instructions.
    pub instructions_of: Option<&'a Path>,
}

/// Measures on the calling thread; pin it before. Raising `stop` gives what was measured until then, marked as interrupted.
///
/// # Errors
/// [`AxisError`].
pub fn run(ask: &Ask<'_>, stop: &AtomicBool) -> Result<Axis, AxisError> {
    let mut cases = cases()?;
    cases.retain(|case| case.name.to_string().starts_with(ask.only));
    if cases.is_empty() {
        return Err(AxisError::NoCase { name: ask.only.to_owned() });
    }
    let timed = measure(&mut cases, ask.rounds, ask.allocations, stop);
    let counted = match ask.instructions_of {
        Some(exe) => instructions::count(exe, &cases, stop)?,
        None => Vec::new(),
    };
    let mut counted = counted.into_iter();
    let rows = cases.iter().zip(timed).map(|(case, timed)| AxisCase {
        message: case.name.message.clone(),
        operation: case.name.operation.to_owned(),
        codec: case.name.codec.to_owned(),
        bytes: case.bytes,
        operations: timed.operations,
        elapsed_ns: timed.elapsed_ns,
        allocations: timed.allocations,
        allocations_over: COUNTED_OPERATIONS,
        instructions: counted.next(),
    });
    Ok(Axis {
        cases: rows.collect(),
        wire_bytes: wire_bytes()?,
        toolchain: toolchain(),
        interrupted: stop.load(Ordering::Relaxed),
        ..Axis::default()
    })
}

/// Bytes of every scenario's request and answer on both wires.
///
/// # Errors
/// [`AxisError::Exchange`]: a bug.
pub fn wire_bytes() -> Result<Vec<WireBytes>, AxisError> {
    let mut all = Vec::new();
    for scenario in Scenario::ALL {
        for wire in [Wire::Zap, Wire::Http] {
            let Exchange { request, answer, answer_copied_bytes } = exchange(scenario, wire, Library::Serde)?;
            let record = wire == Wire::Zap;
            all.push(WireBytes {
                scenario: scenario.name().to_owned(),
                wire: word(wire).to_owned(),
                request: request.len() as u64,
                request_body: scenario.body(record).len() as u64,
                answer: answer.len() as u64,
                answer_body: scenario.answer_body(record).len() as u64,
                answer_copied: answer_copied_bytes as u64,
            });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_does_what_it_must_by_every_codec() {
        let mut cases = cases().expect("scenarios that are served");
        for case in &mut cases {
            case.run(3);
        }
        let names: Vec<String> = cases.iter().map(|case| case.name.to_string()).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[index + 1..].contains(name), "{name} twice");
        }
        for operation in ["decode", "encode", "round trip", "handler"] {
            for codec in ["zap", "serde_json", "sonic-rs", "simd-json"] {
                assert!(names.contains(&format!("rpc/{operation}/{codec}")), "{operation} by {codec}");
            }
        }
    }

    #[test]
    fn records_and_twins_have_the_documented_bytes() {
        let bytes = wire_bytes().expect("scenarios that are served");
        let of = |wire: &str| {
            let row = bytes.iter().find(|row| row.scenario == "rpc" && row.wire == wire).expect("a row");
            (row.request_body, row.answer_body)
        };
        assert_eq!((of("zap"), of("http")), ((82, 80), (103, 130)));
        assert_eq!(bytes.len(), 2 * Scenario::ALL.len());
    }
}
