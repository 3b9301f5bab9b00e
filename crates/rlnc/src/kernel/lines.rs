//! Memory of whole, aligned cache lines, so that a kernel needs no tail and no
//! load crosses a line.
#![expect(unsafe_code, reason = "one allocation seen as lines and as bytes")]

use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a cache line, and of the longest vector.
pub(crate) const LINE_BYTES: usize = 64;

/// A cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

/// Bytes that begin at a cache line; a multiple of [`LINE_BYTES`] of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// `count` lines of zeros.
    pub fn new(count: usize) -> Self {
        Self(vec![Line([0; LINE_BYTES]); count])
    }

    /// As bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Line` is `repr(C)` with one array of bytes that fills it, so
        // the lines are that many initialised bytes in one allocation.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE_BYTES) }
    }

    /// As bytes, to write.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.0.len() * LINE_BYTES;
        // SAFETY: as in `bytes`, and every byte is a valid part of a `Line`.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), length) }
    }
}
