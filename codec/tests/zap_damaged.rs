//! Damaged frames are taken or refused as the reference does, with the same fields. What it made of them is recorded: the lines of
//! `vectors/mutated.txt`, one for each frame of seed 1. `ZAPRING_RECORD=1 cargo test -p zapring --test interop` writes them anew,
//! and holds more seeds against the reference itself.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../../testing/mutated.rs"]
mod mutated;
mod vectors;

#[test]
fn damaged_frames_are_read_as_recorded() {
    let recorded = include_str!("vectors/mutated.txt");
    let frames = mutated::frames(1, recorded.lines().count(), vectors::vector);
    let (mut same, mut meant) = (0, 0);
    for (number, (frame, recorded)) in frames.iter().zip(recorded.lines()).enumerate() {
        let theirs =
            recorded.strip_prefix(frame.kind).and_then(|rest| rest.strip_prefix(' ')).expect("the same frames");
        let ours = mutated::made(frame);
        let line = ours.line(frame.kind);
        if line == theirs {
            same += 1;
        } else {
            assert!(
                mutated::meant(frame.kind, &line, theirs),
                "frame {number}, {}: {ours:?}, theirs {theirs}",
                frame.kind
            );
            meant += 1;
        }
    }
    assert!(same > 3000 && meant > 100, "{same} the same, {meant} other on purpose");
}
