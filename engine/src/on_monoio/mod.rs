//! The engine on the monoio runtime: io_uring with the best setup flags the kernel grants.
//!
//! One task per connection polls at most one receive and one send side by side; neither future is ever dropped before it is
//! done, because a dropped read loses bytes. Deadlines shut the socket down, and the operations end by themselves. Time is one
//! `timerfd` for the shard, since the runtime's own timers have steps of a millisecond.

mod connection;
mod lane;

use std::{io, rc::Rc};

use monoio::{Buildable, IoUringDriver, Runtime, RuntimeBuilder};

use crate::{
    EngineOptions, Features, clock,
    core::Core,
    fleet::{Lane, LaunchError},
    ladder::{self, HostFacts, Rung},
    shard::Shard,
};

/// Runs a shard until it has ended and returns its protocol; the outer error is for what stands in the way of a start.
pub(crate) fn run<S: Shard>(mut lane: Lane, shard: S) -> Result<io::Result<S>, LaunchError> {
    let size = lane.options;
    let (runtime, rung) = ladder::climb(|rung| build(rung, size), || HostFacts::read("/proc".as_ref()))
        .map_err(|source| LaunchError::Ring { shard: lane.index, source })?;
    lane.ready(
        Some(rung),
        size.sq_entries.next_power_of_two(),
        size.cq_entries.next_power_of_two(),
        Features::default(),
    );
    Ok(drive(runtime, lane, shard))
}

/// One try at a runtime over a ring with these flags.
fn build(rung: Rung, size: EngineOptions) -> io::Result<Runtime<IoUringDriver>> {
    let mut setup = io_uring_06::IoUring::builder();
    setup.setup_cqsize(size.cq_entries.next_power_of_two()).setup_clamp();
    if rung.single_issuer {
        setup.setup_single_issuer();
    }
    if rung.defer_taskrun {
        setup.setup_defer_taskrun();
    }
    if rung.coop_taskrun {
        setup.setup_coop_taskrun();
    }
    IoUringDriver::build(RuntimeBuilder::new().with_entries(size.sq_entries).uring_builder(setup))
}

fn drive<S: Shard>(mut runtime: Runtime<IoUringDriver>, lane: Lane, shard: S) -> io::Result<S> {
    let core = Core::new(shard, lane.limits, lane.board.clone(), lane.index, clock::now_ns());
    let state = Rc::new(lane::State::new(core, &lane)?);
    // Operations in flight point into the state's buffers: on a panic it must outlive the ring, so it is leaked.
    let guard = LeakOnPanic(Some(Rc::clone(&state)));
    runtime.block_on(lane::serve(Rc::clone(&state), lane))?;
    drop(guard);
    drop(runtime);
    let state = Rc::into_inner(state).expect("every task has ended and given up its share of the state");
    Ok(state.into_shard())
}

struct LeakOnPanic<S>(Option<Rc<lane::State<S>>>);

impl<S> Drop for LeakOnPanic<S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.take());
        }
    }
}
