//! The server side of the floor wire: the end of each request is found and as many bytes as it wants are sent back. There are no
//! routes, no errors and nothing to look at; what this costs is what the other wires are compared with.

use bytes::Bytes;
use codec::{Step, floor, limits::PREFIX_BYTES};
use engine::{Cx, Next, Outbox, Taken};

use crate::{
    context::{Context, Waiting},
    limits::{MAX_COPIED_PATTERN_BYTES, MAX_REQUESTS_PER_CALL, PADDING_BYTES},
    service::Service,
};

/// What large replies are cut from.
static PADDING: [u8; PADDING_BYTES] = [0; PADDING_BYTES];

/// Answers the complete requests at the start of `input`, as far as there is room.
#[inline]
pub(crate) fn data(context: &mut Context, service: &Service, input: &[u8], out: &mut Outbox, cx: &mut Cx<'_>) -> Taken {
    let (mut rest, mut answered) = (input, 0);
    let next = loop {
        if rest.is_empty() {
            context.idle(cx.now_ns);
            break Next::Need(1);
        }
        if answered == MAX_REQUESTS_PER_CALL || out.room_bytes() == 0 {
            context.waiting = Waiting::Sending;
            break Next::Hold;
        }
        match floor::split(rest) {
            Ok(Step::Complete { value: reply_bytes, consumed: request_bytes }) => {
                reply(out, reply_bytes);
                rest = &rest[request_bytes..];
                answered += 1;
            }
            Ok(Step::NeedMore { at_least }) => {
                if answered > 0 {
                    context.waiting = Waiting::Sending;
                }
                let waiting = if rest.len() < PREFIX_BYTES { Waiting::Head } else { Waiting::Body };
                context.wait(waiting, cx.now_ns);
                break Next::Need(at_least);
            }
            Err(_) => {
                service.counts().malformed.add(1);
                break Next::Close;
            }
        }
    };
    if answered > 0 {
        service.counts().floor_requests.add(answered);
    }
    context.input_left = next == Next::Hold && !rest.is_empty();
    Taken { consumed: input.len() - rest.len(), next }
}

/// Appends a reply of `reply_bytes`, its length included.
#[inline]
fn reply(out: &mut Outbox, reply_bytes: usize) {
    let length = floor::length(reply_bytes);
    let padding_bytes = reply_bytes - PREFIX_BYTES;
    if padding_bytes > MAX_COPIED_PATTERN_BYTES {
        return large_reply(out, length, padding_bytes);
    }
    let bytes = out.bytes();
    let start = bytes.len();
    bytes.resize(start + reply_bytes, 0);
    bytes[start..start + PREFIX_BYTES].copy_from_slice(&length);
}

/// Appends a reply that is not worth copying.
#[inline(never)]
fn large_reply(out: &mut Outbox, length: [u8; PREFIX_BYTES], mut padding_bytes: usize) {
    out.bytes().extend_from_slice(&length);
    while padding_bytes > 0 {
        let piece = &PADDING[..padding_bytes.min(PADDING_BYTES)];
        out.share(Bytes::from_static(piece));
        padding_bytes -= piece.len();
    }
}
