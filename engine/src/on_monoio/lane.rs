//! What the tasks of one shard share, and the tasks that are not connections: accepting, connecting, time, control.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    io,
    os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd},
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
};

use monoio::net::UnixStream;

use super::connection;
use crate::{
    address, clock,
    control::{self, Dealer, MESSAGE_BYTES, Message, Remote},
    core::{Core, Duty},
    directory::{Dial, Directory},
    fleet::Lane,
    limits,
    shard::{Conn, Shard},
    socket,
};

/// Shared by all tasks of one shard.
pub(super) struct State<S> {
    core: RefCell<Core<S>>,
    wakers: RefCell<Vec<Option<Waker>>>,
    dirty: RefCell<Vec<Conn>>,
    tasks: Cell<usize>,
    main: RefCell<Option<Waker>>,
    timer: OwnedFd,
    armed_ns: Cell<u64>,
    listeners: RefCell<Vec<RawFd>>,
    control: RawFd,
    directory: Arc<Directory>,
    dealer: Dealer,
    winding_down: Cell<bool>,
}

impl<S: Shard> State<S> {
    pub(super) fn new(core: Core<S>, lane: &Lane) -> io::Result<Self> {
        Ok(State {
            core: RefCell::new(core),
            wakers: RefCell::new(Vec::new()),
            dirty: RefCell::new(Vec::new()),
            tasks: Cell::new(0),
            main: RefCell::new(None),
            timer: socket::timer()?,
            armed_ns: Cell::new(u64::MAX),
            listeners: RefCell::new(lane.listeners.iter().map(|(_, socket)| socket.as_raw_fd()).collect()),
            control: lane.control.as_raw_fd(),
            directory: Arc::clone(&lane.directory),
            dealer: Dealer::new(lane.deal_to.iter().map(Remote::try_clone).collect::<io::Result<_>>()?),
            winding_down: Cell::new(false),
        })
    }

    pub(super) fn into_shard(self) -> S {
        self.core.into_inner().into_shard()
    }

    /// Calls into the core at the present time, then carries out what that asked of other tasks. `current` is the connection
    /// whose task is running: it looks after itself.
    #[inline]
    pub(super) fn with<T>(self: &Rc<Self>, current: Option<Conn>, act: impl FnOnce(&mut Core<S>) -> T) -> T {
        let mut core = self.core.borrow_mut();
        core.at(clock::now_ns());
        let result = act(&mut core);
        let mut dirty = self.dirty.borrow_mut();
        core.take_dirty(&mut dirty);
        for conn in dirty.drain(..) {
            if Some(conn) != current
                && let Some(Some(waker)) = self.wakers.borrow().get(conn.index())
            {
                waker.wake_by_ref();
            }
        }
        drop(dirty);
        while let Some(dial) = core.next_connect() {
            let conn = core.connecting(dial.target);
            self.spawn(connect(Rc::clone(self), conn, dial));
        }
        let next_ns = core.next_tick_ns();
        if next_ns < self.armed_ns.get() {
            self.armed_ns.set(next_ns);
            socket::arm_timer(self.timer.as_raw_fd(), next_ns);
        }
        if core.ending() {
            self.wind_down(core.ended());
        }
        result
    }

    /// The core without any of the above, for questions.
    #[inline]
    pub(super) fn core(&self) -> std::cell::RefMut<'_, Core<S>> {
        self.core.borrow_mut()
    }

    /// Remembers how to wake a connection's task.
    pub(super) fn register(&self, conn: Conn, waker: Option<Waker>) {
        let mut wakers = self.wakers.borrow_mut();
        if wakers.len() <= conn.index() {
            wakers.resize(conn.index() + 1, None);
        }
        wakers[conn.index()] = waker;
    }

    /// Ends the tasks that are not connections: accepting at once, time and control with the last connection.
    fn wind_down(&self, ended: bool) {
        for listener in self.listeners.borrow_mut().drain(..) {
            socket::shut_both(listener);
        }
        if ended && !self.winding_down.replace(true) {
            socket::arm_timer(self.timer.as_raw_fd(), 1);
            socket::shut_both(self.control);
        }
    }

    pub(super) fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.tasks.set(self.tasks.get() + 1);
        let state = Rc::clone(self);
        monoio::spawn(async move {
            task.await;
            state.tasks.set(state.tasks.get() - 1);
            if state.tasks.get() == 0
                && let Some(main) = state.main.borrow_mut().take()
            {
                main.wake();
            }
        });
    }

    /// A connection that was accepted here goes to a task, or to the shard whose turn it is.
    fn place(self: &Rc<Self>, socket: OwnedFd, listener: usize, dealt: bool) {
        if dealt {
            if self.dealer.deal(socket, listener).is_err() {
                self.core().counts().connections_refused.add(1);
            }
        } else {
            self.adopt(socket, listener);
        }
    }

    fn adopt(self: &Rc<Self>, socket: OwnedFd, listener: usize) {
        if let Some(conn) = self.with(None, |core| core.accepted(listener)) {
            self.spawn(connection::run(Rc::clone(self), conn, socket));
        }
    }
}

