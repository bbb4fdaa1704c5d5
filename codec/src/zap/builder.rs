//! Writing objects with nested objects and lists (ZAP wire §7): one message in one buffer, that only grows.
//!
//! Owns alignment and the offsets between slots and targets. A section or a list is zeroed when it is made, so that what is not set reads
//! as absent. The caller knows which field stands where; a field outside of its section is its bug.

use super::encoder::EncodeError;
use super::frame::{MAGIC, VERSION};
use super::slot::SLOT_BYTES;
use crate::limits::{HEADER_BYTES, MAX_FRAME_BYTES};

/// What objects and lists are aligned to, in bytes from the start of the message.
const ALIGNMENT: usize = 8;

/// The place of an object that was made in a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    at: usize,
    section_bytes: usize,
}

/// A list of objects that was made in a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPlace {
    at: usize,
    count: usize,
    stride: usize,
}

impl ListPlace {
    /// The object at `index`.
    ///
    /// # Panics
    ///
    /// When the list has no such element.
    #[inline]
    pub fn object(self, index: usize) -> Place {
        assert!(index < self.count, "the list was made with {} elements", self.count);
        Place { at: self.at + index * self.stride, section_bytes: self.stride }
    }

    /// How many elements it has.
    #[inline]
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
}

/// One message under construction.
#[derive(Debug, Default)]
pub struct Builder {
    message: Vec<u8>,
}

/// Setters of numbers by their little-endian bytes.
macro_rules! setters {
    ($($name:ident: $type:ty),*) => {
        $(
            #[doc = concat!("Sets the `", stringify!($type), "` at byte `field`.")]
            #[inline]
            pub fn $name(&mut self, place: Place, field: usize, value: $type) {
                self.put(place, field, value.to_le_bytes());
            }
        )*
    };
}

impl Builder {
    /// A builder that writes into `buffer`, whatever was in it.
    #[inline]
    pub fn new(buffer: Vec<u8>) -> Self {
        Self { message: buffer }
    }

    /// Begins a message with a root object of `section_bytes`; what was built before is forgotten.
    #[inline]
    pub fn root(&mut self, section_bytes: usize) -> Place {
        self.message.clear();
        self.message.extend_from_slice(&MAGIC);
        self.message.extend_from_slice(&VERSION.to_le_bytes());
        self.message.extend_from_slice(&[0, 0]);
        self.message.extend_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        self.message.extend_from_slice(&[0; 4]);
        Place { at: self.room(section_bytes), section_bytes }
    }

    setters!(u8: u8, u16: u16, u32: u32, i32: i32, u64: u64, f32: f32, f64: f64);

    /// Sets or clears bit `bit` of byte `field`.
    ///
    /// # Panics
    ///
    /// When a byte has no such bit.
    #[inline]
    pub fn flag(&mut self, place: Place, field: usize, bit: u32, value: bool) {
        assert!(bit < u8::BITS, "a byte has eight bits");
        let [byte]: [u8; 1] = self.get(place, field);
        self.put(place, field, [byte & !(1 << bit) | u8::from(value) << bit]);
    }

    /// Sets a text or bytes field; empty is absent.
    #[inline]
    pub fn bytes(&mut self, place: Place, field: usize, value: &[u8]) {
        let slot = if value.is_empty() {
            [0; SLOT_BYTES]
        } else {
            // Truncation is caught by `finish`: a message in which an offset or a length does not fit is refused there.
            let relative = (self.message.len() - (place.at + field)) as u32;
            (u64::from(relative) | (value.len() as u64) << 32).to_le_bytes()
        };
        self.put(place, field, slot);
        self.message.extend_from_slice(value);
    }

    /// Makes a nested object of `section_bytes` for the slot at byte `field`.
    #[inline]
    pub fn object(&mut self, place: Place, field: usize, section_bytes: usize) -> Place {
        let at = self.room(section_bytes);
        self.put(place, field, ((at - (place.at + field)) as i32).to_le_bytes());
        Place { at, section_bytes }
    }

    /// Makes a list of `count` objects of `stride` bytes for the slot at byte `field`; none is absent.
    #[inline]
    pub fn list(&mut self, place: Place, field: usize, count: usize, stride: usize) -> ListPlace {
        let at = self.room(count * stride);
        let relative = if count == 0 { 0 } else { (at - (place.at + field)) as u32 };
        self.put(place, field, (u64::from(relative) | (count as u64) << 32).to_le_bytes());
        ListPlace { at, count, stride }
    }

    /// The message, complete.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] where no frame could carry it.
    #[inline]
    pub fn finish(&mut self) -> Result<&[u8], EncodeError> {
        let frame_bytes = self.message.len();
        if frame_bytes > MAX_FRAME_BYTES {
            return Err(EncodeError::TooLarge { frame_bytes });
        }
        self.message[12..HEADER_BYTES].copy_from_slice(&(frame_bytes as u32).to_le_bytes());
        Ok(&self.message)
    }

    /// Gives the buffer back, with the message in it if it was finished.
    #[inline]
    pub fn into_buffer(self) -> Vec<u8> {
        self.message
    }

    /// Appends so many zeroes, aligned; where they begin.
    #[inline]
    fn room(&mut self, bytes: usize) -> usize {
        let at = self.message.len().next_multiple_of(ALIGNMENT);
        self.message.resize(at + bytes, 0);
        at
    }

    #[inline]
    fn put<const N: usize>(&mut self, place: Place, field: usize, value: [u8; N]) {
        assert!(field + N <= place.section_bytes, "a field lies within the section it belongs to");
        self.message[place.at + field..][..N].copy_from_slice(&value);
    }

    #[inline]
    fn get<const N: usize>(&self, place: Place, field: usize) -> [u8; N] {
        assert!(field + N <= place.section_bytes, "a field lies within the section it belongs to");
        std::array::from_fn(|index| self.message[place.at + field + index])
    }
}
