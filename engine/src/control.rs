//! How a shard is told things from outside: fixed-size messages over a socketpair that each engine reads like any socket.

use std::{
    cell::Cell,
    io::{self, Write},
    os::{
        fd::{IntoRawFd, OwnedFd},
        unix::net::UnixStream,
    },
};

/// Bytes of one message; written at once, so that a stream socket never tears it in practice, and reassembled if it does.
pub(crate) const MESSAGE_BYTES: usize = 16;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Finish what is under way and end.
    Drain,
    /// Take over an accepted connection: this descriptor (owned by the message) of that listener.
    Adopt { fd: i32, listener: u32 },
}

impl Message {
    fn encode(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        let (kind, fd, listener) = match self {
            Message::Drain => (1_u32, -1, 0),
            Message::Adopt { fd, listener } => (2, fd, listener),
        };
        bytes[0..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&fd.to_ne_bytes());
        bytes[8..12].copy_from_slice(&listener.to_ne_bytes());
        bytes
    }

    /// `None` for bytes that no [`Message`] encodes.
    pub(crate) fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match u32::from_ne_bytes(word(0)) {
            1 => Some(Message::Drain),
            2 => Some(Message::Adopt { fd: i32::from_ne_bytes(word(4)), listener: u32::from_ne_bytes(word(8)) }),
            _ => None,
        }
    }
}

/// The sending end of one shard's control channel.
#[derive(Debug)]
pub(crate) struct Remote(UnixStream);

impl Remote {
    /// A remote and the shard's end of it.
    pub(crate) fn pair() -> io::Result<(Remote, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok((Remote(ours), theirs))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Remote> {
        self.0.try_clone().map(Remote)
    }

    /// Asks the shard to drain. A shard that is gone already needs no asking.
    pub(crate) fn drain(&self) {
        let _ = (&self.0).write_all(&Message::Drain.encode());
    }

    /// Hands a connection over; when the shard cannot take it the connection is closed.
    pub(crate) fn adopt(&self, socket: OwnedFd, listener: usize) -> io::Result<()> {
        let fd = socket.into_raw_fd();
        let message = Message::Adopt { fd, listener: listener as u32 };
        (&self.0).write_all(&message.encode()).inspect_err(|_| drop(own(fd)))
    }
}

/// To whom the one shard that accepts on a unix socket hands its connections: each shard in turn.
#[derive(Debug)]
pub(crate) struct Dealer {
    shards: Vec<Remote>,
    turn: Cell<usize>,
}

impl Dealer {
    pub(crate) fn new(shards: Vec<Remote>) -> Self {
        Dealer { shards, turn: Cell::new(0) }
    }

    /// Hands a connection to the shard whose turn it is; as [`Remote::adopt`].
    pub(crate) fn deal(&self, socket: OwnedFd, listener: usize) -> io::Result<()> {
        let turn = self.turn.get();
        self.turn.set((turn + 1) % self.shards.len());
        self.shards[turn].adopt(socket, listener)
    }
}

/// Takes ownership of a descriptor that a message carried.
pub(crate) fn own(fd: i32) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the number comes from `into_raw_fd` in `Remote::adopt`, which gave up ownership into exactly one message.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_garbage_is_none() {
        for message in [Message::Drain, Message::Adopt { fd: 1234, listener: 3 }] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(&[0xff; MESSAGE_BYTES]), None);
    }

    #[test]
    fn a_connection_for_a_shard_that_is_gone_is_closed() {
        let (remote, theirs) = Remote::pair().expect("a pair");
        drop(theirs);
        let (ours, peer) = UnixStream::pair().expect("a pair");
        assert!(remote.adopt(ours.into(), 0).is_err());
        let mut byte = [0];
        assert_eq!(io::Read::read(&mut &peer, &mut byte).expect("closed"), 0);
    }
}
