//! The server side of the ZAP wire: frames in, frames out, in the order they came (ZAP wire §5).
//!
//! HTTP's connection rules do not apply here: nothing a request says closes the connection, and HEAD is answered with a
//! body. Only bytes that are no request frame end it.

use std::io::Write;

use codec::{
    Step,
    zap::{
        EncodeError, frame,
        pairs::{PairSource, Pairs},
        request, response,
        response::ResponseHead,
    },
};
use engine::{Cx, Next, Outbox, Taken};

use crate::{
    answer::{Answer, Body, SERVER},
    context::{Context, Streaming, Waiting},
    handlers, limits,
    request::{Fields, Request, Verb},
    route::{self, Route},
    service::Service,
    stream::{Framing, Stream},
    wire::Wire,
};

/// Answers the complete frames at the start of `input`, as far as there is room.
#[inline]
pub(crate) fn data(
    context: &mut Context,
    service: &mut Service,
    input: &[u8],
    out: &mut Outbox,
    cx: &mut Cx<'_>,
) -> Taken {
    let mut turn = Turn { context, service, out, cx, consumed: 0, answered: 0 };
    let next = turn.run(input);
    let Turn { consumed, answered, .. } = turn;
    if answered > 0 {
        service.counts().zap_requests.add(answered);
    }
    context.input_left = next == Next::Hold && consumed < input.len();
    Taken { consumed, next }
}

struct Turn<'t, 'c> {
    context: &'t mut Context,
    service: &'t mut Service,
    out: &'t mut Outbox,
    cx: &'t mut Cx<'c>,
    consumed: usize,
    answered: u64,
}

