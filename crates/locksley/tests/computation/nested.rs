//! Computations inside of others.

use locksley::sync::Semaphore;
use locksley::{Worker, task};

use crate::pools;

/// The tasks of the inner one wait for the outer one's semaphore, which somebody gives: for the inner one that is foreign.
#[test]
fn one_inside_of_another() {
    for pool in pools() {
        let end = pool.computation(|outer| {
            let signal = outer.own("signal", Semaphore::new(0));
            let given = signal.clone();
            outer.spawn("has one inside", async move {
                let inside = Worker::with_current(|worker| {
                    assert!(worker.is_some());
                    locksley::computation::run(|inner| {
                        inner.spawn("waits", async { drop(given.acquire().await) });
                    })
                });
                assert_eq!(inside, Ok(()));
            });
            outer.spawn("gives", async move {
                for _ in 0..20 {
                    task::yield_now().await;
                }
                signal.add_permits(1);
            });
        });
        assert_eq!(end, Ok(()));
    }
}
