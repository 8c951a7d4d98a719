//! The results of a `map`, written in place by the workers that compute them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::parts::Parts;

/// Items, and the memory for their results.
pub(super) struct Output<'v, P, R> {
    parts: P,
    /// The first of `count` cells to which only this has access. All cells have the provenance of
    /// one pointer to all of them, so that neighbours can be united.
    start: *mut MaybeUninit<R>,
    count: usize,
    cells: PhantomData<&'v mut [MaybeUninit<R>]>,
}

// SAFETY: it owns items that are `Send`, and memory for results that are `Send`.
unsafe impl<P: Send, R: Send> Send for Output<'_, P, R> {}

impl<'v, P: Parts, R: Send> Output<'v, P, R> {
    /// # Panics
    /// If there are fewer items than cells: a `Parts` that is not as long as it says.
    pub(super) fn fill(self, body: impl Fn(P::Item) -> R) -> Filled<'v, R> {
        let mut filled = Filled { start: self.start, count: 0, cells: PhantomData };
        for item in self.parts.into_items().take(self.count) {
            let result = MaybeUninit::new(body(item));
            // SAFETY: below `count`, so it is one of the cells.
            let cell = unsafe { filled.start.add(filled.count) };
            // SAFETY: a cell of this output that was not written.
            unsafe { cell.write(result) };
            filled.count += 1;
        }
        assert_eq!(filled.count, self.count, "a `Parts` has as many items as it says");
        filled
    }
}

/// Items and cells are divided at the same index.
impl<P: Parts, R: Send> Parts for Output<'_, P, R> {
    type Item = P::Item;

    fn len(&self) -> usize {
        self.count
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        assert!(middle <= self.count, "`middle` is in range");
        let (first, second) = self.parts.split_at(middle);
        // SAFETY: not beyond the end of the cells.
        let start = unsafe { self.start.add(middle) };
        let left = Self { parts: first, count: middle, ..self };
        (left, Self { parts: second, start, count: self.count - middle, cells: PhantomData })
    }

    fn into_items(self) -> impl Iterator<Item = P::Item> {
        self.parts.into_items()
    }
}

/// Returns the results of all items, in order. `fill` gets all items with their cells, and returns
/// the cells, united.
///
/// # Panics
/// If a cell is missing there.
pub(super) fn collect<P: Parts, R: Send, E>(
    parts: P,
    fill: impl for<'v> FnOnce(Output<'v, P, R>) -> Result<Filled<'v, R>, E>,
) -> Result<Vec<R>, E> {
    let count = parts.len();
    let mut results = Vec::with_capacity(count);
    let cells = &mut results.spare_capacity_mut()[..count];
    let start = cells.as_mut_ptr();
    let filled = fill(Output { parts, start, count, cells: PhantomData })?;
    assert!(filled.start == start && filled.count == count, "all cells are written");
    let filled = filled.keep();
    // SAFETY: this many cells from the first one on have been written: `Filled` begins there and
    // has no gaps.
    unsafe { results.set_len(filled) };
    Ok(results)
}

/// Neighbouring cells that have been written. If it is dropped, because a neighbour panicked or was
/// cancelled, it drops the results.
pub(super) struct Filled<'v, R> {
    start: *mut MaybeUninit<R>,
    count: usize,
    cells: PhantomData<&'v mut [MaybeUninit<R>]>,
}

// SAFETY: it owns results that are `Send`.
unsafe impl<R: Send> Send for Filled<'_, R> {}

impl<R> Filled<'_, R> {
    /// The union of two neighbours: `fill` has checked that there is no gap between them.
    pub(super) fn join(mut self, right: Self) -> Self {
        assert_eq!(self.start.wrapping_add(self.count), right.start, "neighbours");
        self.count += right.keep();
        self
    }

    /// Leaves the results in their cells, and returns their number.
    fn keep(self) -> usize {
        std::mem::ManuallyDrop::new(self).count
    }
}

impl<R> Drop for Filled<'_, R> {
    fn drop(&mut self) {
        let written = std::ptr::slice_from_raw_parts_mut(self.start.cast::<R>(), self.count);
        // SAFETY: `count` cells from `start` on were written, and only this has access to them:
        // `fill` counts the cells that it has written, and `join` unites neighbours.
        unsafe { written.drop_in_place() };
    }
}