/// The main task: starts the others and waits for all of them.
pub(super) async fn serve<S: Shard>(state: Rc<State<S>>, lane: Lane) -> io::Result<()> {
    for (index, listener) in lane.listeners {
        socket::set_nonblocking(listener.as_raw_fd(), true)?;
        let door = Door { index, dealt: lane.dealt.contains(&index) };
        state.spawn(accept(Rc::clone(&state), wrap(listener)?, wrap(socket::timer()?)?, door));
    }
    socket::set_nonblocking(lane.control.as_raw_fd(), true)?;
    state.spawn(listen_to_control(Rc::clone(&state), wrap(lane.control.into())?));
    state.spawn(keep_time(Rc::clone(&state), wrap(state.timer.try_clone()?)?));
    poll_fn(|cx| {
        if state.tasks.get() == 0 {
            return Poll::Ready(());
        }
        *state.main.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    })
    .await;
    Ok(())
}

/// Any descriptor as something monoio can wait on.
pub(super) fn wrap(socket: OwnedFd) -> io::Result<UnixStream> {
    // SAFETY: the descriptor is owned and given up here. The type only names the operations: receive, send and poll work on TCP
    // sockets as on unix ones, and only poll is used on timers and listeners.
    UnixStream::from_std(unsafe { FromRawFd::from_raw_fd(socket.into_raw_fd()) })
}

/// Takes a descriptor back so that it is closed at once, not by an operation that may never be submitted.
pub(super) fn unwrap(stream: UnixStream) -> OwnedFd {
    // SAFETY: `into_raw_fd` gives up ownership.
    unsafe { OwnedFd::from_raw_fd(stream.into_raw_fd()) }
}

/// Accepts on one listener. The timer is made beforehand: when it is needed there is no descriptor to make one with.
async fn accept<S: Shard>(state: Rc<State<S>>, listener: UnixStream, timer: UnixStream, Door { index, dealt }: Door) {
    let fd = listener.as_raw_fd();
    while !state.core().ending() && listener.readable(false).await.is_ok() {
        for _ in 0..limits::ACCEPTS_PER_TURN {
            match socket::accept(fd, false) {
                Ok(socket) => state.place(socket, index, dealt),
                Err(error) if error.raw_os_error().is_some_and(socket::is_exhausted) => {
                    state.core().counts().accept_pauses.add(1);
                    socket::arm_timer(timer.as_raw_fd(), clock::now_ns() + limits::ACCEPT_PAUSE_NS);
                    let _ = timer.readable(false).await;
                    socket::clear_timer(&timer);
                    break;
                }
                // The peer may be gone already; anything else shows up at the next wait.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ECONNABORTED | libc::EINTR)) => {}
                Err(_) => break,
            }
        }
    }
    drop((unwrap(listener), unwrap(timer)));
}

/// A listener as its accepting task knows it.
struct Door {
    index: usize,
    dealt: bool,
}

async fn connect<S: Shard>(state: Rc<State<S>>, conn: Conn, dial: Dial) {
    let failed = |error: io::Error| {
        state.with(Some(conn), |core| {
            core.connect_failed(conn, &error);
            core.release(conn);
        });
    };
    let socket = match state.directory.begin(dial) {
        Ok(socket) => socket,
        Err(error) => return failed(error),
    };
    let stream = match wrap(socket) {
        Ok(stream) => stream,
        Err(error) => return failed(error),
    };
    // The core's scan shuts the socket down when it takes too long or is not wanted any more.
    let fd = stream.as_raw_fd();
    {
        let mut wait = std::pin::pin!(stream.writable(false));
        // How it ended is asked of the socket itself.
        let _ = poll_fn(|cx| {
            state.register(conn, Some(cx.waker().clone()));
            if state.core().duty(conn) == Duty::LetGo {
                socket::shut_both(fd);
            }
            wait.as_mut().poll(cx)
        })
        .await;
    }
    state.register(conn, None);
    let socket = unwrap(stream);
    let ready = address::finish_connect(&socket).and_then(|()| socket::set_nonblocking(fd, false));
    match ready {
        Ok(()) => {
            state.with(Some(conn), |core| core.connected(conn));
            connection::run(Rc::clone(&state), conn, socket).await;
        }
        Err(error) => failed(error),
    }
}

async fn keep_time<S: Shard>(state: Rc<State<S>>, timer: UnixStream) {
    state.with(None, Core::tick);
    while !state.winding_down.get() {
        if timer.readable(false).await.is_err() {
            break;
        }
        socket::clear_timer(&timer);
        state.armed_ns.set(u64::MAX);
        state.with(None, Core::tick);
    }
    drop(unwrap(timer));
}

async fn listen_to_control<S: Shard>(state: Rc<State<S>>, control: UnixStream) {
    let mut partial = [0; MESSAGE_BYTES];
    let mut have = 0;
    while !state.winding_down.get() && control.readable(false).await.is_ok() {
        // SAFETY: the room behind `have` is writable; the descriptor does not block.
        let got = unsafe {
            libc::recv(
                control.as_raw_fd(),
                partial.as_mut_ptr().add(have).cast(),
                MESSAGE_BYTES - have,
                libc::MSG_DONTWAIT,
            )
        };
        match got {
            1.. => have += got as usize,
            // The fleet is gone: so is the reason to run.
            0 => {
                state.with(None, Core::drain);
                break;
            }
            _ => continue,
        }
        if have == MESSAGE_BYTES {
            have = 0;
            match Message::decode(&partial) {
                Some(Message::Drain) => state.with(None, Core::drain),
                Some(Message::Adopt { fd, listener }) => state.adopt(control::own(fd), listener as usize),
                None => {}
            }
        }
    }
    drop(unwrap(control));
}
