//! Anonymous memory in whole pages, for what the kernel wants aligned to them.

use std::{io, ptr::NonNull};

/// Zeroed pages, given back when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    at: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// At least `bytes`, page aligned whatever the page size is. Pages are taken from the system as they are touched.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1);
        // SAFETY: a fresh private anonymous mapping; nothing existing is touched.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).expect("mmap without MAP_FIXED never returns 0");
        Ok(Mapping { at, bytes })
    }

    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; whoever holds the mapping has made sure that the kernel no longer uses it.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}
