//! Several requests of one run, each with a name and a weight: what a set of request files or a scenario file comes to. Encoded and
//! checked before anything is opened.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use crate::{
    expect::Expect,
    limits::{MAX_MIX_BYTES, MAX_NAMED_REQUESTS, MAX_ORDER, MAX_WEIGHT},
    turn,
};

/// One of the requests.
#[derive(Clone)]
pub struct NamedRequest {
    /// What it is called in reports: no other is called so.
    pub name: String,
    /// What it belongs to, where the user said so.
    pub category: Option<String>,
    /// How often it is sent beside the others.
    pub weight: u32,
    /// Its method, for reports.
    pub method: String,
    /// Its target, for reports.
    pub target: String,
    /// What it is on the wire.
    pub bytes: Bytes,
    /// Its answer has no body whatever its head says.
    pub is_head: bool,
    /// It is the last one on its connection.
    pub closes: bool,
    /// The statuses that are good answers.
    pub expect: Expect,
}

/// Without the bytes: there may be a secret in them.
impl std::fmt::Debug for NamedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedRequest")
            .field("name", &self.name)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// A request that is left out because an environment variable is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: Option<String>,
    /// The variable that it needs.
    pub variable: String,
}

/// Where a mix came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MixSource {
    /// Request files, as given.
    Files(Vec<String>),
    /// A scenario file.
    Scenario(String),
}

impl MixSource {
    /// The option that asks for it.
    pub fn option(&self) -> &'static str {
        match self {
            MixSource::Files(_) => "--request-file",
            MixSource::Scenario(_) => "--scenario-file",
        }
    }
}

/// Why requests cannot be sent as a mix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MixError {
    /// None.
    #[error("there is no request to send")]
    Empty,
    /// Too many.
    #[error("{given} requests are too many: a run has {MAX_NAMED_REQUESTS} at most, each with figures of its own")]
    TooMany {
        /// How many were given.
        given: usize,
    },
    /// Two of the same name.
    #[error("two requests are called {name:?}: give each a name of its own, and a weight instead of a repeat")]
    SameName {
        /// The name.
        name: String,
    },
    /// A weight outside its range.
    #[error("the weight of {name:?} is {weight}: it must be from 1 to {MAX_WEIGHT}")]
    Weight {
        /// The request.
        name: String,
        /// What was given.
        weight: u32,
    },
    /// Weights whose order would be too long.
    #[error(
        "the weights add up to {sum} without a common factor: {MAX_ORDER} is the most; use smaller ones, in the same proportion"
    )]
    OrderTooLong {
        /// Their sum, divided by what all have in common.
        sum: u64,
    },
    /// Too much memory.
    #[error("the requests have {bytes} bytes or more together: {MAX_MIX_BYTES} is the most")]
    TooLarge {
        /// The bytes of those read so far.
        bytes: u64,
    },
}

/// The requests of a run, and the order in which their turns come.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Where they came from.
    pub source: MixSource,
    /// Those that are sent; at least one.
    pub requests: Vec<NamedRequest>,
    /// Those that are not.
    pub skipped: Vec<Skipped>,
    pub(crate) order: Arc<[u16]>,
}

/// What requests come to while they are read, so that too many or too large ones are refused before they fill the memory.
#[derive(Debug, Default)]
pub(crate) struct Running {
    bytes: u64,
}

impl Running {
    /// For so many requests.
    ///
    /// # Errors
    /// [`MixError::TooMany`].
    pub(crate) fn of(given: usize) -> Result<Self, MixError> {
        if given > MAX_NAMED_REQUESTS { Err(MixError::TooMany { given }) } else { Ok(Running::default()) }
    }

    /// Adds one of them.
    ///
    /// # Errors
    /// [`MixError::TooLarge`].
    pub(crate) fn add(&mut self, bytes: &Bytes) -> Result<(), MixError> {
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_MIX_BYTES { Err(MixError::TooLarge { bytes: self.bytes }) } else { Ok(()) }
    }
}

impl Mix {
    /// Checks names, weights and sizes, and makes the order.
    ///
    /// # Errors
    /// [`MixError`], naming the request or the figure.
    pub fn new(source: MixSource, requests: Vec<NamedRequest>, skipped: Vec<Skipped>) -> Result<Self, MixError> {
        if requests.is_empty() {
            return Err(MixError::Empty);
        }
        let mut running = Running::of(requests.len())?;
        requests.iter().try_for_each(|request| running.add(&request.bytes))?;
        let mut names: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
        names.extend(skipped.iter().map(|skipped| skipped.name.as_str()));
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MixError::SameName { name: pair[0].to_owned() });
        }
        if let Some(request) = requests.iter().find(|request| !(1..=MAX_WEIGHT).contains(&request.weight)) {
            return Err(MixError::Weight { name: request.name.clone(), weight: request.weight });
        }
        let weights: Vec<u32> = requests.iter().map(|request| request.weight).collect();
        let order = turn::order(&weights).ok_or_else(|| MixError::OrderTooLong { sum: turn::reduced_sum(&weights) })?;
        Ok(Mix { source, requests, skipped, order: order.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, weight: u32) -> NamedRequest {
        NamedRequest {
            name: name.into(),
            category: None,
            weight,
            method: "GET".into(),
            target: "/".into(),
            bytes: Bytes::from_static(b"GET / HTTP/1.1\r\nHost: secret\r\n\r\n"),
            is_head: false,
            closes: false,
            expect: Expect::default(),
        }
    }

    fn mix(requests: Vec<NamedRequest>) -> Result<Mix, String> {
        let skipped = vec![Skipped { name: "skipped".into(), category: None, variable: "V".into() }];
        Mix::new(MixSource::Files(Vec::new()), requests, skipped).map_err(|error| error.to_string())
    }

    #[test]
    fn a_sound_mix_has_an_order_and_no_bytes_in_its_debug_text() {
        let mix = mix(vec![named("a", 4), named("b", 2)]).expect("sound");
        assert_eq!(&*mix.order, [0, 1, 0]);
        assert!(!format!("{mix:?}").contains("secret"));
    }

    #[test]
    fn what_is_refused_is_named() {
        for (requests, want) in [
            (Vec::new(), "no request"),
            (vec![named("a", 1), named("a", 2)], "two requests are called \"a\""),
            (vec![named("skipped", 1)], "two requests are called \"skipped\""),
            (vec![named("a", 0)], "the weight of \"a\" is 0"),
            (vec![named("a", 10_001)], "from 1 to 10000"),
            ((0..129).map(|n| named(&n.to_string(), 1)).collect(), "129 requests are too many"),
            ((0..8).map(|n| named(&n.to_string(), 10_000 - n)).collect(), "add up to 79972"),
        ] {
            let error = mix(requests).expect_err(want);
            assert!(error.contains(want), "{error}");
        }
    }
}
