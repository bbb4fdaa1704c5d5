//! Limits that a run must keep, as in `latency.p99 > 2ms`: what may be named, how it is written, and whether a run has crossed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Mode;
use crate::latency::Distribution;
use crate::report::number::{Unit, significant};
use crate::requests::Outcome;
use crate::run::Run;

/// Why a limit was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// No comparison in it.
    #[error("'{text}' compares nothing: write a figure, one of > >= < <=, and a value, as in 'latency.p99 > 2ms'")]
    NoComparison {
        /// What was written.
        text: String,
    },
    /// A figure that there is not.
    #[error(
        "there is no figure '{name}': give latency, service_time, conn_wait, send_lag or connect with one of .min .mean .p50 .p90 .p95 .p99 .p99.9 .p99.99 .max; planned_per_s, sent_per_s, done_per_s or ok_per_s; planned, sent, ok, failed, late, reconnects or the name of an outcome; errors (their share, in %); cpu_us_per_request (the server's) or loader.cpu_us_per_request"
    )]
    NoFigure {
        /// What was written.
        name: String,
    },
    /// A value that does not fit the figure.
    #[error("'{value}' is no value for {name}: give {wanted}")]
    Value {
        /// What was written.
        value: String,
        /// The figure.
        name: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// A figure that only an open loop has.
    #[error("{name} is a figure of the open loop: give a rate with -R, or limit latency")]
    ClosedLoop {
        /// The figure.
        name: String,
    },
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Time(Part, Statistic),
    Rate(Rate),
    Count(Count),
    Errors,
    ServerCpu,
    LoaderCpu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Latency,
    ServiceTime,
    ConnWait,
    SendLag,
    Connect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistic {
    Min,
    Mean,
    P50,
    P90,
    P95,
    P99,
    P999,
    P9999,
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    Planned,
    Sent,
    Done,
    Ok,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Planned,
    Sent,
    Failed,
    Late,
    Reconnects,
    Of(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// Longer signs first: each is looked for in turn.
const RELATIONS: [(&str, Relation); 4] =
    [(">=", Relation::AtLeast), ("<=", Relation::AtMost), (">", Relation::Above), ("<", Relation::Below)];

const PARTS: [(&str, Part); 5] = [
    ("latency", Part::Latency),
    ("service_time", Part::ServiceTime),
    ("conn_wait", Part::ConnWait),
    ("send_lag", Part::SendLag),
    ("connect", Part::Connect),
];

const STATISTICS: [(&str, Statistic); 9] = [
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P999),
    ("p99.99", Statistic::P9999),
    ("max", Statistic::Max),
];

const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)];

const COUNTS: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];

/// A limit: the run fails when the comparison is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    figure: Figure,
    relation: Relation,
    /// In nanoseconds, per second, requests, percent or microseconds.
    value: f64,
}

/// A limit and what became of it, as the run file keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LimitRow {
    /// As it was given.
    pub limit: String,
    /// What was measured, with its unit; null where the run has no such figure.
    pub measured: Option<String>,
    /// Whether the comparison was true, or could not be made.
    pub crossed: bool,
}

impl LimitRow {
    /// One line: the limit and what became of it.
    #[must_use]
    pub fn line(&self) -> String {
        let state = if self.crossed { "crossed" } else { "kept" };
        match &self.measured {
            Some(measured) => format!("{}: {state}, {measured}", self.limit),
            None => format!("{}: {state}, the run has no such figure (too few samples, or not watched)", self.limit),
        }
    }
}

impl Threshold {
    /// Reads a limit, as in `latency.p99 > 2ms`, `ok_per_s < 100k` or `errors > 0.1%`.
    ///
    /// # Errors
    /// [`ThresholdError`] says what would be right.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let none = || ThresholdError::NoComparison { text: text.to_owned() };
        let found = RELATIONS.iter().find_map(|(sign, relation)| Some((text.split_once(sign)?, *relation)));
        let ((name, value), relation) = found.ok_or_else(none)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || value.is_empty() {
            return Err(none());
        }
        let figure = Figure::named(name).ok_or_else(|| ThresholdError::NoFigure { name: name.to_owned() })?;
        let wrong = |wanted| ThresholdError::Value { value: value.to_owned(), name: name.to_owned(), wanted };
        let value = figure.value(value).map_err(wrong)?;
        Ok(Self { text: text.trim().to_owned(), figure, relation, value })
    }

    /// Whether a run of this mode has the figure at all.
    ///
    /// # Errors
    /// [`ThresholdError::ClosedLoop`] for what only an open loop has. Service time is in both: in closed loop it is the latency.
    pub fn check(&self, mode: Mode) -> Result<(), ThresholdError> {
        let needs_rate =
            matches!(self.figure, Figure::Time(Part::ConnWait | Part::SendLag, _) | Figure::Count(Count::Late));
        if needs_rate && mode == Mode::ClosedLoop {
            let name = self.text.split(['<', '>']).next().unwrap_or_default().trim().to_owned();
            return Err(ThresholdError::ClosedLoop { name });
        }
        Ok(())
    }

    /// What became of it in a finished run. A figure that the run does not have counts as crossed: no limit is passed by not measuring.
    #[must_use]
    pub fn of(&self, run: &Run) -> LimitRow {
        let measured = self.figure.of(run);
        let crossed = measured.is_none_or(|measured| match self.relation {
            Relation::Above => measured > self.value,
            Relation::AtLeast => measured >= self.value,
            Relation::Below => measured < self.value,
            Relation::AtMost => measured <= self.value,
        });
        LimitRow { limit: self.text.clone(), measured: measured.map(|measured| self.figure.show(measured)), crossed }
    }
}

