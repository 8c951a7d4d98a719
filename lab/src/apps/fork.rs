//! Fork-join as Locksley and rayon both have it, so that a version is written once for the two.

use locksley::Worker;

/// What can compute two things in parallel.
pub(super) trait Fork {
    /// Computes both and returns what they return.
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B);
}

impl Fork for Worker {
    #[inline(always)]
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        Worker::join(self, one, other)
    }
}

/// A thread of a rayon pool, which finds its deque by itself.
pub(super) struct Rayon;

impl Fork for Rayon {
    #[inline(always)]
    fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A + Send,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        rayon::join(|| one(&Rayon), || other(&Rayon))
    }
}

/// The methods of an [`Instance`](super::Instance) for both libraries, from what is to be done on a
/// [`Fork`]; and its copy, which is a clone.
macro_rules! fork_join {
    ($self:ident, $fork:ident => $computed:expr) => {
        fn locksley(&mut $self, pool: &::locksley::Pool) {
            pool.install(|$fork| $computed);
        }

        fn rayon(&mut $self, pool: &::rayon::ThreadPool) {
            let $fork = &$crate::apps::fork::Rayon;
            pool.install(|| $computed);
        }

        fn copy(&$self) -> Box<dyn Instance> {
            Box::new($self.clone())
        }
    };
}
pub(super) use fork_join;

/// Rows of so many elements, halved down to a leaf of so many rows.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) of: usize,
    pub(super) leaf: usize,
}

impl Rows {
    /// Does something to each leaf of `rows`, with the number of its first row.
    pub(super) fn halve<T: Send>(
        self,
        fork: &impl Fork,
        rows: &mut [T],
        does: impl Fn(usize, &mut [T]) + Copy + Send,
    ) {
        self.halve_from(0, fork, rows, does);
    }

    fn halve_from<T: Send>(
        self,
        first: usize,
        fork: &impl Fork,
        rows: &mut [T],
        does: impl Fn(usize, &mut [T]) + Copy + Send,
    ) {
        let number = rows.len() / self.of;
        if number <= self.leaf {
            return does(first, rows);
        }
        let half = number / 2;
        let (upper, lower) = rows.split_at_mut(half * self.of);
        fork.join(
            move |fork| self.halve_from(first, fork, upper, does),
            move |fork| self.halve_from(first + half, fork, lower, does),
        );
    }
}
