//! What limited a run: one word, and the figures that led to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{CoreFigures, Figures};
use crate::limits::{MIN_VERDICT_NS, TICK_NS};
use crate::run::Run;

/// Within five points of full counts as full.
const FULL: f64 = 0.95;

/// Below this a side is plainly not the limit; between this and [`FULL`] nothing can be said.
const NOT_BUSY: f64 = 0.85;

/// What a quota or the hypervisor takes beyond this share is no longer noise: the same five points that tell full from not full.
const TAKEN: f64 = 0.05;

/// A stranger's share of a core beyond which he counts, in a window long enough. Twice [`TAKEN`], because it is a difference of two
/// clocks.
const STRANGER: f64 = 0.10;

/// Below this share nothing is said about what was taken.
const WORTH_A_WORD: f64 = 0.02;

/// One segment sent again in so many is worth a word.
const FEW_RETRANSMITS: u64 = 1000;

/// What limited a run. `Unclear` also stands for a word of a newer version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Only the server's cores were full.
    ServerBound,
    /// The loader's cores were full and the server's were not, as far as they were watched: the rate is a lower bound.
    LoaderBound,
    /// Both were full: the rate is a lower bound.
    Balanced,
    /// A link was full.
    LinkBound,
    /// Nobody was busy: too few connections.
    LatencyBound,
    /// A quota, the hypervisor or another process took time from our cores.
    Starved,
    /// Nobody was full and somebody was nearly so, or a figure is missing.
    #[default]
    #[serde(other)]
    Unclear,
}

impl Verdict {
    /// The word in files and reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ServerBound => "server-bound",
            Self::LoaderBound => "loader-bound",
            Self::Balanced => "balanced",
            Self::LinkBound => "link-bound",
            Self::LatencyBound => "latency-bound",
            Self::Starved => "starved",
            Self::Unclear => "unclear",
        }
    }

    /// Whether the server could have done more with a better loader: its rate then reads "at least".
    #[must_use]
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::LoaderBound | Self::Balanced)
    }
}

/// The verdict as it stands in the run file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VerdictBlock {
    /// The word.
    pub word: Verdict,
    /// Whether the rate reads "at least".
    pub at_least: bool,
    /// What led to it, the deciding figures first.
    pub reasons: Vec<String>,
    /// The figures themselves.
    pub figures: Figures,
}

impl VerdictBlock {
    /// Judges a finished run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let figures = Figures::of(run);
        let (word, reasons) = verdict(&figures);
        Self { word, at_least: word.is_lower_bound(), reasons, figures }
    }

    /// One line: the word, whether the rate is a lower bound, and the reasons.
    #[must_use]
    pub fn line(&self) -> String {
        let bound = if self.at_least { ", read the rate as \"at least\"" } else { "" };
        let colon = if self.reasons.is_empty() { "" } else { ": " };
        format!("{}{bound}{colon}{}", self.word.word(), self.reasons.join("; "))
    }
}

/// One word for what limited a run, and the reasons in words with figures. Who lost time to others is told first: busy cores then say
/// nothing about either side.
#[must_use]
pub fn verdict(figures: &Figures) -> (Verdict, Vec<String>) {
    let (word, mut reasons) = decided(figures);
    reasons.extend(shared_cores(figures));
    reasons.extend(taken(figures, Weight::Minor));
    reasons.extend(lost(figures));
    (word, reasons)
}

fn decided(figures: &Figures) -> (Verdict, Vec<String>) {
    let sides = || vec![side_text("server", figures.server_watched, &server(figures)), loader_text(figures)];
    let with = |word: Verdict, why: String| (word, [vec![why], sides()].concat());
    if figures.window_ns < MIN_VERDICT_NS {
        let (window_ms, least_ms) = (figures.window_ns / 1_000_000, MIN_VERDICT_NS / 1_000_000);
        return (
            Verdict::Unclear,
            vec![format!("{window_ms} ms are too short to tell; measure {least_ms} ms at least")],
        );
    }
    let starved = taken(figures, Weight::Deciding);
    if !starved.is_empty() {
        return (Verdict::Starved, [starved, sides()].concat());
    }
    if let Some(link) = figures.link.as_ref().filter(|link| link.share >= FULL) {
        return with(Verdict::LinkBound, format!("{} was {} % full", link.name, percent(link.share)));
    }
    if figures.loader_spins {
        return with(Verdict::Unclear, "the loader was spinning: its cores look full whatever it does".to_owned());
    }
    match (server(figures).map(|side| side.most), loader(figures).map(|side| side.most)) {
        (Some(server), Some(loader)) => match (server >= FULL, loader >= FULL) {
            (true, true) => (Verdict::Balanced, sides()),
            (true, false) => (Verdict::ServerBound, sides()),
            (false, true) => (Verdict::LoaderBound, sides()),
            (false, false) if server < NOT_BUSY && loader < NOT_BUSY => match figures.rate_reached {
                Some(true) => with(Verdict::Unclear, "the asked rate was reached and nobody was full".to_owned()),
                _ => with(Verdict::LatencyBound, "nobody was busy: too few connections".to_owned()),
            },
            (false, false) => with(Verdict::Unclear, "nobody was full and somebody was nearly so".to_owned()),
        },
        (None, Some(loader)) if loader >= FULL => {
            let (word, mut reasons) = (Verdict::LoaderBound, sides());
            reasons.push("the server may have been full too".to_owned());
            (word, reasons)
        }
        _ => (Verdict::Unclear, sides()),
    }
}

