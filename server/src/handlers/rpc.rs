//! `POST /rpc`: a typed record on zap, its JSON twin on http; the same call behind both (ZAP wire §6).

use std::{borrow::Cow, io::Write};

use codec::{rpc, zap::record};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Body, JSON, ZAP};

/// `rpc::BLOCK_HASH` as the JSON twin writes it.
const BLOCK_HASH_HEX: &str = "0x0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0";

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

/// A call as JSON. Texts without escapes are borrowed.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    account: Cow<'a, str>,
    block: u64,
    id: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    id: u64,
    balance: u64,
    nonce: u64,
    block_hash: &'static str,
}

pub(super) fn json<'a>(body: &[u8], scratch: &'a mut Vec<u8>) -> Answer<'a> {
    match serde_json::from_slice::<Call<'_>>(body) {
        Ok(call) => {
            let response = rpc::answer(&record::Request {
                id: call.id,
                block: call.block,
                method: call.method.as_bytes(),
                account: call.account.as_bytes(),
            });
            let reply =
                Reply { id: response.id, balance: response.balance, nonce: response.nonce, block_hash: BLOCK_HASH_HEX };
            serde_json::to_writer(&mut *scratch, &reply).expect("numbers and a text serialise into memory");
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
    use super::*;

    fn body<'a>(answer: &Answer<'a>) -> &'a str {
        let Body::Slice(body) = answer.body else { panic!("{answer:?}") };
        std::str::from_utf8(body).unwrap()
    }

    #[test]
    fn the_hash_in_hex_is_the_hash() {
        let hex: String = rpc::BLOCK_HASH.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(BLOCK_HASH_HEX, format!("0x{hex}"));
    }

    #[test]
    fn the_json_twin_has_the_documented_sizes_and_balance() {
        let call = r#"{"method":"eth_getBalance","account":"0xdeadbeef00112233445566778899aabbccddeeff","block":68943,"id":1}"#;
        assert_eq!(call.len(), 103);
        let mut scratch = Vec::new();
        let answer = json(call.as_bytes(), &mut scratch);
        let balance = 10u64.pow(18) ^ 0x10d4f ^ 14 ^ 42 ^ 0x30;
        assert_eq!(
            body(&answer),
            format!(r#"{{"id":1,"balance":{balance},"nonce":42,"blockHash":"{BLOCK_HASH_HEX}"}}"#)
        );
        assert_eq!((answer.status, body(&answer).len()), (200, 130));
    }

    #[test]
    fn escapes_mean_what_they_say() {
        let mut scratch = Vec::new();
        let answer = json(br#"{"method":"\u0065","account":"\u0030x","block":0,"id":2}"#, &mut scratch);
        let balance = 10u64.pow(18) ^ 1 ^ 2 ^ 0x30;
        assert!(body(&answer).contains(&balance.to_string()));
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
            let answer = json(call.as_bytes(), &mut scratch);
            assert_eq!(answer.status, 400);
            assert!(body(&answer).contains(part), "{call}: {}", body(&answer));
        }
        let mut scratch = Vec::new();
        let answer = record(b"ZAP", &mut scratch);
        assert_eq!((answer.status, body(&answer)), (400, "malformed rpc record: zap: buffer too small"));
    }
}
