//! ZAP answers: one response frame, or head, data frames and end. Small frames are decoded whole; of a large one the beginning is
//! read, and the rest counted as it arrives.

use codec::{
    Step,
    limits::{MAX_FRAME_BYTES, PREFIX_BYTES},
    zap::{
        frame::{self, Frame, Kind},
        peek::{self, Peek},
        response::Response,
        stream,
    },
};

use super::{Answer, Asked, BodyCheck, End, Fault, Found, FrameWord, Memo, Seen, Wire};
use crate::limits::{MAX_PEEK_BYTES, WHOLE_FRAME_BYTES};

/// The parse state of one ZAP connection.
#[derive(Debug, Default)]
pub struct Zap {
    /// The head of the streamed answer under way has come, its end has not.
    streaming: bool,
    status: u16,
    check: BodyCheck,
    skipping: Option<Skipping>,
}

/// A large frame whose beginning was read.
#[derive(Debug, Clone, Copy)]
struct Skipping {
    kind: Kind,
    /// Bytes of the frame that were consumed.
    at: usize,
    /// Bytes of the frame.
    frame_bytes: usize,
    body_at: usize,
    body_end: usize,
}

impl Wire for Zap {
    // Always inlined: it has a caller for one request and one for several, and each should be as fast as if it were the only one.
    #[inline(always)]
    fn read(&mut self, input: &[u8], asked: &Asked, memo: &mut Memo) -> Result<Seen, Fault> {
        if !self.streaming
            && self.skipping.is_none()
            && let Some((answer, consumed)) = memo.recall(input)
        {
            return Ok(Seen { consumed, found: Found::Answer(answer) });
        }
        let mut at = 0;
        loop {
            if self.skipping.is_some() {
                at += self.skip(&input[at..], asked);
                if self.skipping.is_some() {
                    return Ok(Seen { consumed: at, found: Found::Need(0) });
                }
                if let Some(answer) = self.answer(asked) {
                    return Ok(Seen { consumed: at, found: Found::Answer(answer) });
                }
            }
            let rest = &input[at..];
            match frame::split(rest, MAX_FRAME_BYTES).map_err(Fault::Length)? {
                Step::Complete { value: frame, consumed } => {
                    let whole = &rest[..consumed];
                    at += consumed;
                    let continues = self.streaming;
                    self.frame(frame, asked)?;
                    if let Some(answer) = self.answer(asked) {
                        if !continues {
                            memo.keep(whole, answer);
                        }
                        return Ok(Seen { consumed: at, found: Found::Answer(answer) });
                    }
                }
                Step::NeedMore { at_least } => {
                    let whole = at_least <= WHOLE_FRAME_BYTES || rest.len() < PREFIX_BYTES;
                    let need = if whole { Some(at_least) } else { self.begin_large(rest, at_least - PREFIX_BYTES)? };
                    if let Some(need) = need {
                        return Ok(Seen { consumed: at, found: Found::Need(need) });
                    }
                    at += PREFIX_BYTES;
                }
            }
        }
    }

    fn end(&mut self, _asked: &Asked) -> End {
        let begun = self.streaming || self.skipping.is_some();
        self.reset();
        if begun { End::Cut(Fault::CutFrames) } else { End::Nothing }
    }
}

impl Zap {
    /// Takes a whole frame.
    #[inline]
    fn frame(&mut self, bytes: &[u8], asked: &Asked) -> Result<(), Fault> {
        let frame = Frame::parse(bytes).map_err(Fault::Frame)?;
        let kind = frame.kind();
        self.expect(kind)?;
        match kind {
            Some(Kind::Data) => {
                let chunk = stream::data_from_frame(&frame).map_err(Fault::Frame)?;
                self.check.piece(chunk, asked);
            }
            Some(Kind::End) => {
                stream::end_from_frame(&frame).map_err(Fault::Frame)?;
                self.streaming = false;
            }
            _ => {
                let response = Response::from_frame(&frame).map_err(Fault::Frame)?;
                self.status = response.status;
                self.streaming = response.kind == Kind::Head;
                self.check.piece(response.body, asked);
            }
        }
        Ok(())
    }

    /// Refuses a frame that cannot come now.
    #[inline]
    fn expect(&self, kind: Option<Kind>) -> Result<(), Fault> {
        match (self.streaming, kind) {
            (false, Some(Kind::Response | Kind::Head)) | (true, Some(Kind::Data | Kind::End)) => Ok(()),
            (streaming, found) => {
                let wanted =
                    if streaming { "data or the end of a stream" } else { "a response or the head of a stream" };
                Err(Fault::Sequence { found: FrameWord(found), wanted })
            }
        }
    }

    /// The answer, if the frame just taken ended it.
    #[inline]
    fn answer(&mut self, asked: &Asked) -> Option<Answer> {
        if self.streaming {
            return None;
        }
        let check = std::mem::take(&mut self.check);
        Some(Answer {
            status: self.status,
            body_bytes: check.bytes,
            body_matches: check.matches(asked),
            reusable: true,
        })
    }

    /// Begins a frame too large to be waited for; `rest` starts with its prefix. What is needed before that is possible, or
    /// `None` when it was done.
    #[cold]
    fn begin_large(&mut self, rest: &[u8], frame_bytes: usize) -> Result<Option<usize>, Fault> {
        let beginning = &rest[PREFIX_BYTES..];
        match peek::peek(beginning, frame_bytes).map_err(Fault::Frame)? {
            Step::NeedMore { at_least } if at_least > MAX_PEEK_BYTES => Err(Fault::FarRoot),
            Step::NeedMore { at_least } => Ok(Some(PREFIX_BYTES + at_least)),
            Step::Complete { value: Peek { kind, status, body_at, body_bytes }, .. } => {
                self.expect(Some(kind))?;
                match kind {
                    Kind::Data | Kind::End => {}
                    _ => (self.status, self.streaming) = (status, true),
                }
                self.skipping = Some(Skipping { kind, at: 0, frame_bytes, body_at, body_end: body_at + body_bytes });
                Ok(None)
            }
        }
    }

    /// Takes as much of a large frame as there is; returns how much.
    fn skip(&mut self, input: &[u8], asked: &Asked) -> usize {
        let Some(large) = &mut self.skipping else { return 0 };
        let taken = input.len().min(large.frame_bytes - large.at);
        let body_from = large.body_at.saturating_sub(large.at).min(taken);
        let body_to = large.body_end.saturating_sub(large.at).min(taken);
        self.check.piece(&input[body_from..body_to], asked);
        large.at += taken;
        if large.at == large.frame_bytes {
            // A response is whole with its frame, and so is a stream with its end.
            self.streaming = matches!(large.kind, Kind::Head | Kind::Data);
            self.skipping = None;
        }
        taken
    }
}