/// The cores of one side.
struct SideCores {
    busiest: u32,
    most: f64,
    mean: f64,
    count: usize,
    full: usize,
}

fn server(figures: &Figures) -> Option<SideCores> {
    side(figures.server_cores())
}

fn loader(figures: &Figures) -> Option<SideCores> {
    side(figures.loader_cores())
}

/// `None` without cores. One full core limits its shard however idle the others are, so the busiest one counts.
fn side<'a>(cores: impl Iterator<Item = &'a CoreFigures> + Clone) -> Option<SideCores> {
    let busiest = cores.clone().reduce(|most, core| if core.busy > most.busy { core } else { most })?;
    let count = cores.clone().count();
    let full = cores.clone().filter(|core| core.busy >= FULL).count();
    let mean = cores.map(|core| core.busy).sum::<f64>() / count as f64;
    Some(SideCores { busiest: busiest.core, most: busiest.busy, mean, count, full })
}

fn side_text(name: &str, watched: bool, side: &Option<SideCores>) -> String {
    match side {
        Some(side) if side.count == 1 => format!("{name} core {} {} % busy", side.busiest, percent(side.most)),
        Some(side) => format!(
            "{name} cores {} % busy on average, {} of {} full, most core {} with {} %",
            percent(side.mean),
            side.full,
            side.count,
            side.busiest,
            percent(side.most)
        ),
        None if watched => format!("{name} not pinned, so that its cores are not known"),
        None => format!("{name} not watched"),
    }
}

fn loader_text(figures: &Figures) -> String {
    side_text("loader", true, &loader(figures))
}

/// Who takes turns where, with the thread times that tell them apart.
fn shared_cores(figures: &Figures) -> Option<String> {
    let shared: Vec<&CoreFigures> =
        figures.cores.iter().filter(|core| core.pinned.has_server() && core.pinned.has_loader()).collect();
    if shared.is_empty() {
        return None;
    }
    let numbers: Vec<u32> = shared.iter().map(|core| core.core).collect();
    let cores = if numbers.len() == 1 { "core" } else { "cores" };
    let mean = |of: fn(&CoreFigures) -> Option<f64>| {
        let known: Option<Vec<f64>> = shared.iter().map(|core| of(core)).collect();
        known.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let times = match (mean(|core| core.server), mean(|core| core.loader)) {
        (Some(server), Some(loader)) => {
            format!(": by thread time the server had {} % and the loader {} %", percent(server), percent(loader))
        }
        _ => String::new(),
    };
    Some(format!("server and loader share {cores} {}{times}", crate::cores::ranges(&numbers)))
}

/// How much something has to have taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// So much that it is the verdict.
    Deciding,
    /// Less, and worth a word.
    Minor,
}

