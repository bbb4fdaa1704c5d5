//! Header and trailer blocks: name and value pairs, read in place and written from whatever holds them.
//!
//! Owns the block's form (ZAP wire §4). Must not know what a name means, but for the two that the frame itself
//! carries and that are therefore never written: `Content-Length` and `Trailer`.

use std::fmt;

use thiserror::Error;

use crate::limits::MIN_PAIR_BYTES;

/// Why a block was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PairsError {
    /// The block ends within what its count and lengths announce.
    #[error("http: truncated header block")]
    Truncated,
}

/// Bytes of a length or of a count.
const LENGTH_BYTES: usize = 4;

/// A block of pairs that was walked once and found whole. Names and values are byte for byte as sent.
#[derive(Clone, Copy, Default)]
pub struct Pairs<'a> {
    /// The pairs without the count, and whatever was left over behind them.
    run: &'a [u8],
    count: u32,
}

impl<'a> Pairs<'a> {
    /// No pairs.
    pub const EMPTY: Self = Self { run: &[], count: 0 };

    /// Checks a block. No bytes are no pairs; bytes behind the last pair are ignored. The work is bounded by the
    /// block's bytes, whatever it announces.
    ///
    /// # Errors
    ///
    /// [`PairsError::Truncated`].
    #[inline]
    pub fn parse(block: &'a [u8]) -> Result<Self, PairsError> {
        if block.is_empty() {
            return Ok(Self::EMPTY);
        }
        let (count, run) = block.split_first_chunk::<LENGTH_BYTES>().ok_or(PairsError::Truncated)?;
        let count = u32::from_le_bytes(*count);
        if count as usize > run.len() / MIN_PAIR_BYTES {
            return Err(PairsError::Truncated);
        }
        let mut rest = run;
        for _ in 0..count {
            take_pair(&mut rest).ok_or(PairsError::Truncated)?;
        }
        Ok(Self { run, count })
    }

    /// How many pairs there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The pairs in the order sent, name then value. A repeated name is a repeated pair.
    #[inline]
    pub fn iter(&self) -> PairsIter<'a> {
        PairsIter { rest: self.run, left: self.count }
    }

    /// The value of the last pair with this name, compared without regard to ASCII case.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut found = None;
        for (key, value) in self.iter() {
            if key.eq_ignore_ascii_case(name) {
                found = Some(value);
            }
        }
        found
    }
}

/// Equal with equal pairs in equal order, whatever was left over.
impl PartialEq for Pairs<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Pairs<'_> {}

impl fmt::Debug for Pairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(name, value)| format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
        f.debug_list().entries(shown).finish()
    }
}

impl<'a> IntoIterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = PairsIter<'a>;

    #[inline]
    fn into_iter(self) -> PairsIter<'a> {
        self.iter()
    }
}

/// The pairs of a block, in order.
#[derive(Debug, Clone)]
pub struct PairsIter<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Iterator for PairsIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        take_pair(&mut self.rest)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for PairsIter<'_> {}

#[inline]
fn take_pair<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    Some((take_field(rest)?, take_field(rest)?))
}

#[inline]
fn take_field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, tail) = rest.split_first_chunk::<LENGTH_BYTES>()?;
    let (field, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = tail;
    Some(field)
}

/// Whether a pair is never written, since the frame says it: the body's length, and which names are in the trailer.
#[inline]
fn is_frame_owned(name: &[u8]) -> bool {
    match name.len() {
        7 => name.eq_ignore_ascii_case(b"trailer"),
        14 => name.eq_ignore_ascii_case(b"content-length"),
        _ => false,
    }
}

/// How large the block of a source is, without what is never written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockSize {
    /// Pairs in the block.
    pub pairs: usize,
    /// Bytes of the block with its count; 0 without pairs, as no pairs are no block.
    pub bytes: usize,
}

/// Whatever pairs can be written from, without allocating: `()` for none, a slice or an array of tuples, pairs that
/// were read, or any iterator through [`Each`].
pub trait PairSource {
    /// Shows each pair in order, name then value. Has to show the same each time.
    fn each(&self, visit: impl FnMut(&[u8], &[u8]));

    /// The size of the block that [`append_block`](Self::append_block) writes.
    #[inline]
    fn block_size(&self) -> BlockSize {
        let mut size = BlockSize::default();
        self.each(|name, value| {
            if !is_frame_owned(name) {
                size.pairs += 1;
                size.bytes =
                    size.bytes.saturating_add(MIN_PAIR_BYTES).saturating_add(name.len()).saturating_add(value.len());
            }
        });
        if size.pairs > 0 {
            size.bytes = size.bytes.saturating_add(LENGTH_BYTES);
        }
        size
    }