impl Figure {
    fn named(name: &str) -> Option<Self> {
        if let Some((part, statistic)) = name.split_once('.') {
            if let ("server" | "loader", "cpu_us_per_request") = (part, statistic) {
                return Some(if part == "server" { Self::ServerCpu } else { Self::LoaderCpu });
            }
            return Some(Self::Time(pick(&PARTS, part)?, pick(&STATISTICS, statistic)?));
        }
        let figure = match name {
            "planned_per_s" => Self::Rate(Rate::Planned),
            "sent_per_s" => Self::Rate(Rate::Sent),
            "done_per_s" => Self::Rate(Rate::Done),
            "ok_per_s" => Self::Rate(Rate::Ok),
            "planned" => Self::Count(Count::Planned),
            "sent" => Self::Count(Count::Sent),
            "failed" => Self::Count(Count::Failed),
            "late" => Self::Count(Count::Late),
            "reconnects" => Self::Count(Count::Reconnects),
            "errors" => Self::Errors,
            "cpu_us_per_request" => Self::ServerCpu,
            _ => Self::Count(Count::Of(Outcome::ALL.into_iter().find(|outcome| outcome.key() == name)?)),
        };
        Some(figure)
    }

    /// The value that this figure is compared with; else what would be right.
    fn value(self, text: &str) -> Result<f64, &'static str> {
        let scaled = |units: &[(&str, f64)]| {
            let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.').len();
            let (number, unit) = text.split_at(digits);
            let number: f64 = number.parse().ok()?;
            let scale = units.iter().find(|(name, _)| *name == unit.trim())?.1;
            Some(number * scale).filter(|value| value.is_finite())
        };
        match self {
            Self::Time(..) => scaled(&TIMES).ok_or("a time with its unit, as in 500us, 2ms or 1.5s"),
            Self::Rate(_) | Self::Count(_) => scaled(&COUNTS).ok_or("a number, as in 100, 2.5k or 1M"),
            Self::Errors => scaled(&[("%", 1.0)]).ok_or("a share in percent, as in 0.1%"),
            Self::ServerCpu | Self::LoaderCpu => {
                scaled(&[("", 1.0), ("us", 1.0)]).ok_or("a number of microseconds, as in 3.5")
            }
        }
    }

    fn of(self, run: &Run) -> Option<f64> {
        let requests = &run.requests;
        match self {
            Self::Time(part, statistic) => Some(time_ns(part_of(run, part)?, statistic)? as f64),
            Self::Rate(Rate::Planned) => run.rates.planned_per_s,
            Self::Rate(Rate::Sent) => run.rates.sent_per_s,
            Self::Rate(Rate::Done) => run.rates.done_per_s,
            Self::Rate(Rate::Ok) => run.rates.ok_per_s,
            Self::Count(Count::Planned) => Some(requests.planned as f64),
            Self::Count(Count::Sent) => Some(requests.sent as f64),
            Self::Count(Count::Failed) => Some(requests.failed() as f64),
            Self::Count(Count::Late) => run.late.map(|late| late as f64),
            Self::Count(Count::Reconnects) => Some(run.reconnects as f64),
            Self::Count(Count::Of(outcome)) => Some(requests.count(outcome) as f64),
            Self::Errors => (requests.planned > 0).then(|| requests.failed() as f64 * 100.0 / requests.planned as f64),
            Self::ServerCpu => Some(run.server.as_ref()?.cpu_ns_per_request? as f64 / 1e3),
            Self::LoaderCpu => Some(run.loader.cpu_ns_per_request? as f64 / 1e3),
        }
    }

    fn show(self, measured: f64) -> String {
        match self {
            Self::Time(..) => {
                let unit = Unit::of_times([Some(measured as u64)]);
                format!("{} {}", unit.show(Some(measured)), unit.name)
            }
            Self::Rate(_) => format!("{} requests/s", significant(measured)),
            Self::Count(_) => format!("{measured:.0}"),
            Self::Errors => format!("{} %", significant(measured)),
            Self::ServerCpu | Self::LoaderCpu => format!("{} us", significant(measured)),
        }
    }
}

