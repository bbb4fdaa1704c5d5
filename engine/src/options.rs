//! What a user may turn about an engine, and which engine can do it: what it cannot is refused with the reason, never ignored.

use thiserror::Error;

use crate::{address::Address, fleet::Engine, limits};

/// Settings of each shard's ring or poller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Submission queue entries; the kernel rounds up to a power of two.
    pub sq_entries: u32,
    /// Completion queue entries, likewise.
    pub cq_entries: u32,
    /// Receive buffers of the shard's provided-buffer ring; a power of two.
    pub buffers: u16,
    /// Bytes of each of them.
    pub buffer_bytes: u32,
    /// How long to look for work in user memory before sleeping in the kernel; 0 for not at all. CPU figures mean nothing then.
    pub spin_ns: u64,
    /// How long a wait may gather completions once it has one; 0 for not at all. Kernel 6.12.
    pub min_wait_ns: u64,
    /// `IORING_SETUP_SQPOLL`: a kernel thread takes submissions; it wants a core of its own.
    pub sqpoll: bool,
    /// Busy polling of the device queue for this long, `IORING_REGISTER_NAPI`, kernel 6.9; 0 for not at all.
    pub napi_busy_poll_us: u32,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            sq_entries: limits::RING_ENTRIES,
            cq_entries: limits::CQ_ENTRIES,
            buffers: limits::BUFFERS,
            buffer_bytes: limits::BUFFER_BYTES,
            spin_ns: 0,
            min_wait_ns: 0,
            sqpoll: false,
            napi_busy_poll_us: 0,
        }
    }
}

/// Why an option is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// Another engine could.
    #[error("{option} is for {able}, not for --engine {engine}: {reason}")]
    NotThisEngine {
        /// The option as it is typed.
        option: &'static str,
        /// The engine chosen.
        engine: Engine,
        /// The engines that can.
        able: &'static str,
        /// Why this one cannot.
        reason: &'static str,
    },
    /// A number outside its range.
    #[error("{option} {given}: it must be {wanted}")]
    Range {
        /// The option as it is typed.
        option: &'static str,
        /// What was given.
        given: u64,
        /// What would be right.
        wanted: &'static str,
    },
    /// No device queue serves this address.
    #[error(
        "--napi-busy-poll: no device queue serves {address} (loopback and unix sockets have no NAPI id); use it over a NIC, or leave it out"
    )]
    NoNapi {
        /// The listener's or target's address.
        address: String,
    },
    /// Two options that exclude each other.
    #[error("{one} and {other} exclude each other: {reason}")]
    Together {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// Why.
        reason: &'static str,
    },
}

impl EngineOptions {
    /// Checks the numbers, and that `engine` can do what is asked.
    ///
    /// # Errors
    /// See [`OptionError`].
    pub fn check(&self, engine: Engine) -> Result<(), OptionError> {
        self.check_ranges()?;
        let default = EngineOptions::default();
        let only_uring = "--engine uring";
        let no_loop = "its runtime owns the loop";
        let no_ring = "it has no ring";
        let reason = if engine == Engine::Epoll { no_ring } else { no_loop };
        let asked = [
            ("--spin", self.spin_ns > 0),
            ("--min-wait", self.min_wait_ns > 0),
            ("--sqpoll", self.sqpoll),
            ("--napi-busy-poll", self.napi_busy_poll_us > 0),
            ("--buffers", self.buffers != default.buffers),
            ("--buffer-size", self.buffer_bytes != default.buffer_bytes),
        ];
        for (option, set) in asked {
            if set && engine != Engine::Uring {
                return Err(OptionError::NotThisEngine { option, engine, able: only_uring, reason });
            }
        }
        let ring_entries = self.sq_entries != default.sq_entries;
        let cq_entries = self.cq_entries != default.cq_entries;
        let refused = match engine {
            Engine::Epoll if ring_entries => Some(("--ring-entries", "engines with a ring", no_ring)),
            Engine::Epoll if cq_entries => Some(("--cq-entries", "engines with a ring", no_ring)),
            // A completion queue that only goes with a long submission queue was not asked for.
            Engine::Glommio if cq_entries && self.cq_entries != self.sq_entries => {
                Some(("--cq-entries", "--engine uring or --engine monoio", "its runtime makes its rings itself"))
            }
            _ => None,
        };
        if let Some((option, able, reason)) = refused {
            return Err(OptionError::NotThisEngine { option, engine, able, reason });
        }
        if self.sqpoll && self.spin_ns > 0 {
            let reason = "with SQPOLL the kernel's thread spins, not ours";
            return Err(OptionError::Together { one: "--sqpoll", other: "--spin", reason });
        }
        Ok(())
    }

