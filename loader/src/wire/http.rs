//! HTTP/1.1 answers: interim heads skipped, bodies counted in pieces whatever their framing.

use codec::{
    Step,
    http::{BodyLength, BodyReader, HeadScan, Limits, response},
};

use super::{Answer, Asked, BodyCheck, End, Fault, Found, Memo, Seen, Wire};

/// The parse state of one HTTP connection.
#[derive(Debug, Default)]
pub struct Http {
    scan: HeadScan,
    body: Option<Body>,
}

/// A body under way.
#[derive(Debug)]
struct Body {
    reader: BodyReader,
    until_close: bool,
    status: u16,
    reusable: bool,
    check: BodyCheck,
}

impl Body {
    fn answer(&self, asked: &Asked) -> Answer {
        Answer {
            status: self.status,
            body_bytes: self.check.bytes,
            body_matches: asked.is_head || self.check.matches(asked),
            reusable: self.reusable,
        }
    }
}

impl Wire for Http {
    // Always inlined: it has a caller for one request and one for several, and each should be as fast as if it were the only one.
    #[inline(always)]
    fn read(&mut self, input: &[u8], asked: &Asked, memo: &mut Memo) -> Result<Seen, Fault> {
        if self.body.is_none()
            && self.scan.scanned() == 0
            && let Some((answer, head_bytes)) = memo.recall(input)
            && answer.body_bytes <= (input.len() - head_bytes) as u64
        {
            return Ok(Seen { consumed: head_bytes + answer.body_bytes as usize, found: Found::Answer(answer) });
        }
        let mut at = 0;
        while self.body.is_none() {
            let head_from = at;
            let head = match response::parse(&input[at..], &mut self.scan, asked.is_head, &Limits::DEFAULT) {
                Ok(Step::NeedMore { at_least }) => return Ok(Seen { consumed: at, found: Found::Need(at_least) }),
                Ok(Step::Complete { value, consumed }) => {
                    at += consumed;
                    value
                }
                Err(error) => return Err(Fault::Head(error)),
            };
            if head.interim {
                continue;
            }
            let (status, reusable) = (head.status, head.keep_alive && !asked.closes);
            let body_bytes = if let BodyLength::Length(bytes) = head.body { bytes } else { 0 };
            match head.body {
                // By far the most answers end here, with their body in the same read.
                BodyLength::None | BodyLength::Length(_)
                    if asked.body.is_none() && body_bytes <= (input.len() - at) as u64 =>
                {
                    let answer = Answer { status, body_bytes, body_matches: true, reusable };
                    memo.keep(&input[head_from..at], answer);
                    return Ok(Seen { consumed: at + body_bytes as usize, found: Found::Answer(answer) });
                }
                length => {
                    let until_close = length == BodyLength::UntilClose;
                    let reader = BodyReader::new(length);
                    self.body = Some(Body { reader, until_close, status, reusable, check: BodyCheck::default() });
                }
            }
        }
        self.read_body(input, at, asked)
    }

    fn end(&mut self, asked: &Asked) -> End {
        let Some(mut body) = self.body.take() else { return End::Nothing };
        match body.reader.finish_eof() {
            Ok(()) if body.until_close => End::Answer(body.answer(asked)),
            Ok(()) => End::Nothing,
            Err(error) => End::Cut(Fault::Body(error)),
        }
    }
}

impl Http {
    fn read_body(&mut self, input: &[u8], mut at: usize, asked: &Asked) -> Result<Seen, Fault> {
        let Some(body) = &mut self.body else { return Ok(Seen { consumed: at, found: Found::Need(0) }) };
        loop {
            let piece = body.reader.read(&input[at..]).map_err(Fault::Body)?;
            body.check.piece(piece.data, asked);
            at += piece.consumed;
            if piece.done {
                let answer = body.answer(asked);
                self.body = None;
                return Ok(Seen { consumed: at, found: Found::Answer(answer) });
            }
            if piece.consumed == 0 || at == input.len() {
                return Ok(Seen { consumed: at, found: Found::Need(0) });
            }
        }
    }
}
