//! Writing the chunked coding (RFC 9112 section 7.1).
//!
//! Owns the framing bytes around content that the caller appends or sends on its own.

/// Bytes that [`write_chunk_head`] appends at most: 16 digits and CRLF.
pub const MAX_CHUNK_HEAD_BYTES: usize = 18;

/// Appends the size line of a chunk of `data_bytes`; the content and [`write_chunk_end`] must follow. A size of zero
/// would end the body, so it writes nothing.
pub fn write_chunk_head(out: &mut Vec<u8>, data_bytes: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if data_bytes == 0 {
        return;
    }
    let mut line = [0; MAX_CHUNK_HEAD_BYTES];
    let mut at = MAX_CHUNK_HEAD_BYTES - 2;
    line[at..].copy_from_slice(b"\r\n");
    let mut left = data_bytes;
    while left > 0 {
        at -= 1;
        line[at] = DIGITS[left & 0xf];
        left >>= 4;
    }
    out.extend_from_slice(&line[at..]);
}

/// Appends what follows the content of every chunk but the last.
pub fn write_chunk_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Appends one whole chunk; empty `data` writes nothing.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.reserve(MAX_CHUNK_HEAD_BYTES + data.len() + 2);
    write_chunk_head(out, data.len());
    out.extend_from_slice(data);
    write_chunk_end(out);
}

/// Appends the last chunk, without trailers.
pub fn write_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_heads_are_hexadecimal_without_leading_zeros() {
        for (bytes, want) in [
            (0, &b""[..]),
            (1, b"1\r\n"),
            (15, b"f\r\n"),
            (16, b"10\r\n"),
            (0xabcdef, b"abcdef\r\n"),
            (usize::MAX, b"ffffffffffffffff\r\n"),
        ] {
            let mut out = Vec::new();
            write_chunk_head(&mut out, bytes);
            assert_eq!(out, want);
        }
    }
}