    /// Checks that busy polling is not asked for where there is nothing to poll.
    ///
    /// # Errors
    /// [`OptionError::NoNapi`], naming the address.
    pub fn check_addresses<'a>(&self, addresses: impl IntoIterator<Item = &'a Address>) -> Result<(), OptionError> {
        let has_device = |address: &Address| match address {
            Address::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => false,
        };
        match addresses.into_iter().find(|address| !has_device(address)) {
            Some(address) if self.napi_busy_poll_us > 0 => Err(OptionError::NoNapi { address: address.to_string() }),
            _ => Ok(()),
        }
    }

    fn check_ranges(&self) -> Result<(), OptionError> {
        let entries = |option, given: u32, most: u32, wanted| {
            if (8..=most).contains(&given) {
                Ok(())
            } else {
                Err(OptionError::Range { option, given: given.into(), wanted })
            }
        };
        entries("--ring-entries", self.sq_entries, 32_768, "from 8 to 32768")?;
        entries("--cq-entries", self.cq_entries, 65_536, "from 8 to 65536")?;
        if self.cq_entries < self.sq_entries {
            let wanted = "at least as many as --ring-entries";
            return Err(OptionError::Range { option: "--cq-entries", given: self.cq_entries.into(), wanted });
        }
        if !self.buffers.is_power_of_two() || self.buffers > 32_768 {
            let wanted = "a power of two up to 32768";
            return Err(OptionError::Range { option: "--buffers", given: self.buffers.into(), wanted });
        }
        if !(64..=1 << 20).contains(&self.buffer_bytes) {
            let wanted = "from 64 bytes to 1MiB";
            return Err(OptionError::Range { option: "--buffer-size", given: self.buffer_bytes.into(), wanted });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_suit_every_engine() {
        for engine in Engine::ALL {
            assert_eq!(EngineOptions::default().check(engine), Ok(()));
        }
    }

    #[test]
    fn what_only_our_ring_can_is_refused_elsewhere_with_the_reason() {
        let default = EngineOptions::default();
        let asked = [
            ("--spin", EngineOptions { spin_ns: 1, ..default }),
            ("--min-wait", EngineOptions { min_wait_ns: 1, ..default }),
            ("--sqpoll", EngineOptions { sqpoll: true, ..default }),
            ("--napi-busy-poll", EngineOptions { napi_busy_poll_us: 1, ..default }),
            ("--buffers", EngineOptions { buffers: 16, ..default }),
            ("--buffer-size", EngineOptions { buffer_bytes: 64, ..default }),
        ];
        for (option, options) in asked {
            assert_eq!(options.check(Engine::Uring), Ok(()), "{option}");
            for engine in Engine::ALL.into_iter().filter(|engine| *engine != Engine::Uring) {
                let error = options.check(engine).expect_err(option).to_string();
                assert!(
                    error.contains(option) && error.contains("--engine uring") && error.contains(engine.name()),
                    "{error}"
                );
            }
        }
        let sizes = EngineOptions { sq_entries: 64, ..default };
        assert_eq!(sizes.check(Engine::Monoio), Ok(()));
        assert_eq!(sizes.check(Engine::Glommio), Ok(()));
        let long = EngineOptions { sq_entries: 16_384, cq_entries: 16_384, ..default };
        assert_eq!(long.check(Engine::Glommio), Ok(()));
        let completions = EngineOptions { cq_entries: 4096, ..default };
        assert_eq!(completions.check(Engine::Monoio), Ok(()));
        let error = completions.check(Engine::Glommio).expect_err("not its").to_string();
        assert!(error.contains("--cq-entries is for --engine uring or --engine monoio"), "{error}");
        assert!(sizes.check(Engine::Epoll).expect_err("no ring").to_string().contains("it has no ring"));
    }

    #[test]
    fn busy_polling_needs_a_device() {
        let options = EngineOptions { napi_busy_poll_us: 50, ..EngineOptions::default() };
        let tcp = |text: &str| Address::Tcp(text.parse().expect("an address"));
        assert_eq!(options.check_addresses(&[tcp("192.0.2.7:80"), tcp("0.0.0.0:80")]), Ok(()));
        for address in [tcp("127.0.0.1:80"), tcp("[::1]:80"), Address::Unix("/run/x.sock".into())] {
            let error = options.check_addresses([&address]).expect_err("nothing to poll").to_string();
            assert!(error.contains(&address.to_string()), "{error}");
            assert_eq!(EngineOptions::default().check_addresses([&address]), Ok(()));
        }
    }

    #[test]
    fn numbers_outside_their_range_say_what_would_be_right() {
        let default = EngineOptions::default();
        for (options, words) in [
            (EngineOptions { sq_entries: 7, ..default }, "--ring-entries 7: it must be from 8"),
            (EngineOptions { cq_entries: 16, ..default }, "at least as many as --ring-entries"),
            (EngineOptions { buffers: 3, ..default }, "--buffers 3: it must be a power of two"),
            (EngineOptions { buffers: 0, ..default }, "--buffers 0: it must be a power of two"),
            (EngineOptions { buffer_bytes: 63, ..default }, "--buffer-size 63: it must be from 64"),
            (EngineOptions { sqpoll: true, spin_ns: 1, ..default }, "exclude each other"),
        ] {
            let error = options.check(Engine::Uring).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
