//! What the body of a server's answer must be, and in what one differs, in words. Asks nobody.

use crate::limits::QUOTED_BODY_BYTES;

/// In what `body` is not `wanted`; `None` where it is. Both are quoted from their beginnings, escaped.
pub(super) fn difference(body: &[u8], wanted: &[u8]) -> Option<String> {
    if body == wanted {
        return None;
    }
    let same = body.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    Some(format!("its body is {} and not {}; they differ from byte {same} on", quoted(body), quoted(wanted)))
}

/// As in `"no" (2 bytes)`, with three dots behind what is not all.
fn quoted(body: &[u8]) -> String {
    let start = body.get(..QUOTED_BODY_BYTES).unwrap_or(body);
    let dots = if start.len() < body.len() { "..." } else { "" };
    format!("\"{}\"{dots} ({} bytes)", start.escape_ascii(), body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_quoted_bounded_and_escaped() {
        assert_eq!(difference(b"ok", b"ok"), None);
        assert_eq!(difference(b"", b""), None);
        for (body, wanted, words) in [
            (
                &b"no"[..],
                &b"ok"[..],
                "its body is \"no\" (2 bytes) and not \"ok\" (2 bytes); they differ from byte 0 on",
            ),
            (b"ok\n", b"ok", "its body is \"ok\\n\" (3 bytes) and not \"ok\" (2 bytes); they differ from byte 2 on"),
            (b"", b"ok", "its body is \"\" (0 bytes) and not \"ok\" (2 bytes); they differ from byte 0 on"),
            (b"\x1b[2J\xff", b"ok", "its body is \"\\x1b[2J\\xff\" (5 bytes)"),
        ] {
            let said = difference(body, wanted).expect("they differ");
            assert!(said.starts_with(words), "{said}");
        }
        let long = vec![b'x'; 1 << 20];
        let said = difference(&long, b"ok").expect("they differ");
        assert!(said.contains("\"... (1048576 bytes)") && said.len() < 4 * QUOTED_BODY_BYTES + 200, "{said}");
    }
}
