//! The stall harness for what needs a stack of its own: who sends it, or takes it, is held for ever at each step in turn, and what was
//! sent is done but for what the held thread has in hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Pool;
use super::stall::{Confined, abp, release};
use crate::hunt::Governor;
use crate::primitive::stepped::{self, Gate, wait_for};

const SENT: usize = 8;
/// What may lie there for as long as the other thread is held: what that one has taken, and the last one that was sent, if it was rung for that. (A worker
/// that is held on its way to sleep is rung for once, as one that is held on its way up: `sleep/README.md`.)
const IN_HAND: usize = 2;

fn pool(governor: impl Governor) -> Pool {
    Pool::builder().workers(2).governor(governor).build().unwrap()
}

/// Counts when it has begun on a stack of its own. The first one arms its worker, if it is to be held after so many steps.
fn send(pool: &Pool, done: &Arc<AtomicUsize>, hold: Option<(usize, &Arc<Gate>)>) {
    let (count, hold) = (Arc::clone(done), hold.map(|(steps, gate)| (steps, Arc::clone(gate))));
    let begins = move |worker: &crate::Worker| {
        if let Some((steps, gate)) = hold {
            stepped::arm(steps, &gate);
        }
        let begun = worker.spawn_apart(move |worker| {
            assert!(worker.stack().is_some());
            count.fetch_add(1, Ordering::Release);
        });
        assert!(begun.is_ok(), "who takes it can go to a stack");
    };
    let job = pool.shared().cancellable(begins).expect("the pool is open");
    pool.shared().send_apart(job);
}

fn hold_taker_after(steps: usize, pool: Pool) -> bool {
    let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
    for n in 0..SENT {
        send(&pool, &done, (n == 0).then_some((steps, &gate)));
    }
    // They may begin after the pool's handle has gone: a job that finds the tasks cancelled begins all the same.
    release(pool, steps, &gate, &done, (SENT - IN_HAND, SENT))
}

#[test]
fn what_needs_a_stack_begins_while_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for steps in (0..120).chain((120..600).step_by(37)) {
        for sleep_after in [Some(0), None] {
            times_held += usize::from(hold_taker_after(steps, pool(abp(sleep_after))));
        }
        times_held += usize::from(hold_taker_after(steps, pool(Confined)));
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

/// Another thread sends while a sender is held.
#[test]
fn what_needs_a_stack_begins_while_a_sender_is_held() {
    let mut times_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in 0..40 {
            let pool = pool(abp(sleep_after));
            let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
            let finished = thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    send(&pool, &done, None);
                    stepped::disarm();
                });
                times_held += usize::from(gate.wait_until_held());
                (0..SENT).for_each(|_| send(&pool, &done, None));
                let finished = wait_for(&done, SENT);
                gate.open();
                finished
            });
            drop(pool);
            assert!(finished >= SENT, "held after {steps} steps: {finished}");
            assert_eq!(done.load(Ordering::Acquire), SENT + 1, "nothing is lost");
        }
    }
    assert!(times_held > 8, "the harness holds senders: {times_held}");
}
