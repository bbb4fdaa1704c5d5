//! The figures a verdict is made from: shares of the measured window, drawn from a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Mode;
use crate::cores::CoreBusy;
use crate::host::HostBlock;
use crate::run::Run;
use crate::usage::{ContextSwitches, Throttling};

/// Who is pinned to a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pinned {
    /// Server shards.
    Server,
    /// Loader threads.
    Loader,
    /// Both take turns.
    Both,
}

impl Pinned {
    /// Whether the server has this core.
    #[must_use]
    pub const fn has_server(self) -> bool {
        matches!(self, Self::Server | Self::Both)
    }

    /// Whether the loader has this core.
    #[must_use]
    pub const fn has_loader(self) -> bool {
        matches!(self, Self::Loader | Self::Both)
    }
}

/// One pinned core, in shares of the window, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreFigures {
    /// CPU number.
    pub core: u32,
    /// Whose it is.
    pub pinned: Pinned,
    /// Whatever ran there: 1 - idle - iowait - steal.
    pub busy: f64,
    /// What the hypervisor gave to others.
    pub steal: f64,
    /// CPU time of the server's threads there; null where the server has no part in it or was not watched.
    pub server: Option<f64>,
    /// CPU time of the loader's threads there; null where the loader has no part in it.
    pub loader: Option<f64>,
    /// Busy beyond both sides' threads: somebody else. Interrupts count as ours where they can run outside of our threads' time; where
    /// they are in it all the same, this is too low, never too high. Null where the threads' time is not known.
    pub stranger: Option<f64>,
}

/// The fullest link of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFigures {
    /// Interface.
    pub name: String,
    /// Used share of its busier direction, 0 to 1, frames included.
    pub share: f64,
}

/// What is known of a run's limits. Null is what nobody could see.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Length of the window.
    pub window_ns: u64,
    /// Pinned cores of both sides, ascending.
    pub cores: Vec<CoreFigures>,
    /// Whether the server's process was watched.
    pub server_watched: bool,
    /// Whether the loader looked for work instead of sleeping, so that its cores are busy whatever it does.
    pub loader_spins: bool,
    /// Open loop: whether the requests asked for were sent (99 % of them); null in closed loop.
    pub rate_reached: Option<bool>,
    /// Time that CPU quotas took, as a share of the window: of the side that lost more, summed over its CPUs, so it can exceed 1.
    pub throttled: Option<f64>,
    /// The fullest link, of those with a known speed; null when none was used.
    pub link: Option<LinkFigures>,
    /// Packets dropped by links.
    pub dropped_packets: Option<u64>,
    /// TCP segments sent.
    pub segments_sent: Option<u64>,
    /// TCP segments sent again.
    pub retransmits: Option<u64>,
    /// Connections that found a full accept queue.
    pub listen_overflows: Option<u64>,
    /// Connections dropped by a listener.
    pub listen_drops: Option<u64>,
    /// Overflows of the loader's completion queues; null for engines without a ring.
    pub ring_overflows: Option<u64>,
    /// Context switches of the server.
    pub server_switches: Option<ContextSwitches>,
    /// Context switches of the loader.
    pub loader_switches: Option<ContextSwitches>,
}

impl Figures {
    /// The figures of a finished run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let (server, loader) = (run.server.as_ref(), &run.loader);
        let requests = &run.requests;
        let tcp = run.host.as_ref().and_then(|host| host.tcp).unwrap_or_default();
        let throttled = [server.and_then(|server| server.throttling), loader.throttling];
        let throttled_ns = throttled.into_iter().flatten().map(|Throttling { throttled_ns, .. }| throttled_ns).max();
        Self {
            window_ns: loader.window_ns,
            cores: cores(run),
            server_watched: server.is_some(),
            loader_spins: run.config.engine.options.contains_key("spin_ns"),
            rate_reached: (run.mode == Mode::OpenLoop)
                .then(|| u128::from(requests.sent) * 100 >= u128::from(requests.planned) * 99),
            throttled: throttled_ns.and_then(|throttled_ns| share(throttled_ns, loader.window_ns)),
            link: run.host.as_ref().and_then(fullest_link),
            dropped_packets: run.host.as_ref().filter(|host| host.links.is_some()).map(dropped),
            segments_sent: tcp.segments_sent,
            retransmits: tcp.retransmits,
            listen_overflows: tcp.listen_overflows,
            listen_drops: tcp.listen_drops,
            ring_overflows: run.cores.iter().filter_map(|row| row.ring_overflow).reduce(u64::saturating_add),
            server_switches: server.and_then(|server| server.context_switches),
            loader_switches: loader.context_switches,
        }
    }

    /// Cores of the server.
    pub fn server_cores(&self) -> impl Iterator<Item = &CoreFigures> + Clone {
        self.cores.iter().filter(|core| core.pinned.has_server())
    }

    /// Cores of the loader.
    pub fn loader_cores(&self) -> impl Iterator<Item = &CoreFigures> + Clone {
        self.cores.iter().filter(|core| core.pinned.has_loader())
    }
}

