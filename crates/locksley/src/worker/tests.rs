//! How a worker waits, and which thread works under its index meanwhile.

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::deque::chase_lev;
use crate::header::{self, Job};
use crate::idle::test_policies::Yielding;
use crate::job::latch::Latch;
use crate::job::{ForkJob, HeapJob};
use crate::numbers::Index;
use crate::pool::tests::{LONGEST, beside_a_held_worker, hold};
use crate::shared::slot::SlotState;
use crate::{Pool, Worker};

#[test]
fn a_worker_knows_its_pool() {
    let known = beside_a_held_worker(|worker| {
        let other = Pool::new(1).unwrap();
        let belongs_to = [worker.shared(), other.shared()].map(|pool| worker.belongs_to(pool));
        (worker.index(), worker.workers(), belongs_to)
    });
    assert_eq!(known, (0, 2, [true, false]));
}

#[test]
fn a_wait_for_a_group_leaves_older_tasks_in_the_deque() {
    let (before, after) = beside_a_held_worker(|worker| {
        for _ in 0..2 {
            // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
            worker.push(unsafe { HeapJob::into_job(None, |_| ()) });
        }
        let before = worker.local.deque.bottom();
        let (latch, has_looked) = (Latch::new(Some(worker)), AtomicBool::new(false));
        let (event, looked) = (&latch, &has_looked);
        thread::scope(|threads| {
            threads.spawn(move || {
                while !looked.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                // SAFETY: alive until this thread has ended.
                unsafe { Latch::end(NonNull::from(event), None) };
            });
            let has_pinned_tasks = || {
                has_looked.store(true, Ordering::Relaxed);
                false
            };
            worker.wait_for_group(&latch.flag, NonNull::dangling(), before, has_pinned_tasks);
        });
        (before, worker.local.deque.bottom())
    });
    assert_eq!(after, before);
}

/// No other worker could run the task.
#[test]
fn a_replacement_works_while_a_worker_waits() {
    let result = beside_a_held_worker(|_| crate::block_on(crate::task::spawn(async { 7 })));
    assert_eq!(result.unwrap(), 7);
}

#[test]
fn thieves_see_how_many_tasks_a_worker_has() {
    let seen = beside_a_held_worker(|worker| {
        let state = worker.state();
        let now = || (state.deque.is_empty(), state.has_empty_deque(), state.deque_len());
        let push = || {
            // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
            worker.push(unsafe { HeapJob::into_job(None, |_| ()) });
            now()
        };
        let seen = [now(), push(), push(), push()];
        while worker.run_one() {}
        (seen, now())
    });
    let (none, some) = ((true, true, 0), |len| (false, false, len));
    assert_eq!(seen, ([none, some(1), some(2), some(3)], none));
}

/// A fork of slot 1, which `worker` runs. `inside` is called with it while it runs.
fn run_stolen(worker: &Worker, inside: impl Fn(&Worker, &Job) + Sync) {
    let job = Mutex::new(0);
    let fork = ForkJob::new(|worker: &Worker| {
        let job = NonNull::new(*job.lock().unwrap() as *mut Job).unwrap();
        // SAFETY: it is alive while it runs.
        inside(worker, unsafe { job.as_ref() });
    });
    *job.lock().unwrap() = fork.as_job().as_ptr() as usize;
    // SAFETY: alive, and run once; the slot exists, and its thread awaits nothing of this.
    unsafe { header::execute(fork.as_job(), worker.as_ref(), 1) };
    assert!(fork.header().latch().is_set() && fork.header().theft().is_none());
}

/// True if the thread that waits for `fork` may steal what `worker` pushes next.
fn may_steal_next(worker: &Worker, fork: &Job) -> bool {
    let theft = fork.theft().expect("it was stolen");
    assert_eq!(theft.thief, worker.slot());
    let start = worker.deque_end();
    worker.state().lineage.is_descendant(fork, theft, start)
}

/// A job that does nothing. It is pushed or sent once.
fn nothing() -> NonNull<Job> {
    // SAFETY: as the comment says; the task borrows nothing, and does not unwind.
    unsafe { HeapJob::into_job(None, |_| ()) }
}