/// What quota, hypervisor and strangers took. From a core that had time left nothing was taken that it needed, so this decides only on
/// a core that was nearly full; a quota makes cores idle, so it always does.
fn taken(figures: &Figures, weight: Weight) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut say = |share: f64, decides: bool, text: String| {
        if share >= WORTH_A_WORD && decides == (weight == Weight::Deciding) {
            reasons.push(text);
        }
    };
    if let Some(throttled) = figures.throttled {
        let text = format!("a CPU quota took {} % of one CPU's time", percent(throttled));
        say(throttled, throttled >= TAKEN, text);
    }
    let least_stranger = least_stranger(figures.window_ns);
    for core in &figures.cores {
        let needed = core.busy + core.steal >= NOT_BUSY;
        let text = format!("the hypervisor took {} % of core {}", percent(core.steal), core.core);
        say(core.steal, needed && core.steal >= TAKEN, text);
        let Some(stranger) = core.stranger else { continue };
        // Where every request that was asked for could be sent, nothing that was needed was taken. (And where the kernel counts by ticks,
        // these can meet a paced thread again and again.)
        let certain = needed && figures.rate_reached != Some(true);
        let stranger_decides = certain && stranger >= least_stranger;
        // What cannot be told from nothing is not worth a word either.
        if stranger < least_stranger {
            continue;
        }
        let unwatched = if figures.server_watched { "" } else { " (the server, if it runs there, is not watched)" };
        let (number, share) = (core.core, percent(stranger));
        let text = if certain {
            format!("something else ran on core {number} for {share} % of the time{unwatched}")
        } else {
            // Where threads wake up thousands of times a second it may be nobody: waking up is no thread's time.
            format!(
                "core {number} was busy outside of our threads for {share} % of the time: something else, or interrupts and wake-ups{unwatched}"
            )
        };
        say(stranger, stranger_decides, text);
    }
    reasons
}

/// Busy time may be counted in ticks: in a short window chance alone then makes it differ from the threads' time. Four standard deviations
/// of a core that is busy half of the time.
fn least_stranger(window_ns: u64) -> f64 {
    STRANGER.max(4.0 * 0.5 * (TICK_NS as f64 / window_ns.max(1) as f64).sqrt())
}

/// What was lost on the way, and queues that ran over.
fn lost(figures: &Figures) -> Vec<String> {
    let mut reasons = Vec::new();
    if let (Some(again), Some(sent)) = (figures.retransmits, figures.segments_sent)
        && again.saturating_mul(FEW_RETRANSMITS) > sent
    {
        reasons.push(format!("{again} of {sent} TCP segments were sent again"));
    }
    let counts = [
        (figures.dropped_packets, "packets dropped by links"),
        (figures.listen_overflows, "connections found a full accept queue"),
        (figures.ring_overflows, "overflows of completion queues"),
    ];
    reasons.extend(
        counts.into_iter().filter_map(|(count, what)| Some(format!("{} {what}", count.filter(|count| *count > 0)?))),
    );
    // Overflows are drops too: only more than those is news.
    let other_drops = figures.listen_drops.unwrap_or(0).saturating_sub(figures.listen_overflows.unwrap_or(0));
    if other_drops > 0 {
        reasons.push(format!("{other_drops} connections dropped by a listener"));
    }
    reasons
}

