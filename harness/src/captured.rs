//! The output of a child while it runs: read by a thread of its own, so that the child never blocks, and kept within a bound.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Which end of an output longer than the bound is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    Last,
}

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    dropped: bool,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// The state is whole after every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One captured stream.
#[derive(Debug)]
pub(crate) struct Captured {
    shared: Arc<Shared>,
}

impl Captured {
    /// Starts reading `stream` to its end, keeping at most `limit_bytes`.
    pub(crate) fn of(stream: impl Read + Send + 'static, limit_bytes: usize, keep: Keep) -> Self {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        // Ends when the last process that holds the pipe closes it; nobody waits for it.
        std::thread::spawn(move || pump(stream, &writer, limit_bytes, keep));
        Self { shared }
    }

    /// What was kept so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shared.lock().bytes.iter().copied().collect()
    }

    /// What was kept so far as text; broken UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Whether more came than was kept.
    pub(crate) fn overflowed(&self) -> bool {
        self.shared.lock().dropped
    }

    /// Waits until there is something new, the stream has ended, or `deadline`.
    pub(crate) fn wait_change(&self, seen_bytes: usize, deadline: Instant) {
        let state = self.shared.lock();
        let left = deadline.saturating_duration_since(Instant::now());
        let unchanged = |state: &mut State| !state.ended && state.bytes.len() == seen_bytes;
        drop(self.shared.changed.wait_timeout_while(state, left, unchanged));
    }

    /// Waits until the stream has ended or `deadline`.
    pub(crate) fn wait_end(&self, deadline: Instant) {
        let state = self.shared.lock();
        let left = deadline.saturating_duration_since(Instant::now());
        drop(self.shared.changed.wait_timeout_while(state, left, |state| !state.ended));
    }
}

fn pump(mut stream: impl Read, shared: &Shared, limit_bytes: usize, keep: Keep) {
    let mut chunk = [0_u8; 8192];
    loop {
        let count = match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let mut state = shared.lock();
        state.bytes.extend(&chunk[..count]);
        if state.bytes.len() > limit_bytes {
            state.dropped = true;
            let excess = state.bytes.len() - limit_bytes;
            match keep {
                Keep::First => state.bytes.truncate(limit_bytes),
                Keep::Last => drop(state.bytes.drain(..excess)),
            }
        }
        drop(state);
        shared.changed.notify_all();
    }
    shared.lock().ended = true;
    shared.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::time::Duration;

    fn captured(keep: Keep) -> Captured {
        let captured = Captured::of(Cursor::new(b"0123456789".to_vec()), 4, keep);
        captured.wait_end(Instant::now() + Duration::from_secs(5));
        captured
    }

    #[test]
    fn keeps_the_end_asked_for() {
        assert_eq!((captured(Keep::First).text(), captured(Keep::Last).text()), ("0123".into(), "6789".into()));
        assert!(captured(Keep::First).overflowed());
    }
}
