//! What really goes over a wire for a scenario: the request as the loader writes it, and the answer as the server gives it.
//!
//! Owns driving the server's protocol with slices. Also counts what user space copies on the way: bytes that were written into an output
//! buffer, as against bytes that are sent from where they lie.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use codec::json::Library;
use codec::scenario::Scenario;
use engine::{Board, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Wishes};
use loader::request::Request;
use loader::{LoadPlan, Target};
use server::{Published, ServerOptions, ServerShard, Wire};

use crate::error::AxisError;
use crate::limits::MAX_ANSWER_TURNS;

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The request, framing included.
    pub request: Vec<u8>,
    /// The answer, framing included.
    pub answer: Vec<u8>,
    /// Bytes of the answer that the server wrote into its output buffer; the rest was sent from where it lay.
    pub answer_copied_bytes: usize,
}

/// The word for a wire in results.
pub(crate) fn word(wire: Wire) -> &'static str {
    match wire {
        Wire::Zap => "zap",
        Wire::Http => "http",
        Wire::Floor => "floor",
    }
}

/// The exchange of a scenario. The server's Date is always the same second.
///
/// # Errors
/// [`AxisError::Exchange`].
pub fn exchange(scenario: Scenario, wire: Wire, json: Library) -> Result<Exchange, AxisError> {
    let wrong = |what: String| AxisError::Exchange { scenario: scenario.name(), wire: word(wire), what };
    let target =
        Target::parse(&format!("{}://127.0.0.1:9653", word(wire))).map_err(|error| wrong(error.to_string()))?;
    let mut plan = LoadPlan::new(target);
    plan.take_scenario(scenario).map_err(|error| wrong(error.to_string()))?;
    let request = Request::encode(&plan.target, plan.method(), &plan.headers, &plan.body, 1)
        .map_err(|error| wrong(error.to_string()))?;
    let request = request.bytes().to_vec();
    let (answer, answer_copied_bytes) = answer(&request, wire, json).ok_or_else(|| wrong("no answer".to_owned()))?;
    Ok(Exchange { request, answer, answer_copied_bytes })
}

fn wall() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_796_000_000)
}

/// The answer to one whole request, and how much of it was copied; `None` when it does not end.
fn answer(request: &[u8], wire: Wire, json: Library) -> Option<(Vec<u8>, usize)> {
    let options = Arc::new(ServerOptions { wires: vec![wire], json, ..ServerOptions::default() });
    let mut shard = ServerShard::new(0, options, Arc::new(Published::new(Arc::new(Board::new(1)), 1)), wall);
    let mut wishes = Wishes::default();
    let mut cx = Cx::new(0, 1 << 30, &mut wishes);
    let mut out = Outbox::new(engine::limits::OUT_BUDGET_BYTES);
    let conn = Conn::new(0);
    shard.tick(&mut cx);
    shard.open(conn, Origin::Accepted { listener: 0 }, &mut cx);
    let taken = shard.data(conn, request, false, Some(&mut out), &mut cx);
    if taken.consumed != request.len() {
        return None;
    }
    let mut all = out.to_vec();
    let mut copied_bytes = out.bytes().len();
    let mut next = taken.next;
    for _ in 0..MAX_ANSWER_TURNS {
        if !matches!(next, Next::Hold) && !all.is_empty() {
            return Some((all, copied_bytes));
        }
        out.clear();
        let flow = shard.fill(conn, &mut out, &mut cx);
        all.extend_from_slice(&out.to_vec());
        copied_bytes += out.bytes().len();
        if !matches!(flow, Flow::More) {
            next = Next::Need(1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use codec::Step;
    use codec::zap::frame::{MAX_FRAME_BYTES, split};
    use codec::zap::response::Response;

    use super::*;

    #[test]
    fn every_scenario_is_answered_rightly_on_both_wires() {
        for scenario in Scenario::ALL {
            let zap = exchange(scenario, Wire::Zap, Library::Serde).expect("a scenario");
            if scenario != Scenario::Stream {
                let Ok(Step::Complete { value: frame, consumed }) = split(&zap.answer, MAX_FRAME_BYTES) else {
                    panic!("{scenario}: no frame")
                };
                assert_eq!(consumed, zap.answer.len());
                let read = Response::decode(frame).expect("a response");
                assert_eq!((read.status, read.body), (200, &*scenario.answer_body(true)), "{scenario}");
            }
            for json in Library::ALL {
                let http = exchange(scenario, Wire::Http, json).expect("a scenario");
                assert!(http.answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{scenario}");
                if scenario != Scenario::Stream {
                    assert!(http.answer.ends_with(&scenario.answer_body(false)), "{scenario} by {json}");
                }
            }
        }
    }

    #[test]
    fn bytes_of_the_rpc_are_the_documented_ones() {
        let zap = exchange(Scenario::Rpc, Wire::Zap, Library::Serde).expect("a scenario");
        let http = exchange(Scenario::Rpc, Wire::Http, Library::Serde).expect("a scenario");
        for (exchange, record) in [(&zap, true), (&http, false)] {
            assert!(exchange.request.ends_with(&Scenario::Rpc.body(record)));
            assert!(exchange.answer.ends_with(&Scenario::Rpc.answer_body(record)));
            assert_eq!(exchange.answer_copied_bytes, exchange.answer.len(), "small answers are copied");
        }
    }
}
