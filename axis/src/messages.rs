//! Whole messages of both wires: header blocks, and the request and answer of every scenario.

use std::hint::black_box;

use codec::Step;
use codec::http::answer::{HeadParts, write_head};
use codec::http::ask::{Ask, write_request};
use codec::http::{BodyLength, BodyReader, HeadScan, Limits, request as http_request, response as http_response};
use codec::json::Library;
use codec::scenario::Scenario;
use codec::zap::frame::{Frame, Kind, MAX_FRAME_BYTES, split};
use codec::zap::pairs::{PairSource, Pairs};
use codec::zap::request::{self, RequestHead};
use codec::zap::response::{self, Response, ResponseHead};
use codec::zap::stream;
use server::Wire;

use crate::case::{Case, Name};
use crate::error::AxisError;
use crate::exchange::exchange;

const HOST: &str = "127.0.0.1:9653";

type Headers = Vec<(&'static str, &'static str)>;

/// Blocks of 1, 4, 8 and 12 pairs on zap.
pub(crate) fn header_blocks() -> Vec<Case> {
    let with_host =
        |scenario: Scenario| -> Headers { std::iter::once(("Host", HOST)).chain(scenario.headers(true)).collect() };
    let of = [Scenario::Hello, Scenario::EchoTiny, Scenario::EchoSmall, Scenario::EchoMedium];
    of.into_iter().flat_map(|scenario| header_block(with_host(scenario))).collect()
}

fn header_block(headers: Headers) -> [Case; 2] {
    let size = headers.as_slice().block_size();
    let mut block = Vec::new();
    headers.as_slice().append_block(&mut block, size);
    let bytes = block.len();
    let name = |operation| Name { message: format!("block of {}", headers.len()), operation, codec: "zap" };
    let want = headers.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum();
    let mut out = block.clone();
    [
        Case::new(name("decode"), bytes, want, move || {
            let pairs = Pairs::parse(black_box(&block)).expect("our own block");
            pairs.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
        }),
        Case::new(name("encode"), bytes, bytes as u64, {
            let headers = headers.clone();
            move || {
                out.clear();
                let headers = black_box(headers.as_slice());
                headers.append_block(&mut out, headers.block_size());
                black_box(&out).len() as u64
            }
        }),
    ]
}

/// Reading and writing the request and the answer of every scenario, on both wires.
///
/// # Errors
/// [`AxisError::Exchange`]: a bug.
pub(crate) fn of_scenarios() -> Result<Vec<Case>, AxisError> {
    let mut all = Vec::new();
    for scenario in Scenario::ALL {
        let zap = exchange(scenario, Wire::Zap, Library::Serde)?;
        let http = exchange(scenario, Wire::Http, Library::Serde)?;
        all.extend([zap_request(scenario, zap.request), http_request_read(scenario, http.request)]);
        all.extend([zap_request_write(scenario), http_request_write(scenario)]);
        all.extend([zap_answer(scenario, zap.answer), http_answer(scenario, http.answer)]);
    }
    let whole = Scenario::ALL.into_iter().filter(|scenario| *scenario != Scenario::Stream);
    all.extend(whole.flat_map(|scenario| [zap_answer_write(scenario), http_answer_write(scenario)]));
    Ok(all)
}

fn request_name(scenario: Scenario, operation: &'static str, codec: &'static str) -> Name {
    Name { message: format!("{scenario} request"), operation, codec }
}

fn answer_name(scenario: Scenario, operation: &'static str, codec: &'static str) -> Name {
    Name { message: format!("{scenario} answer"), operation, codec }
}

/// The sum of a request's parts: lengths of method, target and body, and the number of headers.
fn request_sum(scenario: Scenario, record: bool, headers: usize) -> u64 {
    (scenario.method().len() + scenario.path().len() + headers + scenario.body(record).len()) as u64
}

fn zap_request(scenario: Scenario, sent: Vec<u8>) -> Case {
    let want = request_sum(scenario, true, scenario.headers(true).len() + 1);
    Case::new(request_name(scenario, "decode", "zap"), sent.len(), want, move || {
        let frame = only_frame(black_box(&sent));
        let read = request::Request::decode(frame).expect("the loader wrote it");
        (read.method().len() + read.target().len() + read.headers.len() + read.body.len()) as u64
    })
}

fn only_frame(sent: &[u8]) -> &[u8] {
    match split(sent, MAX_FRAME_BYTES) {
        Ok(Step::Complete { value, .. }) => value,
        other => panic!("a whole frame reads as {other:?}"),
    }
}

