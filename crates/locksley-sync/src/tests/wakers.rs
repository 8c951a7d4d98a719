//! Wakers that panic when they are called or dropped, at each step of another thread.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

use super::polled::Polled;
use super::stall::hold_at_each_step;
use crate::Semaphore;

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A waker that panics when it is dropped, as its clones do. During another panic it does not,
/// since the process would abort.
fn panicking_on_drop() -> ManuallyDrop<Waker> {
    const WAKER: RawWaker = RawWaker::new(ptr::null(), &TABLE);
    static TABLE: RawWakerVTable = RawWakerVTable::new(|_| WAKER, |_| (), |_| (), panic_on_drop);
    fn panic_on_drop(_: *const ()) {
        if !std::thread::panicking() {
            resume_unwind(Box::new("dropped"));
        }
    }
    // SAFETY: the functions do nothing with the data, and may be called by any thread.
    ManuallyDrop::new(unsafe { Waker::from_raw(WAKER) })
}

/// A waker that panics when it is called.
struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("called"));
    }
}

/// Acquires permits, and releases them at once.
fn visit(semaphore: &Arc<Semaphore>, permits: usize) -> Wait {
    let semaphore = Arc::clone(semaphore);
    Box::pin(async move { drop(semaphore.acquire_many(permits).await) })
}

/// Acquires a permit, and forgets it.
fn keep(semaphore: &Arc<Semaphore>) -> impl Future<Output = ()> + Send + 'static {
    let semaphore = Arc::clone(semaphore);
    async move { semaphore.acquire().await.unwrap().forget() }
}

/// Polls, and drops the future if it is ready. Returns `None` if that panicked.
fn poll(wait: &mut Option<Wait>, waker: &Waker) -> Option<Poll<()>> {
    let mut taken = wait.take()?;
    let polled = || taken.as_mut().poll(&mut Context::from_waker(waker));
    let polled = catch_unwind(AssertUnwindSafe(polled)).ok();
    if polled.is_some_and(|polled| polled.is_pending()) {
        *wait = Some(taken);
    }
    polled
}

fn drop_and_catch<T>(value: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

/// A semaphore with an empty queue.
fn with_queue() -> Arc<Semaphore> {
    let semaphore = Arc::new(Semaphore::new(0));
    let first = Polled::waiting(semaphore.acquire());
    drop((Polled::waiting(semaphore.acquire()), first));
    semaphore
}

struct World {
    semaphore: Arc<Semaphore>,
    waits: StdMutex<Option<Wait>>,
}

/// Runs `attempt` until `happened` is true. Threads of other tests use the same hazard domain, so a
/// held thread takes more steps at times, and the step that matters may not be among those held.
fn until(happened: impl Fn() -> bool, attempt: impl Fn()) {
    for _ in 0..50 {
        attempt();
        if happened() {
            return;
        }
    }
    panic!("it never happened");
}

/// The future sees its outcome before it is woken. So it drops its waker, which panics.
#[test]
fn a_panic_of_a_dropped_waker_keeps_no_permit() {
    for has_queue in [false, true] {
        let world = || {
            let semaphore = if has_queue { with_queue() } else { Arc::new(Semaphore::new(0)) };
            let mut waits = Some(visit(&semaphore, 1));
            assert_eq!(poll(&mut waits, &panicking_on_drop()), Some(Poll::Pending));
            World { semaphore, waits: StdMutex::new(waits) }
        };
        let dropped = StdMutex::new(false);
        let happened = || *dropped.lock().unwrap();
        until(happened, || {
            hold_at_each_step(
                2,
                world,
                |world| world.semaphore.add_permits(1),
                |world, _| {
                    let mut waits = world.waits.lock().unwrap();
                    *dropped.lock().unwrap() |= poll(&mut waits, &panicking_on_drop()).is_none();
                    drop_and_catch(waits.take());
                },
                |world, ()| assert_eq!(world.semaphore.available_permits(), 1),
            )
        });
    }
}

/// A permit is released just before the wait begins. So its waker is dropped unused, and panics.
#[test]
fn a_panic_of_an_unused_waker_keeps_no_permit() {
    for has_queue_meanwhile in [false, true] {
        let dropped = StdMutex::new(false);
        let happened = || *dropped.lock().unwrap();
        until(happened, || {
            hold_at_each_step(
                2,
                || Arc::new(Semaphore::new(0)),
                |semaphore| {
                    let mut waits = Some(visit(semaphore, 1));
                    *dropped.lock().unwrap() |= poll(&mut waits, &panicking_on_drop()).is_none();
                    drop_and_catch(waits);
                },
                |semaphore, _| {
                    if has_queue_meanwhile {
                        let first = Polled::waiting(semaphore.acquire());
                        drop((Polled::waiting(semaphore.acquire()), first));
                    }
                    semaphore.add_permits(1);
                },
                |semaphore, ()| assert_eq!(semaphore.available_permits(), 1),
            )
        });
    }
}

#[test]
fn a_panic_of_a_dropped_waker_keeps_no_task_waiting() {
    let semaphore = Arc::new(Semaphore::new(1));
    let mut first = Some(visit(&semaphore, 2));
    assert_eq!(poll(&mut first, &panicking_on_drop()), Some(Poll::Pending));
    // There are enough permits for this one without the first.
    let mut second = Polled::waiting(semaphore.acquire());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first))).is_err());
    drop(second.finish());
    assert_eq!(semaphore.available_permits(), 1);
}

/// A release first reads how many permits are taken, and so wakes a task that a held thread has
/// served and not woken. Its waker panics. The permits are released in spite of that.
#[test]
fn a_panic_of_a_waker_in_a_release_keeps_no_permit() {
    struct World {
        semaphore: Arc<Semaphore>,
        first: StdMutex<Option<Wait>>,
        second: StdMutex<Option<Wait>>,
        last: StdMutex<Polled<'static, ()>>,
    }
    let gives = StdMutex::new((false, false));
    let both_happened = || *gives.lock().unwrap() == (true, true);
    until(both_happened, || {
        hold_at_each_step(
            3,
            || {
                let semaphore = with_queue();
                // The largest number. So the next release has to read how many are taken.
                semaphore.add_permits(Semaphore::MAX_PERMITS);
                semaphore.try_acquire_many(Semaphore::MAX_PERMITS - 1).unwrap().forget();
                let mut first = Some(visit(&semaphore, 2));
                assert_eq!(poll(&mut first, Waker::noop()), Some(Poll::Pending));
                let mut second: Option<Wait> = Some(Box::pin(keep(&semaphore)));
                let waker = Waker::from(Arc::new(Panicking));
                assert_eq!(poll(&mut second, &waker), Some(Poll::Pending));
                let last = StdMutex::new(Polled::waiting(keep(&semaphore)));
                World { semaphore, first: first.into(), second: second.into(), last }
            },
            // The permits are enough for the next one, and its waker panics.
            |world| drop_and_catch(world.first.lock().unwrap().take()),
            |world, _| {
                let give = AssertUnwindSafe(|| world.semaphore.add_permits(1));
                let panicked = catch_unwind(give).is_err();
                let mut gives = gives.lock().unwrap();
                *gives = (gives.0 || !panicked, gives.1 || panicked);
            },
            |world, ()| {
                let mut second = world.second.lock().unwrap();
                assert_eq!(poll(&mut second, Waker::noop()), Some(Poll::Ready(())));
                world.last.lock().unwrap().finish();
                assert_eq!(world.semaphore.available_permits(), 0);
            },
        )
    });
}
