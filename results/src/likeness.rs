//! Whether runs were asked the same on the same host: only then do their figures compare.
//!
//! Each fact is put into words once per run; facts that have more than one word differ. What identifies a run (ports, pids, times, load
//! average) and what is compared (the version of zapring) is no such fact.

use crate::config::Mode;
use crate::cores::{CoreBusy, ranges};
use crate::environment::{Environment, Nic};
use crate::report::number::significant;
use crate::report::wrk::format_time_us;
use crate::run::Run;

/// One fact that is not the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name, as `--across` takes it.
    pub key: &'static str,
    /// What the base's runs say, each once.
    pub base: Vec<String>,
    /// What the other side's runs say.
    pub new: Vec<String>,
}

type Fact = fn(&Run) -> String;

/// Facts of the configuration and of the environment, by name.
pub const FACTS: [(&str, Fact); 43] = [
    ("wire", |run| run.config.wire.clone()),
    ("target", |run| target(&run.config.url)),
    ("mode", |run| match run.mode {
        Mode::ClosedLoop => "closed loop".to_owned(),
        Mode::OpenLoop => "open loop".to_owned(),
    }),
    ("connections", |run| run.config.connections.to_string()),
    ("threads", |run| run.config.threads.to_string()),
    ("cores", |run| ranges(&run.config.cores)),
    ("server_cores", |run| run.server.as_ref().map_or_else(String::new, |server| cores(&server.core_busy))),
    ("rate_per_s", |run| maybe(run.config.rate_per_s)),
    ("requests_per_conn", |run| maybe(run.config.requests_per_conn)),
    ("connect_rate_per_s", |run| maybe(run.config.connect_rate_per_s)),
    ("sources", |run| run.config.sources.join(",")),
    ("family", |run| run.config.family.clone().unwrap_or_else(none)),
    ("pipeline", |run| run.config.pipeline.to_string()),
    ("requests", |run| maybe(run.config.requests)),
    ("duration", |run| run.config.duration_ns.map_or_else(none, time)),
    ("warmup", |run| time(run.config.warmup_ns)),
    ("timeout", |run| time(run.config.timeout_ns)),
    ("drain", |run| run.config.drain_ns.map_or_else(none, time)),
    ("method", |run| run.config.method.clone()),
    ("headers", |run| {
        let header = |header: &crate::config::Header| format!("{}: {}", header.name, header.value);
        run.config.headers.iter().map(header).collect::<Vec<_>>().join("; ")
    }),
    ("body_bytes", |run| run.config.body_bytes.to_string()),
    ("named_requests", |run| {
        let named = |row: &crate::request_row::RequestRow| format!("{}@{}", row.name, row.weight);
        run.named_requests.iter().map(named).collect::<Vec<_>>().join(", ")
    }),
    ("expect", |run| run.config.expect.clone()),
    ("scenario", |run| run.config.scenario.clone().unwrap_or_else(none)),
    ("floor", |run| {
        run.config.floor.map_or_else(none, |floor| format!("{}/{}", floor.request_bytes, floor.reply_bytes))
    }),
    ("placement", |run| run.config.placement.word().to_owned()),
    ("engine", |run| run.config.engine.name.clone()),
    ("engine_flags", |run| sorted(&run.config.engine.flags)),
    ("engine_features", |run| sorted(&run.config.engine.features)),
    ("engine_options", |run| {
        run.config.engine.options.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }),
    ("traced", |run| run.traced.to_string()),
    ("kernel", |run| known(run.environment.kernel_release.as_deref())),
    ("architecture", |run| run.environment.architecture.clone()),
    ("cpu_model", |run| known(run.environment.cpu_model.as_deref())),
    ("cpus_online", |run| ranges(&run.environment.cpus_online)),
    ("cpus_allowed", |run| ranges(&run.environment.cpus_allowed)),
    ("memory", |run| memory(&run.environment)),
    ("governor", |run| known(run.environment.governor.as_deref())),
    ("turbo", |run| run.environment.turbo.map_or_else(|| "unknown".to_owned(), |turbo| turbo.to_string())),
    ("clock_source", |run| known(run.environment.clock_source.as_deref())),
    ("mitigations", |run| mitigations(&run.environment)),
    ("nic", |run| run.environment.nic.as_ref().map_or_else(none, nic)),
    ("smt", |run| run.environment.smt_active.map_or_else(|| "unknown".to_owned(), |smt| smt.to_string())),
];

