//! The stall harness for a whole pool: one worker is held at each of its atomic steps in turn. All
//! tasks that it does not hold itself must finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Pool;
use super::tests::on_worker;
use crate::idle::test_policies::Yielding;
use crate::idle::{IdleContext, IdlePolicy, Move, Thief};
use crate::primitive::stepped::{self, Gate, wait_for};
use crate::{Spawn, Worker};

const PARENTS: usize = 12;
const CHILDREN: usize = 4;
/// The tasks that a held worker may keep: children that it has not pushed yet, and one task that it
/// has taken.
const IN_HAND: usize = CHILDREN + 1;

/// Thieves sleep soon, and the number of active workers has a limit.
#[derive(Debug)]
pub(super) struct Confined;

impl IdlePolicy for Confined {
    fn name(&self) -> &'static str {
        "confined"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Confined)
    }
    fn is_limited(&self) -> bool {
        true
    }
}

impl Thief for Confined {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > 2 { Move::Sleep } else { Move::Search }
    }
}

/// Sets the limit to one active worker, which is the one that is held.
pub(super) fn confine(pool: Pool) -> Pool {
    pool.shared_now().sleep.set_limit(1);
    pool
}

fn pool(workers: usize, idle_policy: impl IdlePolicy) -> Pool {
    Pool::builder().workers(workers).idle_policy(idle_policy).build().unwrap()
}

pub(super) fn yielding(sleep_after: Option<u64>) -> Yielding {
    Yielding { attempts: 2, sleep_after }
}

/// The numbers of steps after which a worker is held.
pub(super) fn steps() -> impl Iterator<Item = usize> {
    (0..120).chain((120..1000).step_by(37))
}

/// The same for tests that hold a worker and a sender.
pub(super) fn steps_of_both() -> impl Iterator<Item = usize> {
    (0..40).chain((40..400).step_by(23))
}

pub(super) type Task = Box<dyn FnOnce(&Worker) + Send>;

/// A task that counts its end.
fn counted(done: &Arc<AtomicUsize>) -> Task {
    let done = Arc::clone(done);
    Box::new(move |_| {
        done.fetch_add(1, Ordering::Release);
    })
}

/// Requires `least` tasks to finish while a thread is held, and `all` after it goes on. True if a
/// thread was held.
pub(super) fn release(
    pool: Pool,
    steps: usize,
    gate: &Gate,
    done: &AtomicUsize,
    (least, all): (usize, usize),
) -> bool {
    let finished = wait_for(done, least);
    let held = gate.is_held();
    gate.open();
    drop(pool);
    assert!(finished >= least, "held after {steps} steps: {finished} of {all}");
    assert_eq!(done.load(Ordering::Acquire), all, "nothing is lost");
    held
}

/// Sends tasks that send others from their worker. The first one arms the harness for its worker.
pub(super) fn hold_in(
    pool: Pool,
    steps: usize,
    send: fn(&Pool, usize, Task),
    pass_on: fn(&Worker, usize, Task),
) -> bool {
    let gate = Arc::new(Gate::default());
    let done = Arc::new(AtomicUsize::new(0));
    for parent in 0..PARENTS {
        let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
        let task = move |w: &Worker| {
            if parent == 0 {
                stepped::arm(steps, &gate);
            }
            (0..CHILDREN).for_each(|child| pass_on(w, child, counted(&done)));
        };
        send(&pool, parent, Box::new(task));
    }
    let all = PARENTS * CHILDREN;
    release(pool, steps, &gate, &done, (all - IN_HAND, all))
}

fn hold_after(steps: usize, pool: Pool) -> bool {
    hold_in(
        pool,
        steps,
        |pool, _, task| pool.spawn(task),
        |_, _, task| crate::spawn(|| on_worker(task)),
    )
}

