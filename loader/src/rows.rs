//! The rows of a run with named requests: one for each, one for each category, and those that were left out.

use std::collections::BTreeMap;

use results::{CategoryRow, Distribution, RequestRow, Run, SkippedRequest};

use crate::{
    measure::Measure,
    mix::{Mix, NamedRequest},
    record::Record,
};

/// Fills the rows of `run`. `records` are those of the requests, over all shards; empty where there is one request only, which then is
/// the whole.
pub(crate) fn fill(run: &mut Run, mix: &Mix, mut records: Vec<Record>, total: &Measure) {
    if records.is_empty() {
        records.push(of_the_whole(total));
    }
    run.named_requests = mix.requests.iter().zip(&records).map(|(named, record)| row(named, record)).collect();
    run.skipped_requests = mix.skipped.iter().map(skipped).collect();
    let mut categories: BTreeMap<&str, Record> = BTreeMap::new();
    for (named, record) in mix.requests.iter().zip(records) {
        if let Some(category) = &named.category {
            categories.entry(category).or_default().merge(record);
        }
    }
    run.categories = categories.into_iter().map(|(category, record)| category_row(category, &record)).collect();
}

fn of_the_whole(total: &Measure) -> Record {
    Record {
        requests: total.measured.requests,
        latency: total.latency.clone(),
        statuses: total.statuses.clone(),
        body_bytes: total.body_bytes,
    }
}

fn row(named: &NamedRequest, record: &Record) -> RequestRow {
    RequestRow {
        name: named.name.clone(),
        category: named.category.clone(),
        weight: named.weight,
        method: named.method.clone(),
        target: named.target.clone(),
        request_bytes: named.bytes.len() as u64,
        expect: named.expect.to_string(),
        requests: record.requests,
        status_codes: record.statuses.counts(),
        body_received_bytes: record.body_bytes,
        latency: Distribution::of(&record.latency),
    }
}

fn category_row(category: &str, record: &Record) -> CategoryRow {
    CategoryRow {
        category: category.to_owned(),
        requests: record.requests,
        status_codes: record.statuses.counts(),
        body_received_bytes: record.body_bytes,
        latency: Distribution::of(&record.latency),
    }
}

fn skipped(skipped: &crate::mix::Skipped) -> SkippedRequest {
    SkippedRequest {
        name: skipped.name.clone(),
        category: skipped.category.clone(),
        requires_env: skipped.variable.clone(),
    }
}
