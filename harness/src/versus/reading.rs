//! The figures in what a loader prints: by JSON pointer or by pattern. Pure.

use regex_lite::Regex;
use serde_json::Value;

use crate::versus::peers::Reading;

/// What a loader said of its run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Said {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) per_s: Option<f64>,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
}

impl Reading {
    /// Reads an output. What may be missing is missing; without the number of requests there is no result.
    ///
    /// # Errors
    /// Where that number was looked for.
    pub(crate) fn of(&self, output: &str) -> Result<Said, String> {
        let json: Option<Value> = serde_json::from_str(output.trim()).ok();
        let find = |place: &str| number(place, output, json.as_ref());
        let missing = || format!("there is no number of requests at {:?} in what it printed", self.requests);
        let ok = find(&self.requests).ok_or_else(missing)?;
        let failed = self.failed.iter().filter_map(|place| find(place)).map(|found| found.value).sum::<f64>();
        let time = |place: &Option<String>| {
            let found = find(place.as_deref()?)?;
            let unit = found.unit.as_deref().or(self.time_unit.as_deref()).and_then(ns_in)?;
            Some((found.value * unit).round() as u64)
        };
        Ok(Said {
            ok: ok.value.round() as u64,
            failed: failed.round() as u64,
            per_s: self.rate.as_deref().and_then(find).map(|found| found.value),
            p50_ns: time(&self.p50),
            p99_ns: time(&self.p99),
        })
    }
}

struct Found {
    value: f64,
    unit: Option<String>,
}

fn number(place: &str, output: &str, json: Option<&Value>) -> Option<Found> {
    if place.starts_with('/') {
        let value = json?.pointer(place)?.as_f64()?;
        return Some(Found { value, unit: None });
    }
    // Checked when the list was read.
    let found = Regex::new(place).ok()?.captures(output)?;
    let value = found.get(1)?.as_str().replace(',', "").parse().ok()?;
    Some(Found { value, unit: found.get(2).map(|unit| unit.as_str().to_owned()) })
}

/// Nanoseconds in a unit of time as loaders spell it.
fn ns_in(unit: &str) -> Option<f64> {
    match unit.trim() {
        "ns" => Some(1.0),
        "us" | "µs" | "μs" => Some(1e3),
        "ms" => Some(1e6),
        "s" | "sec" | "secs" => Some(1e9),
        "m" | "min" => Some(60e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_wrk_prints() {
        let output = "Running 1s test @ http://127.0.0.1:1/health\n  Latency Distribution\n     50%  283.00us\n     99%    1.02ms\n  \
                      24595 requests in 1.02s, 2.02MB read\n  Socket errors: connect 0, read 3, write 0, timeout 2\n\
                      Requests/sec:  24202.75\n";
        let reading = Reading {
            requests: r"(\d+) requests in".into(),
            failed: vec![r"read (\d+)".into(), r"timeout (\d+)".into(), r"Non-2xx or 3xx responses: (\d+)".into()],
            rate: Some(r"Requests/sec:\s+([\d.]+)".into()),
            p50: Some(r"50%\s+([\d.]+)(us|ms|s)".into()),
            p99: Some(r"99%\s+([\d.]+)(us|ms|s)".into()),
            time_unit: None,
        };
        let wanted =
            Said { ok: 24_595, failed: 5, per_s: Some(24_202.75), p50_ns: Some(283_000), p99_ns: Some(1_020_000) };
        assert_eq!(reading.of(output), Ok(wanted));
        let error = reading.of("unable to connect").expect_err("nothing there");
        assert!(error.contains("requests in"), "{error}");
    }

    #[test]
    fn as_json() {
        let reading = Reading {
            requests: "/requests".into(),
            failed: vec!["/errors/read".into(), "/errors/none".into()],
            p99: Some("/latency_us/p99".into()),
            time_unit: Some("us".into()),
            ..Reading::default()
        };
        let output = r#"{ "requests": 68624, "latency_us": { "p99": 16400 }, "errors": { "read": 1 } }"#;
        let wanted = Said { ok: 68_624, failed: 1, p99_ns: Some(16_400_000), ..Said::default() };
        assert_eq!(reading.of(output), Ok(wanted));
        assert!(reading.of("no JSON").is_err());
    }
}
