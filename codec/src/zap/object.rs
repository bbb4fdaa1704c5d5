//! Reading the other objects of the ZAP runtime: numbers of any width, nested objects and lists (ZAP wire §7).
//!
//! Owns the signed offsets. As a target may lie before its slot, objects may point at each other in circles: whoever follows them has to
//! bound how far it goes. Everything outside of [16, size) reads as absent.

use super::slot::Object;
use crate::limits::HEADER_BYTES;

/// Bytes of the slot of a nested object: a signed relative offset.
pub const OBJECT_SLOT_BYTES: usize = 4;

/// Bytes of the slot of a list: a signed relative offset and a count of elements.
pub const LIST_SLOT_BYTES: usize = 8;

/// Numbers by their little-endian bytes; 0 where one is not whole.
macro_rules! number {
    ($($name:ident: $type:ty),*) => {
        $(
            #[doc = concat!("The `", stringify!($type), "` at byte `field`, or 0 where it is not whole.")]
            #[inline]
            pub fn $name(self, field: usize) -> $type {
                self.fixed(field).map_or(0 as $type, |bytes| <$type>::from_le_bytes(*bytes))
            }
        )*
    };
}

impl<'a> Object<'a> {
    number!(u8: u8, u32: u32, i32: i32, f32: f32, f64: f64);

    /// The flag at bit `bit` of byte `field`; false where the byte is not there.
    ///
    /// # Panics
    ///
    /// When a byte has no such bit.
    #[inline]
    pub fn flag(self, field: usize, bit: u32) -> bool {
        assert!(bit < u8::BITS, "a byte has eight bits");
        self.u8(field) >> bit & 1 == 1
    }

    /// The object that the slot at byte `field` points at; `None` where it is absent.
    #[inline]
    pub fn object(self, field: usize) -> Option<Object<'a>> {
        let at = self.relative(field, self.i32(field))?;
        Some(Object::new(self.message, at))
    }

    /// The list that the slot at byte `field` points at; `None` where it is absent, or has more elements than the message has bytes.
    #[inline]
    pub fn list(self, field: usize) -> Option<List<'a>> {
        let count = self.u32(field.checked_add(OBJECT_SLOT_BYTES)?) as usize;
        let at = self.relative(field, self.i32(field))?;
        (count <= self.message.len()).then_some(List { message: self.message, at, count })
    }

    /// Where `offset` from the slot at byte `field` leads, if that is inside.
    #[inline]
    fn relative(self, field: usize, offset: i32) -> Option<usize> {
        if offset == 0 {
            return None;
        }
        let slot_at = i64::try_from(self.at.checked_add(field)?).ok()?;
        let at = usize::try_from(slot_at + i64::from(offset)).ok()?;
        (HEADER_BYTES..self.message.len()).contains(&at).then_some(at)
    }
}

/// A list: a place and a number of elements of a width that its reader knows.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    message: &'a [u8],
    at: usize,
    count: usize,
}

impl<'a> List<'a> {
    /// How many elements it says it has; at most as many as the message has bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The object at `index`, where each takes `stride` bytes; `None` where it is not in the list, or begins outside of the message.
    #[inline]
    pub fn object(self, index: usize, stride: usize) -> Option<Object<'a>> {
        if index >= self.count {
            return None;
        }
        let at = self.at.checked_add(index.checked_mul(stride)?)?;
        (at < self.message.len()).then_some(Object::new(self.message, at))
    }

    /// All objects of `stride` bytes, up to the end of the message.
    #[inline]
    pub fn objects(self, stride: usize) -> impl Iterator<Item = Object<'a>> {
        (0..self.count).map_while(move |index| self.object(index, stride))
    }

    /// The number at `index`; 0 where it is not in the list or not whole.
    #[inline]
    pub fn u32(self, index: usize) -> u32 {
        self.object(index, size_of::<u32>()).map_or(0, |element| element.u32(0))
    }

    /// The number at `index`; 0 where it is not in the list or not whole.
    #[inline]
    pub fn u64(self, index: usize) -> u64 {
        self.object(index, size_of::<u64>()).map_or(0, |element| element.u64(0))
    }
}
