//! Reports of a run with several requests, byte for byte, and that older readers and files are served.

mod common;

use results::{
    AddressUse, CategoryRow, Document, RequestRow, Requests, Run, SkippedRequest,
    report::{self, Detail, NamedDocument},
};

/// Three requests of a scenario, one of which failed at times, and one that was left out.
fn mixed_run() -> Run {
    let mut run = common::good_run("http", 64, 30_000, 211_000);
    let latency = |ok, typical_ns| common::good_run("http", 64, ok, typical_ns).latency;
    let row = |name: &str, category: Option<&str>, weight, requests: Requests, typical_ns| RequestRow {
        name: name.to_owned(),
        category: category.map(str::to_owned),
        weight,
        method: "GET".to_owned(),
        target: format!("/{name}"),
        request_bytes: 60,
        expect: "200-299".to_owned(),
        requests,
        status_codes: [(200, requests.ok), (404, requests.bad_status)].into_iter().filter(|(_, n)| *n > 0).collect(),
        body_received_bytes: 2 * requests.ok,
        latency: latency(requests.ok, typical_ns),
    };
    let sent = |ok, bad_status| Requests {
        planned: ok + bad_status,
        sent: ok + bad_status,
        ok,
        bad_status,
        ..Requests::default()
    };
    run.config.method = String::new();
    run.config.scenario_file = Some("shop.toml".to_owned());
    (run.config.sources, run.config.source_addresses) = (vec!["10.0.0.0/29".to_owned()], 6);
    run.addresses = vec![
        AddressUse { address: "192.0.2.1:80".to_owned(), connections: 32 },
        AddressUse { address: "[2001:db8::1]:80".to_owned(), connections: 32 },
    ];
    run.requests = sent(29_990, 10);
    run.named_requests = vec![
        row("list | all", Some("read"), 4, sent(20_000, 0), 180_000),
        row("item", Some("read"), 1, sent(4_990, 10), 220_000),
        row("order\u{1b}", None, 1, sent(5_000, 0), 900_000),
    ];
    run.categories = vec![CategoryRow {
        category: "read".to_owned(),
        requests: sent(24_990, 10),
        status_codes: [(200, 24_990), (404, 10)].into(),
        body_received_bytes: 49_980,
        latency: latency(24_990, 190_000),
    }];
    run.skipped_requests = vec![SkippedRequest {
        name: "admin".to_owned(),
        category: Some("write".to_owned()),
        requires_env: "ADMIN_TOKEN".to_owned(),
    }];
    run.conclude();
    run
}

fn documents() -> [NamedDocument; 1] {
    [NamedDocument { name: "mixed.json".to_owned(), document: Document::Run(Box::new(mixed_run())) }]
}

#[test]
fn load_text_of_named_requests() {
    insta::assert_snapshot!(report::load::text(&mixed_run(), Detail::Usual));
}

#[test]
fn markdown_of_named_requests() {
    insta::assert_snapshot!(report::markdown::text(&documents()));
}

/// Tables with a row each, what was left out, and nothing of a name left as markup.
#[test]
fn html_of_named_requests() {
    let mut run = mixed_run();
    run.named_requests[2].name = "order <script>alert(1)</script>\u{1b}".to_owned();
    let [mut named] = documents();
    named.document = run.into();
    let page = report::html::text(&[named]);
    for part in
        ["By request", "By category of requests", "left out: admin (write): the environment variable ADMIN_TOKEN"]
    {
        assert_eq!(page.matches(part).count(), 1, "{part}");
    }
    assert!(page.contains("order &lt;script&gt;") && !page.contains("<script") && !page.contains('\u{1b}'));
    insta::assert_snapshot!(page);
}

#[test]
fn csv_of_named_requests() {
    insta::assert_snapshot!(report::csv::text(&documents()));
}

#[test]
fn what_was_written_is_read_back_and_what_is_missing_is_empty() {
    let run = mixed_run();
    let mut value = serde_json::to_value(&run).expect("plain data");
    let read =
        |value: &serde_json::Value| Run::parse(&serde_json::to_vec(value).expect("JSON"), "run.json").expect("read");
    assert_eq!(read(&value), run);
    let fields = value.as_object_mut().expect("an object");
    for key in ["addresses", "named_requests", "categories", "skipped_requests"] {
        fields.remove(key).expect(key);
    }
    let config = fields["config"].as_object_mut().expect("an object");
    for key in ["sources", "source_addresses", "family", "request_files", "scenario_file"] {
        config.remove(key).expect(key);
    }
    let older = read(&value);
    assert!(older.addresses.is_empty() && older.named_requests.is_empty() && older.config.sources.is_empty());
}

#[test]
fn runs_of_other_requests_do_not_compare() {
    let (run, mut other) = (mixed_run(), mixed_run());
    other.named_requests[0].weight = 5;
    other.config.sources.clear();
    let differing = results::likeness::differences(&[&run], &[&other]);
    assert_eq!(differing.iter().map(|one| one.key).collect::<Vec<_>>(), ["sources", "named_requests"]);
}
