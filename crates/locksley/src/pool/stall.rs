//! The stall harness for a whole pool: one worker is held at each of its atomic steps in turn. All
//! tasks that it does not hold itself must finish.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::tests::on_worker;
use super::{Pool, Shared};
use crate::Spawn;
use crate::idle::{Abp, IdleContext, IdlePolicy, Limit, Move, Thief};
use crate::os::Quota;
use crate::primitive::stepped::{self, Gate, wait_for};
use crate::scheduler::Worker;
use crate::scheduler::allowance::{OpenSource, Source};
use crate::task::JoinHandle;

const PARENTS: usize = 12;
const CHILDREN: usize = 4;
/// The tasks that a held worker may keep: children that it has not pushed yet, and one task that it
/// has taken.
const IN_HAND: usize = CHILDREN + 1;

/// The limit is one awake worker, and that one is held.
#[derive(Debug)]
pub(super) struct Confined;

impl IdlePolicy for Confined {
    fn name(&self) -> &'static str {
        "confined"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Confined)
    }
    fn limit(&self, _processors: usize) -> Limit {
        Limit { awake: 1, timed_park: Duration::from_micros(100) }
    }
}

impl Thief for Confined {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let is_tired = context.is_over_limit() || context.failures > 2;
        if is_tired { Move::Sleep } else { Move::Search }
    }
}

fn pool(workers: usize, idle_policy: impl IdlePolicy) -> Pool {
    Pool::builder().workers(workers).idle_policy(idle_policy).build().unwrap()
}

pub(super) fn abp(sleep_after: Option<u32>) -> Abp {
    Abp { attempts: 2, lower_after: Some(1), sleep_after }
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
                let pool = pool(workers, abp(sleep_after));
                times_held += usize::from(hold_after(steps, pool));
            }
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

#[test]
fn a_sentinel_takes_over_from_a_worker_that_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in steps() {
            times_held += usize::from(hold_after(steps, pool(workers, Confined)));
        }
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
}

/// As many workers are awake as are allowed, and a sentinel polls often.
#[derive(Debug)]
struct Following;

impl IdlePolicy for Following {
    fn name(&self) -> &'static str {
        "following"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Confined)
    }
    fn limit(&self, processors: usize) -> Limit {
        Limit { awake: processors, timed_park: Duration::from_micros(100) }
    }
}

/// An allowance that is read at each poll and changes all the time: three workers, or two of which
/// one rests.
struct Changing {
    used: u64,
    readings: usize,
    /// The number of changes, over all pools.
    changes: Arc<AtomicUsize>,
}

impl Source for Changing {
    fn processors(&mut self, _shared: &Shared) -> Option<usize> {
        Some(3)
    }
    fn quota(&mut self) -> Option<Quota> {
        let period = Duration::from_millis(100);
        self.readings += 1;
        // Three in a row, since the first reading of the usage has nothing to compare with.
        let is_new = self.readings.is_multiple_of(3);
        self.changes.fetch_add(usize::from(is_new), Ordering::Relaxed);
        let has_quota = (self.readings / 3).is_multiple_of(2);
        has_quota.then(|| Quota { processors: 1.5, period, file: Path::new("fake").into() })
    }
    fn interval(&self) -> Duration {
        Duration::ZERO
    }
    fn throttled_periods(&mut self, _quota: &Quota) -> Option<u64> {
        None
    }
    fn process_time(&mut self) -> Option<Duration> {
        Some(Duration::ZERO)
    }
    fn processor_wait(&mut self, _shared: &Shared) -> Option<Duration> {
        // One more worker is allowed whenever there is no quota.
        Some(Duration::from_secs(self.readings as u64))
    }
    fn processor_time(&mut self, _shared: &Shared) -> Option<Duration> {
        self.used += 1;
        Some(Duration::from_secs(self.used))
    }
}

