//! Properties of the ZAP codec over arbitrary messages and over every damage of the golden vectors.
#![allow(clippy::unwrap_used)] // helpers of tests

use codec::Step;
use codec::rpc;
use codec::zap::frame::{Frame, FrameError, Kind, MAX_FRAME_BYTES, split};
use codec::zap::pairs::{Each, Pairs};
use codec::zap::peek::{Peek, peek};
use codec::zap::request::{self, Request, RequestHead};
use codec::zap::response::{self, Response, ResponseHead};
use codec::zap::template::Template;
use codec::zap::{reason, record, stream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

mod vectors;
use vectors::{names, vector};

type Bytes = Vec<u8>;
type Headers = Vec<(Bytes, Bytes)>;

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max)
}

/// Pairs that may be written: neither of the two names that the frame carries itself.
fn headers() -> impl Strategy<Value = Headers> {
    let written =
        |name: &Bytes| !name.eq_ignore_ascii_case(b"content-length") && !name.eq_ignore_ascii_case(b"trailer");
    vec((bytes(20).prop_filter("is written", written), bytes(40)), 0..8)
}

fn collected(pairs: Pairs<'_>) -> Headers {
    pairs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

fn or<'a>(sent: &'a [u8], default: &'a [u8]) -> &'a [u8] {
    if sent.is_empty() { default } else { sent }
}

/// Panics unless `part` lies inside `whole`; an empty slice may lie anywhere.
fn assert_inside(whole: &[u8], part: &[u8]) {
    let (whole, part) = (whole.as_ptr_range(), part.as_ptr_range());
    assert!(part.is_empty() || (whole.start <= part.start && part.end <= whole.end));
}

fn assert_pairs_inside(whole: &[u8], pairs: Pairs<'_>) {
    assert_eq!(pairs.iter().count(), pairs.len());
    for (name, value) in pairs.iter() {
        assert_inside(whole, name);
        assert_inside(whole, value);
    }
}

/// Reads `frame` as everything it could be; nothing may panic or lie outside, and peek agrees with a full decode.
fn read_as_everything(frame: &[u8]) {
    if let Ok(read) = Request::decode(frame) {
        for part in [read.method, read.target, read.proto, read.body] {
            assert_inside(frame, part);
        }
        assert_pairs_inside(frame, read.headers);
        assert_pairs_inside(frame, read.trailer);
    }
    if let Ok(read) = Response::decode(frame) {
        for part in [read.reason, read.proto, read.body] {
            assert_inside(frame, part);
        }
        assert_pairs_inside(frame, read.headers);
        assert_pairs_inside(frame, read.trailer);
    }
    if let Ok(chunk) = stream::decode_data(frame) {
        assert_inside(frame, chunk);
    }
    if let Ok(trailer) = stream::decode_end(frame) {
        assert_pairs_inside(frame, trailer);
    }
    if let Ok(read) = record::Request::decode(frame) {
        assert_inside(frame, read.method);
        assert_inside(frame, read.account);
        let _ = rpc::answer(&read);
    }
    if let Ok(read) = record::Response::decode(frame) {
        assert_inside(frame, read.block_hash);
    }
    assert_peek_agrees(frame);
}

/// Reads `message` as both records. What comes out is an error, or fields that lie in the bytes that the message's size counts and do not
/// depend on what follows them.
fn read_as_records(message: &[u8]) {
    let request = record::Request::decode(message);
    let response = record::Response::decode(message);
    // Both check the header alone, and all of it.
    assert_eq!(request.map(|_| ()), response.map(|_| ()));
    let (Ok(request), Ok(response)) = (request, response) else { return };
    let size = u32::from_le_bytes(message[12..16].try_into().unwrap()) as usize;
    let counted = &message[..size];
    for part in [request.method, request.account, response.block_hash] {
        assert_inside(counted, part);
    }
    assert_eq!(record::Request::decode(counted), Ok(request));
    assert_eq!(record::Response::decode(counted), Ok(response));
    let _ = rpc::answer(&request);
}

/// As it stands, and with a size that counts exactly the bytes there are: the header then holds where the slots may not.
fn read_as_records_of_any_size(message: &[u8]) {
    read_as_records(message);
    if message.len() >= 16 {
        let mut sized = message.to_vec();
        sized[12..16].copy_from_slice(&(message.len() as u32).to_le_bytes());
        read_as_records(&sized);
    }
}

/// The call and the answer of the rpc scenario.
fn sample_records() -> [Bytes; 2] {
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    rpc::SAMPLE_REQUEST.encode(&mut call).unwrap();
    rpc::answer(&rpc::SAMPLE_REQUEST).encode(&mut answer).unwrap();
    [call, answer]
}

/// Feeds a frame to peek from nothing on, as far as it asks, and compares with the decode of the whole.
fn assert_peek_agrees(frame: &[u8]) {
    let mut given = 0;
    let peeked = loop {
        match peek(&frame[..given], frame.len()) {
            Ok(Step::NeedMore { at_least }) => {
                assert!(given < at_least && at_least <= frame.len());
                given = at_least;
            }
            Ok(Step::Complete { value, consumed }) => {
                assert!(consumed <= given);
                break Ok(value);
            }
            Err(error) => break Err(error),
        }
    };
    // More bytes change nothing, whether they arrive one by one or at once.
    let whole = peek(frame, frame.len());
    assert_eq!(whole.map(|step| step.complete().unwrap().0), peeked);
    match (peeked, decoded(frame)) {
        // A truncated block is what peek does not look for.
        (Ok(_), Err(FrameError::Headers(_) | FrameError::Trailer(_))) => {}
        (peeked, decoded) => assert_eq!(peeked, decoded),
    }
}

/// What peek should say, by way of a full decode.
fn decoded(frame: &[u8]) -> Result<Peek, FrameError> {
    let parsed = Frame::parse(frame)?;
    let place = |part: &[u8]| match part.is_empty() {
        true => (0, 0),
        false => (part.as_ptr() as usize - frame.as_ptr() as usize, part.len()),
    };
    let (kind, status, (body_at, body_bytes)) = match parsed.kind() {
        Some(Kind::Data) => (Kind::Data, 0, place(stream::data_from_frame(&parsed)?)),
        Some(Kind::End) => {
            stream::end_from_frame(&parsed)?;
            (Kind::End, 0, (0, 0))
        }
        _ => {
            let read = Response::from_frame(&parsed)?;
            (read.kind, read.status, place(read.body))
        }
    };
    Ok(Peek { kind, status, body_at, body_bytes })
}

#[test]
fn every_truncation_of_every_vector() {
    for name in names() {
        let whole = vector(&name);
        for end in 0..=whole.len() {
            read_as_everything(&whole[..end]);
            // And with a size that fits what is left, so that the header holds and the slots do not.
            let mut cut = whole[..end].to_vec();
            if end >= 16 {
                cut[12..16].copy_from_slice(&(end as u32).to_le_bytes());
                read_as_everything(&cut);
            }
        }
    }
}

#[test]
fn every_flipped_byte_of_every_vector() {
    for name in names() {
        let mut frame = vector(&name);
        for at in 0..frame.len() {
            let sent = frame[at];
            // In the header, the section and the blocks each value; in the long bodies a few.
            let values: &[u8] = if at < 256 { &ALL_VALUES } else { &[0, 1, 0x7f, 0x80, 0xff] };
            for value in values {
                frame[at] = *value;
                read_as_everything(&frame);
            }
            frame[at] = sent;
        }
    }
}

#[test]
fn every_truncation_of_a_record() {
    for record in sample_records() {
        for end in 0..record.len() {
            // Its size says that more must follow.
            assert_eq!(record::Request::decode(&record[..end]), Err(FrameError::TooSmall), "{end} bytes");
            read_as_records_of_any_size(&record[..end]);
        }
        read_as_records_of_any_size(&record);
    }
}

#[test]
fn every_flipped_bit_of_a_record_at_every_length() {
    for mut record in sample_records() {
        for bit in 0..record.len() * 8 {
            record[bit / 8] ^= 1 << (bit % 8);
            for end in 0..=record.len() {
                read_as_records_of_any_size(&record[..end]);
            }
            record[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

const ALL_VALUES: [u8; 256] = {
    let mut values = [0; 256];
    let mut i = 0;
    while i < 256 {
        values[i] = i as u8;
        i += 1;
    }
    values
};

#[test]
fn every_split_of_a_stream_of_frames() {
    let frames: Vec<Bytes> = names().iter().map(|name| vector(name)).filter(|frame| !frame.is_empty()).collect();
    let mut sent = Vec::new();
    for frame in &frames {
        sent.extend_from_slice(&(frame.len() as u32).to_be_bytes());
        sent.extend_from_slice(frame);
    }

    // Byte by byte: each frame comes out with its last byte and not before.
    let (mut held, mut got): (Bytes, Vec<Bytes>) = (Vec::new(), Vec::new());
    for byte in &sent {
        held.push(*byte);
        match split(&held, MAX_FRAME_BYTES).unwrap() {
            Step::Complete { value, consumed } => {
                assert_eq!(consumed, held.len());
                got.push(value.to_vec());
                held.clear();
            }
            Step::NeedMore { at_least } => assert!(at_least > held.len()),
        }
    }
    assert_eq!(got, frames);
    assert!(held.is_empty());

    // In two parts, cut at each place.
    for cut in 0..=sent.len() {
        let mut got = 0;
        let mut rest = &sent[..cut];
        while let Step::Complete { value, consumed } = split(rest, MAX_FRAME_BYTES).unwrap() {
            assert_eq!(value, frames[got]);
            rest = &rest[consumed..];
            got += 1;
        }
        let mut rest = &sent[cut - rest.len()..];
        while let Step::Complete { value, consumed } = split(rest, MAX_FRAME_BYTES).unwrap() {
            assert_eq!(value, frames[got]);
            rest = &rest[consumed..];
            got += 1;
        }
        assert_eq!((got, rest), (frames.len(), &[][..]), "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn requests_round_trip(
        method in bytes(12), target in bytes(60), proto in bytes(12),
        headers in headers(), body in bytes(300), trailer in headers(),
    ) {
        let head = RequestHead {
            method: &method, target: &target, proto: &proto, headers: headers.as_slice(),
        };
        let mut out = b"before".to_vec();
        request::encode(&mut out, &head, &body, trailer.as_slice()).unwrap();
        let (frame, consumed) = split(&out[6..], MAX_FRAME_BYTES).unwrap().complete().unwrap();
        prop_assert_eq!(consumed, out.len() - 6);
        let read = Request::decode(frame).unwrap();
        prop_assert_eq!(read.method, or(&method, b"GET"));
        prop_assert_eq!(read.target, &target[..]);
        prop_assert_eq!(read.target(), or(&target, b"/"));
        prop_assert_eq!(read.proto, or(&proto, b"HTTP/1.1"));
        prop_assert_eq!(collected(read.headers), headers.clone());
        prop_assert_eq!(read.body, &body[..]);
        prop_assert_eq!(collected(read.trailer), trailer.clone());
        let last = |name: &[u8]| headers.iter().rfind(|(n, _)| n.eq_ignore_ascii_case(name));
        for (name, _) in &headers {
            let upper = name.to_ascii_uppercase();
            prop_assert_eq!(read.headers.get(&upper), last(name).map(|(_, value)| &value[..]));
        }

        // The same bytes whatever the pairs come from.
        let mut again = b"before".to_vec();
        let head = RequestHead { headers: Each(headers.iter().map(|(n, v)| (n, v))),
            method: read.method, target: read.target, proto: read.proto };
        request::encode(&mut again, &head, &body, read.trailer).unwrap();
        prop_assert_eq!(again, out);
    }

    #[test]
    fn responses_round_trip(
        status: u16, reason in bytes(20), headers in headers(), body in bytes(300), trailer in headers(),
    ) {
        let head = ResponseHead { reason: &reason, ..ResponseHead::new(status, headers.as_slice()) };
        let mut out = Vec::new();
        response::encode(&mut out, &head, &body, trailer.as_slice()).unwrap();
        let (frame, consumed) = split(&out, MAX_FRAME_BYTES).unwrap().complete().unwrap();
        prop_assert_eq!(consumed, out.len());
        let read = Response::decode(frame).unwrap();
        let want_status = if status == 0 { 200 } else { status };
        prop_assert_eq!((read.kind, read.status), (Kind::Response, want_status));
        prop_assert_eq!(read.reason, or(&reason, reason::phrase(want_status).as_bytes()));
        prop_assert_eq!(read.proto, b"HTTP/1.1");
        prop_assert_eq!(collected(read.headers), headers.clone());
        prop_assert_eq!(read.body, &body[..]);
        prop_assert_eq!(collected(read.trailer), trailer);
        assert_peek_agrees(frame);

        let mut streamed = Vec::new();
        response::encode_head(&mut streamed, &head).unwrap();
        let read = Response::decode(&streamed[4..]).unwrap();
        prop_assert_eq!((read.kind, read.status, read.body), (Kind::Head, want_status, &b""[..]));
        prop_assert_eq!(collected(read.headers), headers);
    }

    #[test]
    fn templates_write_what_the_encoders_write(
        texts in vec(bytes(12), 3), status: u16, headers in headers(), bodies in vec(bytes(300), 1..4),
    ) {
        let [method, target, text] = &texts[..] else { unreachable!("three were asked for") };
        let request_head = RequestHead {
            method, target, proto: text, headers: headers.as_slice(),
        };
        let response_head = ResponseHead { reason: text, ..ResponseHead::new(status, headers.as_slice()) };
        let request_template = Template::request(&request_head).unwrap();
        let response_template = Template::response(&response_head).unwrap();
        let (mut want, mut got) = (Vec::new(), Vec::new());
        for body in &bodies {
            request::encode(&mut want, &request_head, body, ()).unwrap();
            request_template.encode(&mut got, body).unwrap();
            response::encode(&mut want, &response_head, body, ()).unwrap();
            response_template.encode_with_body_len(&mut got, body.len()).unwrap();
            got.extend_from_slice(body);
        }
        prop_assert_eq!(got, want);
    }

    #[test]
    fn streams_round_trip(chunk in bytes(300), trailer in headers()) {
        let mut out = Vec::new();
        stream::encode_data(&mut out, &chunk).unwrap();
        prop_assert_eq!(stream::decode_data(&out[4..]).unwrap(), &chunk[..]);
        assert_peek_agrees(&out[4..]);
        out.clear();
        stream::encode_end(&mut out, trailer.as_slice()).unwrap();
        prop_assert_eq!(collected(stream::decode_end(&out[4..]).unwrap()), trailer);
        assert_peek_agrees(&out[4..]);
    }

    #[test]
    fn records_round_trip(
        id: u64, block: u64, nonce: u64, method in bytes(40), account in bytes(40),
    ) {
        let sent = record::Request { id, block, method: &method, account: &account };
        let mut out = Vec::new();
        sent.encode(&mut out).unwrap();
        prop_assert_eq!(out.len(), sent.encoded_bytes());
        prop_assert_eq!(record::Request::decode(&out).unwrap(), sent);

        let sent = record::Response { id, balance: block, nonce, block_hash: &account };
        out.clear();
        sent.encode(&mut out).unwrap();
        prop_assert_eq!(out.len(), sent.encoded_bytes());
        prop_assert_eq!(record::Response::decode(&out).unwrap(), sent);
    }

    /// Runs of bytes written over a record of any fields, one after another; then it is cut.
    #[test]
    fn damaged_records_are_refused_or_read_within_their_bytes(
        id: u64, block: u64, first in bytes(40), second in bytes(40), is_answer: bool,
        changes in vec((any::<Index>(), vec(prop_oneof![any::<u8>(), 0u8..48], 1..9)), 1..12), cut: Index,
    ) {
        let mut message = Vec::new();
        if is_answer {
            record::Response { id, balance: block, nonce: !id, block_hash: &first }.encode(&mut message).unwrap();
        } else {
            record::Request { id, block, method: &first, account: &second }.encode(&mut message).unwrap();
        }
        for (at, written) in changes {
            let at = at.index(message.len());
            let end = message.len().min(at + written.len());
            message[at..end].copy_from_slice(&written[..end - at]);
            read_as_records_of_any_size(&message);
            assert_peek_agrees(&message);
        }
        message.truncate(cut.index(message.len() + 1));
        read_as_records_of_any_size(&message);
        read_as_everything(&message);
    }

    #[test]
    fn arbitrary_bytes_never_panic(frame in bytes(200), length: u32) {
        read_as_everything(&frame);
        let mut prefixed = length.to_be_bytes().to_vec();
        prefixed.extend_from_slice(&frame);
        if let Ok(Step::Complete { value, consumed }) = split(&prefixed, MAX_FRAME_BYTES) {
            assert_inside(&prefixed, value);
            prop_assert!(consumed <= prefixed.len());
        }
    }

    /// Behind a header that holds, anything: roots at any place, slots at random, sizes that cut the section.
    #[test]
    fn arbitrary_objects_never_panic(
        kind in 0u8..7, version in 1u16..3, root in 0u32..90, cut in 0usize..90, mut object in bytes(120),
        small_slots: bool,
    ) {
        if small_slots {
            // Offsets and lengths that fall inside often enough to matter.
            for quad in object.chunks_exact_mut(4) {
                quad[1..].fill(0);
            }
        }
        let mut frame = b"ZAP\0".to_vec();
        frame.extend_from_slice(&version.to_le_bytes());
        frame.extend_from_slice(&[0x5a, kind]);
        frame.extend_from_slice(&root.to_le_bytes());
        let size = (16 + object.len()).saturating_sub(cut) as u32;
        frame.extend_from_slice(&size.to_le_bytes());
        frame.extend_from_slice(&object);
        read_as_everything(&frame);
    }
}
