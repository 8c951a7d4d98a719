//! The condition variable.

use std::sync::Arc;

use super::{Slot, finish_all, hold_at_each_step, slot, taken};
use crate::tests::polled::Polled;
use crate::{Condvar, Mutex};

struct Notified {
    mutex: Arc<Mutex<()>>,
    condvar: Arc<Condvar>,
    waiting: Vec<Slot<()>>,
}

impl Notified {
    fn wait(&self) -> Polled<'static, ()> {
        let (mutex, condvar) = (Arc::clone(&self.mutex), Arc::clone(&self.condvar));
        Polled::new(async move {
            let guard = mutex.lock().await;
            drop(condvar.wait(guard).await);
        })
    }

    fn world() -> Self {
        let mut world =
            Self { mutex: Arc::default(), condvar: Arc::default(), waiting: Vec::new() };
        for _ in 0..4 {
            let mut waiting = world.wait();
            assert!(waiting.poll().is_pending());
            world.waiting.push(slot(waiting));
        }
        world
    }

    /// Asserts that as many notifications wake all tasks.
    fn reach_all(&self, notifications: usize, steps: usize) {
        (0..notifications).for_each(|_| self.condvar.notify_one());
        finish_all(&self.waiting, steps);
    }
}

#[test]
fn a_held_notification_delays_no_other() {
    let notify_one = |world: &Notified| world.condvar.notify_one();
    hold_at_each_step(3, Notified::world, notify_one, |w, s| w.reach_all(4, s), |_, ()| {});
    let notify_all = |world: &Notified| world.condvar.notify_all();
    hold_at_each_step(3, Notified::world, notify_all, |w, s| w.reach_all(4, s), |_, ()| {});
}

#[test]
fn a_held_waiter_keeps_no_notification() {
    for at in [0, 1, 3] {
        // If it was notified, it passes that on.
        let cancel = |world: &Notified| drop(taken(&world.waiting[at]));
        hold_at_each_step(3, Notified::world, cancel, |w, s| w.reach_all(4, s), |_, ()| {});
        let poll = |world: &Notified| {
            let mut waiting = taken(&world.waiting[at]);
            let ready = waiting.poll_anew().is_ready();
            *world.waiting[at].lock().unwrap() = (!ready).then_some(waiting);
        };
        // It may be held with the lock. Then the others are notified, and wait for the lock.
        let notify = |world: &Notified, steps: usize| {
            (0..4).for_each(|_| world.condvar.notify_one());
            for slot in &world.waiting {
                if let Some(waiting) = &*slot.lock().unwrap() {
                    assert!(waiting.is_woken(), "{steps}");
                }
            }
        };
        let all_end = |world: &Notified, ()| finish_all(&world.waiting, at);
        hold_at_each_step(1, Notified::world, poll, notify, all_end);
    }
}

#[test]
fn a_held_newcomer_keeps_no_notification() {
    let wait = |world: &Notified| {
        // With a mutex of its own, which the others do not wait for.
        let condvar = Arc::clone(&world.condvar);
        let other = Arc::new(Mutex::new(()));
        let mut wait = Polled::new(async move {
            let guard = other.lock().await;
            drop(condvar.wait(guard).await);
        });
        (!wait.poll().is_ready()).then_some(wait)
    };
    let others = |world: &Notified, steps: usize| world.reach_all(4, steps);
    let after = |world: &Notified, waiting: Option<Polled<'static, ()>>| {
        world.condvar.notify_one();
        if let Some(mut waiting) = waiting {
            waiting.finish();
        }
    };
    hold_at_each_step(3, Notified::world, wait, others, after);
}
