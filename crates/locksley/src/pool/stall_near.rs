//! The stall harness for places: a thread that sends to a place, or works there, is held at each
//! atomic step in turn. All tasks that it does not hold itself must finish.

use super::Pool;
use super::stall::{
    Confined, Task, confine, hold_a_sender_and, hold_in, steps, steps_of_both, yielding,
};
use super::tests::{divided, on_worker};
use crate::Spawn;
use crate::idle::IdlePolicy;

/// Two places: one with a single worker, and one with all others.
fn pool(workers: usize, idle_policy: impl IdlePolicy) -> Pool {
    divided(&[1, workers - 1]).idle_policy(idle_policy).build().unwrap()
}

/// Tasks in both places send tasks to both places.
fn hold_after(steps: usize, pool: Pool) -> bool {
    hold_in(
        pool,
        steps,
        |pool, parent, task| pool.spawn_with(Spawn::Near(parent % 2), task),
        |_, child, task| crate::spawn_with(Spawn::Near(child % 2), || on_worker(task)),
    )
}

#[test]
fn tasks_sent_to_places_finish_while_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in steps() {
            for sleep_after in [Some(0), None] {
                times_held += usize::from(hold_after(steps, pool(workers, yielding(sleep_after))));
            }
            times_held += usize::from(hold_after(steps, confine(pool(workers, Confined))));
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

/// A sender is held, and the only worker of a place. Either may hold one of the tasks.
#[test]
fn a_place_is_helped_while_its_worker_and_a_sender_are_held() {
    let mut senders_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in steps_of_both() {
            let pool = pool(3, yielding(sleep_after));
            let to_0 = |pool: &Pool, task: Task| pool.spawn_with(Spawn::Near(0), task);
            let to_1 = |pool: &Pool, task: Task| pool.spawn_with(Spawn::Near(1), task);
            let held = hold_a_sender_and(0, pool, steps, 1, [to_0, to_0, to_1]);
            senders_held += usize::from(held);
        }
    }
    assert!(senders_held > 4, "the harness holds senders: {senders_held}");
}
