//! The results of a `map`, written in place by the workers that compute them.

use std::mem;
use std::ops::Range;
use std::ptr;

use super::parts::Parts;

/// The memory for the results.
pub(super) struct Results<R>(*mut R);

// SAFETY: an `Output` or a `Filled` accesses its own results only, and those are `Send`.
unsafe impl<R: Send> Sync for Results<R> {}

/// Items, and the indices of their results.
pub(super) struct Output<P> {
    parts: P,
    /// In range. No other `Output` or `Filled` of the loop has these indices.
    indices: Range<usize>,
}

impl<P: Parts> Output<P> {
    /// Writes the results. The caller takes both arguments from one [`collect`].
    ///
    /// # Panics
    /// If there are fewer items than indices: a `Parts` that is not as long as it says.
    pub(super) fn fill<R>(
        self,
        results: &Results<R>,
        body: impl Fn(P::Item) -> R,
    ) -> Filled<'_, R> {
        let (all, Range { start, end }) = (results.0, self.indices);
        let mut filled = Filled { results, indices: start..start };
        for item in self.parts.into_items().take(end - start) {
            let result = body(item);
            // SAFETY: less than `end`, so it is in range.
            let place = unsafe { all.add(filled.indices.end) };
            // SAFETY: this alone has the index, and has not written the result yet.
            unsafe { place.write(result) };
            filled.indices.end += 1;
        }
        assert_eq!(filled.indices.end, end, "a `Parts` has as many items as it says");
        filled
    }
}

/// Items and indices are divided at the same position.
impl<P: Parts> Parts for Output<P> {
    type Item = P::Item;

    fn len(&self) -> usize {
        Parts::len(&self.indices)
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        assert!(middle <= self.len(), "`middle` is in range");
        let (first, second) = self.parts.split_at(middle);
        let (before, after) = self.indices.split_at(middle);
        (Self { parts: first, indices: before }, Self { parts: second, indices: after })
    }

    fn into_items(self) -> impl Iterator<Item = P::Item> {
        self.parts.into_items()
    }
}

/// Returns the results of all items, in order. `fill` gets all items, and returns all results.
///
/// # Panics
/// If a result is missing there.
pub(super) fn collect<P: Parts, R: Send>(
    parts: P,
    fill: impl for<'v> FnOnce(Output<P>, &'v Results<R>) -> Option<Filled<'v, R>>,
) -> Option<Vec<R>> {
    let count = parts.len();
    let mut vec = Vec::with_capacity(count);
    let results = Results(vec.as_mut_ptr());
    let filled = fill(Output { parts, indices: 0..count }, &results)?;
    assert_eq!(filled.indices, 0..count, "all results are written");
    mem::forget(filled);
    // SAFETY: `filled` had this many results from the first one on, and leaves them there.
    unsafe { vec.set_len(count) };
    Some(vec)
}

/// Neighbouring results that have been written. If it is dropped, because a neighbour panicked or
/// was cancelled, it drops the results.
pub(super) struct Filled<'v, R> {
    results: &'v Results<R>,
    indices: Range<usize>,
}

impl<R> Filled<'_, R> {
    /// The union of two neighbours: `fill` has checked that there is no gap between them.
    pub(super) fn join(mut self, right: Self) -> Self {
        assert_eq!(self.indices.end, right.indices.start, "neighbours");
        self.indices.end = right.indices.end;
        mem::forget(right);
        self
    }
}

impl<R> Drop for Filled<'_, R> {
    fn drop(&mut self) {
        // SAFETY: in range.
        let first = unsafe { self.results.0.add(self.indices.start) };
        let written = ptr::slice_from_raw_parts_mut(first, Parts::len(&self.indices));
        // SAFETY: these results were written, and only this has their indices: `fill` counts what
        // it has written, and `join` unites neighbours.
        unsafe { written.drop_in_place() };
    }
}