fn pick<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}

fn part_of(run: &Run, part: Part) -> Option<&Distribution> {
    match part {
        Part::Latency => Some(&run.latency),
        // In closed loop a request is due when it is sent.
        Part::ServiceTime => run.service_time.as_ref().or((run.mode == Mode::ClosedLoop).then_some(&run.latency)),
        Part::ConnWait => run.conn_wait.as_ref(),
        Part::SendLag => run.send_lag.as_ref(),
        Part::Connect => Some(&run.connect),
    }
}

const fn time_ns(of: &Distribution, statistic: Statistic) -> Option<u64> {
    match statistic {
        Statistic::Min => of.min_ns,
        Statistic::Mean => of.mean_ns,
        Statistic::P50 => of.p50_ns,
        Statistic::P90 => of.p90_ns,
        Statistic::P95 => of.p95_ns,
        Statistic::P99 => of.p99_ns,
        Statistic::P999 => of.p99_9_ns,
        Statistic::P9999 => of.p99_99_ns,
        Statistic::Max => of.max_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::Rates;

    fn run() -> Run {
        let mut run = Run { elapsed_ns: 1_000_000_000, ..Run::default() };
        (run.requests.planned, run.requests.sent, run.requests.ok, run.requests.timeout) = (1000, 1000, 995, 5);
        run.rates = Rates::of(&run.requests, run.elapsed_ns);
        run.latency = Distribution { count: 1000, p99_ns: Some(1_850_000), max_ns: Some(7), ..Distribution::default() };
        run.loader.cpu_ns_per_request = Some(3_200);
        run
    }

    #[test]
    fn limits_of_a_run() {
        for (text, crossed, measured) in [
            ("latency.p99 > 2ms", false, Some("1.85 ms")),
            ("latency.p99>1.8ms", true, Some("1.85 ms")),
            (" latency.p99 >= 1850us ", true, Some("1.85 ms")),
            ("service_time.p99 > 1ms", true, Some("1.85 ms")),
            ("latency.max > 0s", true, Some("7.00 ns")),
            ("latency.p99.99 > 1s", true, None),
            ("send_lag.p99 > 1s", true, None),
            ("ok_per_s < 1k", true, Some("995 requests/s")),
            ("ok_per_s <= 0.9k", false, Some("995 requests/s")),
            ("failed > 4", true, Some("5")),
            ("timeout > 5", false, Some("5")),
            ("not_sent > 0", false, Some("0")),
            ("errors > 0.5%", false, Some("0.500 %")),
            ("errors >= 0.5 %", true, Some("0.500 %")),
            ("loader.cpu_us_per_request > 3", true, Some("3.20 us")),
            ("cpu_us_per_request > 3us", true, None),
            ("reconnects > 0", false, Some("0")),
        ] {
            let row = Threshold::parse(text).expect(text).of(&run());
            assert_eq!((row.crossed, row.measured.as_deref()), (crossed, measured), "{text}");
            assert_eq!(row.limit, text.trim());
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        for (text, words) in [
            ("", "compares nothing"),
            ("latency.p99", "compares nothing"),
            ("> 2ms", "compares nothing"),
            ("latency.p99 >", "compares nothing"),
            ("latency.p98 > 2ms", "there is no figure 'latency.p98': give latency, service_time"),
            ("latency > 2ms", "there is no figure 'latency'"),
            ("speed > 2", "ok_per_s"),
            ("latency.p99 > 2", "'2' is no value for latency.p99: give a time with its unit"),
            ("latency.p99 > fast", "as in 500us"),
            ("latency.p99 > -2ms", "as in 500us"),
            ("ok_per_s < 5ms", "as in 100, 2.5k"),
            ("errors > 0.1", "a share in percent"),
            ("failed > 1.2.3", "as in 100"),
            ("failed => 1", "there is no figure 'failed ='"),
        ] {
            let error = Threshold::parse(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn what_only_an_open_loop_has_is_refused_in_a_closed_one() {
        for text in ["send_lag.p99 > 1ms", "conn_wait.max > 1s", "late > 0"] {
            let threshold = Threshold::parse(text).expect(text);
            let error = threshold.check(Mode::ClosedLoop).expect_err(text).to_string();
            assert!(error.contains("-R") && error.starts_with(&text[..4]), "{error}");
            assert_eq!(threshold.check(Mode::OpenLoop), Ok(()));
        }
        assert_eq!(Threshold::parse("service_time.p99 > 1s").expect("a limit").check(Mode::ClosedLoop), Ok(()));
    }
}
