//! The engine on glommio's executor: one task per connection, glommio's own sockets.
//!
//! What glommio is, seen from here: its sockets are not read and written through the ring. It polls them with one-shot
//! `POLL_ADD` entries and then calls `recv(2)` and `send(2)`; a poll is an allocated source, which is why it allocates per
//! request. Each executor has three rings (for latency, for throughput, for polled files) without setup flags, and before it
//! sleeps it calls `membarrier(2)`, which interrupts every core that runs a thread of this process. It keeps an idle thread for
//! calls that block. None of that can be turned off from outside.
//!
//! What can be tuned is: placement (ours: the thread is pinned already, so its own is unbound, which also rules out its
//! spinning), ring depth (`--ring-entries`), storage memory (the least), no latency records, and the preemption
//! timer, which decides how long busy tasks may keep others' news from being looked at.
//!
//! Where it cannot keep the contract by its own means, the nearest thing is done:
//!
//! * It has no vectored send: head and shared slice go out in one `sendmsg(2)` of ours, and only the wait for room is its.
//! * It accepts without `CLOEXEC`; the flag is set right after, so a process started in between may inherit the socket.
//! * A connection cannot be taken out of its types: one that is dealt to another shard is duplicated (two more calls each).
//! * A pending accept on a unix listener can only be dropped. A connection that arrives in that very moment, while the shard
//!   ends, stays open until the process does.
//! * It never closes the eventfd of an executor that has ended (DataDog/glommio#448: a finished task is freed without dropping
//!   its share of it): one descriptor for each shard that was ever started stays open.

mod connection;
mod lane;
mod start;

use std::{io, mem::ManuallyDrop, rc::Rc};

use crate::{
    Features, clock,
    core::Core,
    fleet::{Lane, LaunchError},
    shard::Shard,
};

/// Runs a shard until it has ended and returns its protocol; the outer error is for what stands in the way of a start.
pub(crate) fn run<S: Shard>(mut lane: Lane, shard: S) -> Result<io::Result<S>, LaunchError> {
    let depth = lane.options.sq_entries.next_power_of_two();
    // Tasks hold the state and the state is what a panic may have left in pieces: on a panic both are leaked.
    let executor = ManuallyDrop::new(start::executor(lane.index, depth)?);
    lane.ready(None, depth, 0, Features::default());
    let core = Core::new(shard, lane.limits, lane.board.clone(), lane.index, clock::now_ns());
    let state = match lane::State::new(core, &lane) {
        Ok(state) => Rc::new(state),
        Err(error) => return Ok(Err(error)),
    };
    let ended = executor.run(lane::serve(Rc::clone(&state), lane));
    drop(ManuallyDrop::into_inner(executor));
    if let Err(error) = ended {
        return Ok(Err(error));
    }
    let state = Rc::into_inner(state).expect("every task has ended and given up its share of the state");
    Ok(Ok(state.into_shard()))
}
