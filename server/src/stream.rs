//! An answer that is made while it is sent, never all at once.
//!
//! Owns how far it has come. Each turn it writes as much as the outbox has room for; data comes from one shared pattern.

use bytes::Bytes;
use codec::{http::chunk, zap::stream as frames};
use engine::Outbox;

use crate::limits::{MAX_COPIED_PATTERN_BYTES, PATTERN_BYTES};

/// What stands around the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Nothing: a counted body, or one that ends with the connection.
    Plain,
    /// HTTP chunks and the last chunk.
    Chunked,
    /// ZAP data frames and an end frame.
    Frames,
}

/// Chunks of the pattern, each from its first letter on.
#[derive(Debug)]
pub(crate) struct Stream {
    framing: Framing,
    chunk_bytes: usize,
    /// Chunks not begun.
    chunks_left: usize,
    /// Bytes of the current chunk not written.
    left_bytes: usize,
}

impl Stream {
    pub(crate) fn new(framing: Framing, chunks: usize, chunk_bytes: usize) -> Self {
        // An empty chunk shows on the wire only as a frame.
        let chunks = if chunk_bytes == 0 && framing != Framing::Frames { 0 } else { chunks };
        Stream { framing, chunk_bytes, chunks_left: chunks, left_bytes: 0 }
    }

    /// Writes what there is room for, at least a little into an empty outbox; true when the end was written.
    pub(crate) fn produce(&mut self, pattern: &Bytes, out: &mut Outbox) -> bool {
        loop {
            let room_bytes = match out.room_bytes() {
                0 if !out.is_empty() => return false,
                room_bytes => room_bytes.max(1),
            };
            if self.left_bytes > 0 {
                self.append(pattern, room_bytes, out);
            } else if self.chunks_left > 0 {
                self.begin_chunk(out);
            } else {
                self.end(out);
                return true;
            }
        }
    }

    fn append(&mut self, pattern: &Bytes, room_bytes: usize, out: &mut Outbox) {
        let at = (self.chunk_bytes - self.left_bytes) % PATTERN_BYTES;
        let bytes = self.left_bytes.min(room_bytes).min(PATTERN_BYTES - at);
        if bytes <= MAX_COPIED_PATTERN_BYTES {
            out.bytes().extend_from_slice(&pattern[at..at + bytes]);
        } else {
            out.share(pattern.slice(at..at + bytes));
        }
        self.left_bytes -= bytes;
        if self.left_bytes == 0 && self.framing == Framing::Chunked {
            chunk::write_chunk_end(out.bytes());
        }
    }

    fn begin_chunk(&mut self, out: &mut Outbox) {
        self.chunks_left -= 1;
        self.left_bytes = self.chunk_bytes;
        match self.framing {
            Framing::Plain => {}
            Framing::Chunked => chunk::write_chunk_head(out.bytes(), self.chunk_bytes),
            Framing::Frames => frames::data_prefix(out.bytes(), self.chunk_bytes)
                .expect("a chunk is bounded far below the size of a frame"),
        }
    }

    fn end(&mut self, out: &mut Outbox) {
        match self.framing {
            Framing::Plain => {}
            Framing::Chunked => chunk::write_last_chunk(out.bytes()),
            Framing::Frames => frames::encode_end(out.bytes(), ()).expect("an empty end frame is small"),
        }
    }
}

/// The pattern: the alphabet over and over. One per shard, so that its memory and its count of users are local.
pub(crate) fn pattern() -> Bytes {
    let pattern = Bytes::from((b'a'..=b'z').cycle().take(PATTERN_BYTES).collect::<Vec<u8>>());
    // The first clone turns the value into a counted one, which allocates; have that done now.
    drop(pattern.clone());
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(mut stream: Stream, budget_bytes: usize) -> Vec<u8> {
        let (pattern, mut all) = (pattern(), Vec::new());
        loop {
            let mut out = Outbox::new(budget_bytes);
            let done = stream.produce(&pattern, &mut out);
            let turn = out.to_vec();
            assert!(turn.len() <= budget_bytes.max(1) + 64, "{} of {budget_bytes}", turn.len());
            all.extend_from_slice(&turn);
            if done {
                return all;
            }
            assert!(!turn.is_empty(), "no progress");
        }
    }

    fn letters(n: usize) -> Vec<u8> {
        (b'a'..=b'z').cycle().take(n).collect()
    }

    #[test]
    fn budgets_change_nothing_but_the_turns() {
        for budget_bytes in [1, 7, 100, 1025, 65_536, 1 << 20] {
            let plain = whole(Stream::new(Framing::Plain, 1, 200_000), budget_bytes);
            assert_eq!(plain, letters(200_000), "{budget_bytes}");
            let chunked = whole(Stream::new(Framing::Chunked, 2, 30), budget_bytes);
            let chunk = [b"1e\r\n".to_vec(), letters(30), b"\r\n".to_vec()].concat();
            assert_eq!(chunked, [chunk.clone(), chunk, b"0\r\n\r\n".to_vec()].concat(), "{budget_bytes}");
            let mut want = Vec::new();
            for _ in 0..3 {
                frames::encode_data(&mut want, &letters(70_000)).unwrap();
            }
            frames::encode_end(&mut want, ()).unwrap();
            assert_eq!(whole(Stream::new(Framing::Frames, 3, 70_000), budget_bytes), want, "{budget_bytes}");
        }
    }

    #[test]
    fn empty_chunks_are_frames_and_never_end_a_chunked_body() {
        assert_eq!(whole(Stream::new(Framing::Chunked, 1_000_000, 0), 64), b"0\r\n\r\n");
        assert_eq!(whole(Stream::new(Framing::Plain, 1_000_000, 0), 64), b"");
        assert_eq!(whole(Stream::new(Framing::Frames, 2, 0), 64).len(), 3 * 28);
    }
}
