//! How far the search for the end of a head has come.
//!
//! Owns the resumable position that makes a head arriving one byte at a time cost linear time in total. The first call
//! on a head parses straight away, which is the whole story for nearly every request. Only when that parse runs out of
//! bytes does later input get searched, from where the search stopped, for an empty line; the second and last parse
//! happens when one is found or the head's limit is reached. Empty lines ended by a bare LF count as an end, so that
//! such a head is answered and never waited on.

/// Position in one head; keep it beside the connection's buffer. Offsets count from the start of the slice given to
/// `parse`, so hand the same scan the same start until it answers `Complete`, which resets the scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeadScan {
    /// Leading empty lines skipped, in bytes.
    pub(super) start: u32,
    /// Bytes already searched; zero before the first parse.
    scanned: u32,
    #[cfg(test)]
    pub(super) examined: u64,
}

impl HeadScan {
    /// A scan at the start of a head.
    pub const fn new() -> Self {
        Self {
            start: 0,
            scanned: 0,
            #[cfg(test)]
            examined: 0,
        }
    }

    /// Forgets the position, for a connection that starts over.
    pub fn reset(&mut self) {
        self.start = 0;
        self.scanned = 0;
    }

    /// Bytes that need no second look, counted from the start of the given slice.
    pub fn scanned(&self) -> usize {
        self.scanned as usize
    }

    /// Whether a parse of `input` makes sense now: on the first call, when the head ends in it, or when it holds
    /// `limit` bytes (counted from the start of `input`) and the head must be refused.
    #[inline]
    pub(super) fn should_parse(&mut self, input: &[u8], limit: usize) -> bool {
        let parse = self.scanned == 0 || self.find_end(input, limit);
        #[cfg(test)]
        if parse {
            self.examined += input.len().min(limit) as u64;
        }
        parse
    }

    /// Notes that a parse of all of `input` ran out of bytes.
    #[inline]
    pub(super) fn ran_out(&mut self, input: &[u8]) {
        self.scanned = u32::try_from(input.len()).unwrap_or(u32::MAX);
    }

    #[cold]
    fn find_end(&mut self, input: &[u8], limit: usize) -> bool {
        let from = self.scanned().min(input.len());
        let new = &input[from..input.len().min(limit).max(from)];
        #[cfg(test)]
        {
            self.examined += new.len() as u64;
        }
        let head = self.start as usize;
        for at in memchr::memchr_iter(b'\n', new) {
            if matches!(&input[head.min(from + at)..from + at], [.., b'\n'] | [.., b'\n', b'\r']) {
                return true;
            }
        }
        self.ran_out(input);
        input.len() >= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::limits::Limits;
    use crate::http::{request, response};
    use crate::step::Step;

    /// Bytes looked at for all of `head` coming one byte at a time.
    fn examined(head: &[u8]) -> u64 {
        let mut scan = HeadScan::new();
        let mut last = 0;
        for len in 1..head.len() {
            let step = request::parse(&head[..len], &mut scan, &Limits::DEFAULT);
            assert_eq!(step, Ok(Step::NeedMore { at_least: len + 1 }));
            assert!(scan.scanned() >= last, "the scan never goes back");
            last = scan.scanned();
        }
        let step = request::parse(head, &mut scan, &Limits::DEFAULT);
        assert!(matches!(step, Ok(Step::Complete { consumed, .. }) if consumed == head.len()));
        assert_eq!((scan.start, scan.scanned), (0, 0));
        scan.examined
    }

    #[test]
    fn a_head_byte_by_byte_costs_linear_time() {
        for kib in [1, 4, 15] {
            let mut head = b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec();
            while head.len() < kib * 1024 {
                head.extend_from_slice(b"X-Filler: ");
                head.extend_from_slice(&[b'x'; 200]);
                head.extend_from_slice(b"\r\n");
            }
            head.extend_from_slice(b"\r\n");
            assert!(examined(&head) <= 2 * head.len() as u64 + 2);
        }
    }

    #[test]
    fn empty_lines_before_a_head_do_not_end_it() {
        let head = b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!(examined(head) <= 3 * head.len() as u64);
    }

    #[test]
    fn an_endless_head_costs_linear_time_and_is_refused_at_the_limit() {
        let mut head = b"GET / HTTP/1.1\r\nX: ".to_vec();
        head.resize(Limits::DEFAULT.head_bytes, b'x');
        let mut scan = HeadScan::new();
        for len in 1..head.len() {
            let step = request::parse(&head[..len], &mut scan, &Limits::DEFAULT);
            assert_eq!(step, Ok(Step::NeedMore { at_least: len + 1 }));
        }
        let step = request::parse(&head, &mut scan, &Limits::DEFAULT);
        assert_eq!(step, Err(request::RequestError::HeadTooLong));
        assert!(scan.examined <= 2 * head.len() as u64 + 2);
    }

    #[test]
    fn a_response_head_byte_by_byte_costs_linear_time() {
        let mut head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ".to_vec();
        head.resize(8000, b'x');
        head.extend_from_slice(b"\r\n\r\n");
        let mut scan = HeadScan::new();
        for len in 1..head.len() {
            let step = response::parse(&head[..len], &mut scan, false, &Limits::DEFAULT);
            assert_eq!(step, Ok(Step::NeedMore { at_least: len + 1 }));
        }
        let step = response::parse(&head, &mut scan, false, &Limits::DEFAULT);
        assert!(matches!(step, Ok(Step::Complete { .. })));
        assert!(scan.examined <= 2 * head.len() as u64 + 2);
    }
}
