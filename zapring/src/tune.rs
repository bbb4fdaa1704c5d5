//! `zapring tune`: show, plan, apply, restore, status.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use clap::Subcommand;
use harness::CoreList;
use results::{ExitCode, Output};
use serde::Serialize;
use tune::{
    Facts, Host, Journals, Plan, Profile, Request, Role, Roots, Stamp,
    findings::{Finding, findings},
    journal,
    netlink::{Live, Netlink, NetlinkError, Nobody},
    plan::{Area, Rings},
    render,
};

use crate::{failure::Failure, load, signals};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
show and plan change nothing and need no root. apply notes every old value before it changes anything, reads back what it wrote,
and undoes everything at the first setting that is not taken, but for those marked optional. restore puts the old values back.
Exit codes: 0 done, 2 usage, 31 needs root, 40 refused and everything undone, 41 not everything could be undone or restored.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What this host is, how it is set, and what of it would hurt a run
    Show(ShowArgs),
    /// What would be changed, and why
    Plan(PlanArgs),
    /// Change it; with --dry-run say only what would be done
    Apply(ApplyArgs),
    /// Put back what was changed, newest first
    Restore(RestoreArgs),
    /// What was changed, and whether it still holds
    Status(StatusArgs),
}

/// Where the kernel's trees are.
#[derive(Debug, clap::Args)]
pub(crate) struct RootArgs {
    /// Read /proc from a copy there; ethtool settings are then not known
    #[arg(long, value_name = "FOLDER", default_value = "/proc", hide_default_value = true)]
    proc_root: PathBuf,
    /// Read /sys from a copy there
    #[arg(long, value_name = "FOLDER", default_value = "/sys", hide_default_value = true)]
    sys_root: PathBuf,
}

impl RootArgs {
    pub(crate) fn roots(&self) -> Roots {
        Roots::at(&self.proc_root, &self.sys_root)
    }
}

/// The kernel to be asked, or nobody for trees from elsewhere.
pub(crate) fn netlink(roots: &Roots) -> &'static dyn Netlink {
    if roots.are_live() { &Live } else { &Nobody }
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// One interface only
    nic: Option<String>,
    /// All facts as JSON; - for standard output
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    #[command(flatten)]
    roots: RootArgs,
}

/// What the host is to be tuned for.
#[derive(Debug, clap::Args)]
pub(crate) struct WishArgs {
    /// The interface that carries the load; lo for loopback
    nic: Option<String>,
    /// The interface that leads to this address
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nic")]
    peer: Option<IpAddr>,
    /// Cores of the workers, in the order of their threads [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    cores: Option<CoreList>,
    /// Cores of a loader on this host, which get none of the server's packets
    #[arg(long, value_name = "LIST")]
    loader_cores: Option<CoreList>,
    /// Cores that take the interrupts [default: those of the workers]
    #[arg(long, value_name = "LIST")]
    irq_cores: Option<CoreList>,
    /// Which side runs here: server, loader or both
    #[arg(long, default_value = "server", value_name = "ROLE")]
    role: Role,
    /// throughput, latency, or seed: what an earlier project's script set
    #[arg(long, default_value = "throughput", value_name = "PROFILE")]
    profile: Profile,
    /// Ring entries: on-drops, max, or a number
    #[arg(long, default_value = "on-drops", value_name = "WHICH")]
    rings: Rings,
    /// Queues of the interface [default: as many as cores that take interrupts, where it has several]
    #[arg(long, value_name = "N")]
    queues: Option<u32>,
    /// Largest packet in bytes [default: as it is]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u32>,
    /// Connections that flow steering is sized for
    #[arg(long, default_value_t = tune::limits::DEFAULT_CONNECTIONS, value_name = "N")]
    connections: u32,
    /// Leave a part alone: cpu, device, interrupts, steering or sysctl; repeatable
    #[arg(long, value_name = "PART")]
    without: Vec<Area>,
}

#[derive(Debug, clap::Args)]
struct PlanArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// The plan as JSON; - for standard output
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Two scripts that do and undo it: NAME.sh and NAME-undo.sh
    #[arg(long, value_name = "NAME")]
    script: Option<PathBuf>,
    #[command(flatten)]
    roots: RootArgs,
}

#[derive(Debug, clap::Args)]
struct JournalArgs {
    /// Where journals lie
    #[arg(long, value_name = "FOLDER", default_value = journal::FOLDER)]
    journal_dir: PathBuf,
}

#[derive(Debug, clap::Args)]
struct ApplyArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// Say what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    journals: JournalArgs,
    #[command(flatten)]
    roots: RootArgs,
}

