//! The flags that say how bytes are moved, the same for every command that moves any.

use engine::{Engine, EngineOptions};

use crate::{failure::Failure, value};

/// Flags of the engine.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EngineArgs {
    /// How bytes are moved: monoio, uring or glommio (io_uring), or epoll
    #[arg(long, value_parser = value::engine, default_value = "monoio", value_name = "NAME")]
    pub(crate) engine: Engine,
    /// Submission queue entries of each ring; rounded up to a power of two
    #[arg(long, value_name = "N", help_heading = HEADING)]
    ring_entries: Option<u32>,
    /// Completion queue entries of each ring; at least as many
    #[arg(long, value_name = "N", help_heading = HEADING)]
    cq_entries: Option<u32>,
    /// Receive buffers of each shard, a power of two (uring)
    #[arg(long, value_name = "N", help_heading = HEADING)]
    buffers: Option<u16>,
    /// Size of each of them (uring)
    #[arg(long, value_parser = value::size_bytes, value_name = "SIZE", help_heading = HEADING)]
    buffer_size: Option<usize>,
    /// Look for work in user memory for so long before sleeping; CPU figures mean nothing then (uring)
    #[arg(long, value_parser = value::time_ns, value_name = "TIME", help_heading = HEADING)]
    spin: Option<u64>,
    /// Let a wait gather more completions for so long (uring, kernel 6.12)
    #[arg(long, value_parser = value::time_ns, value_name = "TIME", help_heading = HEADING)]
    min_wait: Option<u64>,
    /// Poll the queue of the network device for so long before sleeping (uring over a NIC, kernel 6.9)
    #[arg(long, value_parser = value::time_ns, value_name = "TIME", help_heading = HEADING)]
    napi_busy_poll: Option<u64>,
    /// Let a kernel thread take submissions; it wants a core of its own (uring)
    #[arg(long, help_heading = HEADING)]
    sqpoll: bool,
}

const HEADING: &str = "Engine options";

impl EngineArgs {
    /// The options as the engine takes them, checked against the engine that will run them.
    pub(crate) fn options(&self, engine: Engine) -> Result<EngineOptions, Failure> {
        let default = EngineOptions::default();
        let sq_entries = self.ring_entries.unwrap_or(default.sq_entries);
        let options = EngineOptions {
            sq_entries,
            // Whoever asks for a longer submission queue alone means a completion queue that goes with it.
            cq_entries: self.cq_entries.unwrap_or(default.cq_entries.max(sq_entries)),
            buffers: self.buffers.unwrap_or(default.buffers),
            buffer_bytes: self.buffer_size.map_or(default.buffer_bytes, |bytes| bytes.try_into().unwrap_or(u32::MAX)),
            spin_ns: self.spin.unwrap_or(default.spin_ns),
            min_wait_ns: self.min_wait.unwrap_or(default.min_wait_ns),
            sqpoll: self.sqpoll,
            // The kernel counts in microseconds: a shorter time is one of them, not none.
            napi_busy_poll_us: self
                .napi_busy_poll
                .map_or(default.napi_busy_poll_us, |ns| ns.div_ceil(1000).try_into().unwrap_or(u32::MAX)),
        };
        options.check(engine)?;
        Ok(options)
    }

    /// The options that were given, as they are typed, for a command of ours that shall run with the same; `--engine` is not among them.
    pub(crate) fn typed(&self) -> Vec<String> {
        let time = |ns: Option<u64>| ns.map(time_text);
        let given = [
            ("--ring-entries", self.ring_entries.map(|entries| entries.to_string())),
            ("--cq-entries", self.cq_entries.map(|entries| entries.to_string())),
            ("--buffers", self.buffers.map(|buffers| buffers.to_string())),
            ("--buffer-size", self.buffer_size.map(|bytes| bytes.to_string())),
            ("--spin", time(self.spin)),
            ("--min-wait", time(self.min_wait)),
            ("--napi-busy-poll", time(self.napi_busy_poll)),
        ];
        let mut typed: Vec<String> =
            given.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?])).flatten().collect();
        if self.sqpoll {
            typed.push("--sqpoll".to_owned());
        }
        typed
    }
}

/// A time as the command line takes it: its least unit is the microsecond, of which it takes fractions.
pub(crate) fn time_text(ns: u64) -> String {
    match ns % 1000 {
        0 => format!("{}us", ns / 1000),
        rest => format!("{}.{rest:03}us", ns / 1000),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        engine: EngineArgs,
    }

    fn parse(args: &[&str]) -> EngineArgs {
        Cli::try_parse_from(std::iter::once("test").chain(args.iter().copied())).expect("flags").engine
    }

    #[test]
    fn nothing_given_is_the_default_and_types_nothing() {
        let args = parse(&[]);
        assert_eq!(args.options(Engine::Epoll).expect("the defaults suit every engine"), EngineOptions::default());
        assert!(args.typed().is_empty());
    }

    #[test]
    fn what_is_typed_is_read_again_as_the_same() {
        let flags =
            "--ring-entries 64 --cq-entries 128 --buffers 32 --buffer-size 2KiB --spin 1.5us --min-wait 0.0001ms";
        let args = parse(&flags.split(' ').chain(["--napi-busy-poll", "50us"]).collect::<Vec<_>>());
        let options = args.options(Engine::Uring).expect("in range");
        let want = EngineOptions {
            sq_entries: 64,
            cq_entries: 128,
            buffers: 32,
            buffer_bytes: 2048,
            spin_ns: 1500,
            min_wait_ns: 100,
            sqpoll: false,
            napi_busy_poll_us: 50,
        };
        assert_eq!(options, want);
        let typed = args.typed();
        let again = parse(&typed.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(again.options(Engine::Uring).expect("the same"), want);
        assert_eq!(parse(&["--sqpoll"]).typed(), ["--sqpoll"]);
    }

    #[test]
    fn a_longer_submission_queue_takes_the_completion_queue_along() {
        let options = parse(&["--ring-entries", "32768"]).options(Engine::Uring).expect("in range");
        assert_eq!((options.sq_entries, options.cq_entries), (32_768, 32_768));
    }

    #[test]
    fn what_cannot_be_is_refused_and_never_rounded_away() {
        for (flags, engine, words) in [
            (&["--spin", "20us"][..], Engine::Monoio, "--spin is for --engine uring"),
            (&["--buffer-size", "8GiB"], Engine::Uring, "--buffer-size"),
            (&["--napi-busy-poll", "0.001us"], Engine::Epoll, "--napi-busy-poll"),
            (&["--ring-entries", "64"], Engine::Epoll, "it has no ring"),
        ] {
            let error = parse(flags).options(engine).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
