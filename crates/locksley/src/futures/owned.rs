//! The futures of a pool that have returned `Pending` at least once. Dropping the pool cancels
//! them.
//!
//! There is one list for each worker slot: a stack (Treiber 1986) that is only emptied as a whole,
//! so it needs no lock. A task that has finished stays in its list until a sweep. The list is swept
//! as soon as half of its tasks have finished. So it keeps about as many finished tasks as waiting
//! ones, at most, and a task costs a constant number of steps.

use std::any::Any;
use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::header::{self, Header};
use crate::primitive::{AtomicPtr, AtomicUsize, CachePadded, Ordering};
use crate::shared::CancelAll;

/// The part of a task that links it into a list.
#[derive(Default)]
pub(super) struct Links {
    /// The index of its list, if it was ever inserted. Only the worker that runs the task accesses
    /// it.
    list: Cell<Option<u32>>,
    /// Belongs to the thread that pushes the task, and then to the thread that empties the list.
    next: AtomicPtr<Header>,
}

impl Links {
    /// True if an owner that keeps lists has inserted the task. For the worker that runs it.
    pub(super) fn has_waited(&self) -> bool {
        self.list.get().is_some()
    }
}

pub(crate) struct OwnedTasks(Box<[CachePadded<List>]>);

#[derive(Default)]
struct List {
    /// The newest task, or `CLOSED`. The list has a reference to each of its tasks.
    first: AtomicPtr<Header>,
    /// The number of tasks of the list that wait, minus the number of those that have finished: an
    /// `isize`.
    surplus: AtomicUsize,
}

/// The first task of a list whose tasks were all cancelled. No task is pushed to it any more.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

impl OwnedTasks {
    pub(crate) fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| CachePadded::default()).collect())
    }

    /// Inserts a task into the list with index `list`, unless it was inserted before. If all tasks
    /// were cancelled before, this one is, too.
    ///
    /// # Safety
    /// The caller is a worker that runs the task.
    pub(super) unsafe fn insert(&self, task: NonNull<Header>, list: usize) {
        // SAFETY: alive, because a task that runs has the pool's reference.
        let header = unsafe { task.as_ref() };
        if !header.links.has_waited() {
            header.links.list.set(Some(list as u32));
            header.state.add_reference();
            let list = &self.0[list];
            list.surplus.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the reference just made.
            unsafe { list.push(task) };
        }
    }

    /// Drops the pool's reference. The list's is dropped by a sweep.
    ///
    /// # Safety
    /// The caller is the worker that has finished the task, and has the pool's reference.
    pub(super) unsafe fn remove(&self, task: NonNull<Header>) {
        // SAFETY: alive, because the caller has a reference.
        let list = unsafe { task.as_ref() }.links.list.get();
        // SAFETY: the caller's reference.
        unsafe { header::drop_reference(task) };
        if let Some(list) = list {
            let list = &self.0[list as usize];
            // Relaxed, here and elsewhere: it only tells when to sweep.
            if list.surplus.fetch_sub(2, Ordering::Relaxed) as isize <= 2 {
                list.sweep();
            }
        }
    }
}

impl CancelAll for OwnedTasks {
    fn cancel_all(&self) {
        for task in self.0.iter().flat_map(|list| list.take(CLOSED)) {
            // SAFETY: the list's reference, which is dropped once.
            unsafe { cancel_and_drop(task) };
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Cancels no task: all have finished, or no thread runs them any more.
impl Drop for OwnedTasks {
    fn drop(&mut self) {
        for task in self.0.iter().flat_map(|list| list.take(CLOSED)) {
            // SAFETY: as in `cancel_all`.
            unsafe { header::drop_reference(task) };
        }
    }
}

/// # Safety
/// The caller has a reference, which it does not use afterwards.
unsafe fn cancel_and_drop(task: NonNull<Header>) {
    // SAFETY: as the caller promises.
    unsafe { header::cancel(task) };
    // SAFETY: as above.
    unsafe { header::drop_reference(task) };
}

impl List {
    /// Pushes a task, or cancels it if the list is closed.
    ///
    /// # Safety
    /// The caller has a reference, which becomes the list's. No list has one.
    unsafe fn push(&self, task: NonNull<Header>) {
        // SAFETY: alive until it is pushed, as the caller promises.
        let next = unsafe { &task.as_ref().links.next };
        let link = |first| {
            // Relaxed: published by the exchange.
            next.store(first, Ordering::Relaxed);
            (first != CLOSED).then_some(task.as_ptr())
        };
        // Release pairs with the acquire in `take`. That acquire pairs with older pushes, too: this
        // exchange continues their release sequences.
        if self.first.fetch_update(Ordering::Release, Ordering::Relaxed, link).is_err() {
            // SAFETY: the caller's reference.
            unsafe { cancel_and_drop(task) };
        }
    }

    /// Empties the list, unless it is closed, and sets its first task to `first`. Returns its tasks
    /// with their references.
    fn take(&self, first: *mut Header) -> impl Iterator<Item = NonNull<Header>> {
        let take = |now| (now != CLOSED).then_some(first);
        // Acquire pairs with the release in `push`.
        let taken = self.first.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        let mut next = taken.unwrap_or(ptr::null_mut());
        std::iter::from_fn(move || {
            let task = NonNull::new(next)?;
            // SAFETY: alive, because this has the list's reference.
            next = unsafe { task.as_ref() }.links.next.load(Ordering::Relaxed);
            Some(task)
        })
    }

    /// Removes the tasks that have finished.
    fn sweep(&self) {
        for task in self.take(ptr::null_mut()) {
            // SAFETY: alive, because the list's reference is this thread's now.
            if unsafe { task.as_ref() }.state.is_finished() {
                self.surplus.fetch_add(1, Ordering::Relaxed);
                // SAFETY: as above.
                unsafe { header::drop_reference(task) };
            } else {
                // SAFETY: as above.
                unsafe { self.push(task) };
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::Pool;
    use crate::task::yield_now;

    #[test]
    fn a_list_has_no_more_finished_tasks_than_waiting_ones() {
        const WAITING: usize = 8;
        let pool = Pool::new(1).unwrap();
        let _waiting = [(); WAITING].map(|()| pool.spawn_future(pending::<()>()));
        let ending: Vec<_> = (0..100).map(|_| pool.spawn_future(yield_now())).collect();
        ending.into_iter().for_each(|task| task.join().unwrap());
        // On the only worker, so between the ends of tasks.
        let all = crate::extend::install(&pool, |worker| {
            let lists = &worker.shared().owned_tasks::<OwnedTasks>().0;
            let all = lists.iter().flat_map(|list| {
                // SAFETY: the list's reference comes back.
                list.take(ptr::null_mut()).inspect(|&task| unsafe { list.push(task) })
            });
            all.count()
        });
        assert!((WAITING..=2 * WAITING).contains(&all), "{all} tasks");
    }
}
