//! Which bytes may stand where in a head, and how far a run of them reaches.
//!
//! Owns the byte classes of RFC 9110 section 5.6.2 and RFC 9112 sections 3 and 5. Knows nothing of lines or headers.

/// `tchar`: methods and field names.
const TOKEN: u8 = 1;
/// What a Host value may hold: the host and port characters of RFC 3986 section 3.2.
const HOST: u8 = 2;

/// A one in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte of a word.
const HIGHS: u64 = 0x8080_8080_8080_8080;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() {
            table[byte] = TOKEN | HOST;
        }
        byte += 1;
    }
    mark(&mut table, b"!#$%&'*+-.^_`|~", TOKEN);
    mark(&mut table, b"-._~%!$&'()*+,;=:[]", HOST);
    table
}

const fn mark(table: &mut [u8; 256], bytes: &[u8], class: u8) {
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] |= class;
        i += 1;
    }
}

/// Length of the token at the start of `bytes`.
///
/// Eight bytes at a time while they are letters, digits and hyphens, as nearly every name's are; what follows them is
/// looked up byte by byte.
#[inline]
pub(super) fn token_run(bytes: &[u8]) -> usize {
    let mut run = 0;
    while let Some(word) = bytes[run..].first_chunk::<8>() {
        let stop = !plain(u64::from_le_bytes(*word)) & HIGHS;
        if stop != 0 {
            run += (stop.trailing_zeros() / 8) as usize;
            break;
        }
        run += 8;
    }
    while run < bytes.len() && is_token_byte(bytes[run]) {
        run += 1;
    }
    run
}

/// Sets the high bit of each byte of `word` that is a letter, a digit or a hyphen; other bits mean nothing.
#[inline]
fn plain(word: u64) -> u64 {
    // With their high bits off, bytes can be added to without a carry into the next one.
    let low = word & !HIGHS;
    let at_least = |bytes: u64, bound: u8| bytes + ONES * u64::from(0x80 - bound);
    let lower = low | (ONES * 0x20);
    let letter = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
    let digit = at_least(low, b'0') & !at_least(low, b'9' + 1);
    let hyphen = !at_least(low ^ (ONES * u64::from(b'-')), 1);
    (letter | digit | hyphen) & !word
}

/// Whether all of `bytes` is one non-empty token.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_run(bytes) == bytes.len()
}

/// Whether `byte` may stand in a token.
#[inline]
pub(super) fn is_token_byte(byte: u8) -> bool {
    CLASS[byte as usize] & TOKEN != 0
}

/// Whether every byte of `value` may stand in a Host value; the empty value may.
#[inline]
pub(super) fn is_host(value: &[u8]) -> bool {
    value.iter().fold(HOST, |all, &b| all & CLASS[b as usize]) != 0
}

/// Whether `name` is `lower`, which is in lower case, without regard to ASCII case. The bit that tells the cases apart
/// is ignored in every byte, which is exact for tokens: what `-` and `_` become without it are control bytes.
#[inline]
pub(super) fn is_name<const LEN: usize>(name: &[u8], lower: &[u8; LEN]) -> bool {
    let Ok(name) = <&[u8; LEN]>::try_from(name) else {
        return false;
    };
    let mut differing = 0;
    for at in 0..LEN {
        differing |= (name[at] ^ lower[at]) & !0x20;
    }
    differing == 0
}

/// Whether every byte of `value` may stand in a field value: no control byte but HTAB.
pub(super) fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|&b| b == b'\t' || !stops::<0x20>(b))
}

/// Whether every byte of `target` may stand in a request target.
pub(super) fn is_target(target: &[u8]) -> bool {
    !target.is_empty() && visible_run::<0x21>(target) == target.len()
}

#[inline]
fn stops<const LOWEST: u8>(byte: u8) -> bool {
    byte < LOWEST || byte == 0x7f
}

/// Length of the run at the start of `bytes` without a byte below `LOWEST` and without DEL. Bytes of 0x80 and more
/// count as visible: raw UTF-8 is seen in targets and values, and nothing here interprets it.
///
/// Eight bytes at a time. The borrow of a subtraction only runs towards higher bytes, so the lowest set bit always
/// names the first byte that stops, though bits above it may be wrong.
#[inline]
pub(super) fn visible_run<const LOWEST: u8>(bytes: &[u8]) -> usize {
    let mut run = 0;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let below = word.wrapping_sub(ONES * u64::from(LOWEST)) & !word;
        let delete = word ^ (ONES * 0x7f);
        let delete = delete.wrapping_sub(ONES) & !delete;
        let stop = (below | delete) & HIGHS;
        if stop != 0 {
            return run + (stop.trailing_zeros() / 8) as usize;
        }
        run += 8;
        rest = after;
    }
    for &byte in rest {
        if stops::<LOWEST>(byte) {
            break;
        }
        run += 1;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_run_finds_the_first_stop_at_every_offset_and_length() {
        for len in 0..40 {
            for stop in 0..len {
                for bad in 0..=255u8 {
                    let mut bytes = vec![0xff; len];
                    bytes[stop] = bad;
                    let want = |lowest: u8| {
                        if bad < lowest || bad == 0x7f { stop } else { len }
                    };
                    assert_eq!(visible_run::<0x20>(&bytes), want(0x20), "{len} {stop} {bad}");
                    assert_eq!(visible_run::<0x21>(&bytes), want(0x21), "{len} {stop} {bad}");
                }
            }
        }
    }

    #[test]
    fn visible_run_is_exact_when_later_bytes_stop_too() {
        for first in 0..16 {
            let mut bytes = [b' '; 16];
            bytes[first] = 0x1f;
            for later in bytes.iter_mut().skip(first + 1) {
                *later = 0x00;
            }
            assert_eq!(visible_run::<0x20>(&bytes), first);
        }
    }

    #[test]
    fn token_run_stops_at_every_byte_that_is_no_token_byte() {
        for len in 0..20 {
            for stop in 0..len {
                for byte in 0..=255u8 {
                    let mut bytes = vec![b'-'; len];
                    bytes[stop] = byte;
                    let want = if is_token_byte(byte) { len } else { stop };
                    assert_eq!(token_run(&bytes), want, "{len} {stop} {byte:#x}");
                }
            }
        }
    }

    #[test]
    fn names_are_compared_without_case_and_exactly() {
        assert!(is_name(b"HoSt", b"host"));
        assert!(is_name(b"Content-LENGTH", b"content-length"));
        assert!(!is_name(b"content_length", b"content-length"));
        assert!(!is_name(b"hosts", b"host"));
        for at in 0..14 {
            for byte in (0..=255).filter(|&b| is_token_byte(b)) {
                let mut name = *b"content-length";
                name[at] = byte;
                let want = name.eq_ignore_ascii_case(b"content-length");
                assert_eq!(is_name(&name, b"content-length"), want, "{at} {byte:#x}");
            }
        }
    }

    #[test]
    fn token_bytes_are_those_of_rfc_9110() {
        let tokens: Vec<u8> = (0..=255).filter(|&b| is_token_byte(b)).collect();
        let mut want = b"!#$%&'*+-.^_`|~".to_vec();
        want.extend(b'0'..=b'9');
        want.extend(b'A'..=b'Z');
        want.extend(b'a'..=b'z');
        want.sort_unstable();
        assert_eq!(tokens, want);
    }
}
