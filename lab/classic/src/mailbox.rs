//! Mailboxes: work items that lie in two queues.
//!
//! Source: Weibel, "An Advanced Scheduler for Intervals", 2010, "Alternative Designs", after Acar,
//! Blelloch and Blumofe, "The data locality of work stealing", 2000: a worker pushes an item both
//! onto its own deque and to the tail of the mailbox of the worker for which the item has affinity;
//! a worker looks into its mailbox before it steals; items are idempotent.

use std::ptr::NonNull;

use locksley_sys::primitive::{AtomicBool, Ordering};

use crate::worker::{Queued, Ready, Worker, lock};

/// A thread in a deque and in a mailbox. It runs when the item is first taken from one of both.
#[repr(C)] // the head comes first
struct Item {
    head: Ready,
    /// True when a worker has taken it out of one of its queues.
    has_begun: AtomicBool,
    thread: NonNull<Ready>,
}

/// Pushes a thread onto the own deque of `worker`, and to the mailbox of the worker `affine`.
pub(crate) fn push(thread: NonNull<Ready>, affine: usize, worker: &Worker) {
    let head = Ready::new(run, worker.index);
    let item = Box::new(Item { head, has_begun: AtomicBool::new(false), thread });
    let item = NonNull::from(Box::leak(item)).cast();
    lock(&worker.shared.peers[affine].mailbox).push_back(Queued(item));
    worker.push(worker.deque, item);
}

/// Runs the thread the first time the item is taken from a queue, and frees the item the second
/// time.
///
/// # Safety
/// The item was taken out of one of its two queues.
unsafe fn run(head: NonNull<Ready>, worker: &Worker) {
    let item = head.cast::<Item>();
    // SAFETY: it lives until it was taken out of both queues.
    let this = unsafe { item.as_ref() };
    let thread = this.thread;
    // AcqRel: the worker that frees the item comes after the other one's accesses.
    if this.has_begun.swap(true, Ordering::AcqRel) {
        // SAFETY: it was leaked by `push`, and no queue has it any more.
        drop(unsafe { Box::from_raw(item.as_ptr()) });
        return;
    }
    // SAFETY: a thread in an item lives until it has run.
    let run = unsafe { thread.as_ref() }.run;
    // SAFETY: only the first worker gets here.
    unsafe { run(thread, worker) };
}