/// Sends three tasks, the first from a thread that is held, while a worker is held too. Requires
/// `least` of them to finish. True if the sender was held.
pub(super) fn hold_a_sender_and(
    worker: usize,
    pool: Pool,
    steps: usize,
    least: usize,
    [first, second, third]: [fn(&Pool, Task); 3],
) -> bool {
    let [gate, gate_of_worker] = [Arc::new(Gate::default()), Arc::new(Gate::default())];
    let done = Arc::new(AtomicUsize::new(0));
    let (finished, held) = thread::scope(|scope| {
        let at = Arc::clone(&gate_of_worker);
        pool.spawn_with(Spawn::At(worker), move |_| stepped::arm(steps, &at));
        scope.spawn(|| {
            stepped::arm(steps, &gate);
            first(&pool, counted(&done));
            stepped::disarm();
        });
        let held = gate.wait_until_held();
        second(&pool, counted(&done));
        third(&pool, counted(&done));
        let finished = wait_for(&done, least);
        gate.open();
        gate_of_worker.open();
        (finished, held)
    });
    drop(pool);
    assert!(finished >= least, "held after {steps} steps");
    assert_eq!(done.load(Ordering::Acquire), 3, "nothing is lost");
    held
}

#[test]
fn others_finish_while_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for sleep_after in [Some(0), Some(1000), None] {
            for steps in steps() {
                let pool = pool(workers, yielding(sleep_after));
                times_held += usize::from(hold_after(steps, pool));
            }
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

/// The monitor raises the limit.
#[test]
fn other_workers_become_active_while_the_only_active_one_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in steps() {
            let pool = confine(pool(workers, Confined));
            times_held += usize::from(hold_after(steps, pool));
        }
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
}

/// A worker is held on its way into a sleep, where a wake-up may choose it, and the limit is one.
#[test]
fn what_is_sent_is_run_while_a_worker_is_held_as_it_falls_asleep_at_the_limit() {
    const TASKS: usize = 3;
    let mut times_held = 0;
    for steps in 0..120 {
        let pool = confine(pool(2, Confined));
        let gate = Arc::new(Gate::default());
        let [started, done] = [0; 2].map(|zero| Arc::new(AtomicUsize::new(zero)));
        let (at, count) = (Arc::clone(&gate), Arc::clone(&started));
        pool.spawn(move |_| {
            count.fetch_add(1, Ordering::Release);
            stepped::arm(steps, &at);
        });
        assert_eq!(wait_for(&started, 1), 1);
        // If both sleep before, it may be held on its way out of the sleep.
        let until = Instant::now() + Duration::from_secs(20);
        while !gate.is_held() && pool.shared_now().sleep.active() > 0 {
            assert!(Instant::now() < until, "a worker is awake, and not held after {steps} steps");
            thread::yield_now();
        }
        (0..TASKS).for_each(|_| pool.spawn(counted(&done)));
        // It may be held with one of them.
        times_held += usize::from(release(pool, steps, &gate, &done, (TASKS - 1, TASKS)));
    }
    assert!(times_held > 30, "the harness holds threads: {times_held}");
}

/// The limit goes up and down, and one worker is held.
#[test]
fn others_finish_while_the_limit_changes_and_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for steps in steps() {
        let pool = pool(3, Confined);
        let (shared, is_over) = (Arc::clone(pool.shared_now()), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for size in [1, 3, 2].iter().cycle() {
                    shared.resize(*size);
                    thread::yield_now();
                    if is_over.load(Ordering::Acquire) {
                        break;
                    }
                }
                shared.resize(3);
            });
            times_held += usize::from(hold_after(steps, pool));
            is_over.store(true, Ordering::Release);
        });
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
}

/// The thread that changes the limit is held.
#[test]
fn tasks_finish_while_a_thread_that_raises_the_limit_is_held_at_any_step() {
    for steps in 0.. {
        let pool = confine(pool(3, Confined));
        let gate = Arc::new(Gate::default());
        let done = Arc::new(AtomicUsize::new(0));
        let held = thread::scope(|scope| {
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                pool.shared_now().resize(3);
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            (0..PARENTS).for_each(|_| pool.spawn(counted(&done)));
            let finished = wait_for(&done, PARENTS);
            gate.open();
            assert_eq!(finished, PARENTS, "held after {steps} steps");
            held
        });
        if !held {
            assert!(steps > 4, "the harness holds threads");
            break;
        }
    }
}

