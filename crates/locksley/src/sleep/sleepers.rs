//! The set of workers that sleep or are about to.

use crate::primitive::{AtomicU64, CachePadded, Ordering};

/// One bit for each worker. Only the worker, or the external thread that acts as it, sets and
/// clears it, so a suspended waker removes no worker from the set.
#[derive(Debug)]
pub(super) struct Sleepers(Box<[CachePadded<AtomicU64>]>);

impl Sleepers {
    pub(super) fn new(workers: usize) -> Self {
        let words = (0..workers.div_ceil(64)).map(|_| CachePadded::new(AtomicU64::new(0)));
        Self(words.collect())
    }

    pub(super) fn insert(&self, slot: usize) {
        self.0[slot / 64].fetch_or(1 << (slot % 64), Ordering::AcqRel);
    }

    pub(super) fn remove(&self, slot: usize) {
        self.0[slot / 64].fetch_and(!(1 << (slot % 64)), Ordering::AcqRel);
    }

    pub(super) fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64].load(Ordering::Acquire) >> (slot % 64) & 1 == 1
    }

    /// The members in ascending order, so that a pool which needs few workers keeps using the same
    /// ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut bits = word.load(Ordering::Acquire);
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(index * 64 + lowest)
            })
        })
    }
}
