//! A raw epoll loop of our own: the honest baseline of the ring engines, and what works where io_uring is forbidden or unknown.
//!
//! One instance per shard. Connections are watched edge-triggered from their first moment to their last, so that a request
//! costs one receive, one send and its share of a wait, and no `epoll_ctl(2)`: a receive that got less than it asked for was
//! the last one until the next event, a send is tried at once, and room for output is watched for only after there was none.
//! A connection makes at most [`limits::OPERATIONS_PER_TURN`] operations per round, then the others have theirs. Works on every
//! kernel that Rust does; nothing here is newer than 2.6.28.

mod alarm;
mod channel;
mod connection;
mod doors;
mod poller;
mod source;

use std::{collections::VecDeque, io, sync::Arc};

use self::{
    alarm::Alarm,
    channel::Channel,
    connection::Link,
    doors::{Accepted, Doors},
    poller::Poller,
    source::Source,
};
use crate::{
    Features, clock,
    control::{self, Message},
    core::Core,
    directory::Directory,
    fleet::{Lane, LaunchError},
    limits,
    shard::{Conn, Shard},
};

/// Runs a shard until it has ended and returns its protocol; the outer error is for what stands in the way of a start.
pub(crate) fn run<S: Shard>(mut lane: Lane, shard: S) -> Result<io::Result<S>, LaunchError> {
    let index = lane.index;
    let refused = |what| move |source| LaunchError::System { shard: index, what, source };
    let poller = Poller::new().map_err(refused("making an epoll instance"))?;
    let alarm = Alarm::new().map_err(refused("making a timer"))?;
    lane.ready(None, 0, 0, Features::default());
    let worker = match Worker::new(poller, alarm, lane, shard) {
        Ok(worker) => worker,
        Err(error) => return Ok(Err(error)),
    };
    Ok(worker.serve())
}

struct Worker<S> {
    poller: Poller,
    core: Core<S>,
    links: Vec<Link>,
    doors: Doors,
    channel: Channel,
    alarm: Alarm,
    directory: Arc<Directory>,
    /// Connections that have their turn in this round.
    ready: VecDeque<Conn>,
    /// Connections that had it and want another: in the next round, after what the poller has to say.
    later: Vec<Conn>,
    dirty: Vec<Conn>,
    /// The control channel has something to say.
    told: bool,
    /// One for each wait; wraps.
    round: u32,
    now_ns: u64,
}

impl<S: Shard> Worker<S> {
    fn new(poller: Poller, alarm: Alarm, lane: Lane, shard: S) -> io::Result<Self> {
        let now_ns = clock::now_ns();
        let channel = Channel::new(lane.control);
        crate::socket::set_nonblocking(channel.fd(), true)?;
        poller.add(channel.fd(), poller::LEVEL, Source::Control)?;
        poller.add(alarm.fd(), poller::EDGE, Source::Alarm)?;
        Ok(Worker {
            core: Core::new(shard, lane.limits, lane.board, lane.index, now_ns),
            links: Vec::new(),
            doors: Doors::new(lane.listeners, &lane.dealt, lane.deal_to, &poller)?,
            channel,
            alarm,
            poller,
            directory: lane.directory,
            ready: VecDeque::new(),
            later: Vec::new(),
            dirty: Vec::new(),
            told: false,
            round: 1,
            now_ns,
        })
    }

    fn serve(mut self) -> io::Result<S> {
        self.core.tick();
        loop {
            self.work()?;
            if std::mem::take(&mut self.told) {
                // After the connections: what a peer did before the fleet spoke is seen before.
                self.listen();
                self.work()?;
            }
            if self.core.ending() {
                self.doors.shut();
            }
            if self.core.ended() {
                self.channel.close();
                return Ok(self.core.into_shard());
            }
            let events = self.wait()?;
            self.now_ns = clock::now_ns();
            self.core.at(self.now_ns);
            self.alarm.pass(self.now_ns);
            self.round = self.round.wrapping_add(1);
            for index in 0..events {
                let (source, bits) = self.poller.event(index);
                match source {
                    Source::Connection { generation, slot } => self.notice(slot, generation, bits)?,
                    Source::Door(slot) => self.accept(slot as usize),
                    Source::Control => self.told = true,
                    Source::Alarm => {}
                }
            }
            // After those that have news: they had their turn in the last round.
            self.ready.extend(self.later.drain(..));
            if self.now_ns >= self.core.next_tick_ns() {
                self.core.tick();
            }
            self.doors.resume(&self.poller, self.now_ns);
        }
    }

    /// Waits for events; only looks for them when there is something else to do.
    #[inline]
    fn wait(&mut self) -> io::Result<usize> {
        let wake_at_ns = self.core.next_tick_ns().min(self.doors.resume_at_ns());
        let block = self.later.is_empty() && wake_at_ns > self.now_ns;
        if block {
            self.alarm.set(wake_at_ns);
        }
        self.core.counts().enters.add(1);
        self.poller.wait(block)
    }

    /// One turn for everybody who has something to do.
    #[inline]
    fn work(&mut self) -> io::Result<()> {
        self.gather(None);
        while let Some(conn) = self.ready.pop_front() {
            self.turn(conn)?;
            self.gather(Some(conn));
        }
        Ok(())
    }

    /// Queues the connections that calls into the core have touched, except the one that has just looked after itself, and
    /// begins to connect.
    #[inline]
    fn gather(&mut self, mut but: Option<Conn>) {
        loop {
            let mut dirty = std::mem::take(&mut self.dirty);
            self.core.take_dirty(&mut dirty);
            for conn in dirty.drain(..) {
                if Some(conn) != but {
                    self.enqueue(conn);
                }
            }
            self.dirty = dirty;
            // The slot may be another connection's by now.
            but = None;
            match self.core.next_connect() {
                Some(dial) => self.connect(dial),
                None => return,
            }
        }
    }

    /// Puts a connection into the list of this round, or of the next if it had its turn.
    #[inline]
    fn enqueue(&mut self, conn: Conn) {
        let link = &mut self.links[conn.index()];
        if std::mem::replace(&mut link.queued, true) {
            return;
        }
        if link.round == self.round { self.later.push(conn) } else { self.ready.push_back(conn) }
    }

    fn accept(&mut self, slot: usize) {
        for _ in 0..limits::ACCEPTS_PER_TURN {
            match self.doors.accept(slot, &self.poller, self.now_ns, self.core.counts()) {
                Accepted::Ours(socket, listener) => self.adopt(socket, listener),
                Accepted::NotOurs => {}
                Accepted::Enough => return,
            }
        }
    }

    /// Carries out what the control channel says. Its end means that the fleet is gone, and with it the reason to run.
    fn listen(&mut self) {
        let open = self.channel.receive();
        while let Some(message) = self.channel.next() {
            match message {
                Message::Drain => self.core.drain(),
                Message::Adopt { fd, listener } => self.adopt(control::own(fd), listener as usize),
            }
        }
        if !open {
            self.core.drain();
        }
    }
}
