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
        assert_eq!(number.get(), 1, "what was done before is seen after");
        assert!(here != other.join().unwrap(), "one leads");
    });
}

#[test]
fn loom_barrier_one_leaves_while_another_comes() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let wait = |barrier: &Arc<Barrier>| {
            let barrier = Arc::clone(barrier);
            async move { barrier.wait().await.is_leader() }
        };
        let (leaves, has_left) = (Begun::new(wait(&barrier)), Arc::new(AtomicBool::new(false)));
        let leaver = Arc::clone(&has_left);
        let leaves = thread::spawn(move || {
            drop(leaves);
            leaver.store(true, Ordering::Release);
        });
        let had_left = has_left.load(Ordering::Acquire);
        let context = &mut Context::from_waker(Waker::noop());
        let mut comes = Box::pin(wait(&barrier));
        match comes.as_mut().poll(context) {
            // It came before the other left, who does not leave the next round either.
            Poll::Ready(is_leader) => {
                assert!(is_leader && !had_left);
                let mut next = Box::pin(wait(&barrier));
                assert!(next.as_mut().poll(context).is_pending());
                leaves.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(next));
            }
            // It came after: the round is for it and another.
            Poll::Pending => {
                leaves.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(comes));
            }
        }
    });
}
