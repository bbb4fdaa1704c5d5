//! `zapring load`.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use codec::scenario::Scenario;
use engine::Address;
use harness::{CoreList, HostFiles, HostWatch, Watch};
use loader::{Expect, Family, Length, LoadError, LoadPlan, Mix, Moment, Sources, Target, request_file, scenario};
use results::{
    Ending, Environment, ExitCode, Header, HostBlock, LoaderBlock, Mode, Origin, Output, Placement, Run, Threshold,
    Validity, ValidityCode,
    report::load::{Detail, text},
};

use crate::{document, engine_args::EngineArgs, failure::Failure, handicap_args::HandicapArgs, signals, value};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
URL: http://HOST[:PORT]/PATH, zap://HOST[:PORT]/PATH, or over a unix socket http+unix:/SOCKET:/PATH and zap+unix:/SOCKET:/PATH.
floor://HOST[:PORT][/REQUEST_BYTES/REPLY_BYTES] moves bytes without a protocol: the baseline of the other two (111/114 by default).
Letters are wrk's. Elsewhere: in oha -d is the body and -t the timeout, in h2load -m is the pipeline depth (here --pipeline).")]
pub(crate) struct Args {
    /// What to ask for
    url: String,
    /// Connections kept open, over all threads
    #[arg(short, long, default_value = "10", value_parser = connections, value_name = "N")]
    connections: u32,
    /// How long to measure; a bare number is seconds [default: 10s]
    #[arg(short, long, value_parser = value::time_ns, conflicts_with = "requests", value_name = "TIME")]
    duration: Option<u64>,
    /// Threads, each pinned to a core of its own where there are enough [default: 1, or one for each of --cores]
    #[arg(short, long, value_name = "N")]
    threads: Option<u32>,
    /// Send exactly so many requests instead of measuring for a time
    #[arg(short = 'n', long, value_parser = count, value_name = "N")]
    requests: Option<u64>,
    /// Open loop: requests per second over all connections, each due at its time; latency runs from then [default: closed loop]
    #[arg(short = 'R', long, value_parser = count, value_name = "N")]
    rate: Option<u64>,
    /// Method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "NAME")]
    method: Option<String>,
    /// A header, as in 'Accept: text/plain'; repeatable, order and duplicates are kept
    #[arg(short = 'H', long = "header", value_parser = header, value_name = "NAME: VALUE")]
    headers: Vec<Header>,
    /// Body, as text
    #[arg(short, long, conflicts_with = "body_file", value_name = "TEXT")]
    body: Option<String>,
    /// Body, from a file
    #[arg(short = 'f', long, value_name = "PATH")]
    body_file: Option<PathBuf>,
    /// What is asked, by name, and checked byte for byte in the answer; the URL then has no path. hello, rpc, echo-tiny, echo-small,
    /// echo-chat, echo-medium, echo-large or stream
    #[arg(long, value_name = "NAME", conflicts_with_all = ["method", "headers", "body", "body_file", "request_files", "scenario_file"])]
    scenario: Option<Scenario>,
    /// A raw request from a file, as in get.http, or get.http@3 to send it three times as often as one without; repeatable
    #[arg(long = "request-file", value_name = "PATH[@WEIGHT]",
        conflicts_with_all = ["method", "headers", "body", "body_file", "scenario_file"])]
    request_files: Vec<String>,
    /// Named requests in categories, from a TOML file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["method", "headers", "body", "body_file"])]
    scenario_file: Option<PathBuf>,
    /// Requests each connection keeps under way
    #[arg(long, default_value_t = 1, value_name = "N")]
    pipeline: u32,
    /// Close each connection after so many requests and make it again
    #[arg(long, value_parser = count, value_name = "N")]
    requests_per_conn: Option<u64>,
    /// Connections begun per second before the start [default: as fast as they are accepted]
    #[arg(long, value_parser = count, value_name = "N")]
    connect_rate: Option<u64>,
    /// Local addresses or blocks of them to connect from, as in 10.0.0.8/29,10.0.1.1; the connections are dealt round robin
    #[arg(long = "source", value_name = "LIST")]
    sources: Vec<String>,
    /// Use the target's IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// Use the target's IPv6 addresses only
    #[arg(short = '6', long)]
    ipv6: bool,
    /// Warm-up on the same connections, not measured [default: 3s, or none with -n]
    #[arg(long, value_parser = value::time_ns, value_name = "TIME")]
    warmup: Option<u64>,
    /// When a request has waited too long, counted from when it was sent
    #[arg(long, default_value = "2s", value_parser = value::time_ns, value_name = "TIME")]
    timeout: u64,
    /// How long requests under way are waited for at the end [default: the timeout]
    #[arg(long, value_parser = value::time_ns, value_name = "TIME")]
    drain: Option<u64>,
    /// Cores for the threads, as in 2-5
    #[arg(long, value_name = "LIST")]
    cores: Option<CoreList>,
    /// Statuses that are good answers
    #[arg(long, default_value = "200-299", value_parser = expect, value_name = "RANGES")]
    expect: Expect,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    handicap: HandicapArgs,
    /// Write the run file there; - for standard output, the text then goes to standard error
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Write one page with charts that needs nothing else; - for standard output
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// More percentiles and the whole latency distribution
    #[arg(short = 'L', long)]
    latency: bool,
    /// As in wrk2: latency from when a request was sent; with -R that is always shown, as service time
    #[arg(short = 'U', long = "u_latency", hide = true)]
    uncorrected: bool,
    /// Requests that may fail before the exit code says so
    #[arg(long, default_value = "0", value_parser = count, value_name = "N")]
    max_failed: u64,
    /// The exit code says so when this is true of the run, as in 'latency.p99 > 2ms', 'ok_per_s < 100k' or 'errors > 0.1%'; repeatable
    #[arg(long, value_parser = limit, value_name = "LIMIT")]
    fail_if: Vec<Threshold>,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
    /// Scripts are not supported
    #[arg(short = 's', long = "script", hide = true, value_name = "LUA")]
    script: Option<String>,
    /// Sample this process over the measured part: the server
    #[arg(long, hide = true, value_name = "PID")]
    watch_pid: Option<u32>,
    /// The server's cores
    #[arg(long, hide = true, value_name = "LIST")]
    watch_cores: Option<CoreList>,
    /// End when the process with this id, our parent, ends
    #[arg(long, hide = true, value_name = "PID")]
    die_with_parent: Option<u32>,
}