#[derive(Debug, clap::Args)]
struct RestoreArgs {
    /// One journal only [default: all that are open]
    #[arg(long, value_name = "ID")]
    journal: Option<String>,
    /// Put back values too that somebody else has changed since
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    journals: JournalArgs,
    #[command(flatten)]
    roots: RootArgs,
}

#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// As JSON; - for standard output
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    #[command(flatten)]
    journals: JournalArgs,
    #[command(flatten)]
    roots: RootArgs,
}

/// The document of `tune show --json` and `tune status --json`.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    schema_major: u32,
    schema_minor: u32,
    #[serde(flatten)]
    content: &'a T,
}

#[derive(Serialize)]
struct Shown<'a> {
    facts: &'a Facts,
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct Journaled<'a> {
    journals: &'a [tune::state::Status],
}

/// How the host is tuned, for the record of a run; `None` where the journals cannot be read.
pub(crate) fn recorded() -> Option<results::environment::Tuning> {
    let state = tune::state(&Roots::live(), &Journals::at(tune::journal::FOLDER))?;
    let profile = state.profile.map(|profile| profile.name().to_owned());
    Some(results::environment::Tuning { state: state.state, journal: state.journal, profile })
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Show(args) => show(args),
        Command::Plan(args) => plan(args),
        Command::Apply(args) => apply(args),
        Command::Restore(args) => restore(args),
        Command::Status(args) => status(args),
    }
}

fn open(path: Option<&Path>) -> Result<Option<Output>, Failure> {
    Ok(path.map(Output::open).transpose()?)
}

/// Prints a text, to standard error where a document goes to standard output.
fn print_beside(text: &str, output: Option<&Output>) {
    load::print(text, output.is_some_and(Output::is_stdout));
}

fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let json = open(args.json.as_deref())?;
    let roots = args.roots.roots();
    let facts = Facts::gather(&roots, netlink(&roots));
    let nics = match &args.nic {
        None => facts.nics.iter().collect(),
        Some(name) => vec![facts.nic(name).ok_or_else(|| Failure::Usage(no_nic(&facts, name)))?],
    };
    let findings = findings(&facts, &nics);
    print_beside(&render::show::text(&facts, &nics, &findings), json.as_ref());
    if let Some(output) = json {
        let content = &Shown { facts: &facts, findings: &findings };
        output.write(&Document { schema: "zapring.tune_facts", schema_major: 1, schema_minor: 0, content })?;
    }
    Ok(ExitCode::Ok)
}

pub(crate) fn no_nic(facts: &Facts, name: &str) -> String {
    let known: Vec<&str> = facts.nics.iter().map(|nic| nic.name.as_str()).collect();
    format!("there is no network interface {name}; there are: {}", known.join(", "))
}

/// The request that the flags make, and what has to be said about it.
pub(crate) fn request(wish: &WishArgs, facts: &Facts, netlink: &dyn Netlink) -> Result<Request, Failure> {
    let list = |list: &Option<CoreList>| list.as_ref().map(|list| list.as_slice().to_vec()).unwrap_or_default();
    let loader_cores: tune::CpuSet = list(&wish.loader_cores).into_iter().collect();
    let irq_cores = list(&wish.irq_cores);
    let cores = match &wish.cores {
        Some(cores) => cores.as_slice().to_vec(),
        None => facts.cpus.allowed.without(&loader_cores).iter().collect(),
    };
    let nic = match (&wish.nic, wish.peer) {
        (Some(nic), _) => Some(nic.clone()),
        (None, Some(peer)) => Some(leads_to(facts, netlink, peer)?),
        (None, None) => None,
    };
    Ok(Request {
        nic,
        loader_cores,
        irq_cores,
        role: wish.role,
        profile: wish.profile,
        rings: wish.rings,
        queues: wish.queues,
        mtu_bytes: wish.mtu,
        connections: wish.connections,
        without: wish.without.clone(),
        ..Request::new(cores)
    })
}

/// The interface that packets to an address leave by, as the kernel routes them.
fn leads_to(facts: &Facts, netlink: &dyn Netlink, peer: IpAddr) -> Result<String, Failure> {
    let route = match netlink.route(peer) {
        Ok(route) => route,
        Err(NetlinkError::Missing { .. }) => return Err(Failure::NoRoute { peer }),
        Err(error) => {
            return Err(Failure::Usage(format!("cannot ask for the route to {peer}: {error}; name the interface")));
        }
    };
    if route.local {
        eprintln!(
            "zapring: {peer} is this host's own address: packets to it never leave, whatever interface has it, so lo is meant"
        );
    }
    let nic = facts.nics.iter().find(|nic| nic.ifindex == Some(route.ifindex));
    let nic = nic.ok_or_else(|| {
        Failure::Usage(format!("the route to {peer} leads to interface {}, which is not there", route.ifindex))
    })?;
    Ok(nic.name.clone())
}

