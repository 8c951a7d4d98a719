//! Fork-join as Locksley, rayon and the papers' schedulers have it, so that a version is written
//! once for all, and for the serial program.

use std::ops::Range;

use locksley::Worker;
use locksley_classic::Context;

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

macro_rules! forks {
    ($($type:ty),*) => {$(
        impl Fork for $type {
            const IS_PARALLEL: bool = true;

            #[inline(always)]
            fn join<A: Send, B: Send>(
                &self,
                one: impl FnOnce(&Self) -> A + Send,
                other: impl FnOnce(&Self) -> B + Send,
            ) -> (A, B) {
                <$type>::join(self, one, other)
            }
        }
    )*};
}

forks!(Worker, Context<'_>);

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

/// Work that can be cut in two: slices, rows, and pairs of things that are cut at the same place.
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

/// Rows of so many elements each, and the number of the first one.
pub(crate) struct Rows<'r, T> {
    pub(crate) first: usize,
    pub(crate) of: usize,
    pub(crate) rows: &'r mut [T],
}

impl<T: Send> Divisible for Rows<'_, T> {
    fn length(&self) -> usize {
        self.rows.len() / self.of
    }

    fn divide(self, at: usize) -> (Self, Self) {
        let Rows { first, of, rows } = self;
        let (one, other) = rows.split_at_mut(at * of);
        (Rows { first, of, rows: one }, Rows { first: first + at, of, rows: other })
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
