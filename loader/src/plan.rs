//! What a run shall do: every value resolved and checked before anything is opened.
//!
//! Defaults where the user says nothing: 10 connections, one thread, 10 s, closed loop, no pipelining, 2 s timeout, statuses 200 to
//! 299. With a rate the loop is open: requests are due at their times. A run bounded by time warms up for 3 s; one bounded by a number of requests does not, so that exactly that number is sent.

use std::collections::BTreeMap;

use bytes::Bytes;
use codec::scenario::Scenario;
use engine::{Engine, EngineOptions, Handicap};
use results::{Header, Origin, Placement};
use thiserror::Error;

use crate::{
    expect::Expect,
    limits::{MAX_CONNECTIONS, MAX_PIPELINE, MAX_RATE_PER_S, MAX_REQUESTS, MAX_THREADS, MAX_TIME_NS},
    mix::Mix,
    request,
    sources::Sources,
    target::{Family, Target, WireName},
};

/// Warm-up of a run bounded by time, in nanoseconds.
pub const DEFAULT_WARMUP_NS: u64 = 3_000_000_000;

/// What ends the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// This many nanoseconds.
    Time {
        /// Length of the measured part.
        duration_ns: u64,
    },
    /// This many requests, each with its outcome.
    Requests {
        /// Requests over all connections.
        total: u64,
    },
}

/// A run.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// Where to.
    pub target: Target,
    /// Which of its host's addresses are used.
    pub family: Family,
    /// Local addresses that the connections are made from, dealt round robin.
    pub sources: Sources,
    /// Connections over all threads; all are open before the clock starts.
    pub connections: u32,
    /// Threads; each drives its share of the connections.
    pub threads: u32,
    /// The core of each thread, or empty for no pinning.
    pub cores: Vec<usize>,
    /// How bytes are moved.
    pub engine: Engine,
    /// Settings of each thread's engine.
    pub engine_options: EngineOptions,
    /// What every arrival of bytes costs on top.
    pub handicap: Handicap,
    /// Requests one connection keeps under way.
    pub pipeline: u32,
    /// What ends the measured part.
    pub length: Length,
    /// Open loop: requests per second over all connections, each due at its time whatever the server does. `None`: closed loop.
    pub rate_per_s: Option<u64>,
    /// Requests after which a connection is closed and made again; `None` for keeping it as long as the server does.
    pub requests_per_conn: Option<u64>,
    /// Connections begun per second before the start, over all threads; `None` for as fast as they are accepted.
    pub connect_rate_per_s: Option<u64>,
    /// Length of the warm-up in nanoseconds; `None` for the default, see the module's head.
    pub warmup_ns: Option<u64>,
    /// A request of this age has timed out. Also bounds how long connections may take to be made.
    pub timeout_ns: u64,
    /// How long requests under way are waited for once nothing new is sent; `None` for the timeout, so that each of them is
    /// answered, reset or timed out.
    pub drain_ns: Option<u64>,
    /// The method; `None` for GET, or POST with a body.
    pub method: Option<String>,
    /// Headers in order, duplicates kept.
    pub headers: Vec<Header>,
    /// The body; empty for none.
    pub body: Bytes,
    /// Several requests instead of the one that method, target, headers and body make.
    pub mix: Option<Mix>,
    /// What counts as a good answer; requests of a mix have their own.
    pub expect: Expect,
    /// The scenario that the request was taken from, for the run file; see [`LoadPlan::take_scenario`].
    pub scenario: Option<Scenario>,
    /// Where the server runs, as far as the caller knows.
    pub placement: Placement,
    /// Where each value came from, for the run file.
    pub origins: BTreeMap<String, Origin>,
}

