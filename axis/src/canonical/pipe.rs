//! Both ends of the pipe: the child that answers on its standard input and output, and the parent that asks it.
//!
//! Owns the frame between them, the ZAP wire's length: `u32` big-endian, then so many bytes.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::carsales::CarSales;
use super::catrank::CatRank;
use super::drive::{Desk, answer};
use super::eval::Eval;
use super::work::Work;
use super::{CaseName, Compression, Measurement, Scratch};
use crate::error::AxisError;
use crate::limits::MAX_PIPE_MESSAGE_BYTES;

fn failed(what: &'static str) -> impl Fn(io::Error) -> AxisError {
    move |source| AxisError::Pipe { what, source }
}

/// The arguments that start this program as the other end: of `codec --answer CASE:COMPRESSION:SCRATCH`.
#[must_use]
pub fn arguments(measurement: Measurement) -> [String; 3] {
    let Measurement { case, compression, scratch, .. } = measurement;
    ["codec".to_owned(), "--answer".to_owned(), format!("{}:{}:{}", case.word(), compression.word(), scratch.word())]
}

/// What stands behind `--answer`; `None` where it is none of [`arguments`].
#[must_use]
pub fn parse(text: &str) -> Option<(CaseName, Compression, Scratch)> {
    let mut words = text.split(':');
    let (case, compression, scratch) = (words.next()?, words.next()?, words.next()?);
    let case = CaseName::ALL.into_iter().find(|name| name.word() == case)?;
    let compression = [Compression::None, Compression::Packed].into_iter().find(|one| one.word() == compression)?;
    let scratch = [Scratch::Reuse, Scratch::NoReuse].into_iter().find(|one| one.word() == scratch)?;
    words.next().is_none().then_some((case, compression, scratch))
}

/// Answers requests until `input` ends.
///
/// # Errors
/// [`AxisError`]: a message that cannot be read, or the pipe.
pub fn serve(
    (case, compression, scratch): (CaseName, Compression, Scratch),
    input: impl Read,
    output: impl Write,
) -> Result<(), AxisError> {
    match case {
        CaseName::CarSales => serve_case::<CarSales>(compression, scratch, input, output),
        CaseName::CatRank => serve_case::<CatRank>(compression, scratch, input, output),
        CaseName::Eval => serve_case::<Eval>(compression, scratch, input, output),
    }
}

fn serve_case<W: Work>(
    compression: Compression,
    scratch: Scratch,
    input: impl Read,
    output: impl Write,
) -> Result<(), AxisError> {
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let (mut desk, mut request, mut back) = (Desk::default(), Vec::new(), Vec::new());
    while receive(&mut input, &mut request)? {
        back.clear();
        answer::<W>(&request, compression, &mut desk, &mut back)?;
        send(&mut output, &back)?;
        desk.next(scratch);
        if scratch == Scratch::NoReuse {
            (request, back) = (Vec::new(), Vec::new());
        }
    }
    Ok(())
}

fn send(output: &mut impl Write, message: &[u8]) -> Result<(), AxisError> {
    let length = u32::try_from(message.len()).expect("a message is bounded far below 4 GiB");
    let all = output.write_all(&length.to_be_bytes()).and_then(|()| output.write_all(message));
    all.and_then(|()| output.flush()).map_err(failed("writing to the pipe"))
}