#[test]
fn only_descendants_of_a_fork_are_stolen_back() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(Vec::new());
        let may_steal_after = |change: &(dyn Fn(&Worker, &Job) + Sync)| {
            run_stolen(worker, |worker, fork| {
                change(worker, fork);
                seen.lock().unwrap().push(may_steal_next(worker, fork));
            });
            worker.state().lineage.reset(); // as the worker does for its next task
        };
        let run_nested = |worker: &Worker, job| {
            worker.shared().injector.send(job);
            assert!(worker.run_one());
        };
        // SAFETY: run once, below; the task borrows nothing, and does not unwind.
        let spawning = || unsafe { HeapJob::into_job(None, |worker| worker.push(nothing())) };
        // SAFETY: the FIFO lives as long as the pool.
        let push_fifo = |worker: &Worker| unsafe {
            worker.push_fifo(&worker.state().fifo, nothing());
        };
        may_steal_after(&|_, _| ());
        may_steal_after(&|worker, _| worker.join(|_| (), |_| ()).0);
        // Another stolen fork, from which this one descends.
        may_steal_after(&|worker, outer| {
            run_stolen(worker, |worker, inner| {
                assert!(may_steal_next(worker, inner) && may_steal_next(worker, outer));
            });
        });
        may_steal_after(&|worker, _| run_nested(worker, nothing()));
        let of_joins = seen.lock().unwrap().split_off(0);
        may_steal_after(&|worker, _| run_nested(worker, spawning()));
        may_steal_after(&|worker, _| worker.push(nothing()));
        may_steal_after(&|worker, _| push_fifo(worker));
        may_steal_after(&|worker, _| {
            worker.shared().injector.send(nothing());
            worker.look_elsewhere(1);
        });
        while worker.run_one() {}
        (of_joins, seen.into_inner().unwrap())
    });
    assert_eq!(seen, (vec![true; 4], vec![false; 4]));
}

/// What lay in the deque before the fork began lies below its position.
#[test]
fn a_thief_that_has_other_tasks_is_stolen_from() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(None);
        worker.push(nothing());
        worker.state().lineage.reset();
        run_stolen(worker, |worker, fork| {
            let is_wanted =
                |at| worker.state().lineage.is_descendant(fork, fork.theft().unwrap(), at);
            let end = worker.deque_end();
            *seen.lock().unwrap() = Some([is_wanted(end - 1), is_wanted(end)]);
        });
        while worker.run_one() {}
        seen.into_inner().unwrap()
    });
    assert_eq!(seen, Some([false, true]));
}

/// A join takes its second half from under a task that the first one has spawned. That task then
/// lies where the second half lay.
#[test]
fn a_task_that_is_put_back_is_not_stolen_back() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(None);
        run_stolen(worker, |worker, fork| {
            let look = |worker: &Worker| {
                let start = worker.deque_end();
                worker.join(|worker| worker.push(nothing()), |_| ());
                let moved = worker.deque_end() - 1 - start;
                *seen.lock().unwrap() = Some((moved, may_steal_newest(worker, fork)));
            };
            // The deque does not become empty meanwhile.
            worker.join(look, |_| ());
        });
        while worker.run_one() {}
        seen.into_inner().unwrap()
    });
    assert_eq!(seen, Some((0, false)));
}

fn run_one(worker: &Worker) {
    assert!(worker.run_one());
}

/// True if the newest job of the deque may be stolen by the thread that waits for `fork`.
fn may_steal_newest(worker: &Worker, fork: &Job) -> bool {
    let newest = worker.deque_end() - 1;
    worker.state().lineage.is_descendant(fork, fork.theft().unwrap(), newest)
}

/// A task on top of a fork runs an older one, which spawns where that lay.
#[test]
fn what_is_spawned_below_the_start_of_a_nested_task_is_not_stolen_back() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(None);
        run_stolen(worker, |worker, fork| {
            let look = |worker: &Worker| {
                run_one(worker);
                *seen.lock().unwrap() = Some(may_steal_newest(worker, fork));
            };
            let inner = |worker: &Worker| worker.join(look, run_one).0;
            let spawning = |worker: &Worker| worker.push(nothing());
            worker.join(|worker| worker.join(inner, spawning).0, |_| ());
        });
        while worker.run_one() {}
        seen.into_inner().unwrap()
    });
    assert_eq!(seen, Some(false));
}

