//! Answers written ahead: the constant ones, in every form a connection can ask for.
//!
//! Owns the bytes. They come from the same writers that write every other answer, once per shard, and those with a date
//! again when the second changes.

use codec::http::answer::ConnectionHeader;

use crate::{answer::Answer, handlers, http_wire, zap_wire};

/// One HTTP answer, head and body together.
#[derive(Debug, Default)]
pub(crate) struct HttpReady {
    bytes: Vec<u8>,
    head_bytes: usize,
}

impl HttpReady {
    /// The answer, or its head alone after a HEAD request.
    #[inline]
    pub(crate) fn bytes(&self, head_only: bool) -> &[u8] {
        if head_only { &self.bytes[..self.head_bytes] } else { &self.bytes }
    }

    fn write(&mut self, answer: &Answer<'_>, body: &[u8], connection: ConnectionHeader, date: &[u8; 29]) {
        self.bytes.clear();
        http_wire::write_counted_head(&mut self.bytes, answer, body.len(), connection, date);
        self.head_bytes = self.bytes.len();
        self.bytes.extend_from_slice(body);
    }
}

/// An answer on both wires.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    http: [HttpReady; 3],
    zap: Vec<u8>,
}

impl Ready {
    /// The answer on http.
    #[inline]
    pub(crate) fn http(&self, connection: ConnectionHeader) -> &HttpReady {
        match connection {
            ConnectionHeader::None => &self.http[0],
            ConnectionHeader::Close => &self.http[1],
            ConnectionHeader::KeepAlive => &self.http[2],
        }
    }

    /// The answer on zap, length prefix included.
    #[inline]
    pub(crate) fn zap(&self) -> &[u8] {
        &self.zap
    }

    fn write(&mut self, answer: &Answer<'_>, date: &[u8; 29]) {
        let crate::answer::Body::Slice(body) = answer.body else {
            unreachable!("constant answers have constant bodies")
        };
        let connections = [ConnectionHeader::None, ConnectionHeader::Close, ConnectionHeader::KeepAlive];
        for (http, connection) in self.http.iter_mut().zip(connections) {
            http.write(answer, body, connection, date);
        }
        self.zap.clear();
        zap_wire::write_whole(&mut self.zap, answer, body, date);
    }
}

/// All answers written ahead.
#[derive(Debug)]
pub(crate) struct ReadyAnswers {
    pub(crate) health: Ready,
    pub(crate) plaintext: Ready,
}

impl ReadyAnswers {
    pub(crate) fn new(date: &[u8; 29]) -> Self {
        let mut ready = ReadyAnswers { health: Ready::default(), plaintext: Ready::default() };
        ready.health.write(&handlers::health(), date);
        ready.redate(date);
        ready
    }

    /// Writes those that carry a date again.
    pub(crate) fn redate(&mut self, date: &[u8; 29]) {
        self.plaintext.write(&handlers::plaintext(), date);
    }
}
