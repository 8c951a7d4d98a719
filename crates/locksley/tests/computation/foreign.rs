//! What somebody outside brings about, or gives up.

use std::future::poll_fn;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use locksley::sync::{JoinCounter, Mutex, Semaphore};

use crate::{pools, stuck, waits};

/// Something that another thread brings about after some time.
#[derive(Default)]
pub(crate) struct Foreign(StdMutex<(bool, Option<Waker>)>);

impl Foreign {
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }

    pub(crate) async fn wait(&self) {
        poll_fn(|context| self.poll(context)).await;
    }

    pub(crate) fn bring_about(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[test]
fn who_waits_for_something_foreign_is_waited_for() {
    for pool in pools() {
        let (foreign, done) = (Foreign::default(), AtomicBool::new(false));
        let (foreign, done_here) = (&foreign, &done);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(50));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let sender = signal.clone();
                all.spawn("sends", async move {
                    foreign.wait().await;
                    sender.add_permits(1);
                });
                all.spawn("waits", async move {
                    signal.acquire().await.unwrap().forget();
                    done_here.store(true, Ordering::Relaxed);
                });
            });
            assert_eq!(end, Ok(()));
        });
        assert!(done.into_inner());
    }
}

/// Something that another thread was to bring about, and which it gives up: it drops the waker, which it gets once.
#[derive(Default)]
pub(crate) struct GivenUp(StdMutex<(bool, Option<Waker>)>);

impl GivenUp {
    pub(crate) async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if !std::mem::replace(&mut state.0, true) {
                state.1 = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The waker, when it is there.
    pub(crate) fn waker(&self) -> Waker {
        loop {
            if let Some(waker) = self.0.lock().unwrap().1.take() {
                return waker;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn whom_somebody_outside_has_given_up_is_stuck() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign = &GivenUp::default();
            thread::scope(|scope| {
                scope.spawn(|| drop(foreign.waker()));
                let end = pool.computation(|all| all.spawn("alone", foreign.wait()));
                assert_eq!(stuck(end), [waits("alone", &[])]);
            });
        }
    }
}

/// Somebody outside drops the last waker that is left, and others wait for the one whose it was.
#[test]
fn who_waits_for_one_that_somebody_outside_has_given_up_is_stuck() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign = &GivenUp::default();
            thread::scope(|scope| {
                scope.spawn(|| drop(foreign.waker()));
                let end = pool.computation(|all| {
                    let lock = all.own("lock", Mutex::new(()));
                    let locked = all.own("locked", JoinCounter::new(1));
                    let (held, signal) = (lock.clone(), locked.clone());
                    all.spawn("holds", async move {
                        let _guard = held.lock().await;
                        signal.signal();
                        foreign.wait().await;
                    });
                    for name in ["first", "second"] {
                        let (lock, locked) = (lock.clone(), locked.clone());
                        all.spawn(name, async move {
                            locked.wait().await;
                            drop(lock.lock().await);
                        });
                    }
                });
                let expected =
                    [waits("holds", &[]), waits("first", &["lock"]), waits("second", &["lock"])];
                assert_eq!(stuck(end), expected);
            });
        }
    }
}

#[test]
fn many_whom_somebody_outside_gives_up_one_after_the_other_are_stuck_together() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign: &[GivenUp; 4] = &Default::default();
            thread::scope(|scope| {
                scope.spawn(|| foreign.iter().for_each(|foreign| drop(foreign.waker())));
                let end = pool.computation(|all| {
                    foreign.iter().for_each(|foreign| all.spawn("one", foreign.wait()));
                });
                assert_eq!(stuck(end), [(); 4].map(|()| waits("one", &[])));
            });
        }
    }
}