/// Why a plan was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A thread would have nothing to do.
    #[error(
        "{connections} connections for {threads} threads: every thread needs at least one connection; give -c {threads} or more, or -t {connections} or fewer"
    )]
    FewerConnectionsThanThreads {
        /// Connections asked for.
        connections: u32,
        /// Threads asked for.
        threads: u32,
    },
    /// Cores and threads disagree.
    #[error("{threads} threads but {cores} cores: give one core for each thread, or leave out one of -t and --cores")]
    CoresAndThreads {
        /// Threads asked for.
        threads: u32,
        /// Cores given.
        cores: usize,
    },
    /// A part of a request that floor frames do not have.
    #[error(
        "{option} means nothing on floor: its frames have no method, header, body or status; their sizes stand in the URL, as in floor://127.0.0.1:9654/111/114"
    )]
    NotOnFloor {
        /// The option as it is typed.
        option: &'static str,
    },
    /// A target that says already what is asked.
    #[error("the scenario {scenario} asks for {path}: give the URL without {given}")]
    ScenarioPath {
        /// The scenario.
        scenario: Scenario,
        /// What it asks for.
        path: &'static str,
        /// What the URL asks for.
        given: String,
    },
    /// A part of a request beside whole requests.
    #[error("{option} and {with} exclude each other: the requests there say it all")]
    BesideMix {
        /// The option as it is typed.
        option: &'static str,
        /// The option that brings whole requests.
        with: &'static str,
    },
    /// A number outside its range.
    #[error("{what} is {given}: it must be from {least} to {most}")]
    OutOfRange {
        /// Which value.
        what: &'static str,
        /// What was given.
        given: u64,
        /// Least value.
        least: u64,
        /// Most.
        most: u64,
    },
}

impl LoadPlan {
    /// A plan with every default.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            family: Family::default(),
            sources: Sources::default(),
            connections: 10,
            threads: 1,
            cores: Vec::new(),
            engine: Engine::default(),
            engine_options: EngineOptions::default(),
            handicap: Handicap::default(),
            pipeline: 1,
            length: Length::Time { duration_ns: 10_000_000_000 },
            rate_per_s: None,
            requests_per_conn: None,
            connect_rate_per_s: None,
            warmup_ns: None,
            timeout_ns: 2_000_000_000,
            drain_ns: None,
            method: None,
            headers: Vec::new(),
            body: Bytes::new(),
            mix: None,
            expect: Expect::default(),
            scenario: None,
            placement: Placement::default(),
            origins: BTreeMap::new(),
        }
    }

    /// Asks what the scenario asks, in the way of the target's wire, and expects the body of its right answer.
    ///
    /// # Errors
    /// [`PlanError`] where the target is on floor or has a path of its own.
    pub fn take_scenario(&mut self, scenario: Scenario) -> Result<(), PlanError> {
        if self.target.wire.floor_sizes().is_some() {
            return Err(PlanError::NotOnFloor { option: "--scenario" });
        }
        let (given, path) = (&mut self.target.request_target, scenario.path());
        if *given != "/" && *given != path {
            return Err(PlanError::ScenarioPath { scenario, path, given: given.clone() });
        }
        path.clone_into(given);
        let record = self.target.wire == WireName::Zap;
        let header = |(name, value): (&str, &str)| Header { name: name.to_owned(), value: value.to_owned() };
        self.method = Some(scenario.method().to_owned());
        self.headers = scenario.headers(record).into_iter().map(header).collect();
        self.body = scenario.body(record).into_owned().into();
        self.expect.body = Some(scenario.answer_body(record).into_owned().into());
        self.scenario = Some(scenario);
        Ok(())
    }

    /// Checks every number against its range and against the others.
    ///
    /// # Errors
    /// [`PlanError`], naming the numbers.
    pub fn check(&self) -> Result<(), PlanError> {
        let (duration_ns, total) = match self.length {
            Length::Time { duration_ns } => (duration_ns, 1),
            Length::Requests { total } => (1, total),
        };
        let ranges = [
            ("the number of connections (-c)", self.connections.into(), 1, MAX_CONNECTIONS.into()),
            ("the number of threads (-t)", self.threads.into(), 1, MAX_THREADS.into()),
            ("the pipeline depth (--pipeline)", self.pipeline.into(), 1, MAX_PIPELINE.into()),
            ("the number of requests (-n)", total, 1, MAX_REQUESTS),
            ("the rate per second (-R)", self.rate_per_s.unwrap_or(1), 1, MAX_RATE_PER_S),
            ("requests per connection (--requests-per-conn)", self.requests_per_conn.unwrap_or(1), 1, MAX_REQUESTS),
            ("connections per second (--connect-rate)", self.connect_rate_per_s.unwrap_or(1), 1, MAX_RATE_PER_S),
            ("the duration in ns (-d)", duration_ns, 1, MAX_TIME_NS),
            ("the timeout in ns (--timeout)", self.timeout_ns, 1, MAX_TIME_NS),
            ("the warm-up in ns (--warmup)", self.warmup_ns(), 0, MAX_TIME_NS),
            ("the drain time in ns (--drain)", self.drain_ns(), 0, MAX_TIME_NS),
        ];
        for (what, given, least, most) in ranges {
            if !(least..=most).contains(&given) {
                return Err(PlanError::OutOfRange { what, given, least, most });
            }
        }
        self.check_floor()?;
        self.check_mix()?;
        if self.connections < self.threads {
            let (connections, threads) = (self.connections, self.threads);
            return Err(PlanError::FewerConnectionsThanThreads { connections, threads });
        }
        if !self.cores.is_empty() && self.cores.len() != self.threads as usize {
            return Err(PlanError::CoresAndThreads { threads: self.threads, cores: self.cores.len() });
        }
        Ok(())
    }

    /// Refuses what the frames of the floor wire have no place for.
    fn check_floor(&self) -> Result<(), PlanError> {
        if self.target.wire.floor_sizes().is_none() {
            return Ok(());
        }
        let given = [
            ("-m", self.method.is_some()),
            ("-H", !self.headers.is_empty()),
            ("a body (-b, -f)", !self.body.is_empty()),
            ("--expect", self.expect != Expect::default()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(PlanError::NotOnFloor { option }),
            None => Ok(()),
        }
    }

    /// Refuses parts of a request beside whole ones.
    fn check_mix(&self) -> Result<(), PlanError> {
        let Some(mix) = &self.mix else { return Ok(()) };
        let with = mix.source.option();
        let given = [
            ("-m", self.method.is_some()),
            ("-H", !self.headers.is_empty()),
            ("a body (-b, -f)", !self.body.is_empty()),
            ("the URL's path", self.target.request_target != "/"),
            ("a floor URL", self.target.wire.floor_sizes().is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(PlanError::BesideMix { option, with }),
            None => Ok(()),
        }
    }

    /// The method that is sent; none on floor and where there are several requests.
    pub fn method(&self) -> &str {
        match &self.method {
            _ if self.mix.is_some() || self.target.wire.floor_sizes().is_some() => "",
            Some(method) => method,
            None if self.body.is_empty() => "GET",
            None => "POST",
        }
    }

    /// The warm-up that is made, in nanoseconds.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns.unwrap_or(match self.length {
            Length::Time { .. } => DEFAULT_WARMUP_NS,
            Length::Requests { .. } => 0,
        })
    }

    /// The longest drain, in nanoseconds.
    pub fn drain_ns(&self) -> u64 {
        self.drain_ns.unwrap_or(self.timeout_ns)
    }

    /// Whether an answer is one to HEAD, which on HTTP has no body.
    pub(crate) fn is_head(&self) -> bool {
        self.method() == "HEAD"
    }

    /// Whether the headers make each request the last one on its connection, which they can on HTTP only.
    pub(crate) fn closes(&self) -> bool {
        self.target.wire == WireName::Http && request::closes(&self.headers)
    }

    /// What the shard with this index does.
    pub fn share(&self, shard: usize) -> Share {
        let part = |total: u64| share_of(total, self.threads.into(), shard as u64);
        let connections = part(self.connections.into()) as u32;
        let first_connection = (0..shard as u64)
            .map(|before| share_of(self.connections.into(), self.threads.into(), before))
            .sum::<u64>() as u32;
        let requests = match self.length {
            Length::Time { .. } => None,
            Length::Requests { total } => Some(part(total)),
        };
        Share { connections, first_connection, requests }
    }
}

