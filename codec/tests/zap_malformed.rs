//! Each malformed vector is taken or refused as the reference's request decoder does, with the same fields or text.
#![allow(clippy::unwrap_used)] // helpers of tests

use codec::Step;
use codec::zap::frame::{LengthError, MAX_FRAME_BYTES, split};
use codec::zap::peek::peek;
use codec::zap::record;
use codec::zap::request::{self, Request, RequestHead};
use codec::zap::response::Response;
use codec::zap::template::Template;
use codec::zap::{EncodeError, stream};

mod vectors;
use vectors::{names, vector};

/// What the reference reads: method, target, host, number of headers. The bodies are all empty.
type Fields = (&'static str, &'static str, &'static str, usize);

const MAGIC: &str = "zap: invalid magic bytes";
const VERSION: &str = "zap: unsupported version";
const SMALL: &str = "zap: buffer too small";
const OFFSET: &str = "zap: invalid offset";
const HEADERS: &str = "http: decode headers: http: truncated header block";

const WHOLE: Fields = ("GET", "/health", "localhost", 1);
const NO_TARGET: Fields = ("GET", "/", "localhost", 1);
const NOTHING: Fields = ("GET", "/", "", 0);

const VECTORS: [(&str, Result<Fields, &str>); 27] = [
    ("bad_hdr_count", Err(HEADERS)),
    ("bad_hdr_count_max", Err(HEADERS)),
    ("bad_hdr_name_len", Err(HEADERS)),
    ("bad_hdr_val_len", Err(HEADERS)),
    ("bad_header_only", Err(SMALL)),
    ("bad_magic", Err(MAGIC)),
    ("bad_method_null", Ok(WHOLE)),
    ("bad_rel_negative", Ok(WHOLE)),
    ("bad_rel_zero_len_nonzero", Ok(NO_TARGET)),
    ("bad_root0", Err(OFFSET)),
    ("bad_root_beyond", Err(OFFSET)),
    ("bad_root_in_header", Err(OFFSET)),
    ("bad_root_unaligned", Ok(NOTHING)),
    ("bad_size_gt_len", Err(SMALL)),
    ("bad_size_huge", Err(SMALL)),
    ("bad_size_lt_16", Err(SMALL)),
    ("bad_slot_len_overflow", Ok(NO_TARGET)),
    ("bad_slot_len_plus1", Ok(NO_TARGET)),
    ("bad_slot_off_range", Ok(NO_TARGET)),
    ("bad_target_null", Ok(NO_TARGET)),
    ("bad_trailing", Ok(WHOLE)),
    ("bad_type_0", Err("http: frame type 0x0, want 0x1")),
    ("bad_type_response", Err("http: frame type 0x2, want 0x1")),
    ("bad_version0", Err(VERSION)),
    ("bad_version2", Ok(WHOLE)),
    ("bad_version3", Err(VERSION)),
    ("bad_zero_length", Err(SMALL)),
];

#[test]
fn as_the_reference_answers() {
    let have: Vec<String> = names().into_iter().filter(|n| n.starts_with("bad_")).collect();
    assert_eq!(have, VECTORS.map(|(name, _)| name));
    for (name, want) in VECTORS {
        let bytes = vector(name);
        match (Request::decode(&bytes), want) {
            (Ok(read), Ok((method, target, host, headers))) => {
                assert_eq!(read.method(), method.as_bytes(), "{name}");
                assert_eq!(read.target(), target.as_bytes(), "{name}");
                assert_eq!(read.host().unwrap_or(b""), host.as_bytes(), "{name}");
                assert_eq!(read.headers.len(), headers, "{name}");
                assert_eq!(read.body, b"", "{name}");
                assert!(read.trailer.is_empty(), "{name}");
            }
            (Err(error), Err(text)) => assert_eq!(error.to_string(), text, "{name}"),
            (got, want) => panic!("{name}: {got:?}, want {want:?}"),
        }
    }
}

#[test]
fn a_slot_offset_is_unsigned() {
    // The body's slot at 48 points 8 bytes back, to the headers' slot, were it signed.
    let mut bytes = vector("req_get_health");
    bytes[48..56].copy_from_slice(&[0xf8, 0xff, 0xff, 0xff, 8, 0, 0, 0]);
    assert_eq!(Request::decode(&bytes).unwrap().body, b"");
}

#[test]
fn a_wrong_type_is_named_before_a_wrong_root() {
    let mut bytes = vector("bad_root0");
    bytes[7] = 9;
    let error = Request::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "http: frame type 0x9, want 0x1");
    let error = Response::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "http: frame type 0x9, want 0x2");
}

#[test]
fn a_low_flag_byte_is_ignored() {
    let mut bytes = vector("req_get_health");
    bytes[6] = 0xff;
    assert_eq!(Request::decode(&bytes).unwrap().target(), b"/health");
}

