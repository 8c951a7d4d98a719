//! Fork-join as Locksley and rayon both have it, so that a version is written once for the two, and
//! for the serial program.

use std::ops::Range;

use locksley::Worker;

/// What can compute two things in parallel.
pub(crate) trait Fork {
    /// False if the two are computed one after the other: then nothing is divided only to be
    /// computed in parallel.
    const IS_PARALLEL: bool;

    /// Computes both and returns what they return. By default, one comes after the other.
    #[inline(always)]
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        (one(self), other(self))
    }
}

impl Fork for Worker {
    const IS_PARALLEL: bool = true;

    #[inline(always)]
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        Worker::join(self, one, other)
    }
}

/// One after the other.
pub(crate) struct Serial;

impl Fork for Serial {
    const IS_PARALLEL: bool = false;
}

/// A thread of a rayon pool, which finds its deque by itself.
pub(crate) struct Rayon;

impl Fork for Rayon {
    const IS_PARALLEL: bool = true;

    #[inline(always)]
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        rayon::join(|| one(&Rayon), || other(&Rayon))
    }
}

/// Work that can be cut in two: slices, and pairs of things that are cut at the same place.
pub(crate) trait Divisible: Sized + Send {
    /// How many elements it has.
    fn length(&self) -> usize;
    /// The first so many elements, and the others.
    fn divide(self, at: usize) -> (Self, Self);
}

impl<T: Sync> Divisible for &[T] {
    fn length(&self) -> usize {
        self.len()
    }

    fn divide(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Divisible for &mut [T] {
    fn length(&self) -> usize {
        self.len()
    }

    fn divide(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

impl Divisible for Range<u64> {
    fn length(&self) -> usize {
        (self.end - self.start) as usize
    }

    fn divide(self, at: usize) -> (Self, Self) {
        let middle = self.start + at as u64;
        (self.start..middle, middle..self.end)
    }
}

impl<A: Divisible, B: Divisible> Divisible for (A, B) {
    fn length(&self) -> usize {
        self.0.length()
    }

    fn divide(self, at: usize) -> (Self, Self) {
        let ((a, a_rest), (b, b_rest)) = (self.0.divide(at), self.1.divide(at));
        ((a, b), (a_rest, b_rest))
    }
}

/// Halves `work` down to leaves of at most so many elements, unless it is serial, and combines what
/// `does` makes of these, in an order that depends on the length alone.
pub(crate) fn reduce<F: Fork, W: Divisible, R: Send>(
    fork: &F,
    work: W,
    leaf: usize,
    does: impl Fn(W) -> R + Copy + Send,
    both: fn(R, R) -> R,
) -> R {
    let length = work.length();
    if !F::IS_PARALLEL || length <= leaf {
        return does(work);
    }
    let (one, other) = work.divide(length / 2);
    let (one, other) = fork.join(
        move |fork| reduce(fork, one, leaf, does, both),
        move |fork| reduce(fork, other, leaf, does, both),
    );
    both(one, other)
}

/// Rows of so many elements, halved down to a leaf of so many rows.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) of: usize,
    pub(crate) leaf: usize,
}

impl Rows {
    /// Does something to each leaf of `rows`, with the number of its first row.
    pub(crate) fn halve<T: Send>(
        self,
        fork: &impl Fork,
        rows: &mut [T],
        does: impl Fn(usize, &mut [T]) + Copy + Send,
    ) {
        self.halve_from(fork, 0, rows, does);
    }

    fn halve_from<F: Fork, T: Send>(
        self,
        fork: &F,
        first: usize,
        rows: &mut [T],
        does: impl Fn(usize, &mut [T]) + Copy + Send,
    ) {
        let number = rows.len() / self.of;
        if !F::IS_PARALLEL || number <= self.leaf {
            return does(first, rows);
        }
        let middle = number / 2;
        let (one, other) = rows.split_at_mut(middle * self.of);
        fork.join(
            move |fork| self.halve_from(fork, first, one, does),
            move |fork| self.halve_from(fork, first + middle, other, does),
        );
    }
}
