//! Instructions per operation, counted by callgrind, which needs no hardware counters.
//!
//! Owns running this program again under valgrind: once with no operation, and once for each case with some. The difference leaves out the
//! start. The program is asked for one case with `codec --repeat OPERATIONS --only NAME`, which is [`repeat`].

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::case::Case;
use crate::error::AxisError;
use crate::limits::CALLGRIND_OPERATIONS;
use crate::suite;

/// Does one case so many times, and nothing else: what callgrind counts. All cases are made, so that the start is always the same.
///
/// # Errors
/// [`AxisError::NoCase`].
pub fn repeat(name: &str, operations: u64) -> Result<(), AxisError> {
    let mut cases = suite::cases()?;
    let case = cases.iter_mut().find(|case| case.name.to_string() == name);
    case.ok_or_else(|| AxisError::NoCase { name: name.to_owned() })?.run(operations);
    Ok(())
}

/// Instructions of one operation of each case, in their order; as many as were counted before `stop` was raised.
///
/// # Errors
/// [`AxisError::NoValgrind`] or [`AxisError::NotCounted`].
pub fn count(exe: &Path, cases: &[Case], stop: &AtomicBool) -> Result<Vec<f64>, AxisError> {
    let Some(first) = cases.first() else { return Ok(Vec::new()) };
    let start = collected(exe, &first.name.to_string(), 0)?;
    let mut all = Vec::new();
    for case in cases {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let total = collected(exe, &case.name.to_string(), CALLGRIND_OPERATIONS)?;
        all.push(total.saturating_sub(start) as f64 / CALLGRIND_OPERATIONS as f64);
    }
    Ok(all)
}

fn collected(exe: &Path, case: &str, operations: u64) -> Result<u64, AxisError> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .args(["codec", "--only", case, "--repeat", &operations.to_string()])
        .output()
        .map_err(|source| AxisError::NoValgrind { source })?;
    let said = String::from_utf8_lossy(&output.stderr);
    figure(&said).filter(|_| output.status.success()).ok_or_else(|| {
        let tail: Vec<&str> = said.lines().rev().take(3).collect();
        AxisError::NotCounted { case: case.to_owned(), said: tail.into_iter().rev().collect::<Vec<_>>().join("; ") }
    })
}

/// The figure behind `Collected :`.
fn figure(said: &str) -> Option<u64> {
    let (_, figure) = said.lines().find_map(|line| line.split_once("Collected :"))?;
    figure.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_found_in_what_valgrind_says() {
        let said = "==7== Callgrind, a call-graph generating cache profiler\n==7== \n==7== Collected : 1234567\n";
        assert_eq!(figure(said), Some(1_234_567));
        assert_eq!(figure("==7== Collected : many\n"), None);
        assert_eq!(figure("bash: valgrind: not found"), None);
    }

    #[test]
    fn an_unknown_case_is_named() {
        let error = repeat("rpc/decode/yaml", 1).expect_err("no such codec").to_string();
        assert!(error.contains("rpc/decode/yaml"), "{error}");
    }
}
