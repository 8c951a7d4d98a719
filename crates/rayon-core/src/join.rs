//! `join`, and what its tasks may know.

use std::marker::PhantomData;
use std::ptr;

use locksley::{Worker, extend};

use crate::global::global;

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// # Panics
/// If a task panics, with its payload, after both have ended; if both do, with the first one's.
///
/// # Examples
/// ```
/// let (mut left, mut right) = ([3, 1, 2], [6, 5, 4]);
/// rayon_core::join(|| left.sort(), || right.sort());
/// assert_eq!((left, right), ([1, 2, 3], [4, 5, 6]));
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    if Worker::with_current(|current| current.is_none()) {
        return join_in_global(oper_a, oper_b);
    }
    locksley::join(oper_a, oper_b)
}

/// [`join`] on a thread that belongs to no pool.
#[cold]
fn join_in_global<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    extend::install(global(), |worker| worker.join(|_| oper_a(), |_| oper_b()))
}

/// As [`join`], but each task learns whether it runs on another thread than the caller.
///
/// # Panics
/// As [`join`].
///
/// # Examples
/// ```
/// // The calling thread belongs to no pool, so both tasks have moved.
/// let moved = rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
/// assert_eq!(moved, (true, true));
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => join_on(worker, false, oper_a, oper_b),
        None => extend::install(global(), |worker| join_on(worker, true, oper_a, oper_b)),
    })
}

#[inline]
fn join_on<A, B, RA, RB>(worker: &Worker, injected: bool, oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB + Send,
    RB: Send,
{
    // Not the index, which a replacement shares.
    let address = |worker: &Worker| ptr::from_ref(worker).addr();
    let home = address(worker);
    worker.join(
        |_| oper_a(FnContext::new(injected)),
        move |worker| oper_b(FnContext::new(injected || address(worker) != home)),
    )
}

/// What a task of [`join_context`] may know.
///
/// # Examples
/// See [`join_context`].
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Of the thread that runs the task: it goes to no other.
    stays: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self { migrated, stays: PhantomData }
    }

    /// Whether the task runs on another thread than the one which called [`join_context`].
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}
