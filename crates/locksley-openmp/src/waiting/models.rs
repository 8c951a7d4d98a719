//! Loom's models of the event count and the lock.

use loom::sync::Arc;
use loom::thread;

use super::{Event, Lock};
use locksley_sys::primitive::{AtomicU32, Ordering, UnsafeCell};

#[test]
fn loom_no_notification_is_lost() {
    loom::model(|| {
        let shared = Arc::new((Event::new(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(1, Ordering::Relaxed);
            other.0.notify_all();
        });
        shared.0.wait(|| shared.1.load(Ordering::Relaxed) == 1);
        thread.join().unwrap();
    });
}

#[test]
fn loom_a_worker_that_waits_finds_the_work_that_comes() {
    loom::model(|| {
        let shared = Arc::new((Event::new(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(1, Ordering::Relaxed);
            other.0.notify_one();
        });
        let state = &shared.1;
        let is = |number| state.load(Ordering::Relaxed) == number;
        let work = || {
            let has_work = is(1);
            if has_work {
                state.store(2, Ordering::Relaxed);
            }
            has_work
        };
        shared.0.wait_and_work(|| is(2), work, || is(1));
        thread.join().unwrap();
    });
}

#[test]
fn loom_a_lock_excludes_and_is_passed_on() {
    loom::model(|| {
        let shared = Arc::new((Lock::new(), UnsafeCell::new(0)));
        let add = |shared: &(Lock, UnsafeCell<u32>)| {
            shared.0.acquire();
            // SAFETY: the lock is held.
            shared.1.with_mut(|it| unsafe { *it += 1 });
            shared.0.release();
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().unwrap();
        // SAFETY: the other thread has ended.
        assert_eq!(shared.1.with(|it| unsafe { *it }), 2);
    });
}
