//! `POST /rpc`: a typed record on zap, its JSON twin on http; the same call behind both (ZAP wire §6).

use std::io::Write;

use codec::{json::Reader, rpc, zap::record};

use crate::answer::{Answer, Body, JSON, ZAP};

pub(super) fn record<'a>(body: &[u8], scratch: &'a mut Vec<u8>) -> Answer<'a> {
    match record::Request::decode(body) {
        Ok(request) => {
            rpc::answer(&request).encode(scratch).expect("a response record has 80 bytes");
            Answer::new(200, ZAP, Body::Slice(scratch))
        }
        Err(error) => {
            write!(scratch, "malformed rpc record: {error}").expect("memory takes any text");
            Answer::text(400, scratch)
        }
    }
}

pub(super) fn json<'a>(body: &[u8], reader: &mut Reader, scratch: &'a mut Vec<u8>) -> Answer<'a> {
    let library = reader.library();
    match reader.call(body) {
        Ok(call) => {
            call.answer().encode(library, scratch);
            Answer::new(200, JSON, Body::Slice(scratch))
        }
        Err(error) => {
            write!(scratch, "malformed rpc call: {error}").expect("memory takes any text");
            Answer::text(400, scratch)
        }
    }
}

#[cfg(test)]
mod tests {
    use codec::json::{Library, SAMPLE_CALL};

    use super::*;

    fn body<'a>(answer: &Answer<'a>) -> &'a str {
        let Body::Slice(body) = answer.body else { panic!("{answer:?}") };
        std::str::from_utf8(body).unwrap()
    }

    #[test]
    fn the_json_twin_is_answered_by_every_library() {
        for library in Library::ALL {
            let (mut call, mut scratch) = (Vec::new(), Vec::new());
            SAMPLE_CALL.encode(library, &mut call);
            let answer = json(&call, &mut Reader::new(library), &mut scratch);
            assert_eq!((answer.status, answer.content_type, body(&answer).len()), (200, Some(JSON), 130));
            let balance = 10u64.pow(18) ^ 0x10d4f ^ 14 ^ 42 ^ 0x30;
            assert!(body(&answer).contains(&format!("\"balance\":{balance},")), "{}", body(&answer));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (call, part) in [
            ("", "EOF"),
            ("{}", "missing field"),
            (r#"{"method":1}"#, "expected a string"),
            (r#"{"method":"a","account":"b","block":-1,"id":1}"#, "expected u64"),
            (r#"{"method":"a","account":"b","block":1,"id":1}x"#, "trailing"),
            ("[[[[", "line 1 column"),
        ] {
            let mut scratch = Vec::new();
            let answer = json(call.as_bytes(), &mut Reader::new(Library::Serde), &mut scratch);
            assert_eq!(answer.status, 400);
            assert!(body(&answer).contains(part), "{call}: {}", body(&answer));
            for library in Library::ALL {
                let mut scratch = Vec::new();
                let answer = json(call.as_bytes(), &mut Reader::new(library), &mut scratch);
                assert_eq!(answer.status, 400, "{library}");
                assert!(body(&answer).len() > "malformed rpc call: ".len(), "{library}: {call}");
            }
        }
        let mut scratch = Vec::new();
        let answer = record(b"ZAP", &mut scratch);
        assert_eq!((answer.status, body(&answer)), (400, "malformed rpc record: zap: buffer too small"));
    }
}
