//! The pair of typed records beside its JSON twins: decode, encode, round trip and handler, a call and its answer each.
//!
//! Run with `cargo bench -p codec --bench rpc`; `cargo test` runs each once and checks what it reads. Allocations are printed once per
//! operation. `zapring codec` measures the same interleaved, on one pinned core.
#![allow(missing_docs)] // criterion's macros define public functions without any

use std::hint::black_box;

use codec::json::{Library, Reader, SAMPLE_CALL};
use codec::rpc::{self, SAMPLE_REQUEST};
use codec::zap::record::{Request, Response};
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Times `once`, which must give `want`, and prints how often it allocates.
fn op(group: &mut BenchmarkGroup<'_, WallTime>, codec: &str, want: u64, mut once: impl FnMut() -> u64) {
    for _ in 0..16 {
        assert_eq!(once(), want, "{codec} reads what was not written");
    }
    let before = counting::of_this_thread();
    for _ in 0..1000 {
        black_box(once());
    }
    let allocations = counting::of_this_thread() - before;
    println!("{codec}: {allocations} allocations in 1000 operations");
    assert!(codec != "zap" || allocations == 0);
    group.bench_function(codec, |bencher| bencher.iter(&mut once));
}

/// The balance that a call gets, as the record and as the twin have it.
fn balances() -> [u64; 2] {
    [rpc::answer(&SAMPLE_REQUEST).balance, SAMPLE_CALL.answer().balance]
}

fn read_record(answer: &[u8]) -> u64 {
    let read = Response::decode(answer).expect("the bench wrote it");
    read.id ^ read.balance ^ read.nonce ^ read.block_hash.len() as u64
}

fn read_twin(reader: &mut Reader, answer: &[u8]) -> u64 {
    let read = reader.reply(answer).expect("the bench wrote it");
    read.id ^ read.balance ^ read.nonce ^ read.block_hash.len() as u64
}

/// What [`read_record`] and [`read_twin`] must give.
fn sums() -> [u64; 2] {
    let [record, twin] = balances();
    [1 ^ record ^ rpc::NONCE ^ 32, 1 ^ twin ^ rpc::NONCE ^ 66]
}

fn zap_bytes() -> (Vec<u8>, Vec<u8>) {
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    SAMPLE_REQUEST.encode(&mut call).expect("82 bytes");
    rpc::answer(&SAMPLE_REQUEST).encode(&mut answer).expect("80 bytes");
    (call, answer)
}

fn twin_bytes(library: Library) -> (Vec<u8>, Vec<u8>) {
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    SAMPLE_CALL.encode(library, &mut call);
    SAMPLE_CALL.answer().encode(library, &mut answer);
    (call, answer)
}

fn decode(criterion: &mut Criterion) {
    let ([record, twin], [record_sum, twin_sum]) = (balances(), sums());
    let mut group = criterion.benchmark_group("rpc/decode");
    let (call, answer) = zap_bytes();
    op(&mut group, "zap", record ^ record_sum, || {
        let read = Request::decode(black_box(&call)).expect("the bench wrote it");
        rpc::answer(&read).balance ^ read_record(black_box(&answer))
    });
    for library in Library::ALL {
        let ((call, answer), mut reader) = (twin_bytes(library), Reader::new(library));
        op(&mut group, library.crate_name(), twin ^ twin_sum, || {
            let balance = reader.call(black_box(&call)).expect("the bench wrote it").answer().balance;
            balance ^ read_twin(&mut reader, black_box(&answer))
        });
    }
    group.finish();
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rpc/encode");
    let mut out = Vec::new();
    let answer = rpc::answer(&SAMPLE_REQUEST);
    op(&mut group, "zap", 162, || {
        out.clear();
        black_box(&SAMPLE_REQUEST).encode(&mut out).expect("82 bytes");
        black_box(&answer).encode(&mut out).expect("80 bytes");
        black_box(&out).len() as u64
    });
    let (call, reply) = (SAMPLE_CALL, SAMPLE_CALL.answer());
    for library in Library::ALL {
        op(&mut group, library.crate_name(), 233, || {
            out.clear();
            black_box(&call).encode(library, &mut out);
            black_box(&reply).encode(library, &mut out);
            black_box(&out).len() as u64
        });
    }
    group.finish();
}

fn round_trip(criterion: &mut Criterion) {
    let [record_sum, twin_sum] = sums();
    let mut group = criterion.benchmark_group("rpc/round_trip");
    let (mut there, mut back) = (Vec::new(), Vec::new());
    op(&mut group, "zap", record_sum, || {
        there.clear();
        black_box(&SAMPLE_REQUEST).encode(&mut there).expect("82 bytes");
        back.clear();
        let read = Request::decode(black_box(&there)).expect("the bench wrote it");
        rpc::answer(&read).encode(&mut back).expect("80 bytes");
        read_record(black_box(&back))
    });
    let call = SAMPLE_CALL;
    for library in Library::ALL {
        let mut reader = Reader::new(library);
        op(&mut group, library.crate_name(), twin_sum, || {
            there.clear();
            black_box(&call).encode(library, &mut there);
            back.clear();
            reader.call(black_box(&there)).expect("the bench wrote it").answer().encode(library, &mut back);
            read_twin(&mut reader, black_box(&back))
        });
    }
    group.finish();
}

fn handler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rpc/handler");
    let (call, _) = zap_bytes();
    let mut out = Vec::new();
    op(&mut group, "zap", 80, || {
        out.clear();
        let read = Request::decode(black_box(&call)).expect("the bench wrote it");
        rpc::answer(&read).encode(&mut out).expect("80 bytes");
        black_box(&out).len() as u64
    });
    for library in Library::ALL {
        let ((call, _), mut reader) = (twin_bytes(library), Reader::new(library));
        op(&mut group, library.crate_name(), 130, || {
            out.clear();
            reader.call(black_box(&call)).expect("the bench wrote it").answer().encode(library, &mut out);
            black_box(&out).len() as u64
        });
    }
    group.finish();
}

criterion_group!(benches, decode, encode, round_trip, handler);
criterion_main!(benches);