fn http_request_read(scenario: Scenario, sent: Vec<u8>) -> Case {
    let with_length = usize::from(!scenario.body(false).is_empty());
    let want = request_sum(scenario, false, scenario.headers(false).len() + 1 + with_length);
    let mut scan = HeadScan::new();
    Case::new(request_name(scenario, "decode", "http"), sent.len(), want, move || {
        let sent = black_box(&sent);
        let (head, consumed) = match http_request::parse(sent, &mut scan, &Limits::DEFAULT) {
            Ok(Step::Complete { value, consumed }) => (value, consumed),
            other => panic!("a whole head reads as {other:?}"),
        };
        let body_bytes = if let BodyLength::Length(bytes) = head.body { bytes as usize } else { 0 };
        let body = &sent[consumed..consumed + body_bytes];
        (head.method.as_bytes().len() + head.path().len() + head.headers.iter().count() + body.len()) as u64
    })
}

fn zap_request_write(scenario: Scenario) -> Case {
    let headers: Headers = std::iter::once(("Host", HOST)).chain(scenario.headers(true)).collect();
    let body = scenario.body(true);
    let mut out = Vec::new();
    let mut write = move || {
        out.clear();
        let head = RequestHead {
            method: scenario.method().as_bytes(),
            target: scenario.path().as_bytes(),
            proto: b"",
            headers: headers.as_slice(),
        };
        request::encode(&mut out, black_box(&head), black_box(&body), ()).expect("a small frame");
        black_box(&out).len() as u64
    };
    let bytes = write();
    Case::new(request_name(scenario, "encode", "zap"), bytes as usize, bytes, write)
}

fn http_request_write(scenario: Scenario) -> Case {
    let headers: Vec<(&[u8], &[u8])> =
        scenario.headers(false).into_iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let body = scenario.body(false);
    let mut out = Vec::new();
    let mut write = move || {
        out.clear();
        let parts = Ask {
            method: scenario.method().as_bytes(),
            target: scenario.path().as_bytes(),
            host: HOST.as_bytes(),
            headers: &headers,
            body: &body,
        };
        write_request(&mut out, black_box(&parts)).expect("a scenario is a valid request");
        black_box(&out).len() as u64
    };
    let bytes = write();
    Case::new(request_name(scenario, "encode", "http"), bytes as usize, bytes, write)
}

fn zap_answer(scenario: Scenario, sent: Vec<u8>) -> Case {
    let want = 200 + scenario.answer_body(true).len() as u64;
    Case::new(answer_name(scenario, "decode", "zap"), sent.len(), want, move || {
        let (mut rest, mut sum) = (black_box(&sent[..]), 0);
        while !rest.is_empty() {
            let Ok(Step::Complete { value, consumed }) = split(rest, MAX_FRAME_BYTES) else { panic!("a whole frame") };
            rest = &rest[consumed..];
            let frame = Frame::parse(value).expect("the server wrote it");
            sum += match frame.kind() {
                Some(Kind::Data) => stream::data_from_frame(&frame).expect("the server wrote it").len() as u64,
                Some(Kind::End) => stream::end_from_frame(&frame).expect("the server wrote it").len() as u64,
                _ => {
                    let read = Response::from_frame(&frame).expect("the server wrote it");
                    u64::from(read.status) + read.body.len() as u64
                }
            };
        }
        sum
    })
}

fn http_answer(scenario: Scenario, sent: Vec<u8>) -> Case {
    let want = 200 + scenario.answer_body(false).len() as u64;
    let mut scan = HeadScan::new();
    Case::new(answer_name(scenario, "decode", "http"), sent.len(), want, move || {
        let sent = black_box(&sent[..]);
        let (head, consumed) = match http_response::parse(sent, &mut scan, false, &Limits::DEFAULT) {
            Ok(Step::Complete { value, consumed }) => (value, consumed),
            other => panic!("a whole head reads as {other:?}"),
        };
        let (mut reader, mut rest) = (BodyReader::new(head.body), &sent[consumed..]);
        let mut sum = u64::from(head.status);
        while !reader.is_done() {
            let piece = reader.read(rest).expect("the server wrote it");
            sum += piece.data.len() as u64;
            rest = &rest[piece.consumed..];
        }
        sum
    })
}

fn zap_answer_write(scenario: Scenario) -> Case {
    let headers = scenario.headers(true);
    let body = scenario.answer_body(true);
    let mut out = Vec::new();
    let mut write = move || {
        out.clear();
        let head = ResponseHead::new(200, headers.as_slice());
        response::encode(&mut out, black_box(&head), black_box(&body), ()).expect("a small frame");
        black_box(&out).len() as u64
    };
    let bytes = write();
    Case::new(answer_name(scenario, "encode", "zap"), bytes as usize, bytes, write)
}

fn http_answer_write(scenario: Scenario) -> Case {
    let headers: Vec<(&[u8], &[u8])> =
        scenario.headers(false).into_iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    let body = scenario.answer_body(false);
    let mut out = Vec::new();
    let mut write = move || {
        out.clear();
        let length = BodyLength::Length(body.len() as u64);
        let parts = HeadParts { length, extra: &headers, ..HeadParts::default() };
        write_head(&mut out, black_box(&parts));
        out.extend_from_slice(black_box(&body));
        black_box(&out).len() as u64
    };
    let bytes = write();
    Case::new(answer_name(scenario, "encode", "http"), bytes as usize, bytes, write)
}
