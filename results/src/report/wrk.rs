//! The three headline lines, spelled as wrk spells them, so that scripts that read wrk's output read ours.
//!
//! Source: wrk a211dd5, `src/wrk.c` (`main`) and `src/units.c` (`format_units`).

use crate::run::Run;

/// `  N requests in T, B read`, `Requests/sec:` and `Transfer/sec:`, each with a newline. N and the rate count `ok` requests.
#[must_use]
pub fn headline(run: &Run) -> String {
    let seconds = run.elapsed_ns as f64 / 1e9;
    let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    format!(
        "  {} requests in {}, {}B read\nRequests/sec: {:9.2}\nTransfer/sec: {:>10}B\n",
        run.requests.ok,
        format_time_us(run.elapsed_ns as f64 / 1e3),
        format_binary(run.bytes.received as f64),
        per_second(run.requests.ok),
        format_binary(per_second(run.bytes.received)),
    )
}

/// wrk's `format_binary`: `1.00K`, without the `B`.
#[must_use]
pub fn format_binary(bytes: f64) -> String {
    format_units(bytes, 1024.0, "", &["K", "M", "G", "T"])
}

/// wrk's `format_time_us`: `850.00us`, `1.00s`, `1.50m`.
#[must_use]
pub fn format_time_us(us: f64) -> String {
    if us >= 1_000_000.0 {
        format_units(us / 1_000_000.0, 60.0, "s", &["m"])
    } else {
        format_units(us, 1000.0, "us", &["ms"])
    }
}

/// wrk moves to the next unit at 85 % of it, and never reaches the last unit of its tables (left out of `units` here).
fn format_units(value: f64, scale: f64, base: &str, units: &[&str]) -> String {
    let mut amount = value;
    let mut unit = base;
    for next in units {
        if amount < scale * 0.85 {
            break;
        }
        amount /= scale;
        unit = next;
    }
    format!("{amount:.2}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_as_wrk_prints_them() {
        let binary = [(0.0, "0.00"), (870.0, "870.00"), (871.0, "0.85K"), (1024.0, "1.00K"), (1_500_000.0, "1.43M")];
        for (bytes, text) in binary {
            assert_eq!(format_binary(bytes), text);
        }
        let times =
            [(12.0, "12.00us"), (850.0, "0.85ms"), (999_999.0, "1000.00ms"), (3_000_120.0, "3.00s"), (90e6, "1.50m")];
        for (us, text) in times {
            assert_eq!(format_time_us(us), text);
        }
    }

    #[test]
    fn the_three_lines() {
        let mut run = Run { elapsed_ns: 3_000_000_000, ..Run::default() };
        run.requests.ok = 893_711;
        run.bytes.received = 893_711 * 114;
        assert_eq!(
            headline(&run),
            "  893711 requests in 3.00s, 97.16MB read\nRequests/sec: 297903.67\nTransfer/sec:     32.39MB\n"
        );
        assert_eq!(
            headline(&Run::default()),
            "  0 requests in 0.00us, 0.00B read\nRequests/sec:      0.00\nTransfer/sec:       0.00B\n"
        );
    }
}