fn cores(run: &Run) -> Vec<CoreFigures> {
    let (server, loader) = (run.server.as_ref(), &run.loader);
    // Packets that cross a link interrupt whatever runs, idle cores too.
    let loopback = run.host.as_ref().is_some_and(|host| host.links.is_none());
    let server_rows = server.map_or(&[][..], |server| &server.core_busy);
    // A side without pinned cores may have run anywhere: all its time counts on every core.
    let roaming_ns = match server {
        Some(server) if server.core_busy.is_empty() => server.cpu_ns,
        Some(_) if loader.core_busy.is_empty() => loader.cpu_ns,
        _ => 0,
    };
    let of = |rows: &[CoreBusy], core: u32| rows.iter().copied().find(|row| row.core == core);
    let mut numbers: Vec<u32> = server_rows.iter().chain(&loader.core_busy).map(|row| row.core).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let figures = |core: u32| {
        let (server, loader) = (of(server_rows, core), of(&loader.core_busy, core));
        let pinned = match (server, loader) {
            (Some(_), Some(_)) => Pinned::Both,
            (Some(_), None) => Pinned::Server,
            _ => Pinned::Loader,
        };
        core_figures(pinned, Sides { server, loader, roaming_ns, loopback })
    };
    numbers.into_iter().filter_map(figures).collect()
}

/// What both sides know of one core.
#[derive(Debug, Clone, Copy)]
struct Sides {
    server: Option<CoreBusy>,
    loader: Option<CoreBusy>,
    /// Time of a side that may have run anywhere.
    roaming_ns: u64,
    /// Whether no link was crossed.
    loopback: bool,
}

/// `None` for a core whose window is empty.
fn core_figures(pinned: Pinned, sides: Sides) -> Option<CoreFigures> {
    let Sides { server, loader, roaming_ns, loopback } = sides;
    let row = server.or(loader)?;
    let own = |side: Option<CoreBusy>| side.map_or(Some(0), |row| row.own_ns);
    let stranger_ns = || {
        let ours = own(server)?.saturating_add(own(loader)?).saturating_add(roaming_ns);
        let within_threads = loopback && row.interrupts_apart == Some(false);
        let interrupts_ns = if within_threads { 0 } else { row.interrupt_ns? };
        Some(row.busy_ns.saturating_sub(interrupts_ns).saturating_sub(ours))
    };
    let of =
        |side: Option<CoreBusy>| side.and_then(|row| share(row.own_ns?, row.window_ns)).map(|share| share.min(1.0));
    Some(CoreFigures {
        core: row.core,
        pinned,
        busy: rounded(row.share()?),
        steal: share(row.steal_ns, row.window_ns)?.min(1.0),
        server: of(server),
        loader: of(loader),
        stranger: stranger_ns().and_then(|ns| share(ns, row.window_ns)).map(|share| share.min(1.0)),
    })
}

fn fullest_link(host: &HostBlock) -> Option<LinkFigures> {
    let figures = host.links.iter().flatten().filter_map(|link| Some((link.share()?, &link.name)));
    let (share, name) = figures.reduce(|fullest, link| if link.0 > fullest.0 { link } else { fullest })?;
    Some(LinkFigures { name: name.clone(), share: rounded(share) })
}

fn dropped(host: &HostBlock) -> u64 {
    host.links.iter().flatten().fold(0, |sum, link| sum.saturating_add(link.dropped_packets))
}

fn share(part_ns: u64, window_ns: u64) -> Option<f64> {
    (window_ns > 0).then(|| rounded(part_ns as f64 / window_ns as f64))
}

