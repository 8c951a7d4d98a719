//! The size of tasks, and the stall harness: while a thread is held at any step, all tasks finish
//! but the one that it has taken.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use super::JoinHandle;
use super::cell::TaskCell;
use super::header::Header;
use crate::Pool;
use crate::idle::test_policies::Yielding;
use crate::primitive::stepped::{self, Gate, wait_for};
use crate::task::{self, Placement, yield_now};

/// The words of a task beside its future or its outcome, whichever is larger.
const WORDS: usize = 10;

#[test]
fn a_task_is_one_small_allocation() {
    fn size<F: Future>(_: &F) -> usize {
        size_of::<TaskCell<F>>()
    }
    let word = size_of::<usize>();
    assert_eq!(size_of::<Header>(), WORDS * word);
    let large = [1_u8; 1000];
    let waiting = async move {
        pending::<()>().await;
        large.len() as u8
    };
    let future = size_of_val(&waiting).next_multiple_of(word);
    assert_eq!(size(&waiting), WORDS * word + future);
    const { assert!(WORDS * 8 <= 200, "the limit for a waiting task") };
    // A future without state: the outcome is larger.
    assert_eq!(size(&async {}), (WORDS + 2) * word);
    assert_eq!(size_of::<JoinHandle<[u8; 1000]>>(), word);
}

const TASKS: usize = 24;
/// The tasks that a held worker may have: one, which it runs or sends.
const IN_HAND: usize = 1;

fn pool(workers: usize, placement: Placement, sleep_after: Option<u64>) -> Pool {
    let idle_policy = Yielding { attempts: 2, sleep_after };
    Pool::builder().workers(workers).placement(placement).idle_policy(idle_policy).build().unwrap()
}

fn steps() -> impl Iterator<Item = usize> {
    (0..100).chain((100..700).step_by(31))
}

