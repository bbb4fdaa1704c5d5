//! What the tasks of one shard share, and the tasks that are not connections: accepting, connecting, time, control.

use std::{
    cell::{Cell, RefCell, RefMut},
    future::{Future, poll_fn},
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

use futures_io::AsyncRead;
use glommio::{
    net::{TcpListener, TcpStream},
    timer::Timer,
};

use super::connection;
use crate::{
    clock,
    control::{self, Dealer, MESSAGE_BYTES, Message, Remote},
    core::Core,
    directory::{Dial, Directory},
    fleet::Lane,
    limits,
    shard::{Conn, Shard},
    socket,
};

/// Shared by all tasks of one shard. A task that is spawned runs right away, so none is spawned while anything here is borrowed.
pub(super) struct State<S> {
    core: RefCell<Core<S>>,
    /// Where every receive goes; the protocol is shown the bytes in here.
    room: RefCell<Box<[u8]>>,
    wakers: RefCell<Vec<Option<Waker>>>,
    dirty: RefCell<Vec<Conn>>,
    /// Connections to begin, by the main task.
    dials: RefCell<Vec<(Conn, Dial)>>,
    tasks: Cell<usize>,
    main: RefCell<Option<Waker>>,
    clock: RefCell<Option<Waker>>,
    acceptors: RefCell<Vec<Waker>>,
    /// When the task that keeps the time wants to be back; `u64::MAX` for never.
    wake_at_ns: Cell<u64>,
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
            room: RefCell::new(vec![0; limits::MAX_READ_BYTES].into_boxed_slice()),
            wakers: RefCell::new(Vec::new()),
            dirty: RefCell::new(Vec::new()),
            dials: RefCell::new(Vec::new()),
            tasks: Cell::new(0),
            main: RefCell::new(None),
            clock: RefCell::new(None),
            acceptors: RefCell::new(Vec::new()),
            wake_at_ns: Cell::new(u64::MAX),
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

    /// Calls into the core at the present time, then has other tasks carry out what that asked of them. `current` is the
    /// connection whose task is running: it looks after itself.
    #[inline]
    pub(super) fn with<T>(&self, current: Option<Conn>, act: impl FnOnce(&mut Core<S>) -> T) -> T {
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
        while let Some(dial) = core.next_connect() {
            let conn = core.connecting(dial.target);
            self.dials.borrow_mut().push((conn, dial));
            wake(&self.main);
        }
        let next_ns = core.next_tick_ns();
        if next_ns < self.wake_at_ns.get() {
            self.wake_at_ns.set(next_ns);
            wake(&self.clock);
        }
        if core.ending() {
            self.wind_down(core.ended());
        }
        result
    }

    /// The core without any of the above, for questions.
    #[inline]
    pub(super) fn core(&self) -> RefMut<'_, Core<S>> {
        self.core.borrow_mut()
    }

    /// The shard's receive buffer.
    #[inline]
    pub(super) fn room(&self) -> RefMut<'_, Box<[u8]>> {
        self.room.borrow_mut()
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
        for acceptor in self.acceptors.borrow_mut().drain(..) {
            acceptor.wake();
        }
        if ended && !self.winding_down.replace(true) {
            socket::shut_both(self.control);
            wake(&self.clock);
        }
    }

    fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.tasks.set(self.tasks.get() + 1);
        let state = Rc::clone(self);
        let task = glommio::spawn_local(async move {
            task.await;
            state.tasks.set(state.tasks.get() - 1);
            if state.tasks.get() == 0 {
                wake(&state.main);
            }
        });
        drop(task.detach());
    }

    fn adopt(self: &Rc<Self>, stream: TcpStream, listener: usize) {
        if let Some(conn) = self.with(None, |core| core.accepted(listener)) {
            self.spawn(connection::run(Rc::clone(self), conn, stream));
        }
    }

    /// Hands a connection to the shard whose turn it is.
    fn deal(&self, stream: &TcpStream, listener: usize) {
        // SAFETY: the stream is open as long as it is borrowed.
        let copy = unsafe { BorrowedFd::borrow_raw(stream.as_raw_fd()) }.try_clone_to_owned();
        if copy.and_then(|copy| self.dealer.deal(copy, listener)).is_err() {
            self.core().counts().connections_refused.add(1);
        }
    }
}

fn wake(task: &RefCell<Option<Waker>>) {
    if let Some(waker) = task.borrow_mut().take() {
        waker.wake();
    }
}

/// Any stream socket as glommio's type: it receives, sends and polls, which is the same on every kind.
fn wrap(socket: OwnedFd) -> TcpStream {
    // SAFETY: the descriptor is owned and given up here.
    unsafe { TcpStream::from_raw_fd(socket.into_raw_fd()) }
}

