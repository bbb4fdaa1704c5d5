//! One line per run, and one per named request of it, with one heading: for spreadsheets and scripts. Units are in the names, times are whole nanoseconds, and what is
//! not known is empty.

use crate::latency::Distribution;
use crate::report::escape;
use crate::report::rows::{Kind, NamedDocument, Row};
use crate::request_row::RequestRow;
use crate::requests::Outcome;
use crate::run::Run;
use crate::usage::ServerBlock;
use crate::validity::Validity;
use crate::versus::{Contender, Point};

type Cell = fn(&Row<'_>) -> String;

/// The columns in order. New ones are added at the end of their group; a script should go by name.
const COLUMNS: [(&str, Cell); 71] = [
    ("file", |row| escape::csv(row.file)),
    ("schema", |row| {
        match row.kind {
            Kind::Run(_) => "zapring.run",
            Kind::Point { .. } => "zapring.sweep",
            Kind::Contender { .. } => "zapring.versus",
        }
        .to_owned()
    }),
    ("run_id", |row| escape::csv(id(row))),
    ("started_at", |row| match row.kind {
        Kind::Run(run) => escape::csv(&run.started_at),
        Kind::Point { sweep, .. } => escape::csv(&sweep.started_at),
        Kind::Contender { versus, .. } => escape::csv(&versus.started_at),
    }),
    ("setting", |row| escape::csv(&setting(row))),
    ("round", |row| match row.kind {
        Kind::Run(_) => String::new(),
        Kind::Point { point, .. } => point.round.to_string(),
        Kind::Contender { point, .. } => point.round.to_string(),
    }),
    ("request", |_| String::new()),
    ("category", |_| String::new()),
    ("side", |row| contender(row, |(is_server, _, _)| if is_server { "server" } else { "loader" }.to_owned())),
    ("contender", |row| contender(row, |(_, of, _)| escape::csv(&of.name))),
    ("wire", |row| escape::csv(row.wire())),
    ("url", |row| of_run(row, |run| escape::csv(&run.config.url))),
    ("method", |row| of_run(row, |run| escape::csv(&run.config.method))),
    ("mode", |row| of_run(row, |run| mode(run).to_owned())),
    ("placement", |row| row.placement().word().to_owned()),
    ("loader_engine", |row| match row.kind {
        Kind::Run(run) => escape::csv(&run.config.engine.name),
        Kind::Point { sweep, .. } => escape::csv(&sweep.loader_engine),
        Kind::Contender { .. } => String::new(),
    }),
    ("connections", |row| row.connections().to_string()),
    ("threads", |row| of_run(row, |run| run.config.threads.to_string())),
    ("pipeline", |row| of_run(row, |run| run.config.pipeline.to_string())),
    ("asked_per_s", |row| {
        maybe(match row.kind {
            Kind::Run(run) => run.config.rate_per_s,
            Kind::Contender { versus, is_server: true, .. } => versus.rate_per_s,
            _ => None,
        })
    }),
    ("elapsed_ns", |row| of_run(row, |run| run.elapsed_ns.to_string())),
    ("planned", |row| of_run(row, |run| run.requests.planned.to_string())),
    ("sent", |row| of_run(row, |run| run.requests.sent.to_string())),
    ("ok", |row| row.point().ok.to_string()),
    ("failed", |row| row.point().failed.to_string()),
    ("bad_status", |row| outcome(row, Outcome::BadStatus)),
    ("bad_body", |row| outcome(row, Outcome::BadBody)),
    ("connect", |row| outcome(row, Outcome::Connect)),
    ("reset", |row| outcome(row, Outcome::Reset)),
    ("timeout", |row| outcome(row, Outcome::Timeout)),
    ("protocol", |row| outcome(row, Outcome::Protocol)),
    ("unfinished", |row| outcome(row, Outcome::Unfinished)),
    ("not_sent", |row| outcome(row, Outcome::NotSent)),
    ("planned_per_s", |row| maybe(run(row).and_then(|run| run.rates.planned_per_s))),
    ("sent_per_s", |row| maybe(run(row).and_then(|run| run.rates.sent_per_s))),
    ("done_per_s", |row| maybe(run(row).and_then(|run| run.rates.done_per_s))),
    ("ok_per_s", |row| maybe(row.point().ok_per_s)),
    ("sent_bytes", |row| of_run(row, |run| run.bytes.sent.to_string())),
    ("received_bytes", |row| of_run(row, |run| run.bytes.received.to_string())),
    ("body_received_bytes", |row| of_run(row, |run| run.bytes.body_received.to_string())),
    ("reply_bytes", |row| contender(row, |(_, of, _)| maybe(of.reply_bytes))),
    ("counted", |row| contender(row, |(_, _, point)| maybe(point.counted))),
    ("latency_min_ns", |row| latency(row, |latency| latency.min_ns)),
    ("latency_mean_ns", |row| latency(row, |latency| latency.mean_ns)),
    ("latency_stddev_ns", |row| latency(row, |latency| latency.stddev_ns)),
    ("latency_p50_ns", |row| maybe(row.point().p50_ns)),
    ("latency_p90_ns", |row| latency(row, |latency| latency.p90_ns)),
    ("latency_p95_ns", |row| latency(row, |latency| latency.p95_ns)),
    ("latency_p99_ns", |row| maybe(row.point().p99_ns)),
    ("latency_p99_9_ns", |row| latency(row, |latency| latency.p99_9_ns)),
    ("latency_p99_99_ns", |row| latency(row, |latency| latency.p99_99_ns)),
    ("latency_max_ns", |row| latency(row, |latency| latency.max_ns)),
    ("service_time_p50_ns", |row| part(row, |run| run.service_time.as_ref(), |part| part.p50_ns)),
    ("service_time_p99_ns", |row| part(row, |run| run.service_time.as_ref(), |part| part.p99_ns)),
    ("conn_wait_p99_ns", |row| part(row, |run| run.conn_wait.as_ref(), |part| part.p99_ns)),
    ("send_lag_p99_ns", |row| part(row, |run| run.send_lag.as_ref(), |part| part.p99_ns)),
    ("late", |row| maybe(run(row).and_then(|run| run.late))),
    ("reconnects", |row| of_run(row, |run| run.reconnects.to_string())),
    ("server_cpu_ns_per_request", |row| maybe(row.point().server_cpu_ns_per_request)),
    ("server_core_busy_ns_per_request", |row| maybe(row.point().server_core_busy_ns_per_request)),
    ("server_busiest_core_share", |row| share(server(row).and_then(ServerBlock::busiest_core))),
    ("server_rss_end_bytes", |row| match row.kind {
        Kind::Contender { point, .. } => maybe(point.rss_bytes),
        _ => maybe(server(row).map(|server| server.rss_end_bytes)),
    }),
    ("server_rss_peak_bytes", |row| maybe(server(row).map(|server| server.rss_peak_bytes))),
    ("loader_cpu_ns_per_request", |row| maybe(row.point().loader_cpu_ns_per_request)),
    ("loader_core_busy_ns_per_request", |row| maybe(row.point().loader_core_busy_ns_per_request)),
    ("loader_busiest_core_share", |row| share(run(row).and_then(|run| run.loader.busiest_core()))),
    ("loader_rss_peak_bytes", |row| maybe(run(row).and_then(|run| run.loader.rss_peak_bytes))),
    ("limit", |row| match row.kind {
        Kind::Contender { point, .. } => point.limit.as_deref().map_or_else(String::new, escape::csv),
        _ => of_run(row, |run| run.judged().word.word().to_owned()),
    }),
    ("interrupted", |row| match row.kind {
        Kind::Run(run) => run.interrupted.to_string(),
        Kind::Point { sweep, .. } => sweep.interrupted.to_string(),
        Kind::Contender { versus, .. } => versus.interrupted.to_string(),
    }),
    ("doubts", |row| match row.kind {
        Kind::Run(run) => doubts(&run.validity),
        Kind::Point { sweep, .. } => doubts(&sweep.validity),
        Kind::Contender { versus, .. } => doubts(&versus.validity),
    }),
    ("error_sample", |row| of_run(row, |run| escape::csv(&error_sample(run)))),
];

/// Columns that are known of each of several requests by itself; `request` and `category` are, besides.
const OF_REQUESTS: [&str; 37] = [
    "file",
    "schema",
    "run_id",
    "started_at",
    "wire",
    "url",
    "method",
    "mode",
    "placement",
    "loader_engine",
    "connections",
    "threads",
    "pipeline",
    "elapsed_ns",
    "sent",
    "ok",
    "failed",
    "bad_status",
    "bad_body",
    "reset",
    "timeout",
    "protocol",
    "unfinished",
    "sent_per_s",
    "done_per_s",
    "ok_per_s",
    "body_received_bytes",
    "latency_min_ns",
    "latency_mean_ns",
    "latency_stddev_ns",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p95_ns",
    "latency_p99_ns",
    "latency_p99_9_ns",
    "latency_p99_99_ns",
    "latency_max_ns",
];

/// The runs of all documents, in the order given, below one heading, each followed by a line for each of its named requests. Lines end
/// in a newline.
#[must_use]
pub fn text(documents: &[NamedDocument]) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",");
    out.push('\n');
    for row in documents.iter().flat_map(NamedDocument::rows) {
        out.push_str(&COLUMNS.map(|(_, cell)| cell(&row)).join(","));
        out.push('\n');
        for (run, request) in row.run().into_iter().flat_map(|run| run.named_requests.iter().map(move |of| (run, of))) {
            out.push_str(&request_line(row.file, run, request));
            out.push('\n');
        }
    }
    out
}

