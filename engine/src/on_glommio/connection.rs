//! The task of one connection: bytes are received when glommio says that there are some, and sent at once.

use std::{
    future::poll_fn,
    io,
    os::fd::{AsRawFd, RawFd},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use futures_io::{AsyncRead, AsyncWrite};
use glommio::net::TcpStream;

use super::lane::State;
use crate::{
    core::Duty,
    limits,
    shard::{Conn, Shard},
    socket,
};

/// The unsent part of an outbox, or its first piece, while it is in flight.
#[derive(Clone, Copy)]
struct Piece {
    at: *const u8,
    len: usize,
}

/// Serves a connection until it has ended, then closes the descriptor and gives the slot back.
pub(super) async fn run<S: Shard>(state: Rc<State<S>>, conn: Conn, mut stream: TcpStream) {
    let fd = stream.as_raw_fd();
    let mut registered = false;
    let mut sending = None;
    poll_fn(|cx| {
        if !std::mem::replace(&mut registered, true) {
            state.register(conn, Some(cx.waker().clone()));
        }
        for _ in 0..limits::OPERATIONS_PER_TURN {
            let duty = state.core().duty(conn);
            match duty {
                Duty::LetGo => return Poll::Ready(()),
                Duty::ShutWrite => {
                    socket::shut_write(fd);
                    state.core().shut_down(conn);
                }
                Duty::None => {}
            }
            let sent = poll_send(&state, conn, fd, &mut stream, &mut sending, cx);
            let received = poll_receive(&state, conn, &mut stream, cx);
            if !sent && !received {
                return Poll::Pending;
            }
        }
        // Others get their turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    state.register(conn, None);
    // A poll may still hold the file: the end is told to the peer now, not when the poll has been cancelled.
    socket::shut_both(fd);
    drop(stream);
    state.with(Some(conn), |core| core.release(conn));
}

/// Receives if the connection wants to and there is something; whether there was.
fn poll_receive<S: Shard>(state: &Rc<State<S>>, conn: Conn, stream: &mut TcpStream, cx: &mut Context<'_>) -> bool {
    if !state.core().wants_receive(conn) {
        return false;
    }
    let mut room = state.room();
    let result = match Pin::new(stream).poll_read(cx, &mut room) {
        Poll::Ready(result) => result.map_err(errno),
        Poll::Pending => return false,
    };
    state.with(Some(conn), |core| {
        core.counts().operations.add(1);
        match result {
            Ok(bytes @ 1..) => core.received_from(conn, &room[..bytes]),
            end => core.received(conn, end),
        }
    });
    true
}

/// Begins or goes on to send if there is something and room for it; whether an operation was made.
fn poll_send<S: Shard>(
    state: &Rc<State<S>>,
    conn: Conn,
    fd: RawFd,
    stream: &mut TcpStream,
    sending: &mut Option<Piece>,
    cx: &mut Context<'_>,
) -> bool {
    let piece = match *sending {
        Some(piece) => piece,
        None => match begin_send(state, conn, fd) {
            Begun::Nothing => return false,
            Begun::Sent => return true,
            Begun::Piece(piece) => *sending.insert(piece),
        },
    };
    // SAFETY: the bytes lie on the heap, owned by the slot's outbox, which the core leaves alone from `send_from` to `sent`; the
    // slot is not released before this task has ended.
    let bytes = unsafe { std::slice::from_raw_parts(piece.at, piece.len) };
    let Poll::Ready(result) = Pin::new(stream).poll_write(cx, bytes) else { return false };
    *sending = None;
    state.with(Some(conn), |core| {
        core.counts().operations.add(1);
        core.sent(conn, result.map_err(errno));
    });
    true
}

enum Begun {
    Nothing,
    /// Several pieces, as far as there was room.
    Sent,
    /// One piece, for glommio to send.
    Piece(Piece),
}

fn begin_send<S: Shard>(state: &Rc<State<S>>, conn: Conn, fd: RawFd) -> Begun {
    let mut core = state.core();
    if !core.wants_send(conn) {
        return Begun::Nothing;
    }
    let outbox = core.send_from(conn);
    if let Some(bytes) = outbox.contiguous() {
        return Begun::Piece(Piece { at: bytes.as_ptr(), len: bytes.len() });
    }
    let pieces = outbox.iovecs();
    let first = Piece { at: pieces[0].iov_base.cast_const().cast(), len: pieces[0].iov_len };
    // SAFETY: the pieces belong to the slot's outbox, which nobody touches during the call.
    let result = unsafe { socket::send_pieces(fd, pieces) };
    drop(core);
    if matches!(result, Err(libc::EAGAIN | libc::EINTR)) {
        // glommio waits for room with the first of them.
        return Begun::Piece(first);
    }
    state.with(Some(conn), |core| {
        core.counts().operations.add(1);
        core.sent(conn, result);
    });
    Begun::Sent
}

/// Waits until a connection that is being made is there, or why not. Nothing is sent: glommio tries, and waits for room.
pub(super) async fn connected<S: Shard>(state: &Rc<State<S>>, conn: Conn, stream: &mut TcpStream) -> io::Result<()> {
    let ended = poll_fn(|cx| {
        state.register(conn, Some(cx.waker().clone()));
        if state.core().duty(conn) == Duty::LetGo {
            return Poll::Ready(Err(io::Error::from_raw_os_error(libc::ECANCELED)));
        }
        Pin::new(&mut *stream).poll_write(cx, &[])
    })
    .await;
    state.register(conn, None);
    ended.map(drop)
}

fn errno(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
