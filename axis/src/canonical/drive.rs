//! One measurement: iterations of one case in one mode, timed as a whole.

use std::fmt::Display;
use std::path::Path;
use std::time::Instant;

use codec::limits::MAX_FRAME_BYTES;
use codec::zap::builder::Builder;
use codec::zap::frame::Frame;
use codec::zap::packed::{pack, unpack};

use super::chance::Chance;
use super::pipe::Peer;
use super::work::Work;
use super::{Compression, Measurement, Mode, Scratch};
use crate::error::AxisError;
use crate::timing::Allocations;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Driven {
    pub(crate) iterations: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) message_bytes: u64,
    pub(crate) allocations: u64,
}

/// Buffers of one side.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// What is built.
    built: Vec<u8>,
    /// What was unpacked.
    unpacked: Vec<u8>,
}

impl Desk {
    /// Buffers of the next iteration: these, or new ones.
    pub(crate) fn next(&mut self, scratch: Scratch) {
        if scratch == Scratch::NoReuse {
            *self = Self::default();
        }
    }
}

/// Puts a message into the form in which it is carried.
pub(crate) fn write(message: &[u8], compression: Compression, out: &mut Vec<u8>) {
    match compression {
        Compression::None => out.extend_from_slice(message),
        Compression::Packed => pack(message, out),
    }
}

/// The message in what was carried.
fn read<'a>(carried: &'a [u8], compression: Compression, unpacked: &'a mut Vec<u8>) -> Result<Frame<'a>, AxisError> {
    let message = match compression {
        Compression::None => carried,
        Compression::Packed => {
            unpacked.clear();
            unpack(carried, unpacked, MAX_FRAME_BYTES)?;
            unpacked
        }
    };
    Ok(Frame::parse(message)?)
}

