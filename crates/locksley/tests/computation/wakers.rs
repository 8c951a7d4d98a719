//! Waits that are served and not looked at, wakers in between, waits that change their tasks.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use locksley::sync::{JoinCounter, Mutex, Semaphore};
use locksley::{Pool, task};

use crate::foreign::{Foreign, GivenUp};
use crate::{pools, stuck, waits};

/// Whoever wakes it keeps the waker, and drops it when it waits for something else.
#[test]
fn a_waker_that_was_used_is_dropped_late() {
    for pool in pools() {
        let (foreign, woken) = (&GivenUp::default(), &AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let waker = foreign.waker();
                woken.store(true, Ordering::Release);
                waker.wake_by_ref();
                thread::sleep(Duration::from_millis(10));
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                all.spawn("waits", async move {
                    let mut foreign = pin!(foreign.wait());
                    poll_fn(|context| {
                        assert!(foreign.as_mut().poll(context).is_pending());
                        if woken.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                    drop(signal.acquire().await);
                });
            });
            assert_eq!(stuck(end), [waits("waits", &["signal"])]);
        });
    }
}

/// A wait is served that its task does not look at, because it waits for something foreign in between.
#[test]
fn a_wait_that_was_served_and_not_looked_at_does_not_count() {
    for pool in pools() {
        let (foreign, looked) = (&Foreign::default(), &AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                // The second time because it has been served.
                while looked.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(20));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let turn = all.own("turn", Semaphore::new(0));
                let given = turn.clone();
                all.spawn("takes its turn late", async move {
                    let mut turn = pin!(turn.acquire());
                    poll_fn(|context| {
                        assert!(turn.as_mut().poll(context).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                    poll_fn(|context| {
                        let polled = foreign.poll(context);
                        looked.fetch_add(1, Ordering::Release);
                        polled
                    })
                    .await;
                    turn.await.unwrap().forget();
                });
                all.spawn("gives", async move {
                    while looked.load(Ordering::Acquire) == 0 {
                        task::yield_now().await;
                    }
                    given.add_permits(1);
                });
            });
            assert_eq!(end, Ok(()));
        });
    }
}

#[test]
fn who_waits_for_both_at_once_is_waited_for() {
    for pool in pools() {
        let foreign = &Foreign::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let own = signal.clone();
                all.spawn("either", async move {
                    // The foreign one ends this wait, and then nobody sends the signal.
                    let mut wait = pin!(own.acquire());
                    let mut foreign = pin!(foreign.wait());
                    poll_fn(|context| {
                        assert!(wait.as_mut().poll(context).is_pending());
                        foreign.as_mut().poll(context)
                    })
                    .await;
                });
                all.spawn("never", async move { drop(signal.acquire().await) });
            });
            assert_eq!(stuck(end), [waits("never", &["signal"])]);
        });
    }
}

/// A wait of which the waker is another one, which somebody outside could keep.
#[test]
fn a_wait_with_a_waker_in_between_is_not_known() {
    let pool = Pool::new(1).unwrap();
    let foreign = Foreign::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            foreign.bring_about();
        });
        let end = pool.computation(|all| {
            let signal = all.own("signal", Semaphore::new(0));
            let foreign = &foreign;
            all.spawn("in between", async move {
                let mut wait = pin!(signal.acquire());
                poll_fn(|context| {
                    let inner = Waker::from(Arc::new(Passes(context.waker().clone())));
                    assert!(wait.as_mut().poll(&mut Context::from_waker(&inner)).is_pending());
                    foreign.poll(context)
                })
                .await;
            });
        });
        assert_eq!(end, Ok(()));
    });
}

struct Passes(Waker);

impl std::task::Wake for Passes {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[test]
fn a_wait_may_change_its_task() {
    type Wait<'c> = std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'c>>;
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let signal = all.own("signal", Semaphore::new(0));
        let handed_on = all.own("handed on", Mutex::new(None::<Wait<'_>>));
        let ready = all.own("ready", JoinCounter::new(1));
        let (place, sender) = (handed_on.clone(), ready.clone());
        all.spawn("begins", async move {
            let mut wait: Wait<'_> = Box::pin(async move { drop(signal.acquire().await) });
            poll_fn(|context| {
                assert!(wait.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            *place.lock().await = Some(wait);
            sender.signal();
            pending::<()>().await;
        });
        all.spawn("goes on", async move {
            ready.wait().await;
            let wait = handed_on.lock().await.take();
            wait.unwrap().await;
        });
    });
    assert_eq!(stuck(end), [waits("begins", &[]), waits("goes on", &["signal"])]);
}
