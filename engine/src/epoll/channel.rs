//! The shard's end of its control channel: bytes into messages, many per call.

use std::os::{
    fd::{AsRawFd, OwnedFd, RawFd},
    unix::net::UnixStream,
};

use crate::{
    control::{self, MESSAGE_BYTES, Message},
    limits, socket,
};

/// The receiving end.
pub(super) struct Channel {
    socket: Option<OwnedFd>,
    buffer: Box<[u8; MESSAGE_BYTES * limits::MESSAGES_PER_TURN]>,
    /// What of the buffer is received and not yet taken.
    from: usize,
    to: usize,
}

impl Channel {
    pub(super) fn new(socket: UnixStream) -> Self {
        let buffer = Box::new([0; MESSAGE_BYTES * limits::MESSAGES_PER_TURN]);
        Channel { socket: Some(socket.into()), buffer, from: 0, to: 0 }
    }

    /// The descriptor; -1 once the channel has ended.
    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Receives what is there, as far as there is room; false when the channel has ended, and is closed.
    pub(super) fn receive(&mut self) -> bool {
        let Some(socket) = &self.socket else { return false };
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        let room = &mut self.buffer[self.to..];
        // SAFETY: the room is writable and initialised, and nobody else uses it during the call.
        match unsafe { socket::receive(socket.as_raw_fd(), room.as_mut_ptr(), room.len()) } {
            Ok(0) => {}
            Ok(bytes) => {
                self.to += bytes;
                return true;
            }
            Err(libc::EAGAIN | libc::EINTR) => return true,
            Err(_) => {}
        }
        self.socket = None;
        false
    }

    /// The next message of those received.
    pub(super) fn next(&mut self) -> Option<Message> {
        loop {
            let message = self.buffer[self.from..self.to].first_chunk::<MESSAGE_BYTES>()?;
            self.from += MESSAGE_BYTES;
            if let Some(message) = Message::decode(message) {
                return Some(message);
            }
        }
    }

    /// Ends the channel and closes connections that were handed over too late.
    pub(super) fn close(&mut self) {
        socket::shut_both(self.fd());
        loop {
            let open = self.receive();
            while let Some(message) = self.next() {
                if let Message::Adopt { fd, .. } = message {
                    drop(control::own(fd));
                }
            }
            if !open {
                return;
            }
        }
    }
}
