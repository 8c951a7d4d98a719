//! Ranges of iterations, one for each thread, with stealing: there is no counter that all share.
//!
//! A range is a word: its first iteration, and the first behind it. The word *is* the set of
//! iterations that no thread has taken yet. The owner takes from the front and a thief from the
//! back, both by compare-and-swap, so each iteration is taken once whatever happened to the word
//! in between. A thread stores into its own word only while that is empty, and no other thread
//! changes an empty word.

use locksley_sys::primitive::{AtomicU64, CachePadded, Ordering};

/// The iterations of one loop.
#[derive(Debug)]
pub(super) struct Ranges(Box<[CachePadded<AtomicU64>]>);

/// The most iterations that fit.
pub(super) const MOST: u64 = u32::MAX as u64;

fn pack((from, to): (u32, u32)) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

impl Ranges {
    pub(super) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect())
    }

    /// Divides `total` iterations evenly. No other thread uses the ranges yet.
    pub(super) fn divide(&mut self, total: u32) {
        let threads = self.0.len() as u64;
        let bound = |thread: u64| (u64::from(total) * thread / threads) as u32;
        for (thread, range) in (0..).zip(&self.0) {
            // Relaxed: the loop is published with its ranges.
            range.store(pack((bound(thread), bound(thread + 1))), Ordering::Relaxed);
        }
    }

    /// Takes iterations for `thread`: as many of its own as `amount` says of those left, or half of
    /// what another thread has left. `None` if nothing is left.
    ///
    /// Relaxed: an iteration's data do not depend on which thread took the ones before.
    pub(super) fn take(&self, thread: usize, amount: impl Fn(u32) -> u32) -> Option<(u32, u32)> {
        self.take_own(thread, &amount).or_else(|| self.steal(thread, &amount))
    }

    fn take_own(&self, thread: usize, amount: &impl Fn(u32) -> u32) -> Option<(u32, u32)> {
        let middle = |from: u32, to: u32| from + amount(to - from).clamp(1, to - from);
        let (from, to) = shorten(&self.0[thread], |from, to| (middle(from, to), to))?;
        Some((from, middle(from, to)))
    }

    /// Takes from the second half of another thread's range, and makes the rest of it the own
    /// range. A successful thief always takes an iteration, so a range does not go to and fro.
    fn steal(&self, thread: usize, amount: &impl Fn(u32) -> u32) -> Option<(u32, u32)> {
        let threads = self.0.len();
        let mut victims = (1..threads).map(|it| &self.0[(thread + it) % threads]);
        let (from, to) = victims.find_map(|victim| halve(victim))?;
        let middle = from + amount(to - from).clamp(1, to - from);
        self.0[thread].store(pack((middle, to)), Ordering::Relaxed);
        Some((from, middle))
    }
}

/// Takes the second half of a range.
fn halve(range: &AtomicU64) -> Option<(u32, u32)> {
    let middle = |from: u32, to: u32| from + (to - from) / 2;
    let (from, to) = shorten(range, |from, to| (from, middle(from, to)))?;
    Some((middle(from, to), to))
}

/// Replaces a range by what `rest` says is left of it. Returns the range before; `None` if that was
/// empty.
fn shorten(range: &AtomicU64, rest: impl Fn(u32, u32) -> (u32, u32)) -> Option<(u32, u32)> {
    let rest = |word| {
        let (from, to) = unpack(word);
        (from < to).then(|| pack(rest(from, to)))
    };
    range.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok().map(unpack)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_iteration_is_taken_once_by_any_number_of_threads() {
        for (threads, total) in [(1, 10), (3, 1), (4, 0), (4, 10_000), (7, 1001)] {
            let mut ranges = Ranges::new(threads);
            ranges.divide(total);
            let taken = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (ranges, taken) = (&ranges, &taken);
                    scope.spawn(move || {
                        while let Some((from, to)) = ranges.take(thread, |left| left / 8) {
                            taken.lock().unwrap().extend(from..to);
                        }
                    });
                }
            });
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_thread_that_others_leave_alone_takes_its_own_in_order_and_then_theirs() {
        let mut ranges = Ranges::new(2);
        ranges.divide(5);
        let next = || ranges.take(1, |_| 2);
        assert_eq!([next(), next()], [Some((2, 4)), Some((4, 5))]);
        assert_eq!([next(), next(), next()], [Some((1, 2)), Some((0, 1)), None]);
    }
}
