//! Runs the iterators of `paralight` on a pool of Locksley. `Paralight` and `Items` are all that a
//! program needs for that.

use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, loops::par};
use paralight::iter::{Accumulator, ExactSizeAccumulator, SourceCleanup};
use paralight::prelude::*;

/// A pool, as `paralight` sees it.
#[derive(Clone, Copy)]
struct Paralight<'p>(&'p Pool);

/// The number of parts for each worker: others steal parts of a worker that is slow.
const PARTS: usize = 8;

impl Paralight<'_> {
    /// Divides the items into parts, and returns the results of all in order. There is at least one
    /// part. If some panic, the first payload is raised when all parts have ended: so the items of
    /// each have been taken or cleaned up.
    fn map<C: SourceCleanup + Sync, R: Send>(
        self,
        items: usize,
        bound: Option<&AtomicUsize>,
        cleanup: &C,
        run: impl Fn(Items<'_, C>) -> R + Sync,
    ) -> Vec<R> {
        let size = items.div_ceil(PARTS * self.0.size()).max(1);
        let part = |start: usize| start..items.min(start.saturating_add(size));
        let parts: Vec<_> = (0..items.max(1)).step_by(size).map(part).collect();
        let run = |part: &Range<usize>| {
            let items = Items { left: part.clone(), bound, cleanup };
            catch_unwind(AssertUnwindSafe(|| run(items)))
        };
        let results = self.0.install(|_| par(&parts).grain(1).map(run));
        let results: Result<_, _> = results.into_iter().collect();
        results.unwrap_or_else(|payload| resume_unwind(payload))
    }
}

/// The indices of a part. Dropping it cleans up what was not taken.
struct Items<'c, C: SourceCleanup> {
    left: Range<usize>,
    /// Indices above it are not wanted any more.
    bound: Option<&'c AtomicUsize>,
    cleanup: &'c C,
}

impl<C: SourceCleanup> Iterator for Items<'_, C> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        // Relaxed: what is seen late is only done in vain.
        let is_wanted = |bound: &AtomicUsize| self.left.start <= bound.load(Ordering::Relaxed);
        if self.bound.is_none_or(is_wanted) { self.left.next() } else { None }
    }
}

impl<C: SourceCleanup> Drop for Items<'_, C> {
    fn drop(&mut self) {
        if C::NEEDS_CLEANUP && !self.left.is_empty() {
            // SAFETY: parts lie within the items, and do not overlap. `next` has removed the
            // indices that it has returned.
            unsafe { self.cleanup.cleanup_item_range(self.left.clone()) }
        }
    }
}

// SAFETY: the parts together are all items, and do not overlap. Each index of a part is returned by
// `next`, or else cleaned up when the part is dropped, also if the code that has it panics.
unsafe impl GenericThreadPool for Paralight<'_> {
    fn upper_bounded_pipeline<Output: Send, Accum>(
        self,
        items: usize,
        init: impl Fn() -> Accum + Sync,
        process_item: impl Fn(Accum, usize) -> ControlFlow<Accum, Accum> + Sync,
        finalize: impl Fn(Accum) -> Output + Sync,
        reduce: impl Fn(Output, Output) -> Output,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let bound = AtomicUsize::new(usize::MAX);
        let outputs = self.map(items, Some(&bound), cleanup, |items| {
            finalize(items.fold(init(), |before, index| match process_item(before, index) {
                ControlFlow::Continue(after) => after,
                ControlFlow::Break(after) => {
                    bound.fetch_min(index, Ordering::Relaxed);
                    after
                }
            }))
        });
        outputs.into_iter().reduce(reduce).expect("there is a part")
    }

    fn iter_pipeline<Output, Accum: Send>(
        self,
        items: usize,
        accum: impl Accumulator<usize, Accum> + Sync,
        reduce: impl ExactSizeAccumulator<Accum, Output>,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let parts = self.map(items, None, cleanup, |items| accum.accumulate(items));
        reduce.accumulate_exact(parts.into_iter())
    }
}

fn sum_of_squares(pool: &Pool) -> u64 {
    (0..1000_usize).into_par_iter().with_thread_pool(Paralight(pool)).map(|n| (n * n) as u64).sum()
}

fn main() -> Result<(), locksley::BuildError> {
    println!("{}", sum_of_squares(&Pool::builder().build()?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn sums_and_empty_ones() {
        let pool = &Pool::new(2).unwrap();
        assert_eq!(sum_of_squares(pool), 332_833_500);
        let none: [u32; 0] = [];
        assert_eq!(none.par_iter().with_thread_pool(Paralight(pool)).map(|&n| n).sum::<u32>(), 0);
        let nested = |n: usize| sum_of_squares(pool) + n as u64;
        let sums = (0..20).into_par_iter().with_thread_pool(Paralight(pool)).map(nested);
        assert_eq!(sums.sum::<u64>(), 20 * 332_833_500 + 190);
    }

    #[test]
    fn the_first_is_found_and_all_items_are_dropped_once() {
        let pool = &Pool::new(3).unwrap();
        let token = Arc::new(());
        let items = || (0..10_000).map(|n| (n, Arc::clone(&token))).collect::<Vec<_>>();
        let found = items().into_par_iter().with_thread_pool(Paralight(pool));
        let found = found.find_first(|(n, _)| n % 1000 == 999).map(|(n, _)| n);
        assert_eq!((found, Arc::strong_count(&token)), (Some(999), 1));

        let all = items().into_par_iter().with_thread_pool(Paralight(pool));
        let all = catch_unwind(AssertUnwindSafe(|| {
            all.for_each(|(n, _)| assert_ne!(n, 5000, "as the test wants"));
        }));
        assert!(all.is_err());
        assert_eq!(Arc::strong_count(&token), 1);
    }
}
