//! Models of the single-owner state, for loom.

use loom::sync::Arc;
use loom::thread;

use super::SingleOwner;
use locksley_sys::primitive::{AtomicUsize, Ordering};

const OWNER: usize = 16;

/// Two threads, of which one is the owner: each publishes something and then looks what the
/// other has published. At least one of them sees it. A third thread may use the network, too.
fn one_of_two_sees_the_other(others: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let all = Arc::new((SingleOwner::new(), [0; 2].map(AtomicUsize::new)));
        all.0.begin_at(OWNER);
        let third = (others > 1).then(|| {
            let all = all.clone();
            thread::spawn(move || all.0.barrier_at(0).unwrap())
        });
        let other = all.clone();
        let other = thread::spawn(move || {
            let (owner, published) = &*other;
            published[1].store(1, Ordering::Relaxed);
            owner.barrier_at(0).unwrap();
            published[0].load(Ordering::Relaxed)
        });
        let (owner, published) = &*all;
        published[0].store(1, Ordering::Relaxed);
        owner.barrier_at(OWNER).unwrap();
        let seen = published[1].load(Ordering::Relaxed);
        assert!(seen + other.join().unwrap() > 0, "neither has seen the other");
        third.map(|third| third.join().unwrap());
    });
}

#[test]
fn loom_kahn_the_owner_and_a_second_thread_see_each_other() {
    one_of_two_sees_the_other(1);
}

/// A thread that finds that another one is about to make the heavy barrier does not rely on it.
#[test]
fn loom_kahn_the_owner_and_one_of_two_threads_see_each_other() {
    one_of_two_sees_the_other(2);
}
