//! The barrier.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loom::thread;

use super::{Begun, Watched, block_on, model};
use crate::Barrier;
use locksley_sys::primitive::{AtomicBool, Ordering};

#[test]
fn loom_barrier_two_parties() {
    model(4, || {
        let barrier = Arc::new(Barrier::new(2));
        let number = Arc::new(Watched::new());
        let other = (Arc::clone(&barrier), Arc::clone(&number));
        let other = thread::spawn(move || {
            other.1.add_one();
            block_on(other.0.wait()).is_leader()
        });
        let here = block_on(barrier.wait()).is_leader();
        assert_eq!(number.get(), 1, "arrivals synchronize");
        assert!(here != other.join().unwrap(), "one leader");
    });
}

#[test]
fn loom_barrier_cancelled_while_another_arrives() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let wait = |barrier: &Arc<Barrier>| {
            let barrier = Arc::clone(barrier);
            async move { barrier.wait().await.is_leader() }
        };
        let (cancelled, is_cancelled) =
            (Begun::new(wait(&barrier)), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&is_cancelled);
        let cancelled = thread::spawn(move || {
            drop(cancelled);
            flag.store(true, Ordering::Release);
        });
        let was_cancelled = is_cancelled.load(Ordering::Acquire);
        let context = &mut Context::from_waker(Waker::noop());
        let mut comes = Box::pin(wait(&barrier));
        match comes.as_mut().poll(context) {
            // It arrived before the cancellation, which does not affect the next generation.
            Poll::Ready(is_leader) => {
                assert!(is_leader && !was_cancelled);
                let mut next = Box::pin(wait(&barrier));
                assert!(next.as_mut().poll(context).is_pending());
                cancelled.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(next));
            }
            // It arrived after the cancellation, and waits for another arrival.
            Poll::Pending => {
                cancelled.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(comes));
            }
        }
    });
}