    /// Appends the block to `out`, given its size; nothing without pairs. `Content-Length` and `Trailer` are dropped.
    #[inline]
    fn append_block(&self, out: &mut Vec<u8>, size: BlockSize) {
        if size.pairs == 0 {
            return;
        }
        // Counts and lengths fit: whoever writes a frame has refused sizes beyond its limit before.
        out.extend_from_slice(&(size.pairs as u32).to_le_bytes());
        self.each(|name, value| {
            if !is_frame_owned(name) {
                out.extend_from_slice(&(name.len() as u32).to_le_bytes());
                out.extend_from_slice(name);
                out.extend_from_slice(&(value.len() as u32).to_le_bytes());
                out.extend_from_slice(value);
            }
        });
    }
}

impl PairSource for () {
    #[inline]
    fn each(&self, _: impl FnMut(&[u8], &[u8])) {}
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> PairSource for [(N, V)] {
    #[inline]
    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for (name, value) in self {
            visit(name.as_ref(), value.as_ref());
        }
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>, const LEN: usize> PairSource for [(N, V); LEN] {
    #[inline]
    fn each(&self, visit: impl FnMut(&[u8], &[u8])) {
        self.as_slice().each(visit);
    }
}

impl<S: PairSource + ?Sized> PairSource for &S {
    #[inline]
    fn each(&self, visit: impl FnMut(&[u8], &[u8])) {
        (**self).each(visit);
    }

    #[inline]
    fn block_size(&self) -> BlockSize {
        (**self).block_size()
    }

    #[inline]
    fn append_block(&self, out: &mut Vec<u8>, size: BlockSize) {
        (**self).append_block(out, size);
    }
}

impl PairSource for Pairs<'_> {
    #[inline]
    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for (name, value) in self.iter() {
            visit(name, value);
        }
    }
}

/// Pairs from an iterator; it is cloned for each of the two passes, to measure and to write.
#[derive(Debug, Clone)]
pub struct Each<I>(pub I);

impl<I, N, V> PairSource for Each<I>
where
    I: Iterator<Item = (N, V)> + Clone,
    N: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    #[inline]
    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for (name, value) in self.0.clone() {
            visit(name.as_ref(), value.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(source: &impl PairSource) -> Vec<u8> {
        let mut out = Vec::new();
        let size = source.block_size();
        source.append_block(&mut out, size);
        assert_eq!(out.len(), size.bytes);
        out
    }

    #[test]
    fn last_value_wins_whatever_the_case() {
        let bytes = block(&[("Host", "a"), ("X", "1"), ("hOST", "b")]);
        let pairs = Pairs::parse(&bytes).unwrap();
        assert_eq!(pairs.len(), 3);
        assert_eq!(pairs.get(b"HOST"), Some(&b"b"[..]));
        assert_eq!(pairs.get(b"Hos"), None);
    }

    #[test]
    fn what_the_frame_says_is_never_written() {
        let source = [("content-LENGTH", "2"), ("X", "1"), ("Trailer", "Y"), ("Trailers", "kept")];
        let bytes = block(&source);
        assert_eq!(bytes, block(&[("X", "1"), ("Trailers", "kept")]));
        assert_eq!(block(&[("Content-Length", "2")]), b"");
        assert_eq!(block(&Each(source.iter().map(|(n, v)| (*n, *v)))), bytes);
        // The same where the pairs were read, with both in them.
        let mut sent = 2u32.to_le_bytes().to_vec();
        for field in ["Trailer", "Y", "X", "1"] {
            sent.extend_from_slice(&(field.len() as u32).to_le_bytes());
            sent.extend_from_slice(field.as_bytes());
        }
        let pairs = Pairs::parse(&sent).unwrap();
        assert_eq!((pairs.len(), pairs.iter().count()), (2, 2));
        assert_eq!(block(&pairs), block(&[("X", "1")]));
    }

    #[test]
    fn a_count_of_zero_is_empty_and_leftovers_are_ignored() {
        let pairs = Pairs::parse(&[0, 0, 0, 0, 0xaa]).unwrap();
        assert_eq!(pairs, Pairs::EMPTY);
        assert_eq!(block(&pairs), b"");
        let whole = block(&[("a", "b")]);
        let mut longer = whole.clone();
        longer.extend_from_slice(b"left over");
        assert_eq!(block(&Pairs::parse(&longer).unwrap()), whole);
    }

    #[test]
    fn a_million_empty_pairs_are_walked_and_no_more() {
        let mut bytes = vec![0; 4 + 8 * 1_000_000];
        bytes[..4].copy_from_slice(&1_000_000u32.to_le_bytes());
        assert_eq!(Pairs::parse(&bytes).unwrap().len(), 1_000_000);
        bytes[..4].copy_from_slice(&1_000_001u32.to_le_bytes());
        assert_eq!(Pairs::parse(&bytes), Err(PairsError::Truncated));
        bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Pairs::parse(&bytes), Err(PairsError::Truncated));
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = block(&[("Host", "localhost"), ("", "")]);
        for end in 1..bytes.len() {
            assert_eq!(Pairs::parse(&bytes[..end]), Err(PairsError::Truncated), "{end}");
        }
    }
}
