//! What a plain exchange over the kernel's loopback TCP costs right now: blocking sockets, one thread on each side, nothing of ours in it.
//!
//! Costs per request are mostly the kernel's, and on a virtual machine they move with the host by a factor. Held against this, measured
//! in the same minute on the same cores, much of that cancels.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::limits::{YARDSTICK_CONNECTIONS, YARDSTICK_PATIENCE};

/// Bytes of a request and of its answer: those of `GET /health` on zap.
const REQUEST_BYTES: usize = 111;
const REPLY_BYTES: usize = 114;

/// Exchanges for about `length` between a thread on `server_core` and one on `client_core`; the mean CPU time of one exchange on one
/// side, in nanoseconds.
///
/// # Errors
/// Sockets or pinning failed, as for a core that this process may not use.
pub fn yardstick_ns(server_core: u32, client_core: u32, length: Duration) -> io::Result<u64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // Both ends are connected here, so that neither thread ever waits for one that failed to start.
    let mut pairs = Vec::with_capacity(YARDSTICK_CONNECTIONS);
    for _ in 0..YARDSTICK_CONNECTIONS {
        let client = TcpStream::connect(address)?;
        let (server, _) = listener.accept()?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(YARDSTICK_PATIENCE))?;
            stream.set_write_timeout(Some(YARDSTICK_PATIENCE))?;
        }
        pairs.push((client, server));
    }
    let (clients, servers): (Vec<TcpStream>, Vec<TcpStream>) = pairs.into_iter().unzip();
    let serving = thread::spawn(move || pinned(server_core, || serve(servers)));
    let asking = thread::spawn(move || pinned(client_core, || ask(clients, length)));
    let asked = asking.join().map_err(|_| io::Error::other("the asking thread panicked"))?;
    let served = serving.join().map_err(|_| io::Error::other("the serving thread panicked"))?;
    let ((exchanges, asked_ns), (_, served_ns)) = (asked?, served?);
    Ok((asked_ns + served_ns) / (2 * exchanges.max(1)))
}

/// Runs `work` on one core; what it counted, and the CPU time it took.
fn pinned(core: u32, work: impl FnOnce() -> io::Result<u64>) -> io::Result<(u64, u64)> {
    let mut only = CpuSet::new();
    only.set(core as usize);
    sched_setaffinity(None, &only)?;
    let begun_ns = thread_ns();
    let count = work()?;
    Ok((count, thread_ns().saturating_sub(begun_ns)))
}

fn thread_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Answers until the peer has gone; how often.
fn serve(mut streams: Vec<TcpStream>) -> io::Result<u64> {
    let (mut request, reply) = ([0; REQUEST_BYTES], [1; REPLY_BYTES]);
    let mut exchanges = 0;
    loop {
        for stream in &mut streams {
            match stream.read_exact(&mut request) {
                Ok(()) => stream.write_all(&reply)?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(exchanges),
                Err(error) => return Err(error),
            }
            exchanges += 1;
        }
    }
}

/// Asks on all streams at once, round after round; how many exchanges were made.
fn ask(mut streams: Vec<TcpStream>, length: Duration) -> io::Result<u64> {
    let (request, mut reply) = ([1; REQUEST_BYTES], [0; REPLY_BYTES]);
    let begun = Instant::now();
    let mut exchanges = 0;
    while begun.elapsed() < length {
        for stream in &mut streams {
            stream.write_all(&request)?;
        }
        for stream in &mut streams {
            stream.read_exact(&mut reply)?;
            exchanges += 1;
        }
    }
    Ok(exchanges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostFiles;

    #[test]
    fn an_exchange_costs_something_and_a_core_that_is_not_there_is_an_error() {
        let core = HostFiles::live().usable_cores().expect("a Linux host").as_slice()[0];
        let cost_ns = yardstick_ns(core, core, Duration::from_millis(20)).expect("loopback");
        assert!(cost_ns > 100, "{cost_ns}");
        assert!(yardstick_ns(core, 1000, Duration::from_millis(20)).is_err());
    }
}