#[test]
fn others_finish_while_a_worker_that_polls_the_allowance_is_held_at_any_step() {
    let mut times_held = 0;
    let changes = Arc::new(AtomicUsize::new(0));
    for most in [3, 4] {
        for steps in steps() {
            let builder = Pool::builder().max_workers(most).idle_policy(Following);
            let changes = Arc::clone(&changes);
            let at_limit: OpenSource = Arc::new(move || {
                Box::new(Changing { used: 0, readings: 0, changes: Arc::clone(&changes) })
            });
            let pool = builder.allowance_source(at_limit).build().unwrap();
            times_held += usize::from(hold_after(steps, pool));
        }
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
    let changes = changes.load(Ordering::Relaxed);
    assert!(changes > 100, "the allowance changes: {changes}");
}

/// The sender of another task to the same worker is held, and another worker is held.
#[test]
fn a_pinned_task_arrives_while_a_sender_and_a_worker_are_held() {
    let mut senders_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in steps_of_both() {
            let pool = pool(3, abp(sleep_after));
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
        let never_sleeps = Abp { attempts: 2, lower_after: None, sleep_after: None };
        let pool = Pool::builder().workers(3).idle_policy(never_sleeps).build().unwrap();
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
        let never_sleeps = Abp { attempts: 2, lower_after: None, sleep_after: None };
        let pool = Pool::builder().workers(3).idle_policy(never_sleeps).build().unwrap();
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

/// A worker is held at any step of assigning its replacement, or of releasing it.
#[test]
fn others_finish_while_a_worker_is_held_on_its_way_into_a_blocking_call_or_out_of_it() {
    const TASKS: usize = 8;
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in 0..60 {
            let pool = pool(workers, abp(Some(0)));
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

/// A replacement is held in its task, after its release, while it parks, or when it is assigned
/// again.
#[test]
fn others_finish_while_a_replacement_is_held_at_any_step() {
    let mut times_held = 0;
    for steps in (0..120).chain((120..600).step_by(37)) {
        let pool = Pool::builder().workers(1).replacements(PARENTS);
        let pool = pool.idle_policy(abp(Some(0))).build().unwrap();
        let gate = Arc::new(Gate::default());
        let (done, armed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // Only replacements are held: when the worker itself works, they do not.
        let worker = pool.broadcast(|_| thread::current().id())[0];
        for _ in 0..PARENTS {
            let (gate, done, armed) = (Arc::clone(&gate), Arc::clone(&done), Arc::clone(&armed));
            pool.spawn(move |_| {
                let is_armed = Arc::clone(&armed);
                crate::spawn(move || {
                    on_worker(|_| {
                        let is_replacement = thread::current().id() != worker;
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
                // Until its replacement has taken one of its tasks.
                crate::blocking(|| wait_for(&is_armed, 1));
            });
        }
        let all = PARENTS * CHILDREN;
        let is_held = release(pool, steps, &gate, &done, (all - IN_HAND, all));
        times_held += usize::from(is_held);
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
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

/// An external thread is held while it takes over a worker, in its task, or while it gives the
/// worker back.
#[test]
fn others_finish_while_an_external_thread_is_held_at_any_step() {
    let (mut times_held, mut is_any_prepared) = (0, false);
    for steps in (0..160).chain((160..600).step_by(37)) {
        let pool = pool(2, abp(Some(0)));
        let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        while pool.shared().sleep.parked_for_external_threads() < 2 {
            thread::yield_now();
        }
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
    let least = if is_any_prepared { 50 } else { 10 };
    assert!(times_held > least, "the harness holds threads: {times_held}");
}

/// A call that finds a pinned task gives its worker back, and may then be the last active thread:
/// the worker waits for a task that only another thread runs.
#[test]
fn a_recalled_worker_gets_what_it_waits_for_after_a_call_was_held_at_any_step() {
    let (mut times_held, mut is_any_prepared) = (0, false);
    for steps in 0..120 {
        let pool = Pool::builder().workers(1).replacements(0).idle_policy(abp(Some(0)));
        let pool = pool.build().unwrap();
        let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let is_prepared = prepare_call(&pool);
                while pool.shared().sleep.parked_for_external_threads() < 1 {
                    thread::yield_now();
                }
                stepped::arm(steps, &gate);
                pool.install(|_| ());
                stepped::disarm();
                is_prepared
            });
            while !gate.is_held() && !call.is_finished() {
                thread::yield_now();
            }
            times_held += usize::from(gate.is_held());
            let (sender, receiver) = channel::<JoinHandle<()>>();
            let finish = counted(&done);
            pool.spawn_with(Spawn::At(0), move |w| {
                receiver.recv().unwrap().join().unwrap();
                finish(w);
            });
            sender.send(pool.spawn_future(async {})).unwrap();
            // Usually the worker parks meanwhile.
            thread::sleep(Duration::from_millis(2));
            gate.open();
            assert_eq!(wait_for(&done, 1), 1, "held after {steps} steps");
            is_any_prepared |= call.join().unwrap();
        });
    }
    let least = if is_any_prepared { 20 } else { 10 };
    assert!(times_held > least, "the harness holds threads: {times_held}");
}