/// Reads a message in place of what was in `message`; false at the end of the input.
fn receive(input: &mut impl Read, message: &mut Vec<u8>) -> Result<bool, AxisError> {
    let mut length = [0; 4];
    let mut got = 0;
    while got < length.len() {
        match input.read(&mut length[got..]) {
            Ok(0) if got == 0 => return Ok(false),
            Ok(0) => return Err(failed("reading a length from the pipe")(io::ErrorKind::UnexpectedEof.into())),
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed("reading a length from the pipe")(error)),
        }
    }
    let announced = u32::from_be_bytes(length) as usize;
    if announced > MAX_PIPE_MESSAGE_BYTES {
        return Err(AxisError::PipeLength { announced });
    }
    message.clear();
    // Memory follows the bytes that come, not those announced.
    let read = input.take(announced as u64).read_to_end(message).map_err(failed("reading from the pipe"))?;
    if read < announced {
        return Err(failed("reading a message from the pipe")(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(true)
}

/// The child, seen from its parent. It ends when its input does.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    ends: Option<(BufWriter<ChildStdin>, BufReader<ChildStdout>)>,
}

impl Peer {
    /// Starts this program as the other end.
    pub(crate) fn start(exe: &Path, measurement: Measurement) -> Result<Self, AxisError> {
        let started = Command::new(exe)
            .args(arguments(measurement))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed("starting the other end of the pipe"));
        let mut child = started?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let ends = ends.map(|(input, output)| (BufWriter::new(input), BufReader::new(output)));
        Ok(Self { child, ends })
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, request: &[u8], back: &mut Vec<u8>) -> Result<(), AxisError> {
        let (input, output) = self.ends.as_mut().expect("the ends are there until the end");
        send(input, request)?;
        if receive(output, back)? {
            return Ok(());
        }
        Err(failed("waiting for an answer from the other end of the pipe")(io::ErrorKind::UnexpectedEof.into()))
    }

    /// Ends it and looks how it ended.
    pub(crate) fn end(mut self) -> Result<(), AxisError> {
        self.ends = None;
        let status = self.child.wait().map_err(failed("waiting for the other end of the pipe to end"))?;
        if status.success() {
            return Ok(());
        }
        let source = io::Error::other(format!("it ended with {status}"));
        Err(failed("the other end of the pipe")(source))
    }
}

impl Drop for Peer {
    /// With its ends closed the child ends by itself, whatever it was doing.
    fn drop(&mut self) {
        if self.ends.take().is_some() {
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use codec::zap::builder::Builder;

    use super::super::chance::Chance;
    use super::super::{drive, measurements};
    use super::*;

    #[test]
    fn arguments_are_read_again() {
        for measurement in measurements() {
            let [_, _, text] = arguments(measurement);
            assert_eq!(parse(&text), Some((measurement.case, measurement.compression, measurement.scratch)));
        }
        for wrong in ["", "eval", "eval:none", "eval:none:reuse:x", "evil:none:reuse", "eval:zip:reuse"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn requests_on_one_end_are_answered_on_the_other() {
        for compression in [Compression::None, Compression::Packed] {
            let (mut chance, mut builder) = (Chance::new(), Builder::default());
            let (mut input, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..5 {
                expected.push(Eval::request(&mut chance, &mut builder));
                let mut carried = Vec::new();
                drive::write(builder.finish().expect("small"), compression, &mut carried);
                send(&mut input, &carried).expect("memory");
            }
            let mut output = Vec::new();
            serve((CaseName::Eval, compression, Scratch::Reuse), &input[..], &mut output).expect("our own requests");
            let (mut rest, mut message) = (&output[..], Vec::new());
            for wanted in expected {
                assert!(receive(&mut rest, &mut message).expect("an answer"));
                let mut unpacked = Vec::new();
                if compression == Compression::Packed {
                    codec::zap::packed::unpack(&message, &mut unpacked, 1024).expect("packed");
                } else {
                    unpacked.clone_from(&message);
                }
                let root =
                    codec::zap::frame::Frame::parse(&unpacked).and_then(|frame| frame.root()).expect("a message");
                assert_eq!(Eval::found(root), wanted);
            }
            assert!(!receive(&mut rest, &mut message).expect("the end"));
        }
    }

    #[test]
    fn what_is_cut_or_too_long_is_an_error() {
        let all = (CaseName::Eval, Compression::None, Scratch::Reuse);
        for input in [&[0, 0][..], &[0, 0, 0, 9, 1, 2], &[0xff, 0xff, 0xff, 0xff], &[0, 0, 0, 2, 1, 1]] {
            assert!(serve(all, input, Vec::new()).is_err(), "{input:?}");
        }
    }
}
