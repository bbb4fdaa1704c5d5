//! The pair of typed records against its JSON twins: what the rpc scenario costs without any wire around it.
//!
//! Owns the fairness of it. Both sides read all four fields of a call and all four of an answer, each into the sum; both write into
//! buffers that are kept; both compute the same answer from what they read; hex stays text.

use std::hint::black_box;

use codec::json::{Call, Library, Reader, Reply, SAMPLE_CALL};
use codec::rpc;
use codec::zap::record::{Request, Response};

use crate::case::{Case, Name, fold};

const MESSAGE: &str = "rpc";

/// The sum of an answer's fields.
#[inline(always)]
fn sum(id: u64, balance: u64, nonce: u64, hash: &[u8]) -> u64 {
    id ^ balance ^ nonce.rotate_left(8) ^ fold(hash)
}

#[inline(always)]
fn sum_record(answer: &Response<'_>) -> u64 {
    sum(answer.id, answer.balance, answer.nonce, answer.block_hash)
}

#[inline(always)]
fn sum_twin(reply: &Reply<'_>) -> u64 {
    sum(reply.id, reply.balance, reply.nonce, reply.block_hash.as_bytes())
}

/// Decode, encode, round trip and handler by every codec.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = zap();
    for library in Library::ALL {
        all.extend(json(library));
    }
    all
}

fn name(operation: &'static str, codec: &'static str) -> Name {
    Name { message: MESSAGE.to_owned(), operation, codec }
}

fn zap() -> Vec<Case> {
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    rpc::SAMPLE_REQUEST.encode(&mut call).expect("82 bytes");
    rpc::answer(&rpc::SAMPLE_REQUEST).encode(&mut answer).expect("80 bytes");
    let both = call.len() + answer.len();
    let balance = rpc::answer(&rpc::SAMPLE_REQUEST).balance;
    let answer_sum = sum_record(&rpc::answer(&rpc::SAMPLE_REQUEST));
    vec![
        Case::new(name("decode", "zap"), both, balance.wrapping_add(answer_sum), {
            let (call, answer) = (call.clone(), answer.clone());
            move || {
                let read = Request::decode(black_box(&call)).expect("our own record");
                let balance = rpc::answer(&read).balance;
                balance.wrapping_add(sum_record(&Response::decode(black_box(&answer)).expect("our own record")))
            }
        }),
        Case::new(name("encode", "zap"), both, both as u64, {
            let (mut out_call, mut out_answer) = (call.clone(), answer.clone());
            let reply = rpc::answer(&rpc::SAMPLE_REQUEST);
            move || {
                out_call.clear();
                black_box(&rpc::SAMPLE_REQUEST).encode(&mut out_call).expect("82 bytes");
                out_answer.clear();
                black_box(&reply).encode(&mut out_answer).expect("80 bytes");
                (black_box(&out_call).len() + black_box(&out_answer).len()) as u64
            }
        }),
        Case::new(name("round trip", "zap"), 2 * both, answer_sum, {
            let (mut out_call, mut out_answer) = (call.clone(), answer.clone());
            move || {
                out_call.clear();
                black_box(&rpc::SAMPLE_REQUEST).encode(&mut out_call).expect("82 bytes");
                let read = Request::decode(black_box(&out_call)).expect("our own record");
                out_answer.clear();
                rpc::answer(&read).encode(&mut out_answer).expect("80 bytes");
                sum_record(&Response::decode(black_box(&out_answer)).expect("our own record"))
            }
        }),
        Case::new(name("handler", "zap"), both, answer.len() as u64, move || {
            let read = Request::decode(black_box(&call)).expect("our own record");
            answer.clear();
            rpc::answer(&read).encode(&mut answer).expect("80 bytes");
            black_box(&answer).len() as u64
        }),
    ]
}

fn json(library: Library) -> Vec<Case> {
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    SAMPLE_CALL.encode(library, &mut call);
    SAMPLE_CALL.answer().encode(library, &mut answer);
    let both = call.len() + answer.len();
    let balance = SAMPLE_CALL.answer().balance;
    let answer_sum = sum_twin(&SAMPLE_CALL.answer());
    let name = |operation| name(operation, library.crate_name());
    let read_call = |text: &[u8], reader: &mut Reader| reader.call(text).expect("our own text").answer();
    vec![
        Case::new(name("decode"), both, balance.wrapping_add(answer_sum), {
            let (call, answer, mut reader) = (call.clone(), answer.clone(), Reader::new(library));
            move || {
                let balance = read_call(black_box(&call), &mut reader).balance;
                balance.wrapping_add(sum_twin(&reader.reply(black_box(&answer)).expect("our own text")))
            }
        }),
        Case::new(name("encode"), both, both as u64, {
            let (mut out_call, mut out_answer) = (call.clone(), answer.clone());
            let (sample, reply): (Call<'static>, Reply<'static>) = (SAMPLE_CALL, SAMPLE_CALL.answer());
            move || {
                out_call.clear();
                black_box(&sample).encode(library, &mut out_call);
                out_answer.clear();
                black_box(&reply).encode(library, &mut out_answer);
                (black_box(&out_call).len() + black_box(&out_answer).len()) as u64
            }
        }),
        Case::new(name("round trip"), 2 * both, answer_sum, {
            let (mut out_call, mut out_answer, mut reader) = (call.clone(), answer.clone(), Reader::new(library));
            let sample: Call<'static> = SAMPLE_CALL;
            move || {
                out_call.clear();
                black_box(&sample).encode(library, &mut out_call);
                let reply = read_call(black_box(&out_call), &mut reader);
                out_answer.clear();
                reply.encode(library, &mut out_answer);
                sum_twin(&reader.reply(black_box(&out_answer)).expect("our own text"))
            }
        }),
        Case::new(name("handler"), both, answer.len() as u64, {
            let mut reader = Reader::new(library);
            move || {
                let reply = read_call(black_box(&call), &mut reader);
                answer.clear();
                reply.encode(library, &mut answer);
                black_box(&answer).len() as u64
            }
        }),
    ]
}
