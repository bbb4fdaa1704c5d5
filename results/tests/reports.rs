//! The printed reports, byte for byte, from fixed runs.

mod common;

use results::report::{Detail, bench, load, sweep};

#[test]
fn load_text() {
    insta::assert_snapshot!(load::text(&common::good_run("zap", 64, 893_711, 211_000), Detail::Usual));
}

#[test]
fn load_text_with_full_latency() {
    insta::assert_snapshot!(load::text(&common::good_run("http", 8, 20_000, 81_000), Detail::Full));
}

#[test]
fn load_text_of_a_bad_run() {
    insta::assert_snapshot!(load::text(&common::bad_run(), Detail::Usual));
}

#[test]
fn load_text_on_floor() {
    insta::assert_snapshot!(load::text(&common::floor_run(), Detail::Usual));
}

#[test]
fn load_text_of_nothing() {
    insta::assert_snapshot!(load::text(&results::Run::default(), Detail::Full));
}

#[test]
fn bench_text() {
    insta::assert_snapshot!(bench::text(&common::bench()));
}

#[test]
fn bench_text_of_nothing() {
    insta::assert_snapshot!(bench::text(&results::Bench::default()));
}

#[test]
fn bench_text_in_paired_placement() {
    insta::assert_snapshot!(bench::text(&common::paired_bench()));
}

#[test]
fn sweep_text() {
    insta::assert_snapshot!(sweep::text(&common::sweep()));
}

#[test]
fn sweep_text_of_nothing() {
    insta::assert_snapshot!(sweep::text(&results::Sweep::default()));
}