/// An unrelated task takes an older one, and then forks where that lay.
#[test]
fn what_an_unrelated_task_forks_below_its_start_is_not_stolen_back() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(None);
        run_stolen(worker, |worker, fork| {
            let (seen, fork) = (&seen, NonNull::from(fork).as_ptr() as usize);
            let unrelated = move |worker: &Worker| {
                run_one(worker);
                let look = |worker: &Worker| {
                    // SAFETY: it is alive while it runs.
                    let fork = unsafe { NonNull::new(fork as *mut Job).unwrap().as_ref() };
                    *seen.lock().unwrap() = Some(may_steal_newest(worker, fork));
                };
                worker.join(look, |_| ());
            };
            let first = |worker: &Worker| {
                // SAFETY: run by the next line, before what it borrows ends; it does not unwind.
                worker.push(unsafe { HeapJob::into_job(None, unrelated) });
                run_one(worker);
            };
            worker.join(|worker| worker.join(first, |_| ()).0, |_| ());
        });
        while worker.run_one() {}
        seen.into_inner().unwrap()
    });
    assert_eq!(seen, Some(false));
}

/// While an unrelated task runs on top of a fork, its forks do not descend from that.
#[test]
fn what_an_unrelated_task_forks_is_not_stolen_back() {
    let seen = beside_a_held_worker(|worker| {
        let seen = Mutex::new(Vec::new());
        run_stolen(worker, |worker, fork| {
            let (seen, fork) = (&seen, NonNull::from(fork).as_ptr() as usize);
            let look = move |worker: &Worker| {
                // SAFETY: it is alive while it runs.
                let fork = unsafe { NonNull::new(fork as *mut Job).unwrap().as_ref() };
                seen.lock().unwrap().push(may_steal_next(worker, fork));
            };
            // SAFETY: run once, below, before what it borrows ends; the task does not unwind.
            let job = unsafe { HeapJob::into_job(None, look) };
            worker.shared().injector.send(job);
            assert!(worker.run_one());
            look(worker);
        });
        seen.into_inner().unwrap()
    });
    assert_eq!(seen, [false, true]);
}

/// The thief of a fork pushes another fork and does not come to it. Only the worker that waits for
/// the first one, and steals from its thief, can run it.
#[test]
fn a_waiter_steals_back_from_its_thief() {
    let never_sleeps = Yielding { attempts: 2, sleep_after: None };
    let pool =
        Pool::builder().workers(2).replacements(0).idle_policy(never_sleeps).build().unwrap();
    let ran_on = pool.broadcast(|worker| {
        if worker.index() == 1 {
            return None; // it searches after this
        }
        let (is_stolen, has_run) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        let (_, ran_on) = worker.join(
            |_| wait_for(&is_stolen),
            |_| {
                is_stolen.store(true, Ordering::Release);
                let run = |w: &Worker| {
                    has_run.store(true, Ordering::Release);
                    w.index()
                };
                // The worker below waits by now, or soon.
                crate::join(|| wait_for(&has_run), || Worker::with_current(|w| run(w.unwrap()))).1
            },
        );
        Some(ran_on)
    });
    assert_eq!(ran_on, [Some(0), None]);
}

#[test]
fn a_worker_that_waits_for_tasks_runs_its_pinned_ones() {
    beside_a_held_worker(|worker| {
        let latch = Latch::new(Some(worker));
        let event = &latch;
        let set = move |_: &Worker| {
            // SAFETY: alive, since the wait below ends with this.
            unsafe { Latch::end(NonNull::from(event), None) };
        };
        // SAFETY: sent once, here, and run before the wait ends; the task does not unwind.
        worker.shared().send_to(None, Index::new(0), unsafe { HeapJob::into_job(None, set) });
        let start = worker.local.deque.bottom();
        worker.wait_for_group(&latch.flag, NonNull::dangling(), start, || false);
    });
}

/// A pool with one index.
fn single() -> Pool {
    Pool::builder().workers(1).own_threads_only().build().unwrap()
}

/// Calls `test` in a task of the pool.
fn in_task<R: Send + 'static>(pool: &Pool, test: impl FnOnce() -> R + Send + 'static) -> R {
    let (result, received) = channel();
    pool.spawn(move |_| result.send(test()).unwrap());
    received.recv_timeout(LONGEST).unwrap()
}