impl Turn<'_, '_> {
    #[inline]
    fn run(&mut self, input: &[u8]) -> Next {
        loop {
            let rest = &input[self.consumed..];
            if rest.is_empty() {
                self.context.idle(self.cx.now_ns);
                return Next::Need(1);
            }
            if self.answered == limits::MAX_REQUESTS_PER_CALL || self.out.room_bytes() == 0 {
                return Next::Hold;
            }
            let frame = match frame::split(rest, self.service.options.max_frame_bytes) {
                Ok(Step::Complete { value, consumed }) => {
                    self.consumed += consumed;
                    value
                }
                Ok(Step::NeedMore { at_least }) => {
                    let length_known = rest.len() >= codec::limits::PREFIX_BYTES;
                    let waiting = if length_known { Waiting::Body } else { Waiting::Head };
                    self.context.wait(waiting, self.cx.now_ns);
                    return Next::Need(at_least);
                }
                Err(_) => {
                    self.service.counts().malformed.add(1);
                    return Next::Close;
                }
            };
            self.answered += 1;
            self.context.waiting = Waiting::Sending;
            let next = match request::Request::decode(frame) {
                Ok(request) => self.answer(&request, frame.len()),
                Err(error) => Some(self.malformed(&error)),
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    #[cold]
    fn malformed(&mut self, error: &frame::FrameError) -> Next {
        let mut scratch = self.service.take_scratch();
        write!(scratch, "malformed request frame: {error}").expect("memory takes any text");
        write_whole(self.out.bytes(), &Answer::text(400, &scratch), &scratch, self.service.date());
        self.service.put_scratch(scratch);
        self.service.counts().malformed.add(1);
        self.service.counts().status(400);
        Next::Close
    }

    /// Answers one request; `None` when the next one may follow.
    #[inline]
    fn answer(&mut self, request: &request::Request<'_>, frame_bytes: usize) -> Option<Next> {
        let path = route::path(request.target());
        let route = route::find(Verb::of_token(request.method()), path);
        match route {
            Route::Health => {
                self.out.bytes().extend_from_slice(self.service.ready.health.zap());
                None
            }
            Route::Plaintext => {
                self.service.advance_date(self.cx.now_ns);
                self.out.bytes().extend_from_slice(self.service.ready.plaintext.zap());
                None
            }
            _ => self.answer_made(request, frame_bytes, route, path),
        }
    }

    /// Answers with what a handler makes.
    fn answer_made(
        &mut self,
        request: &request::Request<'_>,
        frame_bytes: usize,
        route: Route,
        path: &[u8],
    ) -> Option<Next> {
        if route.takes_body()
            && let Some(refusal) = self.refused(request, frame_bytes, route)
        {
            return self.write(request, &refusal);
        }
        self.service.advance_date(self.cx.now_ns);
        let mut scratch = self.service.take_scratch();
        let asked = Request { wire: Wire::Zap, route, path, body: request.body };
        let answer = handlers::answer(
            &asked,
            &self.service.pattern,
            &self.service.published,
            &mut self.service.json,
            &mut scratch,
        );
        let next = self.write(request, &answer);
        self.service.put_scratch(scratch);
        next
    }

    /// The refusal of a body that is longer than allowed, or whose echo would not fit in the memory left.
    #[inline]
    fn refused(&mut self, request: &request::Request<'_>, frame_bytes: usize, route: Route) -> Option<Answer<'static>> {
        if request.body.len() > self.service.options.max_body_bytes {
            return Some(Answer::text(413, b"the body is longer than this server takes"));
        }
        // Headers and body both lie in the frame, though maybe in the same part of it.
        if route == Route::Echo && frame_bytes > limits::LARGE_BODY_BYTES / 2 {
            let answer_bytes = request.body.len() + EchoedFields(request.headers).block_size().bytes;
            if answer_bytes > limits::LARGE_BODY_BYTES && answer_bytes > self.cx.memory_left_bytes {
                self.service.counts().over_memory.add(1);
                return Some(Answer::text(503, b"no memory left for this body"));
            }
        }
        None
    }

    fn write(&mut self, request: &request::Request<'_>, answer: &Answer<'_>) -> Option<Next> {
        self.service.counts().status(answer.status);
        let before = self.out.bytes().len();
        match self.try_write(request, answer) {
            Ok(next) => next,
            Err(EncodeError::TooLarge { .. }) => {
                // Only an echo can get here, by fields that overlap its body: a fault of the handler (ZAP wire §5).
                debug_assert_eq!(self.out.bytes().len(), before, "a refused frame appends nothing");
                self.service.counts().status(500);
                let empty = ResponseHead::new(500, ());
                response::encode(self.out.bytes(), &empty, &[], ()).expect("an empty answer is small");
                None
            }
        }
    }

    #[inline]
    fn try_write(&mut self, request: &request::Request<'_>, answer: &Answer<'_>) -> Result<Option<Next>, EncodeError> {
        let fields = AnswerFields { answer, date: self.service.date() };
        let head = ResponseHead::new(answer.status, fields);
        let bytes = self.out.bytes();
        match &answer.body {
            Body::Slice(body) => response::encode(bytes, &head, body, ())?,
            Body::Echo => {
                let head = ResponseHead::new(answer.status, EchoedFields(request.headers));
                response::encode(bytes, &head, request.body, ())?;
            }
            Body::Shared(body) => {
                response::encode_with_body_len(bytes, &head, body.len())?;
                self.out.share(body.clone());
            }
            Body::Counted { body_bytes } => {
                response::encode_with_body_len(bytes, &head, *body_bytes)?;
                return Ok(self.begin(Stream::new(Framing::Plain, 1, *body_bytes)));
            }
            Body::Chunks { chunks, chunk_bytes } => {
                response::encode_head(bytes, &head)?;
                self.service.counts().streams.add(1);
                return Ok(self.begin(Stream::new(Framing::Frames, *chunks, *chunk_bytes)));
            }
        }
        Ok(None)
    }

    /// Begins an answer that is made while it is sent; it may fit as a whole.
    fn begin(&mut self, mut stream: Stream) -> Option<Next> {
        if stream.produce(&self.service.pattern, self.out) {
            return None;
        }
        self.context.streaming = Some(Streaming { stream, last: false });
        Some(Next::Hold)
    }
}

/// Appends an answer with its body, for those that cannot be too large.
pub(crate) fn write_whole(out: &mut Vec<u8>, answer: &Answer<'_>, body: &[u8], date: &[u8; 29]) {
    let head = ResponseHead::new(answer.status, AnswerFields { answer, date });
    response::encode(out, &head, body, ()).expect("a text made here is far smaller than a frame");
}

/// The fields of an answer that a handler made.
#[derive(Clone, Copy)]
struct AnswerFields<'a> {
    answer: &'a Answer<'a>,
    date: &'a [u8; 29],
}

impl PairSource for AnswerFields<'_> {
    #[inline]
    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        if let Some(content_type) = self.answer.content_type {
            visit(b"Content-Type", content_type);
        }
        if self.answer.dated {
            visit(b"Server", SERVER);
            visit(b"Date", self.date);
        }
        if let Some(allow) = self.answer.allow {
            visit(b"Allow", allow.as_bytes());
        }
    }
}

/// The fields of a request that its echo carries.
#[derive(Clone, Copy)]
struct EchoedFields<'a>(Pairs<'a>);

impl PairSource for EchoedFields<'_> {
    #[inline]
    fn each(&self, visit: impl FnMut(&[u8], &[u8])) {
        Fields::Zap(self.0).each_echoed(visit);
    }
}
