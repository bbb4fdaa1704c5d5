//! Tables of a run's named requests and their categories, for text and Markdown alike.

use crate::latency::Distribution;
use crate::rates::Rates;
use crate::report::escape::visible;
use crate::report::number::{Unit, significant};
use crate::requests::Requests;
use crate::run::Run;

/// A table: its heading, its rows, and how many columns at their left hold words.
pub(crate) struct Columns {
    pub(crate) heading: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) left: usize,
}

/// What both tables say of their rows.
struct Figures<'a> {
    requests: &'a Requests,
    latency: &'a Distribution,
    status_codes: &'a std::collections::BTreeMap<u16, u64>,
}

/// A row for each request where there are several.
pub(crate) fn requests(run: &Run) -> Option<Columns> {
    let named = &run.named_requests;
    if named.len() < 2 {
        return None;
    }
    let with_category = named.iter().any(|row| row.category.is_some());
    let mut heading = vec!["request"];
    heading.extend(with_category.then_some("category"));
    heading.extend(["method", "weight"]);
    let words = named.iter().map(|row| {
        let mut words = vec![visible(&row.name)];
        words.extend(with_category.then(|| row.category.as_deref().map_or_else(|| "-".to_owned(), visible)));
        words.extend([visible(&row.method), row.weight.to_string()]);
        words
    });
    let figures = named.iter().map(|row| Figures {
        requests: &row.requests,
        latency: &row.latency,
        status_codes: &row.status_codes,
    });
    Some(columns(run, &heading, words.collect(), &figures.collect::<Vec<_>>()))
}

/// A row for each category.
pub(crate) fn categories(run: &Run) -> Option<Columns> {
    if run.categories.is_empty() {
        return None;
    }
    let words = run.categories.iter().map(|row| vec![visible(&row.category)]).collect();
    let figures = run.categories.iter().map(|row| Figures {
        requests: &row.requests,
        latency: &row.latency,
        status_codes: &row.status_codes,
    });
    Some(columns(run, &["category"], words, &figures.collect::<Vec<_>>()))
}

/// What was left out, a sentence each.
pub(crate) fn skipped(run: &Run) -> Vec<String> {
    let sentence = |skipped: &crate::request_row::SkippedRequest| {
        let category =
            skipped.category.as_deref().map_or_else(String::new, |category| format!(" ({})", visible(category)));
        format!(
            "left out: {}{category}: the environment variable {} is not set",
            visible(&skipped.name),
            visible(&skipped.requires_env)
        )
    };
    run.skipped_requests.iter().map(sentence).collect()
}

fn columns(run: &Run, words: &[&str], rows: Vec<Vec<String>>, figures: &[Figures<'_>]) -> Columns {
    type Time = fn(&Distribution) -> Option<u64>;
    let times: [(&str, Time); 3] =
        [("p50", |latency| latency.p50_ns), ("p99", |latency| latency.p99_ns), ("max", |latency| latency.max_ns)];
    let units = times.map(|(_, time)| Unit::of_times(figures.iter().map(|one| time(one.latency))));
    let rates: Vec<Option<f64>> = figures.iter().map(|one| Rates::of(one.requests, run.elapsed_ns).ok_per_s).collect();
    let rate = Unit::of_counts(rates.iter().copied());
    let mut heading: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let left = heading.iter().take_while(|word| *word != "weight").count();
    heading.extend(["sent", "share %", "ok", "failed"].map(str::to_owned));
    heading.push(if rate.name.is_empty() { "req/s".to_owned() } else { format!("req/s ({})", rate.name) });
    heading.extend(times.iter().zip(units).map(|((name, _), unit)| format!("{name} {}", unit.name)));
    heading.push("status codes".to_owned());
    let all: u64 = run.named_requests.iter().fold(0, |sum, row| sum.saturating_add(row.requests.sent));
    let fill = |((mut cells, one), per_s): ((Vec<String>, &Figures<'_>), &Option<f64>)| {
        let Requests { sent, ok, .. } = *one.requests;
        let share = if all == 0 { "-".to_owned() } else { significant(sent as f64 * 100.0 / all as f64) };
        cells.extend([sent.to_string(), share, ok.to_string(), one.requests.failed().to_string(), rate.show(*per_s)]);
        cells.extend(times.iter().zip(units).map(|((_, time), unit)| unit.show_ns(time(one.latency))));
        let codes: Vec<String> = one.status_codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        cells.push(if codes.is_empty() { "-".to_owned() } else { codes.join(", ") });
        cells
    };
    Columns { heading, rows: rows.into_iter().zip(figures).zip(&rates).map(fill).collect(), left }
}
