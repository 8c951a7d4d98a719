//! Where the waiter of a scope that runs only what lies below it finds those tasks of the scope that it cannot find in its deque.

use std::ptr::NonNull;
use std::sync::Arc;

use super::lazy::Lazy;
use crate::deque::Inbox;
use crate::job::{self, Job};
use crate::pool::Shared;
use crate::primitive::{AtomicBool, AtomicI64, Ordering};
use crate::worker::Worker;

/// Such a scope: where its waiter looks.
pub(super) struct Below {
    /// Where the waiter sits.
    seat: usize,
    /// No task of the scope lies below this in the waiter's deque. Written by the waiter's thread.
    floor: AtomicI64,
    /// Whether one was spawned in it.
    has_broadcast: AtomicBool,
    /// Tasks that were sent from outside, or lay in somebody's way. Each has a word in the pool's inbox; who takes that runs the oldest
    /// of them, if there is one: the waiter takes them without their words.
    strays: Lazy<Arc<Inbox<Job>>>,
}

impl Below {
    pub(super) fn new(waiter: &Worker) -> Self {
        let floor = AtomicI64::new(i64::MAX);
        let has_broadcast = AtomicBool::new(false);
        Self { seat: waiter.seat_index(), floor, has_broadcast, strays: Lazy::new() }
    }

    /// A broadcast is about to be spawned in the scope.
    pub(super) fn is_broadcast(&self) {
        // Relaxed: the waiter looks again and again, as long as a part of it has not ended.
        self.has_broadcast.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_broadcast(&self) -> bool {
        self.has_broadcast.load(Ordering::Relaxed)
    }

    /// A task of the scope is about to be pushed by that worker.
    pub(super) fn is_pushed_by(&self, worker: &Worker) {
        if worker.seat_index() == self.seat {
            // Relaxed: nobody else's.
            let lowest = self.floor().min(worker.deque_end());
            self.floor.store(lowest, Ordering::Relaxed);
        }
    }

    pub(super) fn floor(&self) -> i64 {
        self.floor.load(Ordering::Relaxed)
    }

    pub(super) fn strays(&self) -> Strays {
        Strays(Arc::clone(self.strays.get_or_make(|| Arc::new(Inbox::new()))))
    }

    /// The oldest of those that were sent.
    pub(super) fn take(&self) -> Option<NonNull<Job>> {
        self.strays.get()?.take()
    }
}

/// A share in where such tasks are sent to: the scope may end as soon as one is there.
pub(super) struct Strays(Arc<Inbox<Job>>);

impl Strays {
    /// Puts a task of the scope within reach of the waiter and of all others.
    pub(super) fn send(self, task: NonNull<Job>, pool: &Shared) {
        let Self(strays) = self;
        strays.send(task);
        // The word may outlive the scope. It keeps the pool open, so that it is run, and freed.
        let word = pool.detached(move |worker| {
            if let Some(task) = strays.take() {
                // SAFETY: a task is alive until it has run, and was taken by this worker alone; no worker has pushed it.
                unsafe { job::execute(task, worker, worker.seat_index()) }
            }
        });
        // If the pool is closed, there is nobody but the waiter, who is a guest. The task has the path that it has.
        word.into_iter().for_each(|word| pool.send_as_is(word));
    }
}
