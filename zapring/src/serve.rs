//! `zapring serve`.

use std::io::{self, Write};

use codec::json::Library;
use engine::Limits;
use harness::CoreList;
use results::ExitCode;
use server::{Listen, ServerOptions, StartOptions};

use crate::{
    engine_args::EngineArgs,
    failure::Failure,
    handicap_args::HandicapArgs,
    signals,
    value::{self, Cpus},
};

/// Bytes a server takes before its first connection: code, stacks, rings and counters.
const BASE_BYTES: usize = 24 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen; repeatable. zap://HOST:PORT, http://HOST:PORT, floor://HOST:PORT, zap+unix:/PATH, http+unix:/PATH,
    /// floor+unix:/PATH; a bare :PORT or HOST:PORT is zap. Without it: zap://127.0.0.1:9653 and http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    listen: Vec<Listen>,
    /// Cores to serve on, one shard each, as in 0-3,8; without it all that this process may use
    #[arg(long, value_name = "LIST")]
    cores: Option<CoreList>,
    #[command(flatten)]
    engine: EngineArgs,
    /// For each shard the CPU whose arriving connections it shall get, in the order of --cores, as in 2-3; TCP only
    #[arg(long, value_parser = value::cpus, value_name = "LIST")]
    incoming_cpus: Option<Cpus>,
    /// Largest ZAP frame; at most 64MiB
    #[arg(long, value_parser = value::size_bytes, default_value = "64MiB", value_name = "SIZE")]
    max_frame: usize,
    /// Connections open at once over all shards; more are closed as they come, and counted
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Memory of the whole server; the connection that would take it further is closed, and counted
    #[arg(long, value_parser = value::size_bytes, default_value = "1GiB", value_name = "SIZE")]
    max_memory: usize,
    /// How long a connection may stay open without a request
    #[arg(long, value_parser = value::time_ns, default_value = "60s", value_name = "TIME")]
    idle_timeout: u64,
    /// Count allocations and live bytes: shown by /stats, and once more at the end
    #[arg(long)]
    debug_alloc: bool,
    #[command(flatten)]
    handicap: HandicapArgs,
    /// Who reads and writes the JSON of POST /rpc on http: serde, sonic or simd (serde_json, sonic-rs, simd-json)
    #[arg(long, default_value = "serde", value_name = "LIBRARY")]
    json: Library,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
    /// End when the process with this id, our parent, ends
    #[arg(long, hide = true, value_name = "PID")]
    die_with_parent: Option<u32>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(parent) = args.die_with_parent {
        harness::die_with_parent(parent)?;
    }
    if args.debug_alloc {
        counting::count_the_process();
    }
    let mut running = server::start(options(args)?)?;
    let system = |what| move |source| Failure::System { what, source };
    let stopper = running.stopper().map_err(system("making a handle to stop the server with"))?;
    signals::on_first(move || stopper.stop()).map_err(system("installing signal handlers"))?;
    announce(args, &running).map_err(system("writing to standard output"))?;
    running.wait_any();
    let ended = running.join();
    if let Some(figures) = counting::of_the_process().filter(|_| !args.quiet) {
        let mib = figures.live_bytes as f64 / f64::from(1 << 20);
        println!("{} allocations, {mib:.1} MiB still held after the end", figures.allocations);
    }
    match ended {
        Ok(()) => Ok(ExitCode::Ok),
        Err(errors) => Err(Failure::Shards {
            shards: errors.len(),
            errors: errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        }),
    }
}

fn options(args: &Args) -> Result<StartOptions, Failure> {
    let cores = match &args.cores {
        Some(list) => value::usable(list)?,
        None => value::all_usable()?,
    };
    let shards = cores.len();
    let room = args.max_memory.checked_sub(BASE_BYTES).map(|room| room / shards).filter(|room| *room >= 1 << 20);
    let Some(max_memory_bytes) = room else {
        let least = (BASE_BYTES >> 20) + shards;
        return Err(Failure::Usage(format!(
            "--max-memory {} bytes is too little for {shards} shards: give at least {least}MiB",
            args.max_memory
        )));
    };
    let incoming_cpus = args.incoming_cpus.clone().map_or_else(Vec::new, |cpus| cpus.0);
    if !incoming_cpus.is_empty() && incoming_cpus.len() != shards {
        let given = incoming_cpus.len();
        return Err(Failure::Usage(format!(
            "--incoming-cpus names {given} CPUs for {shards} shards: give one for each shard, in the order of --cores"
        )));
    }
    let max_connections = (args.max_connections as usize).div_ceil(shards);
    Ok(StartOptions {
        server: ServerOptions {
            max_frame_bytes: args.max_frame,
            max_body_bytes: args.max_frame,
            json: args.json,
            idle_timeout_ns: args.idle_timeout,
            handicap: args.handicap.handicap(),
            ..ServerOptions::default()
        },
        listen: if args.listen.is_empty() { Listen::defaults() } else { args.listen.clone() },
        engine: args.engine.engine,
        engine_options: args.engine.options(args.engine.engine)?,
        cores,
        incoming_cpus,
        limits: Limits { max_connections, max_memory_bytes, ..Limits::default() },
    })
}

/// Says where it listens and on what, then that it is ready. Other programs read the lines `listening …` and `ready`.
fn announce(args: &Args, running: &server::Running) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for url in running.urls() {
        writeln!(out, "listening {url}")?;
    }
    if !args.quiet {
        for (shard, granted) in running.granted().iter().enumerate() {
            let core = granted.core.map_or("not pinned".to_owned(), |core| format!("core {core}"));
            let setup = granted.setup.map_or(String::new(), |setup| format!(", ring flags {setup}"));
            let features = match granted.features.names() {
                names if names.is_empty() => String::new(),
                _ => format!(", features {}", granted.features),
            };
            writeln!(out, "shard {shard}: {core}, {}{setup}{features}", granted.engine)?;
        }
    }
    writeln!(out, "ready")?;
    out.flush()
}
