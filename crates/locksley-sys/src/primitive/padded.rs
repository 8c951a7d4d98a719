//! A value alone on its cache lines.

use std::ops::Deref;

/// Keeps `T` off the cache lines of its neighbours, so that a write to one does not slow the reads
/// of another.
///
/// 128 bytes: x86-64 fetches lines in adjacent pairs, and some 64-bit Arm cores have lines of 128.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// This value, padded.
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