/// Where tasks run: on this thread, under this index.
fn here() -> (thread::ThreadId, Option<usize>) {
    (thread::current().id(), Worker::with_current(|current| current.map(Worker::index)))
}

#[test]
fn a_thread_that_blocks_leaves_its_index_and_gets_it_back() {
    let pool = single();
    let ran_on = in_task(&pool, || {
        let mut ran_on = vec![here()];
        for _ in 0..3 {
            let (send, received) = channel();
            crate::spawn(move || send.send(here()).unwrap());
            ran_on.push(crate::blocking(|| received.recv_timeout(LONGEST)).unwrap());
            ran_on.push(here());
        }
        ran_on
    });
    let own = ran_on[0];
    assert_eq!(own.1, Some(0));
    for (number, place) in ran_on.iter().enumerate() {
        assert_eq!((place.0 == own.0, place.1), (number % 2 == 0, Some(0)), "{number}");
    }
}

/// A thread has not begun to run for the pool before it is attached to its slot.
#[test]
fn a_thread_that_has_not_begun_to_run_is_not_blocked() {
    let slot = SlotState::new(chase_lev(None));
    assert!(slot.progress().is_some_and(|progress| !progress.is_blocked));
}

/// The thread that works under the index makes progress. The first one goes on after the end of its
/// present task, and not in the middle, however long that is.
#[test]
#[cfg(all(target_os = "linux", not(locksley_portable)))] // elsewhere the system does not tell
fn a_thread_waits_for_its_index_while_the_holder_makes_progress() {
    use std::sync::atomic::AtomicUsize;
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    let pool = single();
    let running = in_task(&pool, || {
        let (send, received) = channel();
        crate::spawn(move || {
            RUNNING.fetch_add(1, Ordering::AcqRel);
            send.send(()).unwrap();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(300) {
                std::hint::spin_loop();
            }
            RUNNING.fetch_sub(1, Ordering::AcqRel);
        });
        crate::blocking(|| received.recv_timeout(LONGEST)).unwrap();
        RUNNING.load(Ordering::Acquire)
    });
    assert_eq!(running, 0, "two tasks ran under one index");
}

/// The holder waits for what only the first thread does: as in rayon's issue 592.
#[test]
fn a_thread_goes_on_without_its_index_if_the_holder_makes_no_progress() {
    let pool = single();
    let elapsed = in_task(&pool, || {
        let ((send, received), (go_on, may_go_on)) = (channel(), channel());
        crate::spawn(move || {
            send.send(()).unwrap();
            may_go_on.recv_timeout(LONGEST).unwrap();
        });
        crate::blocking(|| received.recv_timeout(LONGEST)).unwrap();
        let begun = Instant::now();
        let (_, is_taken_back) = (crate::blocking(|| ()), begun.elapsed());
        go_on.send(()).unwrap();
        is_taken_back
    });
    // It had waited once before.
    assert!(elapsed < LONGEST);
    // The pool works as before.
    assert_eq!(in_task(&pool, || here().1), Some(0));
    assert_eq!(pool.broadcast(|_| here().1), [Some(0)]);
}

#[test]
fn a_thread_waits_for_its_index_for_100_ms_without_progress() {
    let pool = single();
    let elapsed = in_task(&pool, || {
        let ((send, received), (go_on, may_go_on)) = (channel(), channel());
        crate::spawn(move || {
            send.send(Instant::now()).unwrap();
            may_go_on.recv_timeout(LONGEST).unwrap();
        });
        let begun = crate::blocking(|| received.recv_timeout(LONGEST)).unwrap();
        let elapsed = begun.elapsed();
        go_on.send(()).unwrap();
        elapsed
    });
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?}");
}

/// Without replacements, a worker that waits for tasks runs them itself.
#[test]
fn a_waiting_worker_keeps_its_index_if_there_is_no_replacement() {
    let pool = Pool::builder().workers(1).replacements(0).own_threads_only().build().unwrap();
    let places = in_task(&pool, || {
        let mut there = None;
        crate::scope(|scope| scope.spawn(|_| there = Some(here())));
        (there, here())
    });
    assert_eq!(places.0, Some(places.1));
    let _held = hold(&pool, 0);
}