fn count(text: &str) -> Result<u64, String> {
    loader::value::count(text).map_err(|error| error.to_string())
}

fn connections(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("{text} connections are more than any host has"))
}

fn header(text: &str) -> Result<Header, String> {
    loader::value::header(text).map_err(|error| error.to_string())
}

fn limit(text: &str) -> Result<Threshold, String> {
    Threshold::parse(text).map_err(|error| error.to_string())
}

fn expect(text: &str) -> Result<Expect, String> {
    Expect::parse(text).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(parent) = args.die_with_parent {
        harness::die_with_parent(parent)?;
    }
    if args.script.is_some() {
        return Err(Failure::Usage("-s: scripts are not supported; give the request with -m, -H, -b and -f".into()));
    }
    let plan = plan(args)?;
    plan.check().map_err(LoadError::from)?;
    let mode = if plan.rate_per_s.is_some() { Mode::OpenLoop } else { Mode::ClosedLoop };
    args.fail_if.iter().try_for_each(|limit| limit.check(mode)).map_err(|error| Failure::Usage(error.to_string()))?;
    let environment = environment(&plan);
    let output = args.json.as_deref().map(Output::open).transpose()?;
    let page = args.html.as_deref().map(Output::open).transpose()?;
    let on_stdout = [&output, &page].into_iter().flatten().filter(|output| output.is_stdout()).count();
    if on_stdout > 1 {
        return Err(Failure::Usage("only one of --json and --html can go to standard output".to_owned()));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    signals::on_first(move || raised.store(true, Ordering::Relaxed))
        .map_err(|source| Failure::System { what: "installing signal handlers", source })?;

    let mut watches = Watches::new(args, &plan)?;
    let report = loader::run(&plan, &stop, &mut |moment| watches.observe(moment))?;
    let mut run = report.run;
    run.environment = environment;
    run.command = document::command();
    watches.fill(&mut run);
    run.conclude();
    run.compare_with(&args.fail_if);

    let to_stderr = on_stdout > 0;
    if !args.quiet {
        let detail = if args.latency { Detail::Full } else { Detail::Usual };
        let mut all = text(&run, detail);
        for note in &report.notes {
            all.push_str(note);
            all.push('\n');
        }
        print(&all, to_stderr);
    }
    let mut codes = run.exit_codes(args.max_failed);
    if let Some(output) = output
        && let Err(error) = output.write(&run)
    {
        eprintln!("zapring: {error}");
        codes.push(error.exit_code());
    }
    if let Some(page) = page {
        let name = args.json.as_deref().unwrap_or(Path::new("not stored")).display().to_string();
        codes.extend(document::write_page(page, &name, run));
    }
    let ending = Ending::of(&codes);
    if let Some(line) = ending.text().filter(|_| !args.quiet) {
        eprintln!("zapring: {line}");
    }
    Ok(ending.code)
}

/// Prints a report; a reader that has gone away is no error.
pub(crate) fn print(text: &str, to_stderr: bool) {
    let _ = if to_stderr { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
}

fn plan(args: &Args) -> Result<LoadPlan, Failure> {
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => Bytes::copy_from_slice(text.as_bytes()),
        (None, Some(path)) => {
            fs::read(path).map_err(|source| Failure::Body { path: path.display().to_string(), source })?.into()
        }
        (None, None) => Bytes::new(),
    };
    let (threads, cores) = placement(args)?;
    let mut plan = LoadPlan::new(Target::parse(&args.url)?);
    plan.family = match (args.ipv4, args.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    plan.target.check_family(plan.family)?;
    plan.sources = Sources::parse(args.sources.iter().map(String::as_str))?;
    plan.connections = args.connections;
    plan.threads = threads;
    plan.cores = cores;
    plan.engine = args.engine.engine;
    plan.engine_options = args.engine.options(args.engine.engine)?;
    plan.handicap = args.handicap.handicap();
    plan.pipeline = args.pipeline;
    plan.length = match (args.requests, args.duration) {
        (Some(total), _) => Length::Requests { total },
        (None, Some(duration_ns)) => Length::Time { duration_ns },
        (None, None) => plan.length,
    };
    plan.rate_per_s = args.rate;
    plan.requests_per_conn = args.requests_per_conn;
    plan.connect_rate_per_s = args.connect_rate;
    plan.warmup_ns = args.warmup;
    plan.timeout_ns = args.timeout;
    plan.drain_ns = args.drain;
    plan.method = args.method.clone();
    plan.headers = args.headers.clone();
    plan.body = body;
    plan.expect = args.expect.clone();
    plan.mix = mix(args, &plan.target)?;
    plan.origins = origins(args);
    if let Some(scenario) = args.scenario {
        plan.take_scenario(scenario).map_err(LoadError::from)?;
    }
    if let Some(server) = &args.watch_cores {
        let ours: Vec<u32> = plan.cores.iter().map(|core| *core as u32).collect();
        plan.placement = Placement::on_one_host(server.as_slice(), &ours);
    }
    Ok(plan)
}

/// The requests of files, where there are any.
fn mix(args: &Args, target: &Target) -> Result<Option<Mix>, Failure> {
    if let Some(path) = &args.scenario_file {
        return Ok(Some(scenario::read(path, target, &args.expect)?));
    }
    if args.request_files.is_empty() {
        return Ok(None);
    }
    Ok(Some(request_file::read_all(&args.request_files, target.wire, &args.expect)?))
}

/// Threads and their cores: as asked; else one core each, leaving the first to the system; unpinned where that is not enough.
fn placement(args: &Args) -> Result<(u32, Vec<usize>), Failure> {
    if let Some(list) = &args.cores {
        let mut cores = value::usable(list)?;
        let threads = args.threads.unwrap_or(cores.len() as u32);
        cores.truncate(threads as usize);
        return Ok((threads, cores));
    }
    let threads = args.threads.unwrap_or(1);
    let mut cores = value::all_usable()?;
    if cores.len() > 1 {
        cores.remove(0);
    }
    cores.truncate(threads as usize);
    if cores.len() < threads as usize {
        cores.clear();
    }
    Ok((threads, cores))
}

fn origins(args: &Args) -> BTreeMap<String, Origin> {
    let flags = [
        ("url", true),
        ("duration_ns", args.duration.is_some()),
        ("threads", args.threads.is_some()),
        ("requests", args.requests.is_some()),
        ("rate_per_s", args.rate.is_some()),
        ("requests_per_conn", args.requests_per_conn.is_some()),
        ("connect_rate_per_s", args.connect_rate.is_some()),
        ("scenario", args.scenario.is_some()),
        ("sources", !args.sources.is_empty()),
        ("family", args.ipv4 || args.ipv6),
        ("request_files", !args.request_files.is_empty()),
        ("scenario_file", args.scenario_file.is_some()),
        ("method", args.method.is_some() || args.scenario.is_some()),
        ("headers", !args.headers.is_empty() || args.scenario.is_some()),
        ("body_bytes", args.body.is_some() || args.body_file.is_some() || args.scenario.is_some()),
        ("warmup_ns", args.warmup.is_some()),
        ("drain_ns", args.drain.is_some()),
        ("cores", args.cores.is_some()),
        ("connections", args.connections != 10),
        ("pipeline", args.pipeline != 1),
        ("timeout_ns", args.timeout != 2_000_000_000),
    ];
    flags.into_iter().map(|(name, set)| (name.into(), if set { Origin::Flag } else { Origin::Default })).collect()
}

/// The host, and the interface through which the target is reached. A target that cannot be resolved is the load's problem to tell.
fn environment(plan: &LoadPlan) -> Environment {
    let files = HostFiles::live();
    let addresses = plan.target.resolve(plan.family).unwrap_or_default();
    let over_tcp = addresses.iter().filter_map(|address| match address {
        Address::Tcp(address) => Some(address.ip()),
        Address::Unix(_) => None,
    });
    let nic = over_tcp.filter_map(|address| harness::nic::towards(&files, address)).next();
    Environment {
        nic,
        tuning: crate::tune::recorded(),
        ..harness::environment::collect(&files, env!("ZAPRING_VERSION"))
    }
}

/// Whether the traffic crosses a link of this host. A host that cannot be resolved is the load's problem to tell.
fn crosses_a_link(plan: &LoadPlan) -> bool {
    let crosses =
        |address: &Address| matches!(address, Address::Tcp(address) if !address.ip().to_canonical().is_loopback());
    plan.target.resolve(plan.family).is_ok_and(|addresses| addresses.iter().any(crosses))
}

/// Samples of both processes and of the host over the measured part.
struct Watches {
    server: Option<(u32, Vec<u32>)>,
    cores: Vec<u32>,
    with_links: bool,
    host: Option<HostWatch>,
    running: Option<(Watch, Option<Watch>)>,
    loader: Option<LoaderBlock>,
    watched: Option<results::ServerBlock>,
    counted: Option<HostBlock>,
    problems: Vec<String>,
}

impl Watches {
    fn new(args: &Args, plan: &LoadPlan) -> Result<Self, Failure> {
        let server_cores = args.watch_cores.as_ref().map_or_else(Vec::new, |list| list.as_slice().to_vec());
        let server = args.watch_pid.map(|pid| (pid, server_cores));
        if let Some((pid, cores)) = &server {
            // Before the run: a wrong process should not cost one.
            let watch = Watch::start(*pid, cores).map_err(|source| Failure::Watch { pid: *pid, source })?;
            drop(watch);
        }
        Ok(Watches {
            server,
            cores: plan.cores.iter().map(|core| *core as u32).collect(),
            with_links: crosses_a_link(plan),
            host: None,
            running: None,
            loader: None,
            watched: None,
            counted: None,
            problems: Vec::new(),
        })
    }

    fn observe(&mut self, moment: Moment) {
        match moment {
            Moment::Connected { .. } => {}
            Moment::MeasureBegins => {
                self.host = Some(HostWatch::start(self.with_links));
                let ours = self.note(Watch::start(std::process::id(), &self.cores));
                let server = self.server.clone().and_then(|(pid, cores)| self.note(Watch::start(pid, &cores)));
                self.running = ours.map(|ours| (ours, server));
            }
            Moment::MeasureEnds => {
                if let Some((ours, server)) = self.running.take() {
                    self.watched = server.and_then(|watch| self.note(watch.stop()));
                    self.loader = self.note(ours.stop()).map(LoaderBlock::from);
                }
                self.counted = self.host.take().map(HostWatch::stop);
            }
        }
    }

    fn note<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(error.to_string())).ok()
    }

    /// Puts the samples into the run: cores, memory and switches from outside, the threads' CPU time and the ring's counts from within.
    fn fill(self, run: &mut Run) {
        if let Some(mut outside) = self.loader {
            // A thread that has sent all of -n is gone before it is looked at from outside; from within its time is known.
            for busy in &mut outside.core_busy {
                let rows = run.cores.iter().filter(|row| row.core == Some(busy.core));
                let within_ns = rows.filter_map(|row| row.cpu_ns).fold(0, u64::saturating_add);
                busy.own_ns = busy.own_ns.map(|own_ns| own_ns.max(within_ns));
                busy.ran_at_least(within_ns);
            }
            for row in &mut run.cores {
                let busy = outside.core_busy.iter().find(|busy| Some(busy.core) == row.core);
                row.cpu_busy = busy.and_then(results::CoreBusy::share);
            }
            run.loader.core_busy = outside.core_busy;
            run.loader.rss_peak_bytes = outside.rss_peak_bytes;
            run.loader.context_switches = outside.context_switches;
            run.loader.throttling = outside.throttling;
        }
        if self.server.is_some() && self.watched.is_none() {
            run.validity.push(Validity::note(ValidityCode::ServerNotWatched, self.problems.join("; ")));
        }
        run.server = self.watched;
        run.host = self.counted;
    }
}
