//! HTTP request bodies that do not lie whole in the input: waited for, collected in pieces, or skipped.
//!
//! Owns the bounds: nothing is held for what a head announces, only for what has arrived and is wanted.

use codec::{
    Step,
    http::{BodyError, BodyReader, HeadScan, answer, request},
};
use engine::Next;

use crate::{
    context::{Gathering, Waiting, append},
    http_wire::{Asked, Content, Turn},
    limits,
};

/// How far a body has come.
enum Gathered {
    More,
    Done,
    TooLong,
    NoMemory,
    Malformed(BodyError),
}

const TOO_LONG: &str = "the body is longer than this server takes";
const NO_MEMORY: &str = "no memory left for this body";

impl Turn<'_, '_> {
    /// Takes up a request whose counted body has not wholly arrived or is longer than it may be.
    pub(crate) fn await_counted(
        &mut self,
        asked: &Asked<'_>,
        head_bytes: usize,
        rest: &[u8],
        body_bytes: u64,
    ) -> Option<Next> {
        if body_bytes > self.body_limit_bytes(asked) {
            return self.end_unread(asked);
        }
        if asked.route.takes_body() && body_bytes > self.cx.memory_left_bytes as u64 {
            return Some(self.no_memory());
        }
        if let Some(next) = self.expect(asked, head_bytes, rest) {
            return Some(next);
        }
        if body_bytes <= limits::MAX_CONTIGUOUS_BODY_BYTES {
            self.context.wait(Waiting::Body, self.cx.now_ns);
            return Some(Next::Need(head_bytes + body_bytes as usize));
        }
        self.begin_gathering(asked, head_bytes, rest, body_bytes)
    }

    /// Takes up a request with a chunked body; `None` when all of it was here and is answered.
    pub(crate) fn begin_chunked(&mut self, asked: &Asked<'_>, head_bytes: usize, rest: &[u8]) -> Option<Next> {
        if let Some(next) = self.expect(asked, head_bytes, rest) {
            return Some(next);
        }
        self.begin_gathering(asked, head_bytes, rest, self.body_limit_bytes(asked))
    }

    /// Lets a client that waits for permission send its body, or ends the request where the body is not wanted.
    fn expect(&mut self, asked: &Asked<'_>, head_bytes: usize, rest: &[u8]) -> Option<Next> {
        if !asked.head.expect_continue || self.context.continued || rest.len() > head_bytes {
            return None;
        }
        if !asked.route.takes_body() {
            return self.end_unread(asked);
        }
        self.context.continued = true;
        answer::write_continue(self.out.bytes());
        None
    }

    /// Takes the first pieces of a body, behind its head, and keeps the head if there are more to come.
    fn begin_gathering(&mut self, asked: &Asked<'_>, head_bytes: usize, rest: &[u8], limit_bytes: u64) -> Option<Next> {
        self.context.wait(Waiting::Body, self.cx.now_ns);
        let mut gathering = Gathering {
            reader: BodyReader::new(asked.head.body),
            keep: asked.route.takes_body(),
            seen_bytes: 0,
            limit_bytes,
        };
        let (head, input) = rest.split_at(head_bytes);
        self.consumed += head_bytes;
        let gathered = match self.take_pieces(&mut gathering, input) {
            Gathered::More if !append(&mut self.context.head, head, head_bytes, self.cx) => Gathered::NoMemory,
            gathered => gathered,
        };
        self.context.account(&mut self.service.held_bytes);
        match gathered {
            Gathered::Done => self.answer_gathered(asked, false),
            Gathered::More => {
                self.context.gathering = Some(gathering);
                Some(Next::Need(1))
            }
            Gathered::TooLong if !gathering.keep => self.end_unread(asked),
            refused => Some(self.refuse_gathered(refused)),
        }
    }

    /// Takes further pieces; `None` when the body was completed and answered.
    pub(crate) fn gather(&mut self, rest: &[u8]) -> Option<Next> {
        let mut gathering = self.context.gathering.take()?;
        let gathered = self.take_pieces(&mut gathering, rest);
        self.context.account(&mut self.service.held_bytes);
        match gathered {
            Gathered::More => {
                self.context.gathering = Some(gathering);
                Some(Next::Need(1))
            }
            Gathered::Done => self.answer_kept(false),
            Gathered::TooLong if !gathering.keep => self.answer_kept(true),
            refused => Some(self.refuse_gathered(refused)),
        }
    }

    fn take_pieces(&mut self, gathering: &mut Gathering, input: &[u8]) -> Gathered {
        let mut at = 0;
        loop {
            let piece = match gathering.reader.read(&input[at..]) {
                Ok(piece) => piece,
                Err(error) => return Gathered::Malformed(error),
            };
            at += piece.consumed;
            self.consumed += piece.consumed;
            gathering.seen_bytes += piece.data.len() as u64;
            // What a chunk announces counts before it has come.
            let known_bytes = gathering.seen_bytes.saturating_add(gathering.reader.known_left());
            if known_bytes > gathering.limit_bytes {
                return Gathered::TooLong;
            }
            let limit_bytes = usize::try_from(gathering.limit_bytes).unwrap_or(usize::MAX);
            if gathering.keep && !append(&mut self.context.body, piece.data, limit_bytes, self.cx) {
                return Gathered::NoMemory;
            }
            if piece.done {
                return Gathered::Done;
            }
            if at == input.len() {
                return Gathered::More;
            }
        }
    }

    /// Answers the request whose head was kept.
    fn answer_kept(&mut self, last: bool) -> Option<Next> {
        let kept = std::mem::take(&mut self.context.head);
        let next = self.answer_head(&kept, last);
        self.context.head = kept;
        self.put_buffers();
        next
    }

    /// Answers the request with this head and the body that was collected, which was valid before.
    fn answer_head(&mut self, head: &[u8], last: bool) -> Option<Next> {
        match request::parse(head, &mut HeadScan::new(), &self.service.options.http_head) {
            Ok(Step::Complete { value, .. }) => self.answer_gathered(&Asked::new(&value), last),
            Ok(Step::NeedMore { .. }) => unreachable!("a head is kept when it is complete"),
            Err(error) => Some(self.malformed(error)),
        }
    }

    fn answer_gathered(&mut self, asked: &Asked<'_>, last: bool) -> Option<Next> {
        let mut body = std::mem::take(&mut self.context.body);
        let next = self.answer(asked, Content::Gathered(&mut body), last);
        self.context.body = body;
        self.put_buffers();
        next
    }

    /// Ends a request whose body is not read to its end: with its answer where the body was not wanted, else with 413.
    #[cold]
    fn end_unread(&mut self, asked: &Asked<'_>) -> Option<Next> {
        if asked.route.takes_body() {
            return Some(self.refuse(413, TOO_LONG));
        }
        self.answer(asked, Content::Here(&[]), true)
    }

    #[cold]
    fn refuse_gathered(&mut self, gathered: Gathered) -> Next {
        self.put_buffers();
        match gathered {
            Gathered::Malformed(error) => {
                self.service.counts().malformed.add(1);
                self.refuse(400, error)
            }
            Gathered::NoMemory => self.no_memory(),
            Gathered::TooLong | Gathered::More | Gathered::Done => self.refuse(413, TOO_LONG),
        }
    }

    #[cold]
    fn no_memory(&mut self) -> Next {
        self.service.counts().over_memory.add(1);
        self.refuse(503, NO_MEMORY)
    }

    fn put_buffers(&mut self) {
        self.context.shrink();
        self.context.account(&mut self.service.held_bytes);
    }
}
