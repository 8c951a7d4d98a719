//! Tasks that block in a poll, and are left on stacks of their own.

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley::sync::Semaphore;

use crate::{stuck, waits};

/// Both block in the middle of a poll, and their stacks take turns on one thread.
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