/// One shard's part of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its connections.
    pub connections: u32,
    /// Connections of the shards before it.
    pub first_connection: u32,
    /// Its requests, where they are counted.
    pub requests: Option<u64>,
}

/// Part `index` of `total` split into `parts`, which differ by at most one; the first ones get the remainder.
pub(crate) fn share_of(total: u64, parts: u64, index: u64) -> u64 {
    total / parts + u64::from(index < total % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LoadPlan {
        LoadPlan::new(Target::parse("http://127.0.0.1/").expect("a URL"))
    }

    #[test]
    fn defaults_hold_and_depend_on_what_bounds_the_run() {
        let mut plan = plan();
        assert_eq!(plan.check(), Ok(()));
        assert_eq!((plan.warmup_ns(), plan.drain_ns(), plan.method()), (DEFAULT_WARMUP_NS, plan.timeout_ns, "GET"));
        plan.length = Length::Requests { total: 5 };
        plan.body = Bytes::from_static(b"x");
        assert_eq!((plan.warmup_ns(), plan.method()), (0, "POST"));
        plan.method = Some("PUT".into());
        assert_eq!(plan.method(), "PUT");
    }

    #[test]
    fn nothing_is_lost_to_rounding_and_the_first_get_the_remainder() {
        for (connections, threads, total) in [(15, 8, 100), (64, 3, 7), (1, 1, 1), (1000, 7, 1_000_003), (5, 5, 2)] {
            let plan = LoadPlan { connections, threads, length: Length::Requests { total }, ..plan() };
            let shares: Vec<Share> = (0..threads as usize).map(|shard| plan.share(shard)).collect();
            assert_eq!(shares.iter().map(|share| share.connections).sum::<u32>(), connections);
            assert_eq!(shares.iter().filter_map(|share| share.requests).sum::<u64>(), total);
            assert!(shares.windows(2).all(|pair| pair[0].connections - pair[1].connections <= 1));
            assert!(
                shares
                    .windows(2)
                    .all(|pair| pair[0].first_connection + pair[0].connections == pair[1].first_connection)
            );
        }
    }

    #[test]
    fn what_floor_has_no_place_for_is_refused() {
        let floor = LoadPlan::new(Target::parse("floor://127.0.0.1").expect("a URL"));
        assert_eq!((floor.check(), floor.method()), (Ok(()), ""));
        let header = Header { name: "A".into(), value: "b".into() };
        for (option, plan) in [
            ("-m", LoadPlan { method: Some("GET".into()), ..floor.clone() }),
            ("-H", LoadPlan { headers: vec![header], ..floor.clone() }),
            ("-b", LoadPlan { body: Bytes::from_static(b"x"), ..floor.clone() }),
            ("--expect", LoadPlan { expect: Expect::parse("404").expect("a status"), ..floor.clone() }),
        ] {
            let error = plan.check().expect_err(option).to_string();
            assert!(error.contains(option) && error.contains("floor://127.0.0.1:9654/111/114"), "{error}");
        }
    }

    #[test]
    fn a_scenario_is_the_same_question_on_both_wires() {
        for scenario in Scenario::ALL {
            for (url, record) in [("zap://127.0.0.1", true), ("http://127.0.0.1", false)] {
                let mut plan = LoadPlan::new(Target::parse(url).expect("a URL"));
                plan.take_scenario(scenario).expect("no path is given");
                assert_eq!((plan.method(), plan.target.request_target.as_str()), (scenario.method(), scenario.path()));
                assert_eq!(plan.body, &*scenario.body(record));
                assert_eq!(plan.expect.body.as_deref(), Some(&*scenario.answer_body(record)));
                assert_eq!(plan.headers.len(), scenario.headers(record).len());
                assert_eq!(plan.check(), Ok(()));
            }
        }
        let mut other = LoadPlan::new(Target::parse("zap://127.0.0.1/echo").expect("a URL"));
        assert_eq!(other.take_scenario(Scenario::EchoTiny), Ok(()));
        let error = other.take_scenario(Scenario::Rpc).expect_err("another path").to_string();
        assert!(error.contains("asks for /rpc") && error.contains("without /echo"), "{error}");
        let mut floor = LoadPlan::new(Target::parse("floor://127.0.0.1").expect("a URL"));
        assert!(floor.take_scenario(Scenario::Hello).is_err());
    }

    #[test]
    fn contradictions_name_their_numbers() {
        let table: [(LoadPlan, &[&str]); 8] = [
            (LoadPlan { connections: 3, threads: 4, ..plan() }, &["3 connections", "4 threads", "-c 4", "-t 3"]),
            (LoadPlan { cores: vec![1, 2], ..plan() }, &["1 threads", "2 cores"]),
            (LoadPlan { pipeline: 0, ..plan() }, &["pipeline", "is 0", "from 1"]),
            (LoadPlan { connections: 0, ..plan() }, &["connections", "is 0"]),
            (LoadPlan { threads: 0, ..plan() }, &["threads", "is 0"]),
            (LoadPlan { length: Length::Requests { total: 0 }, ..plan() }, &["requests", "is 0"]),
            (LoadPlan { length: Length::Time { duration_ns: 0 }, ..plan() }, &["duration", "is 0"]),
            (LoadPlan { timeout_ns: u64::MAX, ..plan() }, &["timeout", "18446744073709551615"]),
        ];
        for (plan, words) in table {
            let error = plan.check().expect_err("a contradiction").to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
