//! The task of one connection: at most one receive and one send in flight, side by side.

use std::{
    future::{Future, poll_fn},
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
};

use monoio::{
    buf::{IoBuf, IoBufMut, IoVecBuf},
    io::{AsyncReadRent, AsyncWriteRent, OwnedReadHalf, OwnedWriteHalf, Splitable},
    net::UnixStream,
};

use super::lane::{self, State};
use crate::{
    core::Duty,
    limits,
    shard::{Conn, Shard},
    socket,
};

/// The free part of an inbox, lent to a receive.
struct Room {
    at: *mut u8,
    len: usize,
}

// SAFETY: the address is into the heap memory of a slot's inbox, which stays where it is and is not touched while the slot is
// marked as receiving (`Core::receive_into` until `Core::received`), and the state that owns it outlives the ring.
unsafe impl IoBufMut for Room {
    fn write_ptr(&mut self) -> *mut u8 {
        self.at
    }

    fn bytes_total(&mut self) -> usize {
        self.len
    }

    unsafe fn set_init(&mut self, _pos: usize) {}
}

/// The unsent part of an outbox, lent to a send.
struct Piece {
    at: *const u8,
    len: usize,
}

// SAFETY: as for `Room`, with `Core::send_from` until `Core::sent`.
unsafe impl IoBuf for Piece {
    fn read_ptr(&self) -> *const u8 {
        self.at
    }

    fn bytes_init(&self) -> usize {
        self.len
    }
}

/// The unsent parts of an outbox, lent to a vectored send.
struct Pieces {
    at: *const libc::iovec,
    len: usize,
}

// SAFETY: as for `Piece`; the array lies on the heap of the same outbox.
unsafe impl IoVecBuf for Pieces {
    fn read_iovec_ptr(&self) -> *const libc::iovec {
        self.at
    }

    fn read_iovec_len(&self) -> usize {
        self.len
    }
}

type Reader = OwnedReadHalf<UnixStream>;
type Writer = OwnedWriteHalf<UnixStream>;

/// What a send is given.
enum Load {
    One(Piece),
    Many(Pieces),
}

async fn receive(mut half: Reader, room: Room) -> (Reader, Result<usize, i32>) {
    let (result, _) = half.read(room).await;
    (half, result.map_err(errno))
}

async fn send(mut half: Writer, load: Load) -> (Writer, Result<usize, i32>) {
    let result = match load {
        Load::One(piece) => half.write(piece).await.0,
        Load::Many(pieces) => half.writev(pieces).await.0,
    };
    (half, result.map_err(errno))
}

fn errno(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Serves a connection until it has ended, then closes the descriptor and gives the slot back.
pub(super) async fn run<S: Shard>(state: Rc<State<S>>, conn: Conn, socket: OwnedFd) {
    let fd = socket.as_raw_fd();
    let Ok(stream) = lane::wrap(socket) else {
        // A ring refuses no descriptor today; if it ever does, the slot is the core's to end.
        state.with(Some(conn), |core| {
            core.received(conn, Err(libc::ENOMEM));
            core.release(conn);
        });
        return;
    };
    let (reader, writer) = stream.into_split();
    let mut reader = Some(reader);
    let mut writer = Some(writer);
    {
        let mut receiving = pin!(None);
        let mut sending = pin!(None);
        let mut registered = false;
        let mut let_go = false;
        poll_fn(|cx| {
            if !std::mem::replace(&mut registered, true) {
                state.register(conn, Some(cx.waker().clone()));
            }
            for _ in 0..limits::OPERATIONS_PER_TURN {
                let mut progress = false;
                if let Some((half, result)) = poll_slot(receiving.as_mut(), cx) {
                    reader = Some(half);
                    progress = true;
                    state.with(Some(conn), |core| {
                        if let Ok(bytes) = result {
                            // SAFETY: the receive has ended and wrote that many bytes into the room it was lent.
                            unsafe { core.inbox(conn).commit(bytes) };
                        }
                        core.received(conn, result);
                    });
                }
                if let Some((half, result)) = poll_slot(sending.as_mut(), cx) {
                    writer = Some(half);
                    progress = true;
                    state.with(Some(conn), |core| core.sent(conn, result));
                }
                match duty(&state, conn, fd) {
                    Duty::LetGo => {
                        if !std::mem::replace(&mut let_go, true) {
                            socket::shut_both(fd);
                        }
                        if reader.is_some() && writer.is_some() {
                            return Poll::Ready(());
                        }
                    }
                    Duty::None | Duty::ShutWrite => {
                        if writer.is_some()
                            && let Some(load) = next_send(&state, conn)
                            && let Some(half) = writer.take()
                        {
                            sending.set(Some(send(half, load)));
                            progress = true;
                        }
                        if reader.is_some() && state.core().wants_receive(conn) {
                            progress = true;
                            if let Some(room) = next_receive(&state, conn)
                                && let Some(half) = reader.take()
                            {
                                receiving.set(Some(receive(half, room)));
                            }
                        }
                    }
                }
                if !progress {
                    return Poll::Pending;
                }
            }
            // Others get their turn; operations that have not been polled yet are polled then.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    state.register(conn, None);
    if let (Some(reader), Some(writer)) = (reader, writer)
        && let Ok(stream) = reader.reunite(writer)
    {
        drop(lane::unwrap(stream));
    }
    state.with(Some(conn), |core| core.release(conn));
}

/// Polls the operation in a slot and empties the slot when it is done.
fn poll_slot<F: Future>(mut slot: Pin<&mut Option<F>>, cx: &mut Context<'_>) -> Option<F::Output> {
    let ready = match slot.as_mut().as_pin_mut()?.poll(cx) {
        Poll::Ready(output) => output,
        Poll::Pending => return None,
    };
    slot.set(None);
    Some(ready)
}

fn duty<S: Shard>(state: &Rc<State<S>>, conn: Conn, fd: RawFd) -> Duty {
    let mut core = state.core();
    let duty = core.duty(conn);
    if duty == Duty::ShutWrite {
        socket::shut_write(fd);
        core.shut_down(conn);
    }
    duty
}

fn next_send<S: Shard>(state: &Rc<State<S>>, conn: Conn) -> Option<Load> {
    let mut core = state.core();
    if !core.wants_send(conn) {
        return None;
    }
    core.counts().operations.add(1);
    let outbox = core.send_from(conn);
    Some(match outbox.contiguous() {
        Some(bytes) => Load::One(Piece { at: bytes.as_ptr(), len: bytes.len() }),
        None => {
            let pieces = outbox.iovecs();
            Load::Many(Pieces { at: pieces.as_ptr(), len: pieces.len() })
        }
    })
}

fn next_receive<S: Shard>(state: &Rc<State<S>>, conn: Conn) -> Option<Room> {
    {
        let mut core = state.core();
        if let Some(inbox) = core.receive_into(conn) {
            let (at, len) = inbox.spare();
            core.counts().operations.add(1);
            return Some(Room { at, len });
        }
    }
    // Over the memory limit: the connection has ended there, and others may have to be told.
    state.with(Some(conn), |_| ());
    None
}