fn plan(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let json = open(args.json.as_deref())?;
    let named = |end: &str| args.script.as_ref().map(|name| PathBuf::from(format!("{}{end}", name.display())));
    let (script, undo) = (open(named(".sh").as_deref())?, open(named("-undo.sh").as_deref())?);
    let roots = args.roots.roots();
    let facts = Facts::gather(&roots, netlink(&roots));
    let plan = tune::plan(&facts, &request(&args.wish, &facts, netlink(&roots))?)?;
    print_beside(&render::plan::text(&plan), json.as_ref());
    if let Some(output) = json {
        output.write(&plan)?;
    }
    if let (Some(name), Some(script), Some(undo)) = (&args.script, script, undo) {
        let name = name.file_name().map_or_else(|| "tune".to_owned(), |name| name.to_string_lossy().into_owned());
        let about =
            format!("CPUs {}, kernel {}", facts.cpus.online, facts.kernel.release.as_deref().unwrap_or("not known"));
        let scripts = render::script::scripts(&plan, &name, &about);
        script.write_text(&scripts.apply)?;
        undo.write_text(&scripts.undo)?;
    }
    Ok(ExitCode::Ok)
}

/// Only root may write below `/proc/sys` and `/sys`; trees from elsewhere belong to whoever has them.
fn needs_root(roots: &Roots, what: &'static str) -> Result<(), Failure> {
    if roots.are_live() && !tune::host::is_root() { Err(Failure::NeedsRoot { what }) } else { Ok(()) }
}

fn apply(args: &ApplyArgs) -> Result<ExitCode, Failure> {
    let roots = args.roots.roots();
    let host = Host::new(&roots, netlink(&roots));
    let facts = host.facts();
    let request = request(&args.wish, &facts, netlink(&roots))?;
    if args.dry_run {
        load::print(&render::plan::text(&tune::plan(&facts, &request)?), false);
        return Ok(ExitCode::Ok);
    }
    needs_root(&roots, "apply")?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    signals::on_first(move || raised.store(true, Ordering::Relaxed))
        .map_err(|source| Failure::System { what: "watching for signals", source })?;
    let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let stamp = Stamp { version: env!("CARGO_PKG_VERSION"), unix_ns };
    let journals = Journals::at(&args.journals.journal_dir);
    let applied = tune::apply(&host, &journals, &request, stamp, &stop)?;
    match &applied.journal {
        None => load::print("nothing to change: everything is as it should be\n", false),
        Some(journal) => {
            load::print(&render::outcome::applied(journal), false);
            load::print(
                &format!("undo it with `zapring tune restore`; {}\n", journals.path(&journal.id).display()),
                false,
            );
        }
    }
    load::print(&unsaid(&applied.plan), false);
    Ok(ExitCode::Ok)
}

/// What a plan has besides its steps.
fn unsaid(plan: &Plan) -> String {
    let line = |note: &tune::plan::Note| format!("{}: {}\n", note.what, note.why);
    let unsupported = plan.unsupported.iter().map(|note| format!("unsupported {}", line(note)));
    let advice = plan.advice.iter().map(|note| format!("left to you {}", line(note)));
    unsupported.chain(advice).collect()
}

fn restore(args: &RestoreArgs) -> Result<ExitCode, Failure> {
    let roots = args.roots.roots();
    needs_root(&roots, "restore")?;
    let host = Host::new(&roots, netlink(&roots));
    let journals = Journals::at(&args.journals.journal_dir);
    let restored = tune::restore(&host, &journals, args.journal.as_deref(), args.force)?;
    load::print(&render::outcome::restored(&restored), false);
    let dirty: Vec<_> = restored.iter().filter(|one| !one.left.is_empty()).collect();
    for one in &dirty {
        eprintln!("zapring: the journal {} is kept", journals.path(&one.id).display());
    }
    Ok(if dirty.is_empty() { ExitCode::Ok } else { ExitCode::TuneDirty })
}

fn status(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let json = open(args.json.as_deref())?;
    let roots = args.roots.roots();
    let host = Host::new(&roots, netlink(&roots));
    let journals = tune::state::status(&host, &Journals::at(&args.journals.journal_dir))?;
    print_beside(&render::outcome::status(&journals), json.as_ref());
    if let Some(output) = json {
        let content = &Journaled { journals: &journals };
        output.write(&Document { schema: "zapring.tune_status", schema_major: 1, schema_minor: 0, content })?;
    }
    Ok(ExitCode::Ok)
}
