//! Tasks of a scope: futures that borrow what outlives it.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::fork::{Scope, ScopeState};
use crate::futures::cell::{Owner, TaskCell};
use crate::futures::header::{self, Header};
use crate::futures::{JoinHandle, in_pool, is_large};
use crate::header::{GroupHeader, Job, Kind, WorkerRef};
use crate::worker::Worker;

/// A scope as the owner of tasks: the address is that of its [`ScopeState`], which lives until all
/// tasks have finished. A scope waits for its futures, as for its closures: they are not cancelled.
struct InScope;

impl Owner for InScope {
    unsafe fn schedule(task: NonNull<Header>) {
        // SAFETY: it has not finished, so the pool's reference is there.
        let state = unsafe { task.as_ref() }.owner();
        // SAFETY: the scope waits for the task.
        let pool = Arc::as_ptr(unsafe { ScopeState::from_group(state) }.pool);
        // SAFETY: as the caller promises. The state borrows the `Arc` until the scope has ended.
        unsafe { in_pool::make_ready(task, pool) };
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a future to the scope. It may borrow what outlives the scope, which waits for it as for
    /// every other task.
    ///
    /// A future that never ends keeps the scope from ending, and its pool from being dropped. The
    /// future is dropped when it has ended, before the scope ends.
    ///
    /// If the future panics, the scope does.
    ///
    /// # Examples
    /// ```
    /// use locksley::task;
    ///
    /// let words = ["robin", "marian"].map(String::from);
    /// let mut lengths = [0; 2];
    /// locksley::scope(|scope| {
    ///     for (word, length) in words.iter().zip(&mut lengths) {
    ///         scope.spawn_future(async move {
    ///             task::yield_now().await;
    ///             *length = word.len();
    ///         });
    ///     }
    /// });
    /// assert_eq!(lengths, [5, 6]);
    /// ```
    ///
    /// What a future borrows must outlive the scope:
    /// ```compile_fail,E0597
    /// locksley::scope(|scope| {
    ///     let inside = String::from("inside");
    ///     let borrowed = &inside;
    ///     scope.spawn_future(async move { println!("{borrowed}") });
    /// });
    /// ```
    pub fn spawn_future<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope,
    {
        if const { is_large::<F>() } {
            self.spawn_as_it_is(Box::pin(future));
        } else {
            self.spawn_as_it_is(future);
        }
    }

    fn spawn_as_it_is<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope,
    {
        let head = GroupHeader::new(const { &Kind::of_group(execute::<F>) }, self.count_task());
        let is_observed = self.pool().observer().is_some();
        // The handle's reference is left to the run that finishes the task.
        let task = TaskCell::allocate::<InScope>(head, is_observed, Ok(future));
        Worker::with_current(|current| self.pool().push_or_send(current, task.cast()));
    }
}

unsafe fn execute<F>(job: NonNull<Job>, worker: WorkerRef<'_>, _from: usize)
where
    F: Future<Output = ()>,
{
    let (task, worker): (NonNull<Header>, _) = (job.cast(), worker.worker());
    // SAFETY: the word of the task exists, so it has not finished, and the pool's reference exists.
    let state = unsafe { task.as_ref() }.owner();
    // SAFETY: a task of this type, by its kind; and this worker alone has taken its word.
    if unsafe { in_pool::run::<F>(job, worker, &InScope) } {
        // SAFETY: the handle's reference, which `spawn_future` has left to this.
        let ended = unsafe { JoinHandle::<()>::new(task) }.take();
        // SAFETY: the pool's reference, which is the caller's.
        unsafe { header::drop_reference(task) };
        if let Some(Ok(payload)) = ended.err().map(|error| error.try_into_panic()) {
            // SAFETY: the scope waits for the task until its end is counted, below.
            unsafe { ScopeState::from_group(state) }.keep_panic(payload);
        }
        // SAFETY: counted by `count_task`, and ended once.
        unsafe { ScopeState::end_task(state, worker) };
    }
}
