//! Wakers that panic when they are called or dropped, at each step of what somebody else does:
//! nothing is lost.

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

/// A waker that panics when it is dropped, as do all that are cloned from it; but not in a panic,
/// which would end the process.
fn brittle() -> ManuallyDrop<Waker> {
    const BRITTLE: RawWaker = RawWaker::new(ptr::null(), &TABLE);
    static TABLE: RawWakerVTable = RawWakerVTable::new(|_| BRITTLE, |_| (), |_| (), break_it);
    fn break_it(_: *const ()) {
        if !std::thread::panicking() {
            resume_unwind(Box::new("broken"));
        }
    }
    // SAFETY: the functions do nothing with the data, and may be called by any thread.
    ManuallyDrop::new(unsafe { Waker::from_raw(BRITTLE) })
}

/// A waker that panics when it is called.
struct Cracked;

impl Wake for Cracked {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("cracked"));
    }
}

/// Gets so many permits, and gives them back at once.
fn visit(semaphore: &Arc<Semaphore>, permits: usize) -> Wait {
    let semaphore = Arc::clone(semaphore);
    Box::pin(async move { drop(semaphore.acquire_many(permits).await) })
}

/// Gets a permit, and keeps it.
fn keep(semaphore: &Arc<Semaphore>) -> impl Future<Output = ()> + Send + 'static {
    let semaphore = Arc::clone(semaphore);
    async move { semaphore.acquire().await.unwrap().forget() }
}

/// Polls, and drops it unless it is to wait. `None` if that panicked.
fn poll(wait: &mut Option<Wait>, waker: &Waker) -> Option<Poll<()>> {
    let mut taken = wait.take()?;
    let polled = || taken.as_mut().poll(&mut Context::from_waker(waker));
    let polled = catch_unwind(AssertUnwindSafe(polled)).ok();
    if polled.is_some_and(|polled| polled.is_pending()) {
        *wait = Some(taken);
    }
    polled
}

fn drop_all_the_same<T>(value: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

/// A semaphore where nobody waits, but some did.
fn with_a_line() -> Arc<Semaphore> {
    let semaphore = Arc::new(Semaphore::new(0));
    let first = Polled::waiting(semaphore.acquire());
    drop((Polled::waiting(semaphore.acquire()), first));
    semaphore
}

struct World {
    semaphore: Arc<Semaphore>,
    waits: StdMutex<Option<Wait>>,
}

/// Does it until it came to that. Other tests' threads share the places that wait, so what a held
/// thread does takes more steps at times, and the one that matters may be passed over.
fn until(came_to_that: impl Fn() -> bool, it: impl Fn()) {
    for _ in 0..50 {
        it();
        if came_to_that() {
            return;
        }
    }
    panic!("it never came to that");
}

/// It is served, and takes what it has before it was woken; then its waker is still there, and
/// breaks.
#[test]
fn a_waker_that_breaks_takes_no_permit_with_it() {
    for has_line in [false, true] {
        let world = || {
            let semaphore = if has_line { with_a_line() } else { Arc::new(Semaphore::new(0)) };
            let mut waits = Some(visit(&semaphore, 1));
            assert_eq!(poll(&mut waits, &brittle()), Some(Poll::Pending));
            World { semaphore, waits: StdMutex::new(waits) }
        };
        let broken = StdMutex::new(false);
        let came_to_that = || *broken.lock().unwrap();
        until(came_to_that, || {
            hold_at_each_step(
                2,
                world,
                |world| world.semaphore.add_permits(1),
                |world, _| {
                    let mut waits = world.waits.lock().unwrap();
                    *broken.lock().unwrap() |= poll(&mut waits, &brittle()).is_none();
                    drop_all_the_same(waits.take());
                },
                |world, ()| assert_eq!(world.semaphore.available_permits(), 1),
            )
        });
    }
}

/// It is about to wait, alone, when there is a permit all at once; then the waker that it has put
/// ready for nothing breaks.
#[test]
fn a_waker_that_breaks_unused_takes_no_permit_with_it() {
    for has_line_meanwhile in [false, true] {
        let broken = StdMutex::new(false);
        let came_to_that = || *broken.lock().unwrap();
        until(came_to_that, || {
            hold_at_each_step(
                2,
                || Arc::new(Semaphore::new(0)),
                |semaphore| {
                    let mut waits = Some(visit(semaphore, 1));
                    *broken.lock().unwrap() |= poll(&mut waits, &brittle()).is_none();
                    drop_all_the_same(waits);
                },
                |semaphore, _| {
                    if has_line_meanwhile {
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
fn a_waker_that_breaks_keeps_nobody_waiting() {
    let semaphore = Arc::new(Semaphore::new(1));
    let mut first = Some(visit(&semaphore, 2));
    assert_eq!(poll(&mut first, &brittle()), Some(Poll::Pending));
    // This one has enough when the first is gone.
    let mut second = Polled::waiting(semaphore.acquire());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first))).is_err());
    drop(second.finish());
    assert_eq!(semaphore.available_permits(), 1);
}

/// Who gives looks how much there is, before it does; and finds somebody whom a held thread has
/// served and not woken, whose waker panics. What is to be given is given all the same.
#[test]
fn a_waker_that_panics_under_a_giver_takes_no_permit_with_it() {
    struct World {
        semaphore: Arc<Semaphore>,
        leaves: StdMutex<Option<Wait>>,
        cracked: StdMutex<Option<Wait>>,
        last: StdMutex<Polled<'static, ()>>,
    }
    let gives = StdMutex::new((false, false));
    let came_to_both = || *gives.lock().unwrap() == (true, true);
    until(came_to_both, || {
        hold_at_each_step(
            3,
            || {
                let semaphore = with_a_line();
                // As many as there may be; so who gives more has to look how many of them have been
                // taken.
                semaphore.add_permits(Semaphore::MAX_PERMITS);
                semaphore.try_acquire_many(Semaphore::MAX_PERMITS - 1).unwrap().forget();
                let mut leaves = Some(visit(&semaphore, 2));
                assert_eq!(poll(&mut leaves, Waker::noop()), Some(Poll::Pending));
                let mut cracked: Option<Wait> = Some(Box::pin(keep(&semaphore)));
                let waker = Waker::from(Arc::new(Cracked));
                assert_eq!(poll(&mut cracked, &waker), Some(Poll::Pending));
                let last = StdMutex::new(Polled::waiting(keep(&semaphore)));
                World { semaphore, leaves: leaves.into(), cracked: cracked.into(), last }
            },
            // It leaves what there is to the next one, whose waker panics.
            |world| drop_all_the_same(world.leaves.lock().unwrap().take()),
            |world, _| {
                let give = AssertUnwindSafe(|| world.semaphore.add_permits(1));
                let panicked = catch_unwind(give).is_err();
                let mut gives = gives.lock().unwrap();
                *gives = (gives.0 || !panicked, gives.1 || panicked);
            },
            |world, ()| {
                let mut cracked = world.cracked.lock().unwrap();
                assert_eq!(poll(&mut cracked, Waker::noop()), Some(Poll::Ready(())));
                world.last.lock().unwrap().finish();
                assert_eq!(world.semaphore.available_permits(), 0);
            },
        )
    });
}
