//! Reports of a comparison of servers and loaders, byte for byte.

mod common;

use results::{
    Document,
    report::{self, NamedDocument},
    versus::Versus,
};

fn documents(versus: Versus) -> [NamedDocument; 1] {
    [NamedDocument { name: "versus.json".to_owned(), document: versus.into() }]
}

#[test]
fn versus_text() {
    insta::assert_snapshot!(report::versus::text(&common::versus()));
}

#[test]
fn markdown_of_a_comparison() {
    insta::assert_snapshot!(report::markdown::text(&documents(common::versus())));
}

/// A line for each run of everybody.
#[test]
fn csv_of_a_comparison() {
    let text = report::csv::text(&documents(common::versus()));
    let cell = |line: &str, name: &str| {
        let column = text.lines().next().and_then(|heading| heading.split(',').position(|other| other == name));
        line.split(',').nth(column.expect(name)).map(str::to_owned).expect(name)
    };
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 5 * (5 + 3 + 3), "all but the one that could not go on, in five rounds");
    let (server, loader) = (lines[0], lines[lines.len() - 1]);
    for (name, of_server, of_loader) in [
        ("schema", "zapring.versus", "zapring.versus"),
        ("side", "server", "loader"),
        ("contender", "ours", "slow"),
        ("setting", "base", ""),
        ("round", "0", "4"),
        ("server_cpu_ns_per_request", "4000", ""),
        ("loader_cpu_ns_per_request", "", "23460"),
        ("placement", "split", "split"),
        ("reply_bytes", "66", ""),
        ("limit", "server-bound", ""),
    ] {
        assert_eq!((cell(server, name).as_str(), cell(loader, name).as_str()), (of_server, of_loader), "{name}");
    }
    insta::assert_snapshot!(text);
}

/// A chart for each side and wire that has somebody beside the base, and the tables.
#[test]
fn html_of_a_comparison() {
    let page = report::html::text(&documents(common::versus()));
    for title in [
        "Server CPU time per request over that of ours: http</h2>",
        "Server CPU time per request over that of ours-zap: zap</h2>",
        "Loader CPU time per request over that of ours: http</h2>",
        "<h2>servers, driven by zapring&#39;s loader</h2>",
        "<h2>loaders, driving the first server of their wire</h2>",
        "<li>absent loader gone (no gone in PATH): apt-get install gone</li>",
        "<li>broken was not run any more: its answer to /health was not right",
    ] {
        assert_eq!(page.matches(title).count(), 1, "{title}");
    }
    assert!(page.contains("cheaper &lt;b&gt;") && !page.contains("cheaper <b>"), "{page}");
    insta::assert_snapshot!(page);
}

/// A comparison of one round has no ratios, so it has no chart.
#[test]
fn without_ratios_there_is_no_chart() {
    let mut versus = common::versus();
    for one in versus.servers.iter_mut().chain(&mut versus.loaders) {
        one.points.truncate(1);
    }
    versus.conclude();
    let page = report::html::text(&documents(versus));
    assert!(!page.contains("<svg") && page.contains("servers, driven by"), "{page}");
}

/// The largest and smallest numbers that a file can hold.
#[test]
fn extreme_figures_never_panic() {
    for ns in [0, 1, u64::MAX] {
        for all in [false, true] {
            let mut versus = common::versus();
            for one in versus.servers.iter_mut().chain(&mut versus.loaders) {
                for point in one.points.iter_mut().filter(|point| all || point.round == 1) {
                    (point.ok, point.failed, point.counted) = (ns, ns, Some(ns));
                    (point.cpu_ns_per_request, point.core_busy_ns_per_request) = (Some(ns), Some(ns));
                    (point.p50_ns, point.p99_ns, point.ok_per_s) = (Some(ns), Some(ns), Some(ns as f64));
                }
            }
            versus.conclude();
            let documents = documents(versus);
            let page = report::html::text(&documents);
            assert!(!page.contains("NaN") && !page.contains(">inf"), "{page}");
            let _ = (report::csv::text(&documents), report::markdown::text(&documents));
            assert!(matches!(&documents[0].document, Document::Versus(_)));
        }
    }
}
