//! The runs of any documents as one list, in the order given: what every table and file of several runs is made from.

use crate::bench::BenchRow;
use crate::config::Placement;
use crate::cores::CoreBusy;
use crate::document::Document;
use crate::run::Run;
use crate::sweep::{Point, Sweep};
use crate::versus::{self, Contender, Versus};

/// A document and the name it was given by.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    /// The path as typed, or what stands for it.
    pub name: String,
    /// What was in it.
    pub document: Document,
}

/// One run of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// The document's name.
    pub file: &'a str,
    /// What is known of the run.
    pub kind: Kind<'a>,
}

/// How much a document keeps of its runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind<'a> {
    /// Everything.
    Run(&'a Run),
    /// One round of a setting, without its histograms.
    Point {
        /// The sweep.
        sweep: &'a Sweep,
        /// Place of the setting in the sweep.
        setting: usize,
        /// The run.
        point: &'a Point,
    },
    /// One round of a server or a loader that was compared with others.
    Contender {
        /// The comparison.
        versus: &'a Versus,
        /// Whether what it cost is the server's.
        is_server: bool,
        /// Who was run.
        contender: &'a Contender,
        /// The run.
        point: &'a versus::Point,
    },
}

impl NamedDocument {
    /// The runs that are kept whole.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        let (one, many): (_, &[BenchRow]) = match &self.document {
            Document::Run(run) => (Some(&**run), &[]),
            Document::Bench(bench) => (None, &bench.rows),
            Document::Sweep(_) | Document::Versus(_) | Document::Codec(_) | Document::Canonical(_) => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(|row| &row.run))
    }

    /// Every run.
    #[must_use]
    pub fn rows(&self) -> Vec<Row<'_>> {
        let file = self.name.as_str();
        match &self.document {
            Document::Sweep(sweep) => sweep
                .settings
                .iter()
                .enumerate()
                .flat_map(|(setting, of)| of.points.iter().map(move |point| Kind::Point { sweep, setting, point }))
                .map(|kind| Row { file, kind })
                .collect(),
            Document::Versus(versus) => {
                let servers = versus.servers.iter().map(|contender| (true, contender));
                let all = servers.chain(versus.loaders.iter().map(|contender| (false, contender)));
                let kind =
                    |(is_server, contender): (bool, _), point| Kind::Contender { versus, is_server, contender, point };
                all.flat_map(|one| one.1.points.iter().map(move |point| Row { file, kind: kind(one, point) })).collect()
            }
            _ => self.runs().map(|run| Row { file, kind: Kind::Run(run) }).collect(),
        }
    }

    /// Keeps the runs of one wire and level, as in `zap/64`, of a document that has several. False when none is left.
    pub fn keep(&mut self, level: &str) -> bool {
        let wanted = |run: &Run| level_name(run) == level;
        match &mut self.document {
            Document::Run(run) => wanted(run),
            Document::Bench(bench) => {
                bench.rows.retain(|row| wanted(&row.run));
                bench.ratios.clear();
                !bench.rows.is_empty()
            }
            Document::Sweep(_) | Document::Versus(_) | Document::Codec(_) | Document::Canonical(_) => false,
        }
    }
}

/// The name of a run among those of its document, as in `zap/64`, or `zap/64/rpc` for a scenario.
#[must_use]
pub fn level_name(run: &Run) -> String {
    let scenario = run.config.scenario.as_ref().map_or_else(String::new, |scenario| format!("/{scenario}"));
    format!("{}/{}{scenario}", run.config.wire, run.config.connections)
}

impl<'a> Row<'a> {
    /// The run, where it is kept whole.
    #[must_use]
    pub const fn run(&self) -> Option<&'a Run> {
        match self.kind {
            Kind::Run(run) => Some(run),
            Kind::Point { .. } | Kind::Contender { .. } => None,
        }
    }

    /// The wire's name.
    #[must_use]
    pub fn wire(&self) -> &'a str {
        match self.kind {
            Kind::Run(run) => &run.config.wire,
            Kind::Point { sweep, .. } => &sweep.wire,
            Kind::Contender { contender, .. } => &contender.wire,
        }
    }

    /// Connections.
    #[must_use]
    pub const fn connections(&self) -> u32 {
        match self.kind {
            Kind::Run(run) => run.config.connections,
            Kind::Point { sweep, .. } => sweep.connections,
            Kind::Contender { versus, .. } => versus.connections,
        }
    }

    /// Where the two sides ran.
    #[must_use]
    pub fn placement(&self) -> Placement {
        match self.kind {
            Kind::Run(run) => run.config.placement,
            Kind::Point { sweep, .. } => sweep.placement,
            // One that ran already may be anywhere.
            Kind::Contender { contender, .. } if contender.command.is_empty() => Placement::Unknown,
            Kind::Contender { versus, .. } => Placement::on_one_host(&versus.server_cores, &versus.loader_cores),
        }
    }

    /// The figures that every document keeps of a run.
    #[must_use]
    pub fn point(&self) -> Point {
        match self.kind {
            Kind::Run(run) => Point::of(0, run),
            Kind::Point { point, .. } => point.clone(),
            Kind::Contender { is_server, point, .. } => of_contender(is_server, point),
        }
    }
}

/// The same figures of a comparison's run, whose costs are those of one side.
fn of_contender(is_server: bool, point: &versus::Point) -> Point {
    let (cpu, busy) = (point.cpu_ns_per_request, point.core_busy_ns_per_request);
    Point {
        round: point.round,
        ok: point.ok,
        failed: point.failed,
        ok_per_s: point.ok_per_s,
        server_cpu_ns_per_request: cpu.filter(|_| is_server),
        loader_cpu_ns_per_request: cpu.filter(|_| !is_server),
        server_core_busy_ns_per_request: busy.filter(|_| is_server),
        loader_core_busy_ns_per_request: busy.filter(|_| !is_server),
        p50_ns: point.p50_ns,
        p99_ns: point.p99_ns,
    }
}

/// Busy shares of both sides' cores, as far as the file has them: side, core, share.
#[must_use]
pub fn busy_shares(run: &Run) -> Vec<(&'static str, u32, f64)> {
    let of = |side: &'static str, cores: &[CoreBusy]| -> Vec<_> {
        cores.iter().filter_map(|core| Some((side, core.core, core.share()?))).collect()
    };
    if run.config.placement == Placement::Paired {
        return of("both", &run.loader.core_busy);
    }
    let server = run.server.as_ref().map_or(&[][..], |server| &server.core_busy);
    [of("server", server), of("loader", &run.loader.core_busy)].concat()
}
