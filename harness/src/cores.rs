//! Which cores the server gets and which the loader: a pure choice from the cores this process may use.
//!
//! It knows numbers only. Cores of different speed, and hardware threads that share a core, are not told apart here.

use results::{Placement, Validity, ValidityCode};

use crate::core_list::CoreList;

/// Cores of both sides of a run on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreLayout {
    /// How the two sides lie with respect to each other: `Split`, `Paired`, or `Shared` where cores overlap without being paired.
    pub placement: Placement,
    /// The server's: one shard on each, in this order.
    pub server: CoreList,
    /// The loader's: one thread on each, in this order.
    pub loader: CoreList,
}

impl CoreLayout {
    /// Halves the usable cores, always by number and never by count. With more than four, core 0 is left to the system when it is
    /// among them. Both halves are equally large, so that neither side is favoured; an odd core is left to the system too. A single
    /// core is shared.
    #[must_use]
    pub fn split(usable: &CoreList) -> Self {
        let mut cores = without_the_systems(usable);
        if cores.len() % 2 == 1 && cores.len() > 1 {
            cores.remove(0);
        }
        if cores.len() == 1 {
            return Self::of(list(&cores), list(&cores));
        }
        let (server, loader) = cores.split_at(cores.len() / 2);
        Self::of(list(server), list(loader))
    }

    /// Both sides on every usable core, one shard and one loader thread each. Core 0 is left to the system as in [`CoreLayout::split`].
    #[must_use]
    pub fn paired(usable: &CoreList) -> Self {
        Self::paired_on(&list(&without_the_systems(usable)))
    }

    /// Both sides on exactly these cores.
    #[must_use]
    pub fn paired_on(cores: &CoreList) -> Self {
        Self { placement: Placement::Paired, server: cores.clone(), loader: cores.clone() }
    }

    /// Cores that somebody chose: `Split`, or `Shared` where they overlap.
    #[must_use]
    pub fn of(server: CoreList, loader: CoreList) -> Self {
        Self { placement: Placement::on_one_host(server.as_slice(), loader.as_slice()), server, loader }
    }

    /// For each server shard the CPU whose connections it shall get: that of the loader thread with the same number. On loopback a
    /// connection arrives on the CPU that connects. `None` where there is nothing to steer (one shard) or nobody to name (another
    /// number of loader cores).
    #[must_use]
    pub fn incoming_cpus(&self) -> Option<&CoreList> {
        (self.server.len() == self.loader.len() && self.server.len() > 1).then_some(&self.loader)
    }

    /// What must be said about every measurement on these cores.
    #[must_use]
    pub fn doubts(&self) -> Vec<Validity> {
        let mut doubts = vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")];
        if self.placement == Placement::Shared {
            let detail = format!(
                "server on cores {}, loader on cores {}: they take turns where both are",
                self.server, self.loader
            );
            doubts.push(Validity::note(ValidityCode::SharedCores, detail));
        }
        doubts
    }

    /// How many loader threads there are for so many connections. A thread without one has nothing to do, so a small number of
    /// connections uses fewer cores.
    #[must_use]
    pub fn threads(&self, connections: u32) -> usize {
        self.loader.len().min(connections as usize).max(1)
    }

    /// How many shards, the first ones, are meant to get connections.
    #[must_use]
    pub fn driven(&self, connections: u32) -> usize {
        if self.incoming_cpus().is_some() { self.threads(connections) } else { self.server.len() }
    }
}

/// Ascending; the first core is left out when it is core 0 and there are more than four.
fn without_the_systems(usable: &CoreList) -> Vec<u32> {
    let mut cores = usable.as_slice().to_vec();
    cores.sort_unstable();
    if cores.len() > 4 && cores[0] == 0 {
        cores.remove(0);
    }
    cores
}

fn list(cores: &[u32]) -> CoreList {
    CoreList::new(cores.to_vec()).expect("a part of a valid list that is not empty is valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Placement::{Paired, Shared, Split};

    fn cores(text: &str) -> CoreList {
        text.parse().expect("a valid list")
    }

    #[test]
    fn split_choices() {
        let table = [
            ("0", "0", "0", Shared),
            ("3", "3", "3", Shared),
            ("0-1", "0", "1", Split),
            ("0-2", "1", "2", Split),
            ("0-3", "0-1", "2-3", Split),
            ("0-4", "1-2", "3-4", Split),
            ("0-5", "2-3", "4-5", Split),
            ("0-7", "2-4", "5-7", Split),
            ("0-19", "2-10", "11-19", Split),
            ("4-11", "4-7", "8-11", Split),
            ("0,2,4,6,8", "2,4", "6,8", Split),
            ("9,3", "3", "9", Split),
        ];
        for (usable, server, loader, placement) in table {
            let layout = CoreLayout::split(&cores(usable));
            let got = (layout.server.to_string(), layout.loader.to_string(), layout.placement);
            assert_eq!(got, (server.to_owned(), loader.to_owned(), placement), "{usable}");
        }
    }

    #[test]
    fn paired_takes_every_core_for_both() {
        for (usable, both) in
            [("0", "0"), ("0-1", "0-1"), ("3,1", "1,3"), ("0-3", "0-3"), ("0-4", "1-4"), ("4-9", "4-9")]
        {
            let layout = CoreLayout::paired(&cores(usable));
            let got = (layout.server.to_string(), layout.loader.to_string(), layout.placement);
            assert_eq!(got, (both.to_owned(), both.to_owned(), Paired), "{usable}");
        }
    }

    #[test]
    fn a_shard_names_the_cpu_of_its_loader_thread_where_each_has_one() {
        let steered = |layout: CoreLayout| layout.incoming_cpus().map(ToString::to_string);
        assert_eq!(steered(CoreLayout::split(&cores("0-3"))), Some("2-3".to_owned()));
        assert_eq!(steered(CoreLayout::paired(&cores("0-3"))), Some("0-3".to_owned()));
        assert_eq!(steered(CoreLayout::split(&cores("0-1"))), None);
        assert_eq!(steered(CoreLayout::of(cores("0-2"), cores("3"))), None);
    }

    #[test]
    fn few_connections_drive_few_shards() {
        let layout = CoreLayout::paired(&cores("0-3"));
        assert_eq!(
            [1, 3, 4, 64].map(|level| (layout.threads(level), layout.driven(level))),
            [(1, 1), (3, 3), (4, 4), (4, 4)]
        );
        let unsteered = CoreLayout::of(cores("0-2"), cores("3"));
        assert_eq!((unsteered.threads(8), unsteered.driven(8)), (1, 3));
    }
}
