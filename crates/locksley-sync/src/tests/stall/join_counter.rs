//! The join counter.

use std::sync::Arc;

use super::{Slot, Switch, assert_none_woken, finish_all, hold_at_each_step, slot};
use crate::JoinCounter;
use crate::tests::polled::Polled;

#[test]
fn a_held_signal_does_not_delay_newcomers() {
    struct World {
        counter: Arc<JoinCounter>,
        waiting: Vec<Slot<()>>,
    }
    let wait = |counter: &Arc<JoinCounter>| {
        let counter = Arc::clone(counter);
        Polled::new(async move { counter.wait().await })
    };
    let complete = Switch::default();
    hold_at_each_step(
        2,
        || {
            let counter = Arc::new(JoinCounter::new(1));
            let waiting = (0..2).map(|_| {
                let mut waiting = wait(&counter);
                assert!(waiting.poll().is_pending());
                slot(waiting)
            });
            let waiting = waiting.collect();
            World { counter, waiting }
        },
        |world| world.counter.signal(),
        |world, steps| {
            // Once it is complete, a newcomer dismisses the waiters. Until then all wait.
            let is_complete = world.counter.is_complete();
            assert_eq!(wait(&world.counter).poll().is_ready(), is_complete);
            complete.record(is_complete, steps);
            if is_complete {
                finish_all(&world.waiting, steps);
            } else {
                assert_none_woken(&world.waiting, steps);
            }
        },
        |world, ()| {
            finish_all(&world.waiting, "after the signal");
            assert!(world.counter.is_complete());
        },
    );
    complete.assert_on();
}