/// Every fact that differs between any two of these runs.
#[must_use]
pub fn differences(base: &[&Run], new: &[&Run]) -> Vec<Difference> {
    let differing = |(key, fact): (&'static str, Fact)| {
        let (base, new) = (words(base, key, fact), words(new, key, fact));
        let alike = base.len() <= 1 && new.len() <= 1 && (base == new || base.is_empty() || new.is_empty());
        (!alike).then_some(Difference { key, base, new })
    };
    FACTS.into_iter().filter_map(differing).collect()
}

/// Facts that files did not have from the beginning, with the minor version that brought them.
const SINCE: [(&str, u32); 11] = [
    ("drain", 1),
    ("engine_features", 1),
    ("engine_options", 1),
    ("floor", 1),
    ("sources", 2),
    ("family", 2),
    ("named_requests", 2),
    ("turbo", 2),
    ("clock_source", 2),
    ("mitigations", 2),
    ("nic", 2),
];

/// What the runs say, each once. A file older than a fact says nothing about it.
fn words(runs: &[&Run], key: &str, fact: Fact) -> Vec<String> {
    let mut words = Vec::new();
    let minor = SINCE.iter().find(|(of, _)| *of == key).map_or(0, |(_, minor)| *minor);
    for run in runs.iter().filter(|run| (run.schema_major, run.schema_minor) >= (1, minor)) {
        let word = fact(run);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The target without its port, which a bench picks anew each time.
fn target(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_port = |(_, port): &(&str, &str)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let host = authority.rsplit_once(':').filter(is_port).map_or(authority, |(host, _)| host);
    format!("{scheme}://{host}{path}")
}

fn cores(busy: &[CoreBusy]) -> String {
    ranges(&busy.iter().map(|core| core.core).collect::<Vec<_>>())
}

fn sorted(words: &[String]) -> String {
    let mut words = words.to_vec();
    words.sort();
    words.join(" ")
}

fn time(ns: u64) -> String {
    format_time_us(ns as f64 / 1e3)
}

fn none() -> String {
    "none".to_owned()
}

fn maybe(figure: Option<u64>) -> String {
    figure.map_or_else(none, |figure| figure.to_string())
}

fn known(word: Option<&str>) -> String {
    word.unwrap_or("unknown").to_owned()
}

/// What the CPU is affected by, and what is done about it.
fn mitigations(environment: &Environment) -> String {
    let affected = environment.mitigations.iter().filter(|(_, state)| *state != "Not affected");
    affected.map(|(flaw, state)| format!("{flaw} {state}")).collect::<Vec<_>>().join("; ")
}

fn nic(nic: &Nic) -> String {
    let driver = known(nic.driver.as_deref());
    let (mtu, speed) = (maybe(nic.mtu_bytes), maybe(nic.speed_bits_per_s));
    format!("{} {driver}, MTU {mtu}, {speed} bits/s, {}/{} queues", nic.name, nic.receive_queues, nic.send_queues)
}

/// To two digits: a virtual machine's memory moves a little from start to start.
fn memory(environment: &Environment) -> String {
    let gib = |bytes: u64| (bytes as f64 / f64::from(1 << 30) * 10.0).round() / 10.0;
    environment.memory_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} GiB", significant(gib(bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_without_ports() {
        for (url, without) in [
            ("http://127.0.0.1:41231/health", "http://127.0.0.1/health"),
            ("zap://[::1]:9/x:8", "zap://[::1]/x:8"),
            ("http://[::1]/", "http://[::1]/"),
            ("http://host", "http://host"),
            ("floor://host:1", "floor://host"),
            ("http+unix:/run/s:/health", "http+unix:/run/s:/health"),
            ("", ""),
        ] {
            assert_eq!(target(url), without);
        }
    }

    #[test]
    fn keys_are_unique() {
        for (index, (key, _)) in FACTS.iter().enumerate() {
            assert!(FACTS[index + 1..].iter().all(|(other, _)| other != key), "{key}");
        }
    }
}
