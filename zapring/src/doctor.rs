//! `zapring doctor`: one page before a run.

use std::{fmt::Write as _, io, path::PathBuf};

use engine::{
    Board, Cause, Conn, Cx, Engine, EngineOptions, Flow, LaunchError, Limits, Origin, Outbox, RingError, Shard, Taken,
};
use results::ExitCode;
use tune::{
    Facts, Journals, Plan, Request, Roots,
    findings::{findings, unfair},
    journal,
    render::show::{findings_text, host_text},
};

use crate::{
    failure::Failure,
    load,
    tune::{RootArgs, WishArgs, netlink, request},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes nothing and needs no root, but sees more as root. Exit codes: 0 whatever it finds, 2 usage, 30 or 31 when no io_uring engine
can run here.")]
pub(crate) struct Args {
    #[command(flatten)]
    wish: WishArgs,
    /// Where journals of tune lie
    #[arg(long, value_name = "FOLDER", default_value = journal::FOLDER)]
    journal_dir: PathBuf,
    #[command(flatten)]
    roots: RootArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let roots = args.roots.roots();
    let asked = netlink(&roots);
    let facts = Facts::gather(&roots, asked);
    let request = request(&args.wish, &facts, asked)?;
    let plan = tune::plan(&facts, &request)?;
    let nics: Vec<_> = match &request.nic {
        Some(name) => facts.nic(name).into_iter().collect(),
        None => facts.nic("lo").into_iter().collect(),
    };

    let (mut text, code) = engines();
    text.push('\n');
    text.push_str(&host_text(&facts));
    tuning(&mut text, &plan, &roots, args);
    cores(&mut text, &facts, &request);
    text.push('\n');
    text.push_str(&findings_text(&findings(&facts, &nics)));
    load::print(&text, false);
    Ok(code)
}

/// Which engines can run here, with what; and the code for our own ring if it cannot.
fn engines() -> (String, ExitCode) {
    let (mut text, mut code) = ("engines\n".to_owned(), ExitCode::Ok);
    for engine in Engine::ALL {
        let said = match probe(engine) {
            Ok(granted) => granted,
            Err(error) => {
                if engine == Engine::Uring {
                    code = ring_code(&error);
                }
                format!("not here: {error}")
            }
        };
        let _ = writeln!(text, "  {:<14} {said}", engine.name());
    }
    (text, code)
}

fn tuning(text: &mut String, plan: &Plan, roots: &Roots, args: &Args) {
    text.push_str("\ntuning\n");
    let said = match tune::state(roots, &Journals::at(&args.journal_dir)) {
        Some(state) => {
            format!("{}{}", state.state, state.journal.map_or_else(String::new, |id| format!(", journal {id}")))
        }
        None => format!("not known: the journals in {} cannot be read", args.journal_dir.display()),
    };
    let _ = writeln!(text, "  {:<14} {said}", "state");
    let request = &plan.request;
    let nic = request.nic.as_deref().unwrap_or("no interface");
    let (profile, role, cores) = (request.profile, request.role, request.workers());
    let _ = writeln!(
        text,
        "  {:<14} {profile}, {role} on cores {cores}, {nic}: {} settings to change",
        "plan",
        plan.steps.len()
    );
    for step in &plan.steps {
        let from = if step.from.is_empty() { "(empty)" } else { &step.from };
        let _ = writeln!(text, "  {:<14} {}: {from} -> {}", "", step.what, step.to);
    }
    for note in &plan.advice {
        let _ = writeln!(text, "  {:<14} {}: {}", "left to you", note.what, note.why);
    }
}

fn cores(text: &mut String, facts: &Facts, request: &Request) {
    text.push_str("\ncores\n");
    let (server, loader) = (request.workers(), &request.loader_cores);
    if loader.is_empty() {
        text.push_str("  name both sides with --cores and --loader-cores to hear whether they are a fair pair\n");
        return;
    }
    let found = unfair(&facts.cpus, &server, loader);
    if found.is_empty() {
        let _ = writeln!(text, "  server {server} and loader {loader} are a fair pair");
    }
    for finding in found {
        let _ = writeln!(text, "  server {server}, loader {loader}: {}", finding.why);
    }
}

fn ring_code(error: &LaunchError) -> ExitCode {
    match error {
        LaunchError::Ring { source: RingError::Restricted { .. } | RingError::Denied, .. } => ExitCode::Permission,
        LaunchError::Ring { .. } => ExitCode::KernelUnsupported,
        _ => ExitCode::Unexpected,
    }
}

/// Starts an engine with one shard that does nothing, and ends it; what it was granted.
fn probe(engine: Engine) -> Result<String, LaunchError> {
    let plan = engine::Plan {
        engine,
        shards: 1,
        cores: Vec::new(),
        listeners: Vec::new(),
        targets: Vec::new(),
        limits: Limits::default(),
        options: EngineOptions::default(),
        incoming_cpus: Vec::new(),
        sources: Vec::new(),
    };
    let fleet = engine::launch(plan, std::sync::Arc::new(Board::new(1)), |_| Idle)?;
    let granted = fleet.granted().first().cloned();
    fleet.stop();
    drop(fleet.join());
    let text = granted.map_or_else(String::new, |granted| {
        let setup = granted.setup.map_or_else(|| "no ring flags".to_owned(), |rung| format!("ring flags {rung}"));
        format!("{setup}, features {}", granted.features)
    });
    Ok(text)
}

/// A shard without anything to do.
struct Idle;

impl Shard for Idle {
    fn open(&mut self, _: Conn, _: Origin, _: &mut Cx<'_>) {}

    fn connect_failed(&mut self, _: usize, _: &io::Error, _: &mut Cx<'_>) {}

    fn data(&mut self, _: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        Taken { consumed: input.len(), next: engine::Next::Close }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        Flow::Idle
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn closed(&mut self, _: Conn, _: Cause, _: &mut Cx<'_>) {}

    fn drain(&mut self, cx: &mut Cx<'_>) {
        cx.finish();
    }
}
