//! The ready tasks of a team's member: it takes the newest, other members the oldest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use super::Task;
use super::task::lock;

/// Tasks that are ready.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: Mutex<VecDeque<Arc<Task>>>,
    /// How many there are, or were a moment ago.
    length: AtomicUsize,
}

/// How many tasks of another member's queue a thief looks at.
const LOOKED_AT: usize = 8;
/// How many tasks are enough for thieves.
const FULL: usize = 64;

impl Queue {
    pub(crate) fn push(&self, task: Arc<Task>) {
        let mut tasks = lock(&self.tasks);
        tasks.push_back(task);
        // Relaxed: a hint. A fence lies between this and the look at who sleeps.
        self.length.store(tasks.len(), Ordering::Relaxed);
    }

    /// Adds a task that need not descend from what the owner executes: behind all others.
    pub(crate) fn push_last(&self, task: Arc<Task>) {
        let mut tasks = lock(&self.tasks);
        tasks.push_front(task);
        self.length.store(tasks.len(), Ordering::Relaxed);
    }

    /// True if there seem to be no tasks.
    pub(crate) fn is_empty(&self) -> bool {
        self.length.load(Ordering::Relaxed) == 0
    }

    /// True if the owner had better execute its next task than add it.
    pub(crate) fn is_full(&self) -> bool {
        self.length.load(Ordering::Relaxed) >= FULL
    }

    /// The newest task, if `accepts` it: that of the queue's owner.
    pub(crate) fn pop(&self, accepts: impl Fn(&Task) -> bool) -> Option<Arc<Task>> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = lock(&self.tasks);
        let is_accepted = tasks.back().is_some_and(|it| accepts(it));
        let task = if is_accepted { tasks.pop_back() } else { None };
        self.length.store(tasks.len(), Ordering::Relaxed);
        task
    }

    /// The oldest task that `accepts`, for a thief. It does not wait for a queue that another
    /// thread uses.
    pub(crate) fn steal(&self, accepts: impl Fn(&Task) -> bool) -> Option<Arc<Task>> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = match self.tasks.try_lock() {
            Ok(tasks) => tasks,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let at = tasks.iter().take(LOOKED_AT).position(|it| accepts(it))?;
        let task = tasks.remove(at);
        self.length.store(tasks.len(), Ordering::Relaxed);
        task
    }
}
