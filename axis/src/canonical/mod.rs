//! The canonical codec suite: carsales, catrank and eval, written anew on ZAP objects.
//!
//! Owns the twenty measurements and their order. Every iteration makes a request of its own from a seeded sequence, has it answered, and
//! checks the answer against what was expected when the request was made.

mod carsales;
mod catrank;
mod chance;
mod drive;
mod eval;
pub mod pipe;
pub mod preset;
mod work;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use results::canonical::{Canonical, CanonicalRun};

use crate::error::AxisError;
use crate::timing::Allocations;
use crate::toolchain::toolchain;

pub use preset::Preset;

use carsales::CarSales;
use catrank::CatRank;
use drive::Driven;
use eval::Eval;

/// One of the three cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseName {
    /// Parking lots of cars are summed: many small objects and lists.
    CarSales,
    /// Search results are ranked again: texts, and an answer as large as the request.
    CatRank,
    /// Expressions are evaluated: small messages of deep objects.
    Eval,
}

impl CaseName {
    /// All, in the suite's order.
    pub const ALL: [Self; 3] = [Self::CarSales, Self::CatRank, Self::Eval];

    /// The word in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CarSales => "carsales",
            Self::CatRank => "catrank",
            Self::Eval => "eval",
        }
    }

    /// Kept buffers are measured where the suite does: in the case that stresses allocation.
    fn scratches(self) -> &'static [Scratch] {
        if self == Self::CarSales { &[Scratch::Reuse, Scratch::NoReuse] } else { &[Scratch::NoReuse] }
    }
}

/// How far a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is read from the builder that made it.
    Object,
    /// It is written as bytes, and read from them.
    Bytes,
    /// It is sent to a child process, whose answer comes back.
    Pipe,
}

impl Mode {
    /// The word in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Bytes => "bytes",
            Self::Pipe => "pipe",
        }
    }
}

/// What is done to a message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    None,
    /// It is packed.
    Packed,
}

impl Compression {
    /// The word in results, and on the child's command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Packed => "packed",
        }
    }
}

/// What becomes of buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// Kept from one iteration to the next.
    Reuse,
    /// New for each iteration.
    NoReuse,
}

impl Scratch {
    /// The word in results, and on the child's command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reuse => "reuse",
            Self::NoReuse => "no-reuse",
        }
    }
}

/// One measurement of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    /// The case.
    pub case: CaseName,
    /// How far messages travel.
    pub mode: Mode,
    /// What is done to them on the way.
    pub compression: Compression,
    /// What becomes of buffers.
    pub scratch: Scratch,
}

/// The twenty measurements: five of each case and scratch. An object that stays where it is cannot be packed.
pub fn measurements() -> impl Iterator<Item = Measurement> {
    const WAYS: [(Mode, Compression); 5] = [
        (Mode::Object, Compression::None),
        (Mode::Bytes, Compression::None),
        (Mode::Bytes, Compression::Packed),
        (Mode::Pipe, Compression::None),
        (Mode::Pipe, Compression::Packed),
    ];
    CaseName::ALL.into_iter().flat_map(|case| {
        WAYS.into_iter().flat_map(move |(mode, compression)| {
            case.scratches().iter().map(move |scratch| Measurement { case, mode, compression, scratch: *scratch })
        })
    })
}

/// Makes every measurement; pin the calling thread before, which its children inherit. `exe` is this program: it is started with
/// [`pipe::arguments`]. Raising `stop` gives the measurements made until then.
///
/// # Errors
/// [`AxisError`]: an answer was wrong, or the child failed.
pub fn run(preset: Preset, exe: &Path, allocations: Allocations, stop: &AtomicBool) -> Result<Canonical, AxisError> {
    let iterations = preset.iterations();
    let mut suite = Canonical { iterations, toolchain: toolchain(), ..Canonical::default() };
    for measurement in measurements() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let driven = measure(measurement, preset.of(measurement.case), exe, allocations)?;
        suite.runs.push(CanonicalRun {
            case: measurement.case.word().to_owned(),
            mode: measurement.mode.word().to_owned(),
            compression: measurement.compression.word().to_owned(),
            scratch: measurement.scratch.word().to_owned(),
            iterations: driven.iterations,
            elapsed_ns: driven.elapsed_ns,
            message_bytes: driven.message_bytes,
            allocations: driven.allocations,
        });
    }
    suite.interrupted = stop.load(Ordering::Relaxed);
    Ok(suite)
}

fn measure(
    measurement: Measurement,
    iterations: u64,
    exe: &Path,
    allocations: Allocations,
) -> Result<Driven, AxisError> {
    match measurement.case {
        CaseName::CarSales => drive::run::<CarSales>(measurement, iterations, exe, allocations),
        CaseName::CatRank => drive::run::<CatRank>(measurement, iterations, exe, allocations),
        CaseName::Eval => drive::run::<Eval>(measurement, iterations, exe, allocations),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_measurements_and_no_two_alike() {
        let all: Vec<Measurement> = measurements().collect();
        assert_eq!(all.len(), 20);
        assert!(all.iter().enumerate().all(|(index, one)| !all[index + 1..].contains(one)));
        assert_eq!(all.iter().filter(|one| one.case == CaseName::CarSales).count(), 10);
    }
}
