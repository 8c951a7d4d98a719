//! How the iterations of a loop are given to threads.

use std::cell::Cell;

use locksley_sys::primitive::{AtomicBool, AtomicU64, CachePadded, Ordering};

use super::Iterations;
use super::ranges::{MOST, Ranges};
use crate::icv::Kind;

/// A loop and its schedule, as a thread states them when it begins the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) iterations: Iterations,
    pub(crate) kind: Kind,
    /// In iterations; 0 stands for the default.
    pub(crate) chunk: u64,
    /// Each thread gets its iterations in ascending order.
    pub(crate) is_monotonic: bool,
}

/// A loop's state, shared by the threads.
#[derive(Debug)]
pub(super) struct Dispenser {
    iterations: Iterations,
    kind: Kind,
    chunk: u64,
    /// Chunks come from the thread's own range, or are stolen. Otherwise dynamic and guided ones
    /// are the next of all, so that their order is the same for every thread.
    has_ranges: bool,
    counter: CachePadded<AtomicU64>,
    ranges: Ranges,
    /// True if a thread has the last chunk, which is in no range: it is taken when all are empty.
    /// The thread that executes the last iteration may not get earlier ones after it, because the
    /// compiler's test for `lastprivate` looks only at the last value that the thread had.
    is_last_taken: AtomicBool,
    threads: u64,
}

/// What a thread remembers of the loop it is in.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// How many static chunks it had.
    trips: Cell<u64>,
    /// The iterations that it has now.
    current: Cell<(u64, u64)>,
    is_ordered: Cell<bool>,
}

impl Cursor {
    pub(crate) fn reset(&self) {
        self.trips.set(0);
        self.current.set((0, 0));
        self.is_ordered.set(false);
    }

    pub(crate) fn current(&self) -> (u64, u64) {
        self.current.get()
    }

    /// For functions that are the same for all loops.
    pub(crate) fn set_ordered(&self, is_ordered: bool) {
        self.is_ordered.set(is_ordered);
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.is_ordered.get()
    }
}

/// Divides iterations evenly: the first threads may have one more than the others.
pub(crate) fn even_share(total: u64, thread: u64, threads: u64) -> (u64, u64) {
    let (share, rest) = (total / threads, total % threads);
    let from = share * thread + thread.min(rest);
    (from, from + share + u64::from(thread < rest))
}