/// The main task: starts the others, begins connections, and waits for the end of all.
pub(super) async fn serve<S: Shard>(state: Rc<State<S>>, lane: Lane) -> io::Result<()> {
    for (index, listener) in lane.listeners {
        let dealt = lane.dealt.contains(&index);
        // SAFETY: the descriptor is owned and given up here; accepting is the same on TCP and unix sockets.
        let listener = unsafe { TcpListener::from_raw_fd(listener.into_raw_fd()) };
        state.spawn(accept(Rc::clone(&state), listener, index, dealt));
    }
    state.spawn(listen_to_control(Rc::clone(&state), wrap(lane.control.into())));
    state.spawn(keep_time(Rc::clone(&state)));
    poll_fn(|cx| {
        loop {
            *state.main.borrow_mut() = Some(cx.waker().clone());
            let Some((conn, dial)) = state.dials.borrow_mut().pop() else { break };
            state.spawn(connect(Rc::clone(&state), conn, dial));
        }
        if state.tasks.get() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    Ok(())
}

async fn accept<S: Shard>(state: Rc<State<S>>, listener: TcpListener, index: usize, dealt: bool) {
    while let Some(accepted) = next(&state, &listener).await {
        state.core().counts().operations.add(1);
        match accepted {
            Ok(stream) => {
                socket::set_cloexec(stream.as_raw_fd());
                if dealt { state.deal(&stream, index) } else { state.adopt(stream, index) }
            }
            Err(errno) if socket::is_of_one_connection(errno) => {}
            Err(errno) => {
                state.core().counts().accept_pauses.add(u64::from(socket::is_exhausted(errno)));
                Timer::new(Duration::from_nanos(limits::ACCEPT_PAUSE_NS)).await;
            }
        }
        glommio::yield_if_needed().await;
    }
}

/// The next connection or an errno; `None` once the shard accepts no more.
async fn next<S: Shard>(state: &Rc<State<S>>, listener: &TcpListener) -> Option<Result<TcpStream, i32>> {
    let mut accepted = pin!(listener.accept());
    poll_fn(|cx| {
        if state.core().ending() {
            return Poll::Ready(None);
        }
        match accepted.as_mut().poll(cx) {
            Poll::Ready(result) => {
                Poll::Ready(Some(result.map_err(|error| io::Error::from(error).raw_os_error().unwrap_or(libc::EIO))))
            }
            Poll::Pending => {
                state.acceptors.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

async fn connect<S: Shard>(state: Rc<State<S>>, conn: Conn, dial: Dial) {
    let made = match state.directory.begin(dial) {
        Ok(socket) => {
            let mut stream = wrap(socket);
            connection::connected(&state, conn, &mut stream).await.map(|()| stream)
        }
        Err(error) => Err(error),
    };
    match made {
        Ok(stream) => {
            state.with(Some(conn), |core| core.connected(conn));
            connection::run(Rc::clone(&state), conn, stream).await;
        }
        Err(error) => state.with(Some(conn), |core| {
            core.connect_failed(conn, &error);
            core.release(conn);
        }),
    }
}

/// Ticks when the core wants to, with glommio's timer: in a sleep that is one `TIMEOUT` entry with nanoseconds.
async fn keep_time<S: Shard>(state: Rc<State<S>>) {
    state.with(None, Core::tick);
    let mut timer = None;
    let mut set_ns = u64::MAX;
    poll_fn(|cx| {
        if state.winding_down.get() {
            return Poll::Ready(());
        }
        let now_ns = clock::now_ns();
        if state.wake_at_ns.get() <= now_ns {
            state.wake_at_ns.set(u64::MAX);
            state.with(None, Core::tick);
        }
        *state.clock.borrow_mut() = Some(cx.waker().clone());
        let at_ns = state.wake_at_ns.get();
        if at_ns != set_ns {
            set_ns = at_ns;
            timer = (at_ns != u64::MAX).then(|| Timer::new(Duration::from_nanos(at_ns.saturating_sub(now_ns))));
        }
        if let Some(waiting) = &mut timer
            && Pin::new(waiting).poll(cx).is_ready()
        {
            // Due again already: after the others.
            timer = None;
            set_ns = u64::MAX;
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await;
}

async fn listen_to_control<S: Shard>(state: Rc<State<S>>, mut control: TcpStream) {
    let mut partial = [0; MESSAGE_BYTES];
    let mut have = 0;
    while let Ok(bytes @ 1..) = poll_fn(|cx| Pin::new(&mut control).poll_read(cx, &mut partial[have..])).await {
        have += bytes;
        if have == MESSAGE_BYTES {
            have = 0;
            match Message::decode(&partial) {
                Some(Message::Drain) => state.with(None, Core::drain),
                Some(Message::Adopt { fd, listener }) => state.adopt(wrap(control::own(fd)), listener as usize),
                None => {}
            }
        }
    }
    // The fleet is gone, and with it the reason to run; or this shard has ended.
    state.with(None, Core::drain);
}