/// The line of one of a run's named requests.
fn request_line(file: &str, run: &Run, request: &RequestRow) -> String {
    let alone = request.as_run(run);
    let row = Row { file, kind: Kind::Run(&alone) };
    COLUMNS
        .map(|(name, cell)| match name {
            "request" => escape::csv(&request.name),
            "category" => request.category.as_deref().map_or_else(String::new, escape::csv),
            _ if OF_REQUESTS.contains(&name) => cell(&row),
            _ => String::new(),
        })
        .join(",")
}

fn run<'a>(row: &Row<'a>) -> Option<&'a Run> {
    row.run()
}

fn server<'a>(row: &Row<'a>) -> Option<&'a ServerBlock> {
    row.run()?.server.as_ref()
}

fn id<'a>(row: &Row<'a>) -> &'a str {
    match row.kind {
        Kind::Run(run) => &run.run_id,
        Kind::Point { sweep, .. } => &sweep.run_id,
        Kind::Contender { versus, .. } => &versus.run_id,
    }
}

/// Of a row of a comparison: whether it is a server's, whose, and the run.
fn contender(row: &Row<'_>, cell: impl FnOnce((bool, &Contender, &Point)) -> String) -> String {
    match row.kind {
        Kind::Contender { is_server, contender, point, .. } => cell((is_server, contender, point)),
        _ => String::new(),
    }
}

