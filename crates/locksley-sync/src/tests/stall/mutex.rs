//! The mutex.

use std::sync::Arc;

use super::{Slot, Switch, finish_all, hold_at_each_step, slot, taken};
use crate::Mutex;
use crate::tests::polled::Polled;

/// While a thread is held in a cancellation, the others get the lock when it does not have it.
#[test]
fn a_held_thread_keeps_the_lock_only_while_it_has_it() {
    struct World {
        mutex: Arc<Mutex<u32>>,
        cancelled: Slot<()>,
        waiting: Vec<Slot<()>>,
    }
    let count = |mutex: &Arc<Mutex<u32>>| {
        let mutex = Arc::clone(mutex);
        Polled::new(async move { *mutex.lock().await += 1 })
    };
    let passes_on = Switch::default();
    hold_at_each_step(
        3,
        || {
            let mutex = Arc::new(Mutex::new(0));
            let guard = mutex.try_lock().unwrap();
            let wait = || {
                let mut waiting = count(&mutex);
                assert!(waiting.poll().is_pending());
                slot(waiting)
            };
            let (first, cancelled, waiting) = (wait(), wait(), vec![wait(), wait()]);
            drop(guard);
            taken(&first).finish();
            // Now the future that will be cancelled has been granted the lock.
            World { mutex, cancelled, waiting }
        },
        |world| drop(taken(&world.cancelled)),
        |world, steps| {
            // A newcomer serves the queue, and the lock is for the waiters in front of it.
            let mut late = count(&world.mutex);
            assert!(late.poll().is_pending());
            let mut locked = 0;
            for slot in &world.waiting {
                let waiting = &mut *slot.lock().unwrap();
                if waiting.as_mut().is_some_and(|waiting| waiting.poll().is_ready()) {
                    *waiting = None;
                    locked += 1;
                }
            }
            // All waiters get it, from the step on in which the held thread releases it.
            assert!([0, 2].contains(&locked), "held after {steps} steps: {locked}");
            passes_on.record(locked == 2, steps);
            assert!(locked == 0 || late.poll().is_ready(), "{steps}");
        },
        |world, ()| {
            finish_all(&world.waiting, "after the cancellation");
            assert!(*world.mutex.try_lock().unwrap() >= 3);
        },
    );
    passes_on.assert_on();
}