/// To a ten-thousandth, so that files are stable.
fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::LinkUse;
    use crate::usage::{LoaderBlock, ServerBlock};

    const WINDOW_NS: u64 = 1_000_000_000;

    fn row(core: u32, busy_ms: u64, interrupt_ms: u64, own_ms: u64) -> CoreBusy {
        CoreBusy {
            core,
            window_ns: WINDOW_NS,
            busy_ns: busy_ms * 1_000_000,
            steal_ns: 20_000_000,
            interrupt_ns: Some(interrupt_ms * 1_000_000),
            interrupts_apart: Some(true),
            own_ns: Some(own_ms * 1_000_000),
        }
    }

    fn run(server: Vec<CoreBusy>, loader: Vec<CoreBusy>) -> Run {
        Run {
            server: Some(ServerBlock { core_busy: server, cpu_ns: 300_000_000, ..ServerBlock::default() }),
            loader: LoaderBlock { core_busy: loader, window_ns: WINDOW_NS, ..LoaderBlock::default() },
            ..Run::default()
        }
    }

    #[test]
    fn a_stranger_is_what_neither_side_nor_an_interrupt_explains() {
        let figures = Figures::of(&run(vec![row(0, 990, 90, 500)], vec![row(1, 700, 100, 650)]));
        let of = |core: &CoreFigures| (core.core, core.pinned, core.server, core.loader, core.stranger, core.steal);
        let cores: Vec<_> = figures.cores.iter().map(of).collect();
        assert_eq!(
            cores,
            [
                (0, Pinned::Server, Some(0.5), None, Some(0.4), 0.02),
                (1, Pinned::Loader, None, Some(0.65), Some(0.0), 0.02)
            ]
        );
    }

    #[test]
    fn interrupts_of_loopback_are_in_our_threads_unless_the_kernel_keeps_them_apart() {
        let within = |core: CoreBusy| CoreBusy { interrupts_apart: Some(false), ..core };
        let (server, loader) = (row(0, 990, 300, 700), row(1, 500, 0, 500));
        let stranger = |server: CoreBusy, links: Option<Vec<LinkUse>>| {
            let mut run = run(vec![server], vec![loader]);
            run.host = Some(HostBlock { links, ..HostBlock::default() });
            Figures::of(&run).cores[0].stranger
        };
        assert_eq!(stranger(within(server), None), Some(0.29), "a quarter of the core is not hidden by its interrupts");
        assert_eq!(stranger(server, None), Some(0.0));
        assert_eq!(stranger(within(server), Some(vec![])), Some(0.0), "packets of a link interrupt idle cores too");
    }

    #[test]
    fn the_fullest_link_and_all_drops() {
        let link = |name: &str, sent_bytes| LinkUse {
            name: name.to_owned(),
            window_ns: WINDOW_NS,
            speed_bits_per_s: Some(1_000_000_000),
            sent_bytes,
            dropped_packets: 3,
            ..LinkUse::default()
        };
        let of = |links| {
            let mut run = run(vec![], vec![]);
            run.host = Some(HostBlock { links, ..HostBlock::default() });
            let figures = Figures::of(&run);
            (figures.link, figures.dropped_packets)
        };
        let half = LinkFigures { name: "eth1".to_owned(), share: 0.5 };
        assert_eq!(of(Some(vec![link("eth0", 9), link("eth1", 62_500_000)])), (Some(half), Some(6)));
        let unknown = LinkUse { speed_bits_per_s: None, ..link("eth0", 9) };
        assert_eq!(of(Some(vec![unknown])), (None, Some(3)));
        assert_eq!(of(None), (None, None));
    }

    #[test]
    fn on_a_shared_core_both_sides_are_ours() {
        let figures = Figures::of(&run(vec![row(0, 990, 0, 500)], vec![row(0, 990, 0, 470)]));
        let core = figures.cores[0];
        assert_eq!((figures.cores.len(), core.pinned, core.stranger), (1, Pinned::Both, Some(0.02)));
        assert_eq!((figures.server_cores().count(), figures.loader_cores().count()), (1, 1));
    }

    #[test]
    fn a_side_that_is_not_pinned_may_be_anywhere() {
        let figures = Figures::of(&run(vec![], vec![row(1, 900, 0, 500)]));
        assert_eq!(figures.cores[0].stranger, Some(0.1), "the server's 0.3 may have been there");
    }

    #[test]
    fn what_an_old_file_does_not_say_is_null() {
        let old = CoreBusy { interrupt_ns: None, interrupts_apart: None, own_ns: None, ..row(0, 990, 0, 0) };
        let figures = Figures::of(&run(vec![old], vec![]));
        assert_eq!((figures.cores[0].busy, figures.cores[0].server, figures.cores[0].stranger), (0.99, None, None));
        let nothing = Figures::of(&Run::default());
        assert_eq!(nothing, Figures::default());
    }
}