/// The sender of another task to the same worker is held, and another worker is held.
#[test]
fn a_pinned_task_arrives_while_a_sender_and_a_worker_are_held() {
    let mut senders_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in steps_of_both() {
            let pool = pool(3, yielding(sleep_after));
            let to_0 = |pool: &Pool, task: Task| pool.spawn_with(Spawn::At(0), task);
            let to_2 = |pool: &Pool, task: Task| pool.spawn_with(Spawn::At(2), task);
            let held = hold_a_sender_and(1, pool, steps, 2, [to_0, to_0, to_2]);
            senders_held += usize::from(held);
        }
    }
    assert!(senders_held > 4, "the harness holds senders: {senders_held}");
}

#[test]
fn fifo_tasks_finish_while_a_worker_is_held() {
    const TASKS: usize = 24;
    let mut times_held = 0;
    for steps in (0..60).chain((60..400).step_by(23)) {
        // As in the next test: the worker that pushes does not help, and the held one may count as
        // searching.
        let pool = pool(3, yielding(None));
        let gate = Arc::new(Gate::default());
        let done = Arc::new(AtomicUsize::new(0));
        let (at, count) = (Arc::clone(&gate), Arc::clone(&done));
        pool.spawn(move |_| {
            for task in 0..TASKS {
                let (at, count) = (Arc::clone(&at), Arc::clone(&count));
                crate::spawn_with(Spawn::Fifo, move || {
                    if task == 0 {
                        stepped::arm(steps, &at);
                    }
                    count.fetch_add(1, Ordering::Release);
                });
            }
            // This worker does not help.
            wait_for(&count, TASKS - 1);
        });
        let is_held = release(pool, steps, &gate, &done, (TASKS - 1, TASKS));
        times_held += usize::from(is_held);
    }
    assert!(times_held > 20, "the harness holds threads: {times_held}");
}

/// A worker pushes tasks and waits for them without helping, while one of the other two workers is
/// held.
#[test]
fn a_blocked_worker_is_helped_while_another_is_held() {
    for steps in (0..60).chain((60..400).step_by(23)) {
        let pool = pool(3, yielding(None));
        let gate = Arc::new(Gate::default());
        let at = Arc::clone(&gate);
        pool.spawn(move |_| stepped::arm(steps, &at));
        // It searches for ever, so it is held somewhere in a search, whatever the number of steps.
        assert!(gate.wait_until_held());
        let rounds = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&rounds);
        pool.spawn(move |_| {
            for _ in 0..3 {
                let helped = Arc::new(AtomicUsize::new(0));
                for helper in [Arc::clone(&helped), Arc::clone(&helped)] {
                    crate::spawn(move || {
                        helper.fetch_add(1, Ordering::Release);
                    });
                }
                count.fetch_add(usize::from(wait_for(&helped, 1) >= 1), Ordering::Release);
            }
        });
        let finished = wait_for(&rounds, 3);
        gate.open();
        assert_eq!(finished, 3, "held after {steps} steps");
    }
}

