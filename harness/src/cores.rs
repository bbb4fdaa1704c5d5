//! Which cores the server gets and which the loader: a pure choice from the cores this process may use.
//!
//! It knows numbers only. Cores of different speed, and hardware threads that share a core, are not told apart here.

use crate::core_list::CoreList;

/// Cores of both sides of a split run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreSplit {
    /// The server's.
    pub server: CoreList,
    /// The loader's, as many as the server's.
    pub loader: CoreList,
    /// There was only one core: both sides share it, and the result must say so.
    pub shared: bool,
}

/// Halves the usable cores, always by number and never by count. With more than four, core 0 is left to the system when it is among
/// them. Both halves are equally large, so that neither side is favoured; an odd core is left to the system too.
#[must_use]
pub fn choose(usable: &CoreList) -> CoreSplit {
    let mut cores = usable.as_slice().to_vec();
    cores.sort_unstable();
    if cores.len() > 4 && cores[0] == 0 {
        cores.remove(0);
    }
    if cores.len() % 2 == 1 && cores.len() > 1 {
        cores.remove(0);
    }
    let list =
        |cores: &[u32]| CoreList::new(cores.to_vec()).expect("a part of a valid list that is not empty is valid");
    if cores.len() == 1 {
        return CoreSplit { server: list(&cores), loader: list(&cores), shared: true };
    }
    let (server, loader) = cores.split_at(cores.len() / 2);
    CoreSplit { server: list(server), loader: list(loader), shared: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices() {
        let table = [
            ("0", "0", "0", true),
            ("3", "3", "3", true),
            ("0-1", "0", "1", false),
            ("0-2", "1", "2", false),
            ("0-3", "0-1", "2-3", false),
            ("0-4", "1-2", "3-4", false),
            ("0-5", "2-3", "4-5", false),
            ("0-7", "2-4", "5-7", false),
            ("0-19", "2-10", "11-19", false),
            ("4-11", "4-7", "8-11", false),
            ("0,2,4,6,8", "2,4", "6,8", false),
            ("9,3", "3", "9", false),
        ];
        for (usable, server, loader, shared) in table {
            let split = choose(&usable.parse().expect("a valid list"));
            let got = (split.server.to_string(), split.loader.to_string(), split.shared);
            assert_eq!(got, (server.to_owned(), loader.to_owned(), shared), "{usable}");
        }
    }
}
