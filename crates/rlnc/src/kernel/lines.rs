//! Memory that consists of whole, aligned cache lines of 64 bytes, so that a kernel
//! has no remainder to handle and no load crosses a line. Cache lines of other
//! lengths are not considered.
#![expect(unsafe_code, reason = "one allocation seen as lines and as bytes")]

use alloc::vec;
use alloc::vec::Vec;

/// Bytes per cache line, and of the longest vector.
pub(crate) const LINE_BYTES: usize = 64;

/// A cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

/// Bytes that start at a cache line; their number is a multiple of [`LINE_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// `count` lines of zeros.
    pub fn new(count: usize) -> Self {
        Self(vec![Line([0; LINE_BYTES]); count])
    }

    /// The content as bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Line` is `repr(C)` and consists of one array of bytes, so the lines
        // are that many initialised bytes in one allocation.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE_BYTES) }
    }

    /// The content as bytes, for writing.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.0.len() * LINE_BYTES;
        // SAFETY: as in `bytes`, and every byte is a valid part of a `Line`.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), length) }
    }
}
