//! The ready tasks of a team's member: it takes the newest, other members the oldest.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use super::Task;
use crate::environment::settings;
use crate::mutex::lock;
use crate::race_detector;

/// Tasks that are ready.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: Mutex<VecDeque<Arc<Task>>>,
    /// How many there are, or were a moment ago.
    length: AtomicUsize,
}

/// How many tasks of another member's queue a thief looks at, unless it would sleep otherwise. The
/// owner cannot use the queue meanwhile.
const LOOKED_AT: usize = 8;

impl Queue {
    pub(crate) fn push(&self, task: Arc<Task>) {
        race_detector::release(&*task);
        let mut tasks = lock(&self.tasks);
        tasks.push_back(task);
        // Relaxed: a hint. A fence lies between this and the look at who sleeps.
        self.length.store(tasks.len(), Ordering::Relaxed);
    }

    /// Adds a task that need not descend from what the owner executes: behind all others.
    pub(crate) fn push_last(&self, task: Arc<Task>) {
        race_detector::release(&*task);
        let mut tasks = lock(&self.tasks);
        tasks.push_front(task);
        self.length.store(tasks.len(), Ordering::Relaxed);
    }

    /// How many tasks there seem to be.
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// True if there seem to be no tasks.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The newest task that `accepts`, for the queue's owner.
    pub(crate) fn pop(&self, accepts: impl Fn(&Task) -> bool) -> Option<Arc<Task>> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = lock(&self.tasks);
        let at = if settings().max_task_priority == 0 {
            tasks.iter().rposition(|it| accepts(it))?
        } else {
            let accepted = tasks.iter().enumerate().filter(|(_, it)| accepts(it));
            accepted.max_by_key(|(_, it)| it.options().priority)?.0
        };
        let task = tasks.remove(at);
        self.length.store(tasks.len(), Ordering::Relaxed);
        task
    }

    /// True if [`pop`](Self::pop), or a [`steal`](Self::steal) that looks at all, would find a task.
    pub(crate) fn has_one(&self, accepts: impl Fn(&Task) -> bool) -> bool {
        !self.is_empty() && lock(&self.tasks).iter().any(|it| accepts(it))
    }

    /// The oldest task that `accepts`, for a thief. It does not wait for a queue that another
    /// thread uses. Unless `looks_at_all`, it may miss a task behind others.
    pub(crate) fn steal(
        &self,
        looks_at_all: bool,
        accepts: impl Fn(&Task) -> bool,
    ) -> Option<Arc<Task>> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = match self.tasks.try_lock() {
            Ok(tasks) => tasks,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Of equal ones, the first.
        let accepted = tasks.iter().take(LOOKED_AT).enumerate().filter(|(_, it)| accepts(it));
        let first = accepted.min_by_key(|(_, it)| Reverse(it.options().priority)).map(|it| it.0);
        let others = || looks_at_all.then(|| tasks.iter().position(|it| accepts(it))).flatten();
        let at = first.or_else(others)?;
        let task = tasks.remove(at);
        self.length.store(tasks.len(), Ordering::Relaxed);
        task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Options;

    #[test]
    fn a_thief_takes_the_oldest_with_the_largest_priority() {
        let parent = Task::implicit(settings().icvs, None);
        let child = |&priority: &i32| {
            let options = Options { priority, ..Options::default() };
            Task::child(&parent, options, None, false, None)
        };
        let (queue, tasks) = (Queue::default(), [0, 2, 1, 2].each_ref().map(child));
        tasks.iter().for_each(|it| queue.push(Arc::clone(it)));
        for expected in [1, 3, 2, 0] {
            let stolen = queue.steal(false, |_| true).unwrap();
            assert!(Arc::ptr_eq(&stolen, &tasks[expected]));
        }
    }

    #[test]
    fn accepted_tasks_are_found_behind_others() {
        let parents = [(); 2].map(|()| Task::implicit(settings().icvs, None));
        let child = |at: usize| Task::child(&parents[at], Options::default(), None, false, None);
        let (queue, wanted) = (Queue::default(), [child(0), child(0)]);
        let accepts = |it: &Task| it.descends_from(&parents[0]);
        for task in [child(1), Arc::clone(&wanted[0]), Arc::clone(&wanted[1]), child(1)] {
            queue.push(task);
        }
        assert!(queue.has_one(accepts));
        assert!(queue.pop(accepts).is_some_and(|it| Arc::ptr_eq(&it, &wanted[1])));
        assert!(queue.steal(false, accepts).is_some_and(|it| Arc::ptr_eq(&it, &wanted[0])));
        assert!(!queue.has_one(accepts));
        assert!(queue.pop(accepts).is_none() && queue.steal(true, accepts).is_none());
        assert!(queue.pop(|_| true).is_some() && queue.pop(|_| true).is_some());
        assert!(queue.is_empty());
    }

    #[test]
    fn a_thief_that_would_sleep_finds_what_lies_behind_many_others() {
        let parents = [(); 2].map(|()| Task::implicit(settings().icvs, None));
        let child = |at: usize| Task::child(&parents[at], Options::default(), None, false, None);
        let (queue, wanted) = (Queue::default(), child(0));
        let accepts = |it: &Task| it.descends_from(&parents[0]);
        (0..LOOKED_AT).for_each(|_| queue.push(child(1)));
        queue.push(Arc::clone(&wanted));
        assert!(queue.has_one(accepts) && queue.steal(false, accepts).is_none());
        assert!(queue.steal(true, accepts).is_some_and(|it| Arc::ptr_eq(&it, &wanted)));
    }
}
