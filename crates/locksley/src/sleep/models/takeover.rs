//! Loom models of external threads that take over a sleeping worker.

use super::*;

/// Acts as worker 0 if that sleeps, and gives it back. Calls `act` in between.
fn call(external: usize, sleep: &Sleep, tasks: &Tasks, act: impl FnOnce()) {
    if let Some(worker) = sleep.take_over(external) {
        sleep.end_search(&WakeToken::default(), || tasks.are_left());
        act();
        let _ = sleep.give_back(worker, external, |_| tasks.are_left());
    }
}

/// The worker runs a task that comes before, during or after the call.
fn a_call_loses_no_task(notify: fn(&Sleep)) {
    check(3, move || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0)));
        let (worker, external) = (shared.clone(), shared.clone());
        let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
        let external = thread::spawn(move || call(0, &external.0, &external.1, || ()));
        shared.1.add_one();
        notify(&shared.0);
        external.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn loom_takeover_a_call_loses_no_pushed_task() {
    a_call_loses_no_task(|sleep| sleep.notify_pushed(&WakeToken::default()));
}

#[test]
fn loom_takeover_a_call_loses_no_sent_task() {
    a_call_loses_no_task(Sleep::notify_injected);
}

/// The external thread waits for what only the worker's own thread does, whenever that was
/// requested.
#[test]
fn loom_takeover_a_pinned_task_recalls_the_worker() {
    check(3, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), [Event::new(), Event::new()]));
        let (own, sender) = (shared.clone(), shared.clone());
        let own = thread::spawn(move || {
            let (sleep, [request, answer]) = &*own;
            sleep.begin_search();
            while !request.is_set() {
                sleep.sleep(0, false, |_| request.is_set());
            }
            answer.set();
            sleep.end_search(&WakeToken::default(), || false);
        });
        let sender = thread::spawn(move || {
            let (sleep, [request, _]) = &*sender;
            request.set();
            sleep.wake_own_thread(0);
        });
        let (sleep, [request, answer]) = &*shared;
        // The worker may wake up early, and find that an external thread acts as it.
        sleep.wake(0);
        if let Some(worker) = sleep.take_over(0) {
            sleep.end_search(&WakeToken::default(), || false);
            // An external thread looks once for what was sent before. Its task waits for the
            // answer.
            if !request.is_set() {
                while !answer.is_set() {
                    thread::yield_now();
                }
            }
            let _ = sleep.give_back(worker, 0, |_| request.is_set());
        }
        sender.join().unwrap();
        own.join().unwrap();
        assert_eq!((sleep.snapshot().asleep(), sleep.snapshot().searching()), (0, 0));
    });
}

/// A worker that is recalled sleeps again, and wakes up for a task that is sent then, at whichever
/// step its external thread is.
#[test]
fn loom_takeover_a_recalled_worker_sleeps_again() {
    check(2, || {
        let state = (Sleep::new(1, Limit::NONE), Tasks::new(0), Event::new());
        let shared = Arc::new(state);
        let (own, external) = (shared.clone(), shared.clone());
        let own = thread::spawn(move || {
            let (sleep, tasks, pinned) = &*own;
            sleep.begin_search();
            while !pinned.is_set() {
                sleep.sleep(0, false, |_| pinned.is_set());
            }
            while !tasks.take_one() {
                sleep.sleep(0, false, |_| tasks.are_left());
            }
            sleep.end_search(&WakeToken::default(), || false);
        });
        let external = thread::spawn(move || {
            let (sleep, tasks, pinned) = &*external;
            if let Some(worker) = sleep.take_over(0) {
                sleep.end_search(&WakeToken::default(), || false);
                let _ = sleep.give_back(worker, 0, |_| pinned.is_set() || tasks.are_left());
            }
        });
        let (sleep, tasks, pinned) = &*shared;
        // No preemptions are needed until both threads have begun.
        while sleep.snapshot().asleep() == 0 {
            thread::yield_now();
        }
        pinned.set();
        sleep.wake_own_thread(0);
        tasks.add_one();
        sleep.notify_injected();
        external.join().unwrap();
        own.join().unwrap();
        assert_eq!((sleep.snapshot().asleep(), sleep.snapshot().searching()), (0, 0));
    });
}

/// A pool in which one thread at a time may act, and the number of those that do.
type Alone = (Sleep, Tasks, AtomicUsize);

fn call_alone(external: usize, (sleep, tasks, acting): &Alone) {
    call(external, sleep, tasks, || {
        assert_eq!(acting.fetch_add(1, Ordering::Relaxed), 0);
        thread::yield_now();
        acting.fetch_sub(1, Ordering::Relaxed);
    });
}

fn two_external_threads(shared: &Arc<Alone>) {
    let other = shared.clone();
    let other = thread::spawn(move || call_alone(1, &other));
    call_alone(0, shared);
    other.join().unwrap();
}

/// Two external threads, one of which may come after the worker was recalled from the other: at
/// most one thread acts as the worker.
#[test]
fn loom_takeover_one_thread_acts_as_the_worker() {
    check(2, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0), AtomicUsize::new(0)));
        let own = shared.clone();
        let own = thread::spawn(move || work_once(0, &own.0, &own.1));
        two_external_threads(&shared);
        shared.1.add_one();
        shared.0.notify_injected();
        own.join().unwrap();
    });
}

/// Two external threads, and two workers that sleep beside the sentinel. One may be awake.
#[test]
fn loom_takeover_external_threads_keep_the_limit() {
    check(3, || {
        let sleep = Sleep::new(3, Limit { awake: 1, ..Limit::NONE });
        for worker in 0..3 {
            sleep.begin_search();
            sleep.sleepers.insert(worker);
            if !sleep.begin_sleep(false).is_sentinel() {
                sleep.takeovers[worker].begin_sleep();
            }
        }
        let shared = Arc::new((sleep, Tasks::new(0), AtomicUsize::new(0)));
        two_external_threads(&shared);
        assert_eq!((shared.0.snapshot().asleep(), shared.0.snapshot().searching()), (3, 0));
    });
}