#[test]
fn a_truncated_trailer_is_refused() {
    let text = "http: decode trailer: http: truncated header block";
    let mut bytes = vector("req_trailer");
    let pairs = bytes.len() - 28; // count, then two lengths with 10 and 6 bytes
    assert_eq!(bytes[pairs..pairs + 4], [1, 0, 0, 0]);
    bytes[pairs] = 2;
    assert_eq!(Request::decode(&bytes).unwrap_err().to_string(), text);

    let mut bytes = Vec::new();
    stream::encode_end(&mut bytes, [("a", "b")]).unwrap();
    bytes[4 + 24] = 2;
    let error = stream::decode_end(&bytes[4..]).unwrap_err();
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_message_that_ends_within_its_section() {
    // The same frame with a smaller size: the slots beyond it are absent, those within still point outside.
    let mut bytes = vector("resp_200_ok");
    for size in 17..64u32 {
        bytes[12..16].copy_from_slice(&size.to_le_bytes());
        let read = Response::decode(&bytes).unwrap();
        assert_eq!(read.status, 200);
        assert!(read.reason.is_empty() && read.headers.is_empty() && read.body.is_empty());
        let Ok(Step::Complete { value, consumed }) = peek(&bytes, bytes.len()) else {
            panic!("size {size}");
        };
        assert_eq!((value.status, value.body_bytes), (200, 0));
        assert!(consumed <= size as usize);
    }
    // A status of which only one byte is left reads as none, hence as 200.
    bytes[16] = 0xf4;
    bytes[12..16].copy_from_slice(&17u32.to_le_bytes());
    assert_eq!(Response::decode(&bytes).unwrap().status, 200);
}

#[test]
fn a_record_is_read_by_the_same_rules() {
    let refusals = [
        (0, 0x00, MAGIC),
        (4, 0x00, VERSION),
        (4, 0x03, VERSION),
        (8, 0x00, OFFSET),
        (12, 0x0f, SMALL),
        (12, 0xff, SMALL),
    ];
    for (at, value, text) in refusals {
        let mut bytes = vector("rpc_request");
        bytes[at] = value;
        let error = record::Request::decode(&bytes).unwrap_err();
        assert_eq!(error.to_string(), text, "byte {at} = {value:#x}");
    }
    let mut bytes = vector("rpc_request");
    bytes[4] = 2;
    bytes[7] = 1;
    bytes[36..40].fill(0xff); // the method's length
    let read = record::Request::decode(&bytes).unwrap();
    assert_eq!((read.method, read.account.len()), (&b""[..], 20));
}

#[test]
fn lengths_are_judged_by_their_four_bytes() {
    let max = MAX_FRAME_BYTES;
    assert_eq!(split(&[], max), Ok(Step::NeedMore { at_least: 4 }));
    assert_eq!(split(&[0xff; 3], max), Ok(Step::NeedMore { at_least: 4 }));
    assert_eq!(split(&[0, 0, 0, 0], max), Err(LengthError::Zero));
    assert_eq!(split(&[0x04, 0, 0, 0], max), Ok(Step::NeedMore { at_least: 4 + max }));
    for (prefix, announced) in [([0x04, 0, 0, 1], max + 1), ([0xff; 4], u32::MAX as usize), (*b"GET ", 0x4745_5420)] {
        let error = split(&prefix, max).unwrap_err();
        assert_eq!(error, LengthError::TooLarge { announced, max });
        assert_eq!(error.to_string(), format!("http: frame size {announced} exceeds MaxFrameSize=67108864"));
    }
    assert_eq!(split(&[0, 0, 0, 5], 4), Err(LengthError::TooLarge { announced: 5, max: 4 }));
    // A frame shorter than a header is whole as a frame, and malformed as a message.
    for length in 1..16u8 {
        let mut stream = vec![0, 0, 0, length];
        stream.resize(4 + usize::from(length), b'Z');
        let Ok(Step::Complete { value, consumed }) = split(&stream, max) else {
            panic!("length {length}");
        };
        assert_eq!(consumed, stream.len());
        assert_eq!(Request::decode(value).unwrap_err().to_string(), SMALL);
        assert_eq!(peek(b"", value.len()).unwrap_err().to_string(), SMALL);
    }
}

#[test]
fn nothing_beyond_the_limit_is_written() {
    let head = RequestHead { method: b"POST", target: b"/", proto: b"", headers: () };
    let fixed_bytes = 16 + 48 + 4 + 1 + 8;
    let template = Template::request(&head).unwrap();
    let mut out = b"before".to_vec();
    for body_bytes in [MAX_FRAME_BYTES - fixed_bytes + 1, MAX_FRAME_BYTES, usize::MAX] {
        let error = request::encode_with_body_len(&mut out, &head, body_bytes).unwrap_err();
        let frame_bytes = body_bytes.saturating_add(fixed_bytes);
        assert_eq!(error, EncodeError::TooLarge { frame_bytes });
        let templated = template.encode_with_body_len(&mut out, body_bytes);
        assert_eq!(templated, Err(error));
        assert!(stream::data_prefix(&mut out, body_bytes.max(MAX_FRAME_BYTES)).is_err());
        assert_eq!(out, b"before");
    }
    request::encode_with_body_len(&mut out, &head, MAX_FRAME_BYTES - fixed_bytes).unwrap();
    assert_eq!(out.len(), 6 + 4 + fixed_bytes);
    assert!(out.capacity() < 4096, "the body is not reserved for");
    assert_eq!(out[6..10], (MAX_FRAME_BYTES as u32).to_be_bytes());
}