fn of_run(row: &Row<'_>, cell: impl FnOnce(&Run) -> String) -> String {
    row.run().map(cell).unwrap_or_default()
}

fn maybe(figure: Option<impl ToString>) -> String {
    figure.map_or_else(String::new, |figure| figure.to_string())
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{share:.4}"))
}

fn latency(row: &Row<'_>, figure: fn(&Distribution) -> Option<u64>) -> String {
    maybe(row.run().and_then(|run| figure(&run.latency)))
}

fn part(row: &Row<'_>, of: fn(&Run) -> Option<&Distribution>, figure: fn(&Distribution) -> Option<u64>) -> String {
    maybe(row.run().and_then(of).and_then(figure))
}

fn outcome(row: &Row<'_>, outcome: Outcome) -> String {
    of_run(row, |run| run.requests.count(outcome).to_string())
}

const fn mode(run: &Run) -> &'static str {
    match run.mode {
        crate::config::Mode::ClosedLoop => "closed_loop",
        crate::config::Mode::OpenLoop => "open_loop",
    }
}

fn setting(row: &Row<'_>) -> String {
    if let Kind::Contender { contender, .. } = row.kind {
        let word = if contender.again { "base again" } else { "base" };
        return if contender.base || contender.again { word.to_owned() } else { String::new() };
    }
    let Kind::Point { sweep, setting, .. } = row.kind else { return String::new() };
    let Some(setting) = sweep.settings.get(setting) else { return String::new() };
    match &setting.change {
        Some(change) => format!("{}={}", change.factor, change.value),
        None if setting.again => "base again".to_owned(),
        None => "base".to_owned(),
    }
}

/// Keys of the doubts, the fatal ones with a mark. Those of a sweep or a comparison are of the whole, and stand in each of its lines.
fn doubts(validity: &[Validity]) -> String {
    let mut keys: Vec<String> = Vec::new();
    for doubt in validity {
        let mark = if doubt.fatal { "!" } else { "" };
        let key = format!("{}{mark}", doubt.code.key());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.join(" ")
}

/// The first message of the first kind of failure.
fn error_sample(run: &Run) -> String {
    run.error_samples.iter().next().map_or_else(String::new, |(outcome, sample)| format!("{outcome}: {sample}"))
}
