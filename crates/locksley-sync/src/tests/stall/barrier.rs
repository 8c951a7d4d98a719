//! The barrier.

use std::sync::Arc;

use super::{Slot, finish_all, hold_at_each_step, slot, taken};
use crate::Barrier;
use crate::tests::polled::Polled;

#[test]
fn a_thread_held_at_a_barrier_delays_only_its_own_generation() {
    struct World {
        barrier: Arc<Barrier>,
        waiting: Vec<Slot<bool>>,
    }
    let arrive = |barrier: &Arc<Barrier>| {
        let barrier = Arc::clone(barrier);
        let mut wait = Polled::new(async move { barrier.wait().await.is_leader() });
        (wait.poll().is_pending()).then_some(wait)
    };
    let world = || {
        let barrier = Arc::new(Barrier::new(3));
        let waiting = (0..2).map(|_| slot(arrive(&barrier).unwrap())).collect();
        World { barrier, waiting }
    };
    // The last to arrive is held. A newcomer dismisses the others, or is the last itself.
    let last = |world: &World| drop(arrive(&world.barrier));
    let one_more = |world: &World, steps: usize| {
        let more = arrive(&world.barrier);
        finish_all(&world.waiting, steps);
        drop(more);
    };
    hold_at_each_step(3, world, last, one_more, |_, ()| {});
    // A cancellation is held. Two more arrivals complete the generation in any case.
    let cancel = |world: &World| drop(taken(&world.waiting[0]));
    let two_more = |world: &World, steps: usize| {
        let more = [arrive(&world.barrier), arrive(&world.barrier)];
        finish_all(&world.waiting, steps);
        assert!(more.iter().flatten().all(|wait| wait.is_woken()) || more[1].is_some());
        drop(more);
    };
    hold_at_each_step(3, world, cancel, two_more, |_, ()| {});
}
