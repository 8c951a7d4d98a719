use loom::sync::Arc;
use loom::thread;

use super::*;

/// A worker sleeps twice, and each of two wakers narrows its affinity at any time, or not at
/// all. Loom checks that one thread at a time uses the mask; at the end it is restored.
#[test]
fn loom_wake_affinity_is_restored_after_it_was_narrowed() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let wake_affinity = Arc::new(WakeAffinity::new());
        let wakers = [(); 2].map(|()| {
            let wake_affinity = wake_affinity.clone();
            thread::spawn(move || wake_affinity.exclude_own_processor(|| true))
        });
        for _ in 0..2 {
            wake_affinity.begin_sleep(2);
            wake_affinity.end_sleep();
        }
        wake_affinity.settle();
        assert!(wake_affinity.mask.is_whole());
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        assert!(wake_affinity.mask.is_whole());
    });
}
