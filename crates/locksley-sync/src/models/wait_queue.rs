//! The wait queue by itself: sweeping and enqueueing while the head moves.

use std::sync::Arc;
use std::task::Waker;

use loom::thread;

use super::model;
use crate::wait_queue::{Outcome, Ticket, WaitQueue};

fn enqueue(queue: &WaitQueue) -> Ticket {
    let ticket = Ticket::new(0, Waker::noop());
    queue.enqueue(&ticket);
    ticket
}

fn dismiss(queue: &WaitQueue) {
    queue.serve(|_| Some(Outcome::Dismissed));
}

/// One thread sweeps, and another dismisses all waiters. The second frees nodes that the first
/// reads.
fn swept_while_dismissed(count: usize, cancelled: usize) {
    model(2, move || {
        let queue = Arc::new(WaitQueue::new());
        let mut tickets: Vec<_> = (0..count).map(|_| enqueue(&queue)).collect();
        let cancelled = tickets.remove(cancelled);
        assert_eq!(cancelled.cancel(), Ok(()));
        let shared = Arc::clone(&queue);
        let sweeps = thread::spawn(move || {
            shared.serve_after_cancel(&cancelled, |_| None);
            drop(cancelled);
            drop(shared);
        });
        let shared = Arc::clone(&queue);
        let dismisses = thread::spawn(move || {
            dismiss(&shared);
            let all_ready = tickets.iter().all(|ticket| ticket.outcome().is_ready());
            drop(tickets);
            drop(shared);
            all_ready
        });
        sweeps.join().unwrap();
        assert!(dismisses.join().unwrap());
        assert!(queue.is_empty());
    });
}

#[test]
fn loom_wait_queue_swept_while_dismissed() {
    swept_while_dismissed(3, 1);
}

#[test]
fn loom_wait_queue_swept_behind_a_node_that_is_dismissed() {
    swept_while_dismissed(4, 2);
}

#[test]
fn loom_wait_queue_dismissed_while_a_wait_begins() {
    model(2, || {
        let queue = Arc::new(WaitQueue::new());
        // The head is then not the node in the queue itself.
        let first = enqueue(&queue);
        dismiss(&queue);
        drop(first);
        let shared = Arc::clone(&queue);
        let other = thread::spawn(move || {
            let ticket = enqueue(&shared);
            dismiss(&shared);
            let is_ready = ticket.outcome().is_ready();
            drop(ticket);
            is_ready
        });
        dismiss(&queue);
        let ticket = enqueue(&queue);
        dismiss(&queue);
        assert!(ticket.outcome().is_ready());
        drop(ticket);
        assert!(other.join().unwrap());
    });
}
