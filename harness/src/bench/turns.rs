//! Two builds in turns: a server of each, the one asleep while the other is driven, and runs of one right after runs of the other on the
//! same cores. What drifts on the host from second to second then cancels within each pair.

use std::sync::atomic::{AtomicBool, Ordering};

use results::Bench;

use crate::bench::{BenchEnd, BenchError, BenchPlan, Step, conclude, document, one};
use crate::rig::Server;

/// Two benches, and how they ended together.
#[derive(Debug)]
pub struct Turns {
    /// Of the first plan.
    pub base: Bench,
    /// Of the second.
    pub new: Bench,
    /// Whether they are complete.
    pub end: BenchEnd,
}

/// Makes every run of both plans again and again, until `enough` says so of what there is, base first, or `max_rounds` are made: in each
/// round level by level and wire by wire, one run of each side, and the side that comes first takes turns. The plans differ in what they
/// start and in nothing else. Stopping is as in [`run`](crate::bench::run).
///
/// # Errors
/// [`BenchError`] when one of the servers does not come up. A later failure is in [`Turns::end`].
pub fn in_turns(
    plans: [&BenchPlan; 2],
    max_rounds: u32,
    enough: &mut dyn FnMut(&Bench, &Bench) -> bool,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Turns, BenchError> {
    for plan in plans {
        plan.check()?;
    }
    let mut benches = plans.map(document);
    let mut servers = Vec::with_capacity(plans.len());
    progress(Step::Starting);
    for plan in plans {
        // Both must be up before anything is measured.
        let failed = |source| BenchError::Side { program: plan.rig.exe.clone(), source: Box::new(source) };
        match Server::start(&plan.rig, stop).map_err(failed)? {
            Some(server) => servers.push(server),
            None => break,
        }
    }
    let mut end = if servers.len() == plans.len() { BenchEnd::Complete } else { BenchEnd::Interrupted };
    for number in 0..max_rounds {
        if !matches!(end, BenchEnd::Complete) || (number > 0 && enough(&benches[0], &benches[1])) {
            break;
        }
        end = match round(plans, &mut servers, number, stop, progress, &mut benches) {
            Ok(true) => BenchEnd::Complete,
            Ok(false) => BenchEnd::Interrupted,
            Err(error) => BenchEnd::Failed(error),
        };
    }
    for server in servers {
        server.stop();
    }
    let complete = matches!(end, BenchEnd::Complete);
    let [base, new] = benches;
    let [base, new] = [conclude(plans[0], base, complete), conclude(plans[1], new, complete)];
    Ok(Turns { base, new, end })
}

/// One run of each side on every level and wire; `false` when stopped.
fn round(
    plans: [&BenchPlan; 2],
    servers: &mut [Server],
    number: u32,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
    benches: &mut [Bench; 2],
) -> Result<bool, BenchError> {
    let sides = if number.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    let total = plans[0].runs().count() * sides.len();
    let runs = plans[0].runs().flat_map(|run| sides.map(|side| (run, side)));
    for (index, ((connections, target), side)) in runs.enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        progress(Step::Begin { index, total, wire: &target.wire, connections });
        let made = one(plans[side], &mut servers[side], target, connections, stop, progress)?;
        let Some((row, _)) = made else { return Ok(false) };
        benches[side].rows.push(row);
    }
    Ok(true)
}
