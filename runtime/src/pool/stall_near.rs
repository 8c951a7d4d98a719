//! The stall harness for places: who sends to a place, or works there, is held for ever at each step in turn, and what was sent
//! there is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Pool;
use super::stall::Confined;
use crate::Worker;
use crate::hunt::{Abp, Governor};
use crate::places::Places;
use crate::primitive::stepped::{self, Gate, wait_for};

const PARENTS: usize = 12;
const CHILDREN: usize = 4;
/// What the held worker may have in hand: the children that it has not sent yet, and one task that it has taken.
const IN_HAND: usize = CHILDREN + 1;

fn abp(sleep_after: Option<u32>) -> Abp {
    Abp { attempts: 2, lower_after: Some(1), sleep_after }
}

/// Two places: one of one worker, and one of all others.
fn pool(workers: usize, governor: impl Governor) -> Pool {
    let sets = ["0".parse().unwrap(), (1..workers).collect()];
    let places = Places::given(&(0..workers).collect(), sets).unwrap();
    Pool::builder().workers(workers).places(places).governor(governor).build().unwrap()
}

/// Sends tasks to both places, which send tasks to both. One of them arms its worker.
fn hold_after(steps: usize, pool: Pool) -> bool {
    let gate = Arc::new(Gate::default());
    let done = Arc::new(AtomicUsize::new(0));
    for parent in 0..PARENTS {
        let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
        pool.spawn_near(parent % 2, move |w| {
            if parent == 0 {
                stepped::arm(steps, &gate);
            }
            for child in 0..CHILDREN {
                let done = Arc::clone(&done);
                w.spawn_near(child % 2, move |_| {
                    done.fetch_add(1, Ordering::Release);
                });
            }
        });
    }
    let all = PARENTS * CHILDREN;
    let finished = wait_for(&done, all - IN_HAND);
    let held = gate.is_held();
    gate.open();
    drop(pool);
    assert!(finished >= all - IN_HAND, "held after {steps} steps: {finished} of {all}");
    assert_eq!(done.load(Ordering::Acquire), all, "nothing is lost");
    held
}

#[test]
fn what_was_sent_to_places_is_done_while_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in (0..120).chain((120..1000).step_by(37)) {
            for sleep_after in [Some(0), None] {
                times_held += usize::from(hold_after(steps, pool(workers, abp(sleep_after))));
            }
            times_held += usize::from(hold_after(steps, pool(workers, Confined)));
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

/// Something is sent to a place while the sender of something else is held, and the only worker of the place.
#[test]
fn a_place_is_helped_though_its_worker_and_a_sender_are_held() {
    let mut senders_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in (0..40).chain((40..400).step_by(23)) {
            let pool = pool(3, abp(sleep_after));
            let gates = [Arc::new(Gate::default()), Arc::new(Gate::default())];
            let done = Arc::new(AtomicUsize::new(0));
            let task = || {
                let done = Arc::clone(&done);
                move |_: &Worker| {
                    done.fetch_add(1, Ordering::Release);
                }
            };
            let finished = thread::scope(|scope| {
                let at = Arc::clone(&gates[0]);
                pool.spawn_at(0, move |_| stepped::arm(steps, &at));
                scope.spawn(|| {
                    stepped::arm(steps, &gates[1]);
                    pool.spawn_near(0, task());
                    stepped::disarm();
                });
                senders_held += usize::from(gates[1].wait_until_held());
                pool.spawn_near(0, task());
                pool.spawn_near(1, task());
                // The worker that is held may have one of them in hand.
                let finished = wait_for(&done, 1);
                gates.iter().for_each(|gate| gate.open());
                finished
            });
            drop(pool);
            assert!(finished >= 1, "held after {steps} steps");
            assert_eq!(done.load(Ordering::Acquire), 3, "nothing is lost");
        }
    }
    assert!(senders_held > 4, "the harness holds senders: {senders_held}");
}
