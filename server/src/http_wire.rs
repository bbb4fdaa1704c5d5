//! The server side of HTTP/1.1 and 1.0: requests in, answers out, in the order they came (RFC 9112).
//!
//! Owns the connection's rules: what keeps it open, what a HEAD is answered with, what ends it. Bodies that do not arrive in
//! one piece are gathered in `http_body`.

use std::fmt;

use codec::{
    Step,
    http::{
        BodyLength, RequestError, RequestHead, Version,
        answer::{self as head, ConnectionHeader, HeadParts},
        request,
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

/// Answers the complete requests at the start of `input`, as far as there is room.
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
        service.counts().http_requests.add(answered);
    }
    context.input_left = next == Next::Hold && consumed < input.len();
    Taken { consumed, next }
}

/// One call's work on one connection.
pub(crate) struct Turn<'t, 'c> {
    pub(crate) context: &'t mut Context,
    pub(crate) service: &'t mut Service,
    pub(crate) out: &'t mut Outbox,
    pub(crate) cx: &'t mut Cx<'c>,
    pub(crate) consumed: usize,
    answered: u64,
}

/// A request's body, all of it.
pub(crate) enum Content<'b> {
    /// In the input.
    Here(&'b [u8]),
    /// Collected; may be taken instead of copied.
    Gathered(&'b mut Vec<u8>),
}

impl Content<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Content::Here(bytes) => bytes,
            Content::Gathered(bytes) => bytes,
        }
    }
}

/// A request's head and what follows from it.
pub(crate) struct Asked<'h> {
    pub(crate) head: &'h RequestHead<'h>,
    pub(crate) path: &'h [u8],
    pub(crate) route: Route,
    verb: Verb,
}

impl<'h> Asked<'h> {
    #[inline]
    pub(crate) fn new(head: &'h RequestHead<'h>) -> Self {
        let (verb, path) = (Verb::of_http(head.method), head.path());
        Asked { head, path, route: route::find(verb, path), verb }
    }
}

