//! What not every worker can do, offered to each of those who can.

use std::sync::{Arc, Mutex, PoisonError};

use crate::pool::Shared;
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};
use crate::worker::Worker;

type Task = Box<dyn FnOnce(&Worker) + Send>;

/// A task that whoever has time first does, of those to whom it is offered. It lies in their mailboxes, where nobody else comes across it.
pub(super) struct Offer {
    is_taken: AtomicBool,
    /// How many have not seen it.
    unseen: AtomicUsize,
    /// Locked by the one who takes it, alone.
    task: Mutex<Option<Task>>,
}

impl Offer {
    /// To those workers, of whom there is one at least.
    pub(super) fn make(task: Task, to: &[usize], shared: &Shared) {
        let (is_taken, unseen) = (AtomicBool::new(false), AtomicUsize::new(to.len()));
        let offer = Arc::new(Self { is_taken, unseen, task: Mutex::new(Some(task)) });
        for &index in to {
            let offer = Arc::clone(&offer);
            if let Some(job) = shared.detached(move |worker| offer.is_seen_by(worker)) {
                shared.send_to(index, job);
            }
        }
    }

    fn is_seen_by(&self, worker: &Worker) {
        // Relaxed, here and below: nothing is told by these but who is the last, and who the first.
        let is_last = self.unseen.fetch_sub(1, Ordering::Relaxed) == 1;
        // One that unwinds leaves it to the others; the last of them cannot.
        if !worker.may_switch() && !is_last || self.is_taken.swap(true, Ordering::Relaxed) {
            return;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        task.expect("taken once")(worker);
    }
}
