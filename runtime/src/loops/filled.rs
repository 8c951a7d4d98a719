//! The results of a `map`, written in place by whoever computes them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::parts::Parts;

/// Items, and the places for what becomes of them.
pub(super) struct Output<'v, P, R> {
    pub(super) parts: P,
    pub(super) places: &'v mut [MaybeUninit<R>],
}

impl<'v, P: Parts, R: Send> Parts for Output<'v, P, R> {
    type Item = (P::Item, &'v mut MaybeUninit<R>);

    fn len(&self) -> usize {
        self.places.len()
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let (first, second) = self.parts.split_at(middle);
        let (left, right) = self.places.split_at_mut(middle);
        (Self { parts: first, places: left }, Self { parts: second, places: right })
    }

    fn into_items(self) -> impl Iterator<Item = Self::Item> {
        self.parts.into_items().zip(self.places)
    }
}

impl<'v, P: Parts, R: Send> Output<'v, P, R> {
    /// # Panics
    /// If there are fewer items than places: a `Parts` that is not as long as it says.
    pub(super) fn fill(self, body: impl Fn(P::Item) -> R) -> Filled<'v, R> {
        let count = self.places.len();
        let mut filled = Filled::nothing_at(self.places.as_mut_ptr());
        for item in self.parts.into_items().take(count) {
            let result = MaybeUninit::new(body(item));
            // SAFETY: below `count`, so it lies among the places.
            let place = unsafe { filled.start.add(filled.count) };
            // SAFETY: a place of ours that has not been written.
            unsafe { place.write(result) };
            filled.count += 1;
        }
        assert_eq!(filled.count, count, "a `Parts` has as many items as it says");
        filled
    }
}

/// Places next to each other that have been written. Dropped, it drops what was written: a neighbour panicked.
pub(super) struct Filled<'v, R> {
    start: *mut MaybeUninit<R>,
    count: usize,
    places: PhantomData<&'v mut [MaybeUninit<R>]>,
}

// SAFETY: it stands for results that it alone has access to.
unsafe impl<R: Send> Send for Filled<'_, R> {}

impl<R> Filled<'_, R> {
    fn nothing_at(start: *mut MaybeUninit<R>) -> Self {
        Self { start, count: 0, places: PhantomData }
    }

    /// The union of two neighbours: `fill` has checked that there is no gap between them.
    pub(super) fn join(mut self, right: Self) -> Self {
        debug_assert_eq!(self.start.wrapping_add(self.count), right.start);
        self.count += right.keep();
        self
    }

    /// Leaves the results where they are, and says how many there are.
    pub(super) fn keep(self) -> usize {
        std::mem::ManuallyDrop::new(self).count
    }
}

impl<R> Drop for Filled<'_, R> {
    fn drop(&mut self) {
        let written = std::ptr::slice_from_raw_parts_mut(self.start.cast::<R>(), self.count);
        // SAFETY: `count` places from `start` on were written and nobody else has access to them; `fill` counts what it
        // has written, and `join` unites places that follow each other.
        unsafe { written.drop_in_place() };
    }
}
