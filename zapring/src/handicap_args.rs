//! Flags that make a side worse than it is, to try what judges it. Hidden: no figure made with them says anything about zapring.

use engine::Handicap;

use crate::{engine_args::time_text, value};

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct HandicapArgs {
    /// Burn so much CPU time whenever bytes arrive
    #[arg(long, hide = true, value_parser = value::time_ns, value_name = "TIME")]
    handicap_spin: Option<u64>,
    /// Allocate and free something whenever bytes arrive
    #[arg(long, hide = true)]
    handicap_allocate: bool,
    /// Leak so many bytes whenever bytes arrive
    #[arg(long, hide = true, value_parser = value::size_bytes, value_name = "SIZE")]
    handicap_leak: Option<usize>,
}

impl HandicapArgs {
    pub(crate) fn handicap(self) -> Handicap {
        Handicap {
            spin_ns: self.handicap_spin.unwrap_or(0),
            allocates: self.handicap_allocate,
            leak_bytes: self.handicap_leak.unwrap_or(0),
        }
    }

    /// As they are typed, for a server that a command of ours starts.
    pub(crate) fn typed(self) -> Vec<String> {
        let spin = self.handicap_spin.map(|ns| ["--handicap-spin".to_owned(), time_text(ns)]);
        let leak = self.handicap_leak.map(|bytes| ["--handicap-leak".to_owned(), bytes.to_string()]);
        let mut typed: Vec<String> = spin.into_iter().chain(leak).flatten().collect();
        typed.extend(self.handicap_allocate.then(|| "--handicap-allocate".to_owned()));
        typed
    }
}
