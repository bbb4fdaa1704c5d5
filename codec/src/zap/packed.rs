//! Packing: messages of many zero bytes made shorter, by the scheme that Cap'n Proto publishes under that name.
//!
//! Each word of 8 bytes becomes a tag, one bit for each byte, and the bytes that are not zero. A tag of 0 is followed by the number of
//! further zero words, a tag of 255 by its word, a number of words, and so many words as they are. A message whose length is no multiple
//! of 8 is packed with zeroes behind it; its header says where it ends. Must not look at what the bytes mean.

use thiserror::Error;

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// Words that one run may have besides its first.
const MAX_RUN: usize = 255;

/// Zero bytes from which on a word inside a run of plain words is worth packing.
const WORTH_PACKING: usize = 2;

/// Why packed bytes were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UnpackError {
    /// They end within a word or a run.
    #[error("the packed bytes end within a word")]
    Truncated,
    /// They would become more than the reader takes.
    #[error("the packed bytes would become more than {max_bytes} bytes")]
    TooLarge {
        /// Bytes that the reader takes.
        max_bytes: usize,
    },
}

type Word = [u8; WORD_BYTES];

/// Appends `message` to `out`, packed.
pub fn pack(message: &[u8], out: &mut Vec<u8>) {
    let (words, rest) = message.as_chunks::<WORD_BYTES>();
    let mut last = [0; WORD_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(last);
    let mut at = 0;
    while at < words.len() {
        at += pack_run(&words[at..], out);
    }
    if let Some(last) = last {
        pack_run(&[last], out);
    }
}

/// Packs the first word and the run that it begins; how many words those are.
#[inline]
fn pack_run(words: &[Word], out: &mut Vec<u8>) -> usize {
    let word = words[0];
    let mut tag = 0_u8;
    let mut kept = [0; WORD_BYTES];
    let mut count = 0;
    for (bit, byte) in word.into_iter().enumerate() {
        kept[count] = byte;
        let is_kept = byte != 0;
        tag |= u8::from(is_kept) << bit;
        count += usize::from(is_kept);
    }
    out.push(tag);
    out.extend_from_slice(&kept[..count]);
    let run = |belongs: fn(&Word) -> bool| words[1..].iter().take(MAX_RUN).take_while(|word| belongs(word)).count();
    match tag {
        0 => {
            let run = run(|word| *word == [0; WORD_BYTES]);
            out.push(run as u8);
            1 + run
        }
        u8::MAX => {
            let run = run(|word| word.iter().filter(|byte| **byte == 0).count() < WORTH_PACKING);
            out.push(run as u8);
            out.extend_from_slice(words[1..=run].as_flattened());
            1 + run
        }
        _ => 1,
    }
}

/// Appends to `out` what was packed, at most `max_bytes` of it.
///
/// # Errors
///
/// [`UnpackError`]; `out` then holds what came before.
pub fn unpack(packed: &[u8], out: &mut Vec<u8>, max_bytes: usize) -> Result<(), UnpackError> {
    let limit = out.len().saturating_add(max_bytes);
    let mut rest = packed;
    while let Some((tag, behind)) = rest.split_first() {
        rest = behind;
        let mut word = [0; WORD_BYTES];
        let count = tag.count_ones() as usize;
        let (kept, behind) = rest.split_at_checked(count).ok_or(UnpackError::Truncated)?;
        rest = behind;
        let mut kept = kept.iter();
        for (bit, byte) in word.iter_mut().enumerate() {
            if tag >> bit & 1 == 1 {
                *byte = *kept.next().unwrap_or(&0);
            }
        }
        let mut room = limit - out.len();
        let too_large = UnpackError::TooLarge { max_bytes };
        room = room.checked_sub(WORD_BYTES).ok_or(too_large)?;
        out.extend_from_slice(&word);
        if !matches!(*tag, 0 | u8::MAX) {
            continue;
        }
        let (run, behind) = rest.split_first().ok_or(UnpackError::Truncated)?;
        let run_bytes = usize::from(*run) * WORD_BYTES;
        if run_bytes > room {
            return Err(too_large);
        }
        rest = behind;
        if *tag == 0 {
            out.resize(out.len() + run_bytes, 0);
        } else {
            let (plain, behind) = rest.split_at_checked(run_bytes).ok_or(UnpackError::Truncated)?;
            out.extend_from_slice(plain);
            rest = behind;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(message, &mut out);
        out
    }

    /// The examples of the published description.
    #[test]
    fn examples() {
        let cases: [(&[u8], &[u8]); 6] = [
            (&[], &[]),
            (&[0; 8], &[0, 0]),
            (&[0, 0, 12, 0, 0, 34, 0, 0], &[0x24, 12, 34]),
            (&[1, 3, 2, 4, 5, 7, 6, 8], &[0xff, 1, 3, 2, 4, 5, 7, 6, 8, 0]),
            (&[8, 0, 0, 0, 3, 0, 2, 0, 0x19, 0, 0, 0, 0xaa, 1, 0, 0], &[0x51, 8, 3, 2, 0x31, 0x19, 0xaa, 1]),
            (&[7], &[1, 7]),
        ];
        for (message, want) in cases {
            assert_eq!(packed(message), want);
            let mut back = Vec::new();
            unpack(want, &mut back, 1024).unwrap();
            assert_eq!(&back[..message.len()], message);
            assert!(back[message.len()..].iter().all(|byte| *byte == 0) && back.len() < message.len() + 8);
        }
        assert_eq!(packed(&[0; 8 * 300]), [0, 255, 0, 43]);
        let plain = [9; 8 * 300];
        assert_eq!(packed(&plain).len(), plain.len() + 4, "two runs, each with a tag and a count");
    }

    #[test]
    fn what_grows_beyond_the_bound_is_refused_before_it_does() {
        let bomb: Vec<u8> = [0, 255].repeat(1000);
        let mut out = Vec::new();
        assert_eq!(unpack(&bomb, &mut out, 10_000), Err(UnpackError::TooLarge { max_bytes: 10_000 }));
        assert!(out.len() <= 10_000);
        for cut in
            [&[0][..], &[0xff, 1], &[0xff, 1, 1, 1, 1, 1, 1, 1, 1], &[0xff, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5], &[3, 1]]
        {
            assert_eq!(unpack(cut, &mut Vec::new(), 10_000), Err(UnpackError::Truncated), "{cut:?}");
        }
    }
}
