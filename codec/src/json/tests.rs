//! What holds for the twins whichever library reads and writes them.

use proptest::prelude::*;

use super::*;

const SAMPLE_TEXT: &str =
    r#"{"method":"eth_getBalance","account":"0xdeadbeef00112233445566778899aabbccddeeff","block":68943,"id":1}"#;

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before".to_vec();
    write(&mut out);
    String::from_utf8(out.split_off(6)).unwrap()
}

#[test]
fn the_hash_in_hex_is_the_hash() {
    let hex: String = rpc::BLOCK_HASH.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(BLOCK_HASH_HEX, format!("0x{hex}"));
    let hex: String = rpc::SAMPLE_ACCOUNT.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(SAMPLE_CALL.account, format!("0x{hex}"));
}

#[test]
fn the_documented_texts_sizes_and_balance_by_every_library() {
    let balance = 10u64.pow(18) ^ 0x10d4f ^ 14 ^ 42 ^ 0x30;
    let answer = format!(r#"{{"id":1,"balance":{balance},"nonce":42,"blockHash":"{BLOCK_HASH_HEX}"}}"#);
    assert_eq!((SAMPLE_TEXT.len(), answer.len()), (103, 130));
    for library in Library::ALL {
        assert_eq!(encoded(|out| SAMPLE_CALL.encode(library, out)), SAMPLE_TEXT, "{library}");
        let mut reader = Reader::new(library);
        let call = reader.call(SAMPLE_TEXT.as_bytes()).unwrap();
        assert_eq!(call, SAMPLE_CALL);
        assert!(matches!((&call.method, &call.account), (Cow::Borrowed(_), Cow::Borrowed(_))), "{library} borrows");
        let reply = call.answer();
        assert_eq!(encoded(|out| reply.encode(library, out)), answer, "{library}");
        assert_eq!(Reader::new(library).reply(answer.as_bytes()).unwrap(), reply, "{library}");
    }
}

#[test]
fn order_unknown_fields_and_escapes() {
    let text = r#" { "id":2, "more":[{"x":null}], "account":"\u0030x", "block":0, "method":"\u0065" } "#;
    for library in Library::ALL {
        let mut reader = Reader::new(library);
        let call = reader.call(text.as_bytes()).unwrap();
        assert_eq!((&*call.method, &*call.account, call.block, call.id), ("e", "0x", 0, 2), "{library}");
        assert_eq!(call.answer().balance, rpc::BALANCE_BASE ^ 1 ^ 2 ^ 0x30);
    }
}

#[test]
fn what_is_no_call_is_refused_by_every_library_in_one_line() {
    let cases = [
        "",
        " ",
        "{}",
        "null",
        "[[[[",
        r#"{"method":1}"#,
        r#"{"method":"a","account":"b","block":-1,"id":1}"#,
        r#"{"method":"a","account":"b","block":1.5,"id":1}"#,
        r#"{"method":"a","account":"b","block":18446744073709551616,"id":1}"#,
        r#"{"method":"a","account":"b","block":1,"id":1}x"#,
        r#"{"method":"a","account":"b","block":1,"id":1"#,
        r#"{"method":"a","account":"b","block":1}"#,
        r#"{"method":"a","method":"a","account":"b","block":1,"id":1}"#,
        r#"{"method":"\q","account":"b","block":1,"id":1}"#,
        r#"{"method":"a,"account":"b","block":1,"id":1}"#,
    ];
    for library in Library::ALL {
        let mut reader = Reader::new(library);
        for text in cases {
            let error = reader.call(text.as_bytes()).expect_err(text).to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "{library}: {text}: {error:?}");
        }
        let error = reader.call(b"{\"method\":\"\xff\",\"account\":\"b\",\"block\":1,\"id\":1}").unwrap_err();
        assert!(!error.to_string().is_empty(), "{library}");
        // And it still reads.
        assert_eq!(reader.call(SAMPLE_TEXT.as_bytes()).unwrap(), SAMPLE_CALL);
    }
}

#[test]
fn libraries_by_name() {
    for library in Library::ALL {
        assert_eq!(library.to_string().parse(), Ok(library));
    }
    let error = "fast".parse::<Library>().unwrap_err().to_string();
    assert!(error.contains("\"fast\"") && error.contains("serde, sonic or simd"), "{error}");
}

#[test]
fn a_large_text_is_not_held_for_ever() {
    let mut reader = Reader::new(Library::Simd);
    let large = Call { method: "x".repeat(2 * KEPT_JSON_BYTES).into(), ..SAMPLE_CALL };
    let mut text = Vec::new();
    large.encode(Library::Serde, &mut text);
    assert_eq!(reader.call(&text).unwrap(), large);
    assert_eq!(reader.call(SAMPLE_TEXT.as_bytes()).unwrap(), SAMPLE_CALL);
    assert!(reader.copy.capacity() <= KEPT_JSON_BYTES);
}

proptest! {
    /// What one library writes, each reads back, and all write the same numbers and plain texts.
    #[test]
    fn twins_round_trip(method in ".{0,40}", account in ".{0,60}", block: u64, id: u64) {
        let call = Call { method: method.into(), account: account.into(), block, id };
        let reply = Reply { block_hash: call.account.clone(), ..call.answer() };
        for writer in Library::ALL {
            let (mut call_text, mut reply_text) = (Vec::new(), Vec::new());
            call.encode(writer, &mut call_text);
            reply.encode(writer, &mut reply_text);
            for library in Library::ALL {
                let mut reader = Reader::new(library);
                prop_assert_eq!(&reader.call(&call_text).unwrap(), &call);
                prop_assert_eq!(&reader.reply(&reply_text).unwrap(), &reply);
            }
        }
    }

    /// Cut short or with a byte changed, a text is refused or means something; no library panics.
    #[test]
    fn broken_texts_never_panic(cut in 0usize..103, at in 0usize..103, byte: u8) {
        let mut changed = SAMPLE_TEXT.as_bytes().to_vec();
        changed[at] = byte;
        for library in Library::ALL {
            let mut reader = Reader::new(library);
            prop_assert!(reader.call(&SAMPLE_TEXT.as_bytes()[..cut]).is_err());
            let _ = reader.call(&changed).map(|call| call.answer());
        }
    }
}