impl Dispenser {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            iterations: Iterations::counted(0),
            kind: Kind::Static,
            chunk: 0,
            has_ranges: false,
            counter: CachePadded::new(AtomicU64::new(0)),
            ranges: Ranges::new(threads),
            is_last_taken: AtomicBool::new(false),
            threads: threads as u64,
        }
    }

    /// Begins a loop. No other thread uses this yet.
    pub(super) fn begin(&mut self, plan: &Plan) {
        let total = plan.iterations.total();
        (self.iterations, self.kind) = (plan.iterations, plan.kind);
        self.chunk = if plan.kind == Kind::Auto { 0 } else { plan.chunk };
        let chunks = total.div_ceil(self.chunk.max(1));
        // A range of chunks may end with a part of one, so their number times their size may be
        // more than fits.
        let has_room = self.chunk < MOST && chunks < MOST;
        // Guided chunks are few, and become smaller with what is left of all.
        self.has_ranges = plan.kind == Kind::Dynamic && !plan.is_monotonic && has_room;
        self.is_last_taken.store(total == 0, Ordering::Relaxed);
        if self.has_ranges {
            self.ranges.divide(chunks.saturating_sub(1) as u32);
        } else if matches!(plan.kind, Kind::Dynamic | Kind::Guided) {
            self.counter.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn iterations(&self) -> &Iterations {
        &self.iterations
    }

    /// The iterations that thread number `thread` executes next.
    pub(super) fn next(&self, thread: u32, cursor: &Cursor) -> Option<(u64, u64)> {
        let total = self.iterations.total();
        let (index, chunk) = (thread as usize, self.chunk.max(1));
        if cursor.current.get().1 == total {
            return None;
        }
        let next = match self.kind {
            Kind::Static | Kind::Auto => self.next_static(u64::from(thread), cursor),
            Kind::Dynamic if self.has_ranges => {
                let taken = self.ranges.take(index, |_| 1);
                let values = |(from, to)| (u64::from(from) * chunk, u64::from(to) * chunk);
                taken.map(values).or_else(|| self.take_last((total - 1) / chunk * chunk))
            }
            Kind::Dynamic => self.advance(|_| chunk),
            Kind::Guided => self.advance(|left| left.div_ceil(self.threads).max(chunk)),
        };
        if let Some(next) = next {
            cursor.current.set(next);
        }
        next
    }

    /// The iterations from `first` on, if no thread has them.
    fn take_last(&self, first: u64) -> Option<(u64, u64)> {
        let is_taken = self.is_last_taken.load(Ordering::Relaxed)
            || self.is_last_taken.swap(true, Ordering::Relaxed);
        (!is_taken).then(|| (first, self.iterations.total()))
    }

    fn next_static(&self, thread: u64, cursor: &Cursor) -> Option<(u64, u64)> {
        let (total, trip) = (self.iterations.total(), cursor.trips.get());
        cursor.trips.set(trip + 1);
        if self.chunk == 0 {
            let own = Some(even_share(total, thread, self.threads));
            return own.filter(|(from, to)| trip == 0 && from < to);
        }
        let from = trip.checked_mul(self.threads)?.checked_add(thread)?.checked_mul(self.chunk)?;
        (from < total).then(|| (from, from.saturating_add(self.chunk).min(total)))
    }

    /// Takes as many of the next iterations of all as `amount` says of those left.
    fn advance(&self, amount: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let total = self.iterations.total();
        let end = |from: u64| from + amount(total - from).min(total - from);
        let take = |from: u64| (from < total).then(|| end(from));
        // Relaxed: an iteration's data do not depend on which thread took the ones before.
        let from = self.counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some((from, end(from)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KINDS: [Kind; 4] = [Kind::Static, Kind::Dynamic, Kind::Guided, Kind::Auto];

    /// All chunks, taken in turn by the threads.
    fn chunks(plan: &Plan, threads: u32) -> Vec<(u64, u64)> {
        let mut dispenser = Dispenser::new(threads as usize);
        dispenser.begin(plan);
        let cursors: Vec<_> = (0..threads).map(|_| Cursor::default()).collect();
        let mut chunks = Vec::new();
        loop {
            let before = chunks.len();
            chunks.extend((0..threads).filter_map(|it| dispenser.next(it, &cursors[it as usize])));
            if chunks.len() == before {
                return chunks;
            }
        }
    }

    #[test]
    fn all_schedules_give_each_iteration_once() {
        for (total, threads, chunk) in [(0, 2, 0), (1, 3, 1), (100, 3, 7), (64, 4, 0), (65, 4, 200)]
        {
            for (kind, is_monotonic) in KINDS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
                let plan =
                    Plan { iterations: Iterations::counted(total), kind, chunk, is_monotonic };
                let mut all: Vec<_> =
                    chunks(&plan, threads).into_iter().flat_map(|(from, to)| from..to).collect();
                all.sort_unstable();
                assert_eq!(all, (0..total).collect::<Vec<_>>(), "{plan:?}");
            }
        }
    }

    #[test]
    fn the_thread_with_the_last_iteration_gets_no_others_after_it() {
        for (kind, chunk) in [(Kind::Dynamic, 1), (Kind::Dynamic, 7), (Kind::Guided, 3)] {
            let iterations = Iterations::counted(100);
            let plan = Plan { iterations, kind, chunk, is_monotonic: false };
            assert_eq!(chunks(&plan, 3).last().map(|it| it.1), Some(100), "{plan:?}");
        }
    }

    #[test]
    fn more_iterations_than_a_word_holds_are_counted() {
        let iterations = Iterations::counted(u64::MAX);
        for kind in [Kind::Dynamic, Kind::Guided] {
            let plan = Plan { iterations, kind, chunk: 1 << 62, is_monotonic: false };
            let sum: u128 = chunks(&plan, 3).iter().map(|it| u128::from(it.1 - it.0)).sum();
            assert_eq!(sum, u128::from(u64::MAX), "{kind:?}");
        }
    }
}
