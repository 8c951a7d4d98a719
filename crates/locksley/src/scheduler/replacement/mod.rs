//! Replacement workers: threads that work under the index of a worker which waits or blocks. The
//! README beside this file has the protocol.

mod assignment;
#[cfg(all(test, loom))]
mod models;
mod thread;

use std::sync::{Arc, Mutex, PoisonError};

use super::shared::Shared;
use crate::deque::OwnDeque;
use crate::primitive::thread::JoinHandle;
use crate::primitive::{AtomicUsize, CachePadded, Ordering, fence};
use crate::scheduler::job::Job;

use assignment::{Assigned, Assignment};

/// All replacements of a pool, including those without a thread.
pub(crate) struct Replacements {
    pub(super) all: Box<[CachePadded<Replacement>]>,
    /// The threads that have been started.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The threads that search for tasks, or will do so when their task has ended. Borrowed
    /// threads, parked replacements, and threads that wait or block are not counted.
    active_threads: AtomicUsize,
}

#[derive(Default)]
pub(super) struct Replacement {
    assignment: Assignment,
    /// Made together with the slot, and taken by the thread when it starts.
    deque: Mutex<Option<OwnDeque<Job>>>,
}

impl Replacements {
    /// So many replacements, in a pool with so many threads of its own.
    pub(crate) fn new(replacements: usize, threads: usize) -> Self {
        let all = (0..replacements).map(|_| CachePadded::default()).collect();
        Self { all, threads: Mutex::default(), active_threads: AtomicUsize::new(threads) }
    }

    /// Subtracts threads, 0 or 1, that are about to wait or block. True if none is left. If several
    /// leave, the last one learns of it.
    pub(crate) fn subtract_active(&self, threads: usize) -> bool {
        // Relaxed: the decision depends on nothing but the number.
        self.active_threads.fetch_sub(threads, Ordering::Relaxed) == threads
    }

    /// Adds threads that search for tasks again.
    pub(crate) fn add_active(&self, threads: usize) {
        self.active_threads.fetch_add(threads, Ordering::Relaxed);
    }

    /// True if the replacement has no thread, or its thread is parked. A hint.
    pub(super) fn is_parked(&self, replacement: usize) -> bool {
        self.all[replacement].assignment.is_parked()
    }

    /// Releases all replacements after the pool has been closed. The caller then wakes those that
    /// sleep in the pool. Their threads end.
    pub(crate) fn close(&self) {
        // Pairs with the fence in `WaitParker::park`: either that thread sees the pool closed, or
        // its state is seen here.
        fence(Ordering::SeqCst);
        self.all.iter().for_each(|replacement| replacement.assignment.close());
    }

    /// The threads that have been started, to be joined after the pool has been closed.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    /// Assigns a replacement to the worker with this index, and returns its number. `None` if all
    /// are assigned, no thread can be started, or the pool is closed.
    pub(crate) fn assign_replacement(self: &Arc<Self>, index: usize) -> Option<usize> {
        // (In a forked child, a new thread would run tasks of the parent.)
        if self.closed.is_set() || self.is_in_forked_child() {
            return None;
        }
        let replacements = &self.replacements;
        // Before the replacement can wait and subtract itself.
        replacements.add_active(1);
        let assign = |(number, it): (usize, &CachePadded<Replacement>)| {
            Some((number, it.assignment.try_assign(index)?))
        };
        let assigned = replacements.all.iter().enumerate().find_map(assign);
        let assigned = assigned.filter(|&(number, assigned)| {
            let has_thread =
                assigned != Assigned::NeedsThread || self.start_replacement(number, index).is_ok();
            if !has_thread {
                replacements.all[number].assignment.cancel(index);
            }
            has_thread
        });
        if assigned.is_none_or(|(_, assigned)| assigned == Assigned::StillAwake) {
            // Its thread was counted already.
            let _ = replacements.subtract_active(1);
        }
        assigned.map(|(number, _)| number)
    }

    /// Releases a replacement when its worker is back. The replacement stops after the task that it
    /// runs.
    pub(crate) fn release_replacement(&self, replacement: usize, index: usize) {
        let was_released = self.replacements.all[replacement].assignment.release(index);
        debug_assert!(
            was_released || self.closed.is_set(),
            "replacement {replacement} is not assigned to worker {index}"
        );
        // As after setting a latch.
        self.sleep.wake(self.first_replacement() + replacement);
    }
}
