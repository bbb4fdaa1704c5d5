//! `GET /stats`: what all shards have counted, from whichever shard is asked.

use std::{
    fs, io,
    sync::{Arc, OnceLock},
};

use counting::ProcessFigures;
use engine::{Board, Granted, ShardFigures};
use serde::Serialize;

use crate::counters::{RequestCounts, RequestFigures};

/// What the shards of one server publish to each other and to the outside.
#[derive(Debug)]
pub struct Published {
    board: Arc<Board>,
    counts: Box<[RequestCounts]>,
    granted: OnceLock<Vec<Granted>>,
}

impl Published {
    /// Counters of zero for `shards` shards, beside those of the engine, which must have as many.
    pub fn new(board: Arc<Board>, shards: usize) -> Self {
        Published { board, counts: (0..shards).map(|_| RequestCounts::default()).collect(), granted: OnceLock::new() }
    }

    /// Says what each shard got from the host; only the first time counts.
    pub fn set_granted(&self, granted: Vec<Granted>) {
        // A server starts once; a second word would be about the same start.
        let _ = self.granted.set(granted);
    }

    /// The counters of the engine.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// The request counters of one shard.
    #[inline]
    pub fn counts(&self, shard: usize) -> &RequestCounts {
        &self.counts[shard]
    }

    /// The sum of the request counters of all shards.
    pub fn requests(&self) -> RequestFigures {
        let mut total = RequestFigures::default();
        for counts in &self.counts {
            total += counts.read();
        }
        total
    }

    /// Appends all figures as one JSON object.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, &self.read()).expect("numbers and texts serialise into memory");
    }

    fn read(&self) -> Stats {
        let granted = self.granted.get().map_or(&[][..], Vec::as_slice);
        let engine = granted.first();
        Stats {
            engine: engine.map(|granted| granted.engine.name()),
            setup_flags: engine.and_then(|granted| granted.setup).map(|setup| setup.names()),
            ring_features: engine.map(|granted| granted.features.names()),
            process: Process::read().ok(),
            allocator: counting::of_the_process(),
            requests: self.requests(),
            connections: self.board.total(),
            shards: self
                .counts
                .iter()
                .enumerate()
                .map(|(index, counts)| ShardStats {
                    core: granted.get(index).and_then(|granted| granted.core),
                    requests: counts.read(),
                    connections: self.board.shard(index).read(),
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct Stats {
    /// `None` before the start is complete.
    engine: Option<&'static str>,
    /// `None` on engines without a ring.
    setup_flags: Option<Vec<&'static str>>,
    /// What else the kernel has and the ring engine uses; empty on the others.
    ring_features: Option<Vec<&'static str>>,
    process: Option<Process>,
    /// `None` unless the program counts its allocations.
    allocator: Option<ProcessFigures>,
    requests: RequestFigures,
    connections: ShardFigures,
    shards: Vec<ShardStats>,
}

#[derive(Serialize)]
struct ShardStats {
    /// `None` when not pinned.
    core: Option<usize>,
    requests: RequestFigures,
    connections: ShardFigures,
}

/// CPU time and memory of this process, from `/proc/self/stat` (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Process {
    user_ns: u64,
    system_ns: u64,
    rss_bytes: u64,
}

impl Process {
    fn read() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/stat")?;
        let units = Units {
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            page_bytes: rustix::param::page_size() as u64,
        };
        Self::parse(&text, units).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads fields 14, 15 and 24. The name in field 2 may hold anything, so counting starts behind its last parenthesis.
    fn parse(text: &str, units: Units) -> Option<Self> {
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let tick_ns = 1_000_000_000 / units.ticks_per_second.max(1);
        Some(Process {
            user_ns: field(14)? * tick_ns,
            system_ns: field(15)? * tick_ns,
            rss_bytes: field(24)? * units.page_bytes,
        })
    }
}

/// What the kernel counts in.
#[derive(Clone, Copy)]
struct Units {
    ticks_per_second: u64,
    page_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_shifts_nothing() {
        let mut text = String::from("7 (a) b (c)) S");
        for number in 4..=52 {
            text.push_str(&format!(" {number}"));
        }
        let units = Units { ticks_per_second: 100, page_bytes: 4096 };
        let want = Process { user_ns: 140_000_000, system_ns: 150_000_000, rss_bytes: 24 * 4096 };
        assert_eq!(Process::parse(&text, units), Some(want));
        assert_eq!(Process::parse("7 (a) S 4", units), None);
        assert_eq!(Process::parse("", units), None);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(Process::read().unwrap().rss_bytes > 0);
    }
}