/// Answers what was carried, into `out`.
///
/// # Errors
/// [`AxisError`]: the request cannot be read.
pub(crate) fn answer<W: Work>(
    carried: &[u8],
    compression: Compression,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<(), AxisError> {
    let request = read(carried, compression, &mut desk.unpacked)?;
    let mut builder = Builder::new(std::mem::take(&mut desk.built));
    W::answer(request.root()?, &mut builder);
    write(builder.finish()?, compression, out);
    desk.built = builder.into_buffer();
    Ok(())
}

/// Makes a measurement. Every answer is checked.
///
/// # Errors
/// [`AxisError::Wrong`] for a wrong answer, and whatever befell the child.
pub(crate) fn run<W: Work>(
    measurement: Measurement,
    iterations: u64,
    exe: &Path,
    allocations: Allocations,
) -> Result<Driven, AxisError> {
    let mut peer = match measurement.mode {
        Mode::Pipe => Some(Peer::start(exe, measurement)?),
        Mode::Object | Mode::Bytes => None,
    };
    let mut client =
        Client { chance: Chance::new(), measurement, ours: Desk::default(), carried: Vec::new(), back: Vec::new() };
    let mut theirs = Desk::default();
    let mut message_bytes = 0_u64;
    let (before, start) = (allocations(), Instant::now());
    for _ in 0..iterations {
        theirs.next(measurement.scratch);
        let bytes = match (&mut peer, measurement.mode) {
            (Some(peer), _) => client.over::<W>(|carried, back| peer.ask(carried, back))?,
            (None, Mode::Object) => client.in_place::<W>(&mut theirs)?,
            (None, _) => {
                let compression = measurement.compression;
                client.over::<W>(|carried, back| answer::<W>(carried, compression, &mut theirs, back))?
            }
        };
        message_bytes += bytes as u64;
    }
    let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let allocations = allocations() - before;
    if let Some(peer) = peer {
        peer.end()?;
    }
    Ok(Driven { iterations, elapsed_ns, message_bytes, allocations })
}

/// The side that asks.
struct Client {
    chance: Chance,
    measurement: Measurement,
    ours: Desk,
    carried: Vec<u8>,
    back: Vec<u8>,
}

impl Client {
    /// One iteration in which requests and answers are read where they were built; bytes of both.
    fn in_place<W: Work>(&mut self, theirs: &mut Desk) -> Result<usize, AxisError> {
        self.ours.next(self.measurement.scratch);
        let mut request = Builder::new(std::mem::take(&mut self.ours.built));
        let expected = W::request(&mut self.chance, &mut request);
        let mut answer = Builder::new(std::mem::take(&mut theirs.built));
        W::answer(Frame::parse(request.finish()?)?.root()?, &mut answer);
        let found = W::found(Frame::parse(answer.finish()?)?.root()?);
        check::<W>(self.measurement.mode, found, expected)?;
        (self.ours.built, theirs.built) = (request.into_buffer(), answer.into_buffer());
        Ok(self.ours.built.len() + theirs.built.len())
    }

    /// One iteration in which both are carried as bytes; how many.
    fn over<W: Work>(
        &mut self,
        ask: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<(), AxisError>,
    ) -> Result<usize, AxisError> {
        let Measurement { mode, compression, scratch, .. } = self.measurement;
        self.ours.next(scratch);
        if scratch == Scratch::NoReuse {
            (self.carried, self.back) = (Vec::new(), Vec::new());
        }
        let mut request = Builder::new(std::mem::take(&mut self.ours.built));
        let expected = W::request(&mut self.chance, &mut request);
        self.carried.clear();
        write(request.finish()?, compression, &mut self.carried);
        self.ours.built = request.into_buffer();
        self.back.clear();
        ask(&self.carried, &mut self.back)?;
        let answer = read(&self.back, compression, &mut self.ours.unpacked)?;
        check::<W>(mode, W::found(answer.root()?), expected)?;
        Ok(self.carried.len() + self.back.len())
    }
}

fn check<W: Work>(mode: Mode, found: W::Expected, expected: W::Expected) -> Result<(), AxisError> {
    let text = |value: &dyn Display| value.to_string();
    if found == expected {
        return Ok(());
    }
    Err(AxisError::Wrong { case: W::NAME.word(), mode: mode.word(), found: text(&found), wanted: text(&expected) })
}

#[cfg(test)]
mod tests {
    use codec::zap::slot::Object;
    use proptest::prelude::*;

    use super::super::carsales::CarSales;
    use super::super::catrank::CatRank;
    use super::super::eval::Eval;
    use super::super::{CaseName, measurements};
    use super::*;

    fn in_process<W: Work>(measurement: Measurement, iterations: u64) -> Result<Driven, AxisError> {
        run::<W>(measurement, iterations, Path::new("/nonexistent"), || 0)
    }

    #[test]
    fn every_answer_is_right_in_every_mode_without_a_process() {
        for measurement in measurements().filter(|measurement| measurement.mode != Mode::Pipe) {
            let driven = match measurement.case {
                CaseName::CarSales => in_process::<CarSales>(measurement, 40),
                CaseName::CatRank => in_process::<CatRank>(measurement, 20),
                CaseName::Eval => in_process::<Eval>(measurement, 400),
            };
            let driven = driven.unwrap_or_else(|error| panic!("{measurement:?}: {error}"));
            assert!(driven.iterations > 0 && driven.message_bytes > driven.iterations * 40, "{measurement:?}");
        }
    }

    /// A case whose server is off by one now and then.
    struct Liar;

    impl Work for Liar {
        const NAME: CaseName = CaseName::Eval;
        type Expected = i32;

        fn request(chance: &mut Chance, builder: &mut Builder) -> i32 {
            Eval::request(chance, builder)
        }

        fn answer(request: Object<'_>, builder: &mut Builder) {
            Eval::answer(request, builder);
        }

        fn found(answer: Object<'_>) -> i32 {
            Eval::found(answer) ^ 1
        }
    }

    #[test]
    fn a_wrong_answer_ends_the_measurement() {
        let measurement = measurements().find(|one| one.case == CaseName::Eval).expect("eval is among them");
        let error = in_process::<Liar>(measurement, 3).expect_err("it lies").to_string();
        assert!(error.contains("eval in mode object: the answer is"), "{error}");
    }

    /// What a hostile peer may send: any bytes changed in a message of a case.
    fn broken<W: Work>(changes: &[(usize, u8)], cut: usize) {
        let mut builder = Builder::default();
        let mut chance = Chance::new();
        for _ in 0..3 {
            W::request(&mut chance, &mut builder);
            let mut message = builder.finish().expect("a small message").to_vec();
            let length = message.len();
            for (at, byte) in changes {
                message[at % length] = *byte;
            }
            message.truncate(length - cut.min(length));
            let mut desk = Desk::default();
            let _ = answer::<W>(&message, Compression::None, &mut desk, &mut Vec::new());
            let _ = answer::<W>(&message, Compression::Packed, &mut desk, &mut Vec::new());
        }
    }

    proptest! {
        #[test]
        fn broken_messages_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..40), cut in 0usize..40) {
            broken::<CarSales>(&changes, cut);
            broken::<CatRank>(&changes, cut);
            broken::<Eval>(&changes, cut);
        }
    }
}
