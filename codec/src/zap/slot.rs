//! Slots: where the fields of an object lie, and reading them without ever leaving the message.
//!
//! Owns the rule of absence (ZAP wire §3). A text or bytes slot is a forward pointer: its offset is unsigned and
//! counted from the slot, so a "negative" one is a huge one and falls outside. As an object starts behind the header,
//! no target can lie inside the header. Must not know what a field means.

use std::ops::Range;

/// Bytes of one slot: relative offset and length, little-endian.
pub const SLOT_BYTES: usize = 8;

/// Where in a message of `message_bytes` a slot points, or `None` where it is absent.
///
/// `slot_at` is the slot's own place in the message. Absent is: offset 0 whatever the length, or a target that does not
/// end within the message. Sums are in 64 bits.
#[inline]
pub fn extent(slot_at: usize, slot: [u8; SLOT_BYTES], message_bytes: usize) -> Option<Range<usize>> {
    let [r0, r1, r2, r3, l0, l1, l2, l3] = slot;
    let relative = u32::from_le_bytes([r0, r1, r2, r3]);
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if relative == 0 {
        return None;
    }
    let start = slot_at as u64 + u64::from(relative);
    let end = start + u64::from(length);
    // Within the message, hence within what a usize can count.
    (end <= message_bytes as u64).then_some(start as usize..end as usize)
}

/// An object inside a message: a place from which fields are counted.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    pub(super) message: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Object<'a> {
    /// The object at byte `at` of `message`; any place is safe, fields outside read as absent.
    #[inline]
    pub fn new(message: &'a [u8], at: usize) -> Self {
        Self { message, at }
    }

    /// The bytes that the slot at byte `field` of the object points at, or `None` where the field is absent or the
    /// slot is not whole.
    #[inline]
    pub fn bytes(self, field: usize) -> Option<&'a [u8]> {
        let slot = self.fixed::<SLOT_BYTES>(field)?;
        self.target(field, *slot)
    }

    /// The number at byte `field`, or 0 where it is not whole.
    #[inline]
    pub fn u16(self, field: usize) -> u16 {
        self.fixed(field).map_or(0, |n| u16::from_le_bytes(*n))
    }

    /// The number at byte `field`, or 0 where it is not whole.
    #[inline]
    pub fn u64(self, field: usize) -> u64 {
        self.fixed(field).map_or(0, |n| u64::from_le_bytes(*n))
    }

    /// `N` bytes of the fixed section from byte `field` on, or `None` where the message ends within them.
    #[inline]
    pub(super) fn fixed<const N: usize>(self, field: usize) -> Option<&'a [u8; N]> {
        self.message.get(self.at.checked_add(field)?..)?.first_chunk()
    }

    #[inline]
    fn target(self, field: usize, slot: [u8; SLOT_BYTES]) -> Option<&'a [u8]> {
        self.message.get(extent(self.at + field, slot, self.message.len())?)
    }

    /// The fixed section of `N` bytes, checked once so that the fields in it are read without further checks.
    /// `None` where the message ends within it; then each field has to be read on its own.
    #[inline]
    pub(super) fn section<const N: usize>(self) -> Option<Section<'a, N>> {
        Some(Section { object: self, bytes: self.fixed(0)? })
    }
}

/// Reading fields by their place in the fixed section: out of an object that may be cut short, or a whole section.
pub(super) trait Fields<'a>: Copy {
    /// The bytes that a slot points at; empty where absent.
    fn slot<const FIELD: usize>(self) -> &'a [u8];
    /// A number; 0 where absent.
    fn u16<const FIELD: usize>(self) -> u16;
    /// A number; 0 where absent.
    fn u64<const FIELD: usize>(self) -> u64;
}

impl<'a> Fields<'a> for Object<'a> {
    #[inline]
    fn slot<const FIELD: usize>(self) -> &'a [u8] {
        self.bytes(FIELD).unwrap_or_default()
    }

    #[inline]
    fn u16<const FIELD: usize>(self) -> u16 {
        self.u16(FIELD)
    }

    #[inline]
    fn u64<const FIELD: usize>(self) -> u64 {
        self.u64(FIELD)
    }
}

/// An object whose whole fixed section is inside the message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a, const N: usize> {
    object: Object<'a>,
    bytes: &'a [u8; N],
}

impl<'a, const N: usize> Section<'a, N> {
    /// `M` bytes at byte `FIELD`: both known when compiling, so this is one load.
    #[inline(always)]
    fn fixed<const FIELD: usize, const M: usize>(self) -> [u8; M] {
        const { assert!(FIELD + M <= N, "a field lies within the section it belongs to") };
        std::array::from_fn(|i| self.bytes[FIELD + i])
    }
}

impl<'a, const N: usize> Fields<'a> for Section<'a, N> {
    #[inline]
    fn slot<const FIELD: usize>(self) -> &'a [u8] {
        self.object.target(FIELD, self.fixed::<FIELD, SLOT_BYTES>()).unwrap_or_default()
    }

    #[inline]
    fn u16<const FIELD: usize>(self) -> u16 {
        u16::from_le_bytes(self.fixed::<FIELD, 2>())
    }

    #[inline]
    fn u64<const FIELD: usize>(self) -> u64 {
        u64::from_le_bytes(self.fixed::<FIELD, 8>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(relative: u32, length: u32) -> [u8; 8] {
        let mut slot = [0; 8];
        slot[..4].copy_from_slice(&relative.to_le_bytes());
        slot[4..].copy_from_slice(&length.to_le_bytes());
        slot
    }

    #[test]
    fn extents_by_rule() {
        let cases = [
            ("null", slot(0, 0), None),
            ("null with a length", slot(0, 7), None),
            ("whole", slot(8, 4), Some(24..28)),
            ("to the last byte", slot(8, 8), Some(24..32)),
            ("one byte past", slot(8, 9), None),
            ("empty at the end", slot(16, 0), Some(32..32)),
            ("empty past the end", slot(17, 0), None),
            ("over the slot itself", slot(1, 8), Some(17..25)),
            ("negative offset", slot(-8i32 as u32, 1), None),
            ("sum beyond 32 bits", slot(u32::MAX - 15, u32::MAX - 15), None),
            ("sum that wraps to inside", slot(u32::MAX - 11, 24), None),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(extent(16, bytes, 32), want, "{name}");
        }
    }

    #[test]
    fn a_short_message_reads_as_absent() {
        let message = [0xff; 30];
        let object = Object::new(&message, 16);
        assert_eq!(object.bytes(8), None);
        assert_eq!(object.u64(7), 0);
        assert_eq!(object.u16(12), 0xffff);
        assert_eq!(object.u16(13), 0);
        assert_eq!(object.u16(usize::MAX), 0);
        assert!(object.section::<15>().is_none());
        assert!(object.section::<14>().is_some());
    }
}