/// With one decimal: five points are what decides.
fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{LinkFigures, Pinned};
    use Verdict::{Balanced, LatencyBound, LinkBound, LoaderBound, ServerBound, Starved, Unclear};

    /// A core whose time is all its owner's.
    fn core(core: u32, pinned: Pinned, busy: f64) -> CoreFigures {
        let own = |has: bool| has.then_some(if pinned == Pinned::Both { busy / 2.0 } else { busy });
        CoreFigures {
            core,
            pinned,
            busy,
            steal: 0.0,
            server: own(pinned.has_server()),
            loader: own(pinned.has_loader()),
            stranger: Some(0.0),
        }
    }

    fn figures(cores: Vec<CoreFigures>) -> Figures {
        Figures { window_ns: 10_000_000_000, cores, server_watched: true, ..Figures::default() }
    }

    /// One core for each side.
    fn split(server: f64, loader: f64) -> Figures {
        figures(vec![core(0, Pinned::Server, server), core(1, Pinned::Loader, loader)])
    }

    fn with(mut figures: Figures, change: impl FnOnce(&mut Figures)) -> Figures {
        change(&mut figures);
        figures
    }

    fn check(table: &[(&str, Figures, Verdict, &[&str])]) {
        for (name, figures, want, said) in table {
            let (word, reasons) = verdict(figures);
            assert_eq!(word, *want, "{name}: {reasons:?}");
            let text = reasons.join("; ");
            for words in *said {
                assert!(text.contains(words), "{name}: no {words:?} in {text:?}");
            }
            assert!(!text.contains("NaN"), "{name}: {text}");
        }
    }

    #[test]
    fn busy_cores() {
        let server = |busy| figures(vec![core(0, Pinned::Server, busy)]);
        let loader = |busy| Figures { server_watched: false, ..figures(vec![core(1, Pinned::Loader, busy)]) };
        check(&[
            ("both full", split(1.0, 1.0), Balanced, &["server core 0 100.0 % busy", "loader core 1 100.0 % busy"]),
            ("both at the edge", split(0.95, 0.95), Balanced, &[]),
            ("server full", split(0.99, 0.60), ServerBound, &["server core 0 99.0 %", "loader core 1 60.0 %"]),
            ("loader just not full", split(0.95, 0.94), ServerBound, &[]),
            ("loader full", split(0.60, 0.99), LoaderBound, &["loader core 1 99.0 %"]),
            ("server just not full", split(0.94, 0.95), LoaderBound, &[]),
            ("nobody busy", split(0.30, 0.40), LatencyBound, &["too few connections"]),
            ("nothing at all", split(0.0, 0.0), LatencyBound, &[]),
            ("just not busy", split(0.84, 0.84), LatencyBound, &[]),
            ("server nearly full", split(0.90, 0.40), Unclear, &["nearly so"]),
            ("both nearly full", split(0.94, 0.94), Unclear, &["nearly so"]),
            ("loader not pinned", server(1.0), Unclear, &["loader not pinned"]),
            ("server not watched, loader full", loader(1.0), LoaderBound, &["not watched", "may have been full too"]),
            ("server not watched, loader idle", loader(0.3), Unclear, &["server not watched"]),
            ("server not pinned", with(loader(0.3), |f| f.server_watched = true), Unclear, &["server not pinned"]),
            ("nobody pinned", figures(vec![]), Unclear, &["server not pinned", "loader not pinned"]),
        ]);
    }

    #[test]
    fn one_full_core_limits_a_side() {
        let side = |first: f64, second: f64| {
            figures(vec![
                core(0, Pinned::Server, first),
                core(1, Pinned::Server, second),
                core(2, Pinned::Loader, 0.5),
                core(3, Pinned::Loader, 0.6),
            ])
        };
        check(&[
            (
                "one of two",
                side(0.4, 0.99),
                ServerBound,
                &["1 of 2 full, most core 1 with 99.0 %", "69.5 % busy on average"],
            ),
            ("two of two", side(0.98, 0.99), ServerBound, &["2 of 2 full"]),
            ("none", side(0.4, 0.3), LatencyBound, &["server cores 35.0 % busy on average, 0 of 2 full"]),
        ]);
    }

    #[test]
    fn shared_cores_are_said() {
        let both = |busy| figures(vec![core(0, Pinned::Both, busy)]);
        let partly = figures(vec![
            core(0, Pinned::Server, 0.4),
            core(1, Pinned::Both, 0.97),
            core(2, Pinned::Both, 0.96),
            core(3, Pinned::Loader, 0.2),
        ]);
        let shared = "server and loader share core 0: by thread time the server had 49.5 % and the loader 49.5 %";
        let unknown = with(both(0.99), |f| f.cores[0].server = None);
        check(&[
            ("full", both(0.99), Balanced, &[shared]),
            ("idle", both(0.3), LatencyBound, &["share core 0"]),
            ("partly", partly, Balanced, &["share cores 1-2: by thread time"]),
            ("without thread times", unknown, Balanced, &["share core 0"]),
        ]);
        assert!(verdict(&split(1.0, 1.0)).1.iter().all(|reason| !reason.contains("share")));
    }

    #[test]
    fn what_others_took() {
        let quota = |share| with(split(0.4, 0.4), |f| f.throttled = Some(share));
        let steal = |busy, steal| with(split(busy, 0.5), |f| f.cores[0].steal = steal);
        let stranger = |busy, share| with(split(busy, 0.5), |f| f.cores[0].stranger = Some(share));
        let at_loader = |share| with(split(0.6, 1.0), |f| f.cores[1].stranger = Some(share));
        let brief = |share| with(stranger(1.0, share), |f| f.window_ns = 250_000_000);
        let alone = with(at_loader(0.5), |f| f.server_watched = false);
        check(&[
            ("quota", quota(0.05), Starved, &["a CPU quota took 5.0 % of one CPU's time", "server core 0 40.0 %"]),
            ("quota over several CPUs", quota(3.0), Starved, &["took 300.0 %"]),
            ("a little quota", quota(0.03), LatencyBound, &["a CPU quota took 3.0 %"]),
            ("no quota to speak of", quota(0.0), LatencyBound, &[]),
            ("stolen", steal(0.92, 0.08), Starved, &["the hypervisor took 8.0 % of core 0"]),
            ("a capped guest", steal(0.5, 0.5), Starved, &["the hypervisor took 50.0 % of core 0"]),
            ("a little stolen", steal(0.96, 0.04), ServerBound, &["the hypervisor took 4.0 % of core 0"]),
            ("stolen from a core with time left", steal(0.3, 0.1), LatencyBound, &["took 10.0 % of core 0"]),
            (
                "a busy loop on the server's core",
                stranger(1.0, 0.5),
                Starved,
                &["something else ran on core 0 for 50.0 %"],
            ),
            ("a stranger beside an idle server", stranger(0.99, 0.9), Starved, &["core 0 for 90.0 %"]),
            (
                "a stranger who leaves room",
                stranger(0.5, 0.3),
                LatencyBound,
                &["core 0 was busy outside of our threads for 30.0 % of the time: something else, or"],
            ),
            (
                "perhaps ticks that met a pace",
                with(stranger(0.99, 0.8), |f| f.rate_reached = Some(true)),
                ServerBound,
                &["core 0 was busy outside of our threads for 80.0 % of the time"],
            ),
            (
                "a stranger who held up a pace",
                with(stranger(0.99, 0.8), |f| f.rate_reached = Some(false)),
                Starved,
                &["something else ran on core 0 for 80.0 %"],
            ),
            ("a small stranger", stranger(0.99, 0.09), ServerBound, &[]),
            ("a stranger at the loader", at_loader(0.4), Starved, &["something else ran on core 1 for 40.0 %"]),
            ("perhaps the server itself", alone, Starved, &["(the server, if it runs there, is not watched)"]),
            ("chance in a short window", brief(0.3), ServerBound, &[]),
            ("more than chance", brief(0.5), Starved, &[]),
        ]);
    }

    #[test]
    fn links_rates_and_what_looks_like_load() {
        let link =
            |share, server| with(split(server, 0.5), |f| f.link = Some(LinkFigures { name: "eth0".to_owned(), share }));
        let open = |reached, busy| with(split(busy, 0.5), |f| f.rate_reached = Some(reached));
        let spins = with(split(0.4, 1.0), |f| f.loader_spins = true);
        let remote = with(link(0.97, 0.0), |f| {
            f.cores.remove(0);
            f.server_watched = false;
        });
        check(&[
            ("full link", link(0.97, 0.5), LinkBound, &["eth0 was 97.0 % full", "server core 0 50.0 %"]),
            ("full link to another host", remote, LinkBound, &["server not watched"]),
            ("half a link", link(0.5, 0.99), ServerBound, &[]),
            ("rate reached", open(true, 0.3), Unclear, &["the asked rate was reached and nobody was full"]),
            ("rate missed", open(false, 0.3), LatencyBound, &[]),
            ("rate missed by a full server", open(false, 0.99), ServerBound, &[]),
            ("spinning", spins, Unclear, &["the loader was spinning"]),
            ("too short", with(split(1.0, 1.0), |f| f.window_ns = 99_999_999), Unclear, &["99 ms are too short"]),
            ("nothing known", Figures::default(), Unclear, &["0 ms are too short"]),
        ]);
    }

    #[test]
    fn losses_are_told_and_do_not_decide() {
        let lossy = with(split(0.99, 0.5), |f| {
            (f.segments_sent, f.retransmits) = (Some(1_000_000), Some(1_001));
            (f.listen_overflows, f.listen_drops) = (Some(3), Some(5));
            (f.dropped_packets, f.ring_overflows) = (Some(7), Some(2));
        });
        let said = [
            "1001 of 1000000 TCP segments were sent again",
            "3 connections found a full accept queue",
            "2 connections dropped by a listener",
            "7 packets dropped by links",
            "2 overflows of completion queues",
        ];
        check(&[("lossy", lossy, ServerBound, &said)]);
        let clean = with(split(0.99, 0.5), |f| (f.segments_sent, f.retransmits) = (Some(1_000_000), Some(1_000)));
        assert_eq!(verdict(&clean).1.len(), 2, "both sides and nothing else");
    }

    #[test]
    fn words_lower_bounds_and_words_of_later_versions() {
        for word in [ServerBound, LoaderBound, Balanced, LinkBound, LatencyBound, Starved, Unclear] {
            assert_eq!(serde_json::to_value(word).expect("a unit variant"), word.word());
            assert_eq!(word.is_lower_bound(), matches!(word, Balanced | LoaderBound));
        }
        let newer: Verdict = serde_json::from_str("\"moon-bound\"").expect("unknown words are read");
        assert_eq!(newer, Unclear);
        let block = VerdictBlock { word: Balanced, at_least: true, ..VerdictBlock::default() };
        assert_eq!(block.line(), "balanced, read the rate as \"at least\"");
        let reasons = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(VerdictBlock { reasons, ..VerdictBlock::default() }.line(), "unclear: one; two");
    }
}