/// Tasks that yield repeatedly. The first of them arms its worker.
#[test]
fn others_finish_while_a_worker_that_polls_is_held_at_any_step() {
    let mut times_held = 0;
    for (workers, sleep_after) in [(2, None), (3, Some(0)), (3, Some(1000))] {
        for steps in steps() {
            let pool = pool(workers, Placement::Last, sleep_after);
            let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
            for n in 0..TASKS {
                let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
                let task = pool.spawn_future(async move {
                    if n == 0 {
                        stepped::arm(steps, &gate);
                    }
                    for _ in 0..3 {
                        yield_now().await;
                    }
                    done.fetch_add(1, Ordering::Release);
                });
                drop(task);
            }
            let finished = wait_for(&done, TASKS - IN_HAND);
            times_held += usize::from(gate.is_held());
            gate.open();
            let all = wait_for(&done, TASKS);
            drop(pool);
            assert!(finished >= TASKS - IN_HAND, "held after {steps} steps: {finished}");
            assert_eq!(all, TASKS, "no task is lost");
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

/// Waits until it is woken once.
fn woken_once(wakers: &Arc<Mutex<Vec<Waker>>>) -> impl Future<Output = ()> + Send + use<> {
    let (wakers, mut was_polled) = (Arc::clone(wakers), false);
    poll_fn(move |context| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        wakers.lock().unwrap().push(context.waker().clone());
        Poll::Pending
    })
}

/// A thread that is no worker is held while it wakes a task. Another thread wakes all others.
#[test]
fn tasks_are_woken_while_another_waker_is_held_at_any_step() {
    let mut times_held = 0;
    for placement in [Placement::Last, Placement::Current] {
        for (workers, sleep_after) in [(1, Some(0)), (2, Some(0)), (2, None)] {
            for steps in (0..60).chain((60..200).step_by(13)) {
                let pool = pool(workers, placement, sleep_after);
                let wakers = Arc::new(Mutex::new(Vec::new()));
                let done = Arc::new(AtomicUsize::new(0));
                for _ in 0..TASKS {
                    let (woken, done) = (woken_once(&wakers), Arc::clone(&done));
                    let counted = async move {
                        woken.await;
                        done.fetch_add(1, Ordering::Release);
                    };
                    drop(pool.spawn_future(counted));
                }
                while wakers.lock().unwrap().len() < TASKS {
                    thread::yield_now();
                }
                let mut wakers = std::mem::take(&mut *wakers.lock().unwrap());
                let gate = Arc::new(Gate::default());
                let finished = thread::scope(|scope| {
                    let held = wakers.pop().unwrap();
                    let at = Arc::clone(&gate);
                    scope.spawn(move || {
                        stepped::arm(steps, &at);
                        held.wake();
                        stepped::disarm();
                    });
                    times_held += usize::from(gate.wait_until_held());
                    wakers.into_iter().for_each(Waker::wake);
                    let finished = wait_for(&done, TASKS - 1);
                    gate.open();
                    finished
                });
                assert!(finished >= TASKS - 1, "held after {steps} steps: {finished}");
                assert_eq!(wait_for(&done, TASKS), TASKS, "no task is lost");
            }
        }
    }
    assert!(times_held > 40, "the harness holds threads: {times_held}");
}

/// A worker is held while it wakes tasks, or after that. The tasks that it has woken run.
#[test]
fn tasks_that_a_held_worker_has_woken_run() {
    let mut times_held = 0;
    for placement in [Placement::Last, Placement::Current] {
        for sleep_after in [Some(0), None] {
            for steps in (0..60).chain((60..400).step_by(23)) {
                let pool = pool(3, placement, sleep_after);
                let wakers = Arc::new(Mutex::new(Vec::new()));
                let [woken, done] = [0, 0].map(|_| Arc::new(AtomicUsize::new(0)));
                for _ in 0..TASKS {
                    let (waits, done) = (woken_once(&wakers), Arc::clone(&done));
                    let counted = async move {
                        waits.await;
                        done.fetch_add(1, Ordering::Release);
                    };
                    drop(pool.spawn_future(counted));
                }
                while wakers.lock().unwrap().len() < TASKS {
                    thread::yield_now();
                }
                let wakers = std::mem::take(&mut *wakers.lock().unwrap());
                let gate = Arc::new(Gate::default());
                let (at, count, all) = (Arc::clone(&gate), Arc::clone(&woken), Arc::clone(&done));
                pool.spawn(move |_| {
                    stepped::arm(steps, &at);
                    for waker in wakers {
                        waker.wake();
                        count.fetch_add(1, Ordering::Release);
                    }
                    // Other workers run them.
                    wait_for(&all, TASKS);
                    stepped::disarm();
                });
                let is_held = gate.wait_until_held();
                times_held += usize::from(is_held);
                // The worker may have taken the one that it wakes.
                let woken = woken.load(Ordering::Acquire);
                let finished = wait_for(&done, woken);
                gate.open();
                assert!(finished >= woken, "held after {steps} steps: {finished} of {woken}");
                assert_eq!(wait_for(&done, TASKS), TASKS, "no task is lost");
            }
        }
    }
    assert!(times_held > 60, "the harness holds threads: {times_held}");
}

/// A worker is held while tasks begin to wait and end, whatever it has locked. Other tasks do both.
#[test]
fn tasks_begin_to_wait_and_end_while_a_worker_is_held_at_any_step() {
    let mut times_held = 0;
    for workers in [2, 3] {
        for steps in steps() {
            let pool = pool(workers, Placement::Current, None);
            let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
            for n in 0..TASKS {
                let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
                let pairs = async move {
                    if n == 0 {
                        stepped::arm(steps, &gate);
                    }
                    let (first, second) = (task::spawn(yield_now()), task::spawn(yield_now()));
                    done.fetch_add(1, Ordering::Release);
                    first.await.unwrap();
                    second.await.unwrap();
                    done.fetch_add(1, Ordering::Release);
                };
                drop(pool.spawn_future(pairs));
            }
            // One task may wait for the one that the held worker has.
            let least = 2 * (TASKS - IN_HAND);
            let finished = wait_for(&done, least);
            times_held += usize::from(gate.is_held());
            gate.open();
            assert!(finished >= least, "held after {steps} steps: {finished}");
            assert_eq!(wait_for(&done, 2 * TASKS), 2 * TASKS, "no task is lost");
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}
