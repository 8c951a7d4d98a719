//! The results of a `map`, written in place by whoever computes them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::parts::Parts;

/// Items, and the places for what becomes of them.
pub(super) struct Output<'v, P, R> {
    parts: P,
    /// The first of `count` places that nobody else has access to. All come from one pointer to all of them, so that
    /// neighbours can be united again.
    start: *mut MaybeUninit<R>,
    count: usize,
    places: PhantomData<&'v mut [MaybeUninit<R>]>,
}

// SAFETY: it stands for items that may be sent, and for results that will be.
unsafe impl<P: Send, R: Send> Send for Output<'_, P, R> {}

impl<'v, P: Parts, R: Send> Output<'v, P, R> {
    pub(super) fn new(parts: P, places: &'v mut [MaybeUninit<R>]) -> Self {
        Self { parts, start: places.as_mut_ptr(), count: places.len(), places: PhantomData }
    }

    /// # Panics
    /// If there are fewer items than places: a `Parts` that is not as long as it says.
    pub(super) fn fill(self, body: impl Fn(P::Item) -> R) -> Filled<'v, R> {
        let mut filled = Filled { start: self.start, count: 0, places: PhantomData };
        for item in self.parts.into_items().take(self.count) {
            let result = MaybeUninit::new(body(item));
            // SAFETY: below `count`, so it lies among the places.
            let place = unsafe { filled.start.add(filled.count) };
            // SAFETY: a place of ours that has not been written.
            unsafe { place.write(result) };
            filled.count += 1;
        }
        assert_eq!(filled.count, self.count, "a `Parts` has as many items as it says");
        filled
    }
}

/// Divided, items and places stay together.
impl<P: Parts, R: Send> Parts for Output<'_, P, R> {
    type Item = P::Item;

    fn len(&self) -> usize {
        self.count
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        assert!(middle <= self.count, "divided within");
        let (first, second) = self.parts.split_at(middle);
        // SAFETY: not beyond the end of the places.
        let start = unsafe { self.start.add(middle) };
        let left = Self { parts: first, count: middle, ..self };
        (left, Self { parts: second, start, count: self.count - middle, places: PhantomData })
    }

    fn into_items(self) -> impl Iterator<Item = P::Item> {
        self.parts.into_items()
    }
}

/// What `fill` makes of items, in their order. It is given all of them, and returns what it has made of them, united.
///
/// # Panics
/// If something is missing there.
pub(super) fn collected<P: Parts, R: Send, E>(
    parts: P,
    fill: impl for<'v> FnOnce(Output<'v, P, R>) -> Result<Filled<'v, R>, E>,
) -> Result<Vec<R>, E> {
    let count = parts.len();
    let mut results = Vec::with_capacity(count);
    let places = &mut results.spare_capacity_mut()[..count];
    let start = places.as_ptr();
    let filled = fill(Output::new(parts, places))?;
    assert!(filled.start.cast_const() == start && filled.count == count, "all of it");
    let filled = filled.keep();
    // SAFETY: so many places from the first one on have been written: `Filled` begins there and has no gaps.
    unsafe { results.set_len(filled) };
    Ok(results)
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
    /// The union of two neighbours: `fill` has checked that there is no gap between them.
    pub(super) fn join(mut self, right: Self) -> Self {
        assert_eq!(self.start.wrapping_add(self.count), right.start, "neighbours");
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