impl Turn<'_, '_> {
    #[inline]
    fn run(&mut self, input: &[u8]) -> Next {
        loop {
            let rest = &input[self.consumed..];
            if self.context.gathering.is_some() {
                match self.gather(rest) {
                    Some(next) => return next,
                    None => continue,
                }
            }
            if rest.is_empty() {
                self.context.idle(self.cx.now_ns);
                return Next::Need(1);
            }
            if self.answered == limits::MAX_REQUESTS_PER_CALL || self.out.room_bytes() == 0 {
                return Next::Hold;
            }
            let next = match request::parse(rest, &mut self.context.scan, &self.service.options.http_head) {
                Ok(Step::Complete { value: head, consumed }) => self.begin(&Asked::new(&head), consumed, rest),
                Ok(Step::NeedMore { at_least }) => {
                    self.context.wait(Waiting::Head, self.cx.now_ns);
                    return Next::Need(at_least);
                }
                Err(error) => return self.malformed(error),
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// Takes up a request whose head is complete; `None` when it was answered and the next one may follow.
    #[inline]
    fn begin(&mut self, asked: &Asked<'_>, head_bytes: usize, rest: &[u8]) -> Option<Next> {
        let body = match asked.head.body {
            BodyLength::None | BodyLength::Length(0) => &[][..],
            BodyLength::Length(body_bytes) => {
                let after = &rest[head_bytes..];
                match usize::try_from(body_bytes).ok().and_then(|bytes| after.get(..bytes)) {
                    Some(body) if body_bytes <= self.body_limit_bytes(asked) => body,
                    _ => return self.await_counted(asked, head_bytes, rest, body_bytes),
                }
            }
            BodyLength::Chunked | BodyLength::UntilClose => return self.begin_chunked(asked, head_bytes, rest),
        };
        self.consumed += head_bytes + body.len();
        self.answer(asked, Content::Here(body), false)
    }

    /// Bytes of a body that are collected for the handler, or skipped where it wants none.
    #[inline]
    pub(crate) fn body_limit_bytes(&self, asked: &Asked<'_>) -> u64 {
        if asked.route.takes_body() {
            self.service.options.max_body_bytes as u64
        } else {
            limits::MAX_SKIPPED_BODY_BYTES
        }
    }

    /// Answers a request; `None` when the next one may follow. `last` ends the connection whatever the request says.
    #[inline]
    pub(crate) fn answer(&mut self, asked: &Asked<'_>, content: Content<'_>, last: bool) -> Option<Next> {
        self.answered += 1;
        self.context.continued = false;
        self.context.waiting = Waiting::Sending;
        let last = last || !asked.head.keep_alive || self.service.draining;
        let connection = match asked.head.version {
            _ if last => ConnectionHeader::Close,
            Version::Http11 => ConnectionHeader::None,
            Version::Http10 => ConnectionHeader::KeepAlive,
        };
        let ready = match asked.route {
            Route::Health => &self.service.ready.health,
            Route::Plaintext => {
                self.service.advance_date(self.cx.now_ns);
                &self.service.ready.plaintext
            }
            _ => return self.answer_made(asked, content, connection),
        };
        self.out.bytes().extend_from_slice(ready.http(connection).bytes(asked.verb == Verb::Head));
        last.then_some(Next::Close)
    }

    /// Answers with what a handler makes.
    fn answer_made(&mut self, asked: &Asked<'_>, content: Content<'_>, connection: ConnectionHeader) -> Option<Next> {
        self.service.advance_date(self.cx.now_ns);
        let mut scratch = self.service.take_scratch();
        let request = Request { wire: Wire::Http, route: asked.route, path: asked.path, body: content.bytes() };
        let answer = handlers::answer(
            &request,
            &self.service.pattern,
            &self.service.published,
            &mut self.service.json,
            &mut scratch,
        );
        self.service.counts().status(answer.status);
        let next = self.write(asked, &answer, content, connection);
        self.service.put_scratch(scratch);
        next
    }

    fn write(
        &mut self,
        asked: &Asked<'_>,
        answer: &Answer<'_>,
        content: Content<'_>,
        connection: ConnectionHeader,
    ) -> Option<Next> {
        let (out, date) = (self.out.bytes(), self.service.date());
        let with_body = asked.verb != Verb::Head;
        let last = connection == ConnectionHeader::Close;
        match &answer.body {
            Body::Slice(body) => {
                write_counted_head(out, answer, body.len(), connection, date);
                if with_body {
                    out.extend_from_slice(body);
                }
            }
            Body::Echo => {
                write_counted_head(out, answer, content.bytes().len(), connection, date);
                append_echoed(out, &Fields::Http(asked.head.headers));
                self.echo(content);
            }
            Body::Shared(body) => {
                write_counted_head(out, answer, body.len(), connection, date);
                if with_body {
                    self.out.share(body.clone());
                }
            }
            Body::Counted { body_bytes } => {
                write_counted_head(out, answer, *body_bytes, connection, date);
                if with_body {
                    return self.begin_stream(Stream::new(Framing::Plain, 1, *body_bytes), last);
                }
            }
            Body::Chunks { chunks, chunk_bytes } => {
                let (length, framing) = match asked.head.version {
                    Version::Http11 => (BodyLength::Chunked, Framing::Chunked),
                    // A 1.0 client knows no chunks: its body ends with the connection.
                    Version::Http10 => (BodyLength::UntilClose, Framing::Plain),
                };
                write_head(out, answer, length, connection, date);
                self.service.counts().streams.add(1);
                let last = last || length == BodyLength::UntilClose;
                if with_body {
                    return self.begin_stream(Stream::new(framing, *chunks, *chunk_bytes), last);
                }
                return last.then_some(Next::Close);
            }
        }
        last.then_some(Next::Close)
    }

    fn echo(&mut self, content: Content<'_>) {
        match content {
            Content::Gathered(body) if body.len() > limits::LARGE_BODY_BYTES => {
                self.context.lent_bytes += body.capacity();
                self.out.share(std::mem::take(body).into());
            }
            content => self.out.bytes().extend_from_slice(content.bytes()),
        }
    }

    /// Begins an answer that is made while it is sent; it may fit as a whole.
    fn begin_stream(&mut self, mut stream: Stream, last: bool) -> Option<Next> {
        if stream.produce(&self.service.pattern, self.out) {
            return last.then_some(Next::Close);
        }
        self.context.streaming = Some(Streaming { stream, last });
        Some(Next::Hold)
    }

    #[cold]
    pub(crate) fn malformed(&mut self, error: RequestError) -> Next {
        self.service.counts().malformed.add(1);
        self.refuse(error.status(), error)
    }

    /// Answers what cannot be served, and nothing after it: where the next request would begin is not known.
    #[cold]
    pub(crate) fn refuse(&mut self, status: u16, reason: impl fmt::Display) -> Next {
        self.answered += 1;
        write_refusal(self.out.bytes(), self.service, status, reason);
        Next::Close
    }
}

/// Appends an answer with a line of text that ends the connection, and counts it.
pub(crate) fn write_refusal(out: &mut Vec<u8>, service: &mut Service, status: u16, reason: impl fmt::Display) {
    use std::io::Write;
    let mut scratch = service.take_scratch();
    write!(scratch, "{reason}").expect("memory takes any text");
    let answer = Answer::text(status, &scratch);
    write_counted_head(out, &answer, scratch.len(), ConnectionHeader::Close, service.date());
    out.extend_from_slice(&scratch);
    service.put_scratch(scratch);
    service.counts().status(status);
}

/// Appends the head of an answer with a body of known length.
#[inline]
pub(crate) fn write_counted_head(
    out: &mut Vec<u8>,
    answer: &Answer<'_>,
    body_bytes: usize,
    connection: ConnectionHeader,
    date: &[u8; 29],
) {
    write_head(out, answer, BodyLength::Length(body_bytes as u64), connection, date);
}

#[inline]
fn write_head(
    out: &mut Vec<u8>,
    answer: &Answer<'_>,
    length: BodyLength,
    connection: ConnectionHeader,
    date: &[u8; 29],
) {
    let server: (&[u8], &[u8]) = (b"Server", SERVER);
    let allow: (&[u8], &[u8]) = (b"Allow", answer.allow.unwrap_or_default().as_bytes());
    let extra = match (answer.dated, answer.allow.is_some()) {
        (false, false) => &[][..],
        (true, false) => &[server][..],
        (false, true) => &[allow][..],
        (true, true) => &[server, allow][..],
    };
    head::write_head(
        out,
        &HeadParts {
            status: answer.status,
            content_type: answer.content_type,
            date: answer.dated.then_some(date),
            length,
            connection,
            extra,
        },
    );
}

/// Adds the fields that an echo gives back to the head that ends `out`.
fn append_echoed(out: &mut Vec<u8>, fields: &Fields<'_>) {
    debug_assert!(out.ends_with(b"\r\n\r\n"));
    out.truncate(out.len() - 2);
    fields.each_echoed(|name, value| {
        for part in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    });
    out.extend_from_slice(b"\r\n");
}
