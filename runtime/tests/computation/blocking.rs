//! Tasks that block in a poll, and computations inside of others.

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::sync::Semaphore;
use locksley::{Pool, Worker, task};

use crate::{pools, stuck, waits};

/// Both block in the middle of a poll, and their stacks take turns on one thread.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn tasks_that_block_on_one_worker_are_not_mixed_up() {
    let pool = Pool::new(1).unwrap();
    let turns = &[Semaphore::new(0), Semaphore::new(0)];
    let begun = &AtomicUsize::new(0);
    let end = pool.computation(|all| {
        let never = all.own("never", Semaphore::new(0));
        for name in ["one", "other"] {
            let never = never.clone();
            all.spawn(name, async move {
                if begun.fetch_add(1, Ordering::Relaxed) == 0 {
                    locksley::block_on(turns[0].acquire()).unwrap().forget();
                    turns[1].add_permits(1);
                } else {
                    turns[0].add_permits(1);
                    locksley::block_on(turns[1].acquire()).unwrap().forget();
                }
                drop(never.acquire().await);
            });
        }
    });
    assert_eq!(stuck(end), [waits("one", &["never"]), waits("other", &["never"])]);
}

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