/// A worker is held while it gives its index to a replacement, or takes it back.
#[test]
fn others_finish_while_a_worker_is_held_on_its_way_into_a_blocking_call_or_out_of_it() {
    const TASKS: usize = 8;
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in 0..60 {
            let pool = pool(workers, yielding(Some(0)));
            let gate = Arc::new(Gate::default());
            let done = Arc::new(AtomicUsize::new(0));
            let (at, count) = (Arc::clone(&gate), Arc::clone(&done));
            pool.spawn(move |_| {
                for _ in 0..TASKS {
                    let count = Arc::clone(&count);
                    crate::spawn(move || {
                        count.fetch_add(1, Ordering::Release);
                    });
                }
                stepped::arm(steps, &at);
                crate::blocking(|| ());
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            let finished = wait_for(&done, TASKS);
            let again = Arc::clone(&done);
            pool.spawn(move |_| {
                again.fetch_add(1, Ordering::Release);
            });
            let finished_again = wait_for(&done, TASKS + 1);
            gate.open();
            assert_eq!(finished, TASKS, "held after {steps} steps");
            assert_eq!(finished_again, TASKS + 1, "held after {steps} steps");
            times_held += usize::from(held);
        }
    }
    assert!(times_held > 10, "the harness holds threads: {times_held}");
}

/// A replacement is held in its task, while it passes its index on, while it parks, or when it is
/// taken again. The other index is left.
#[test]
fn others_finish_while_a_replacement_is_held_at_any_step() {
    let mut times_held = 0;
    for steps in (0..80).chain((80..600).step_by(61)) {
        let pool = Pool::builder().workers(2).replacements(PARENTS);
        let pool = pool.idle_policy(yielding(Some(0))).build().unwrap();
        let gate = Arc::new(Gate::default());
        let (done, armed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // Only replacements are held: when a worker itself works, they do not.
        let workers = pool.broadcast(|_| thread::current().id());
        for _ in 0..PARENTS {
            let (gate, done, armed) = (Arc::clone(&gate), Arc::clone(&done), Arc::clone(&armed));
            let workers = workers.clone();
            pool.spawn(move |_| {
                let is_armed = Arc::clone(&armed);
                crate::spawn(move || {
                    on_worker(|_| {
                        let is_replacement = !workers.contains(&thread::current().id());
                        if is_replacement && armed.fetch_add(1, Ordering::AcqRel) == 0 {
                            stepped::arm(steps, &gate);
                        }
                        for _ in 0..CHILDREN {
                            let done = Arc::clone(&done);
                            crate::spawn(move || {
                                done.fetch_add(1, Ordering::Release);
                            });
                        }
                    })
                });
                // Until a replacement has taken one of the tasks.
                crate::blocking(|| wait_for(&is_armed, 1));
            });
        }
        let all = PARENTS * CHILDREN;
        let is_held = release(pool, steps, &gate, &done, (all - IN_HAND, all));
        times_held += usize::from(is_held);
    }
    assert!(times_held > 30, "the harness holds threads: {times_held}");
}

/// The only worker leaves its index and takes it back again and again. A waker of it is held, which
/// need not come: the replacement has passed the index on.
#[test]
fn a_worker_gets_its_index_back_however_often_it_leaves_it() {
    let pool = Pool::builder().workers(1);
    let pool = pool.idle_policy(yielding(Some(0))).build().unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    pool.spawn(move |_| {
        for round in 1..=300 {
            let task = Arc::clone(&count);
            crate::spawn(move || {
                task.fetch_add(1, Ordering::Release);
            });
            // Only a replacement can run the task.
            crate::blocking(|| assert_eq!(wait_for(&count, round), round));
        }
    });
    assert_eq!(wait_for(&done, 300), 300);
}

/// Calls until a call has run on this thread: so does the next one, unless this one was long.
/// Returns false where no call does, as in the portable build or under AddressSanitizer.
fn prepare_call(pool: &Pool) -> bool {
    let this = thread::current().id();
    (0..100).any(|_| {
        thread::yield_now();
        pool.install(|_| thread::current().id()) == this
    })
}

/// A guest is held in its task, or on its way in or out.
#[test]
fn others_finish_while_a_guest_is_held_at_any_step() {
    let (mut times_held, mut is_any_prepared) = (0, false);
    for steps in (0..160).chain((160..600).step_by(37)) {
        let pool = pool(2, yielding(Some(0)));
        let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let is_held = thread::scope(|scope| {
            let call = scope.spawn(|| {
                let is_prepared = prepare_call(&pool);
                stepped::arm(steps, &gate);
                pool.install(|w| {
                    let _ = w;
                    (0..CHILDREN).for_each(|_| {
                        let task = counted(&done);
                        crate::spawn(|| on_worker(task));
                    });
                });
                stepped::disarm();
                is_prepared
            });
            while !gate.is_held() && !call.is_finished() {
                thread::yield_now();
            }
            (0..PARENTS).for_each(|_| pool.spawn(counted(&done)));
            let finished = wait_for(&done, PARENTS);
            assert!(finished >= PARENTS, "held after {steps} steps: {finished}");
            let is_held = gate.is_held();
            gate.open();
            is_any_prepared |= call.join().unwrap();
            is_held
        });
        drop(pool);
        assert_eq!(done.load(Ordering::Acquire), PARENTS + CHILDREN, "nothing is lost");
        times_held += usize::from(is_held);
    }
    // To send a call has fewer steps.
    let least = if is_any_prepared { 40 } else { 10 };
    assert!(times_held > least, "the harness holds threads: {times_held}");
}
