//! Each kind of wait is known, and who is stuck is named.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

use locksley::Pool;
use locksley::sync::{Barrier, Condvar, JoinCounter, Mutex, Semaphore};

use crate::{Counted, pools, stuck, waits};

#[test]
fn three_in_a_ring() {
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let end = pool.computation(|all| {
            let seats = ["a", "b", "c"].map(|name| all.own(name, Semaphore::new(0)));
            for (n, name) in ["first", "second", "third"].into_iter().enumerate() {
                let (mine, next) = (seats[n].clone(), seats[(n + 1) % 3].clone());
                let counted = Counted(&dropped);
                all.spawn(name, async move {
                    let _counted = counted;
                    mine.acquire().await.unwrap().forget();
                    next.add_permits(1);
                });
            }
        });
        let expected = [waits("first", &["a"]), waits("second", &["b"]), waits("third", &["c"])];
        assert_eq!(stuck(end), expected);
        assert_eq!(dropped.into_inner(), 3, "they were given up");
    }
}

#[test]
fn the_ring_goes_round_if_one_begins() {
    for pool in pools() {
        let end = pool.computation(|all| {
            let seats = [(); 3].map(|()| all.own("seat", Semaphore::new(0)));
            for n in 0..3 {
                let (mine, next) = (seats[n].clone(), seats[(n + 1) % 3].clone());
                all.spawn("one", async move {
                    for _ in 0..1000 {
                        mine.acquire().await.unwrap().forget();
                        next.add_permits(1);
                    }
                });
            }
            seats[0].add_permits(1);
            "the body's"
        });
        assert_eq!(end, Ok("the body's"));
    }
}

#[test]
fn each_kind_of_wait_is_known() {
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let semaphore = all.own("semaphore", Semaphore::new(3));
        all.spawn("asks for too much", async move {
            drop(semaphore.acquire_many(4).await);
        });
        let mutex = all.own("mutex", Mutex::new(0));
        let condvar = all.own("condvar", Condvar::new());
        let lock = mutex.clone();
        all.spawn("waits for a change", async move {
            let guard = lock.lock().await;
            drop(condvar.wait_while(guard, |number| *number == 0).await);
        });
        let keeper = mutex.clone();
        let barrier = all.own("barrier", Barrier::new(2));
        all.spawn("waits for a second one", async move {
            barrier.wait().await;
            drop(keeper);
        });
        let counter = all.own("counter", JoinCounter::new(1));
        all.spawn("waits for a signal", async move { counter.wait().await });
        let thread = all.create("thread", 1, async |_| ());
        drop(thread);
    });
    let expected = [
        waits("asks for too much", &["semaphore"]),
        waits("waits for a change", &["condvar"]),
        waits("waits for a second one", &["barrier"]),
        waits("waits for a signal", &["counter"]),
        waits("thread", &["signals"]),
    ];
    assert_eq!(stuck(end), expected);
}

/// Polls both, with one waker.
pub(crate) async fn both(one: impl Future, other: impl Future) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut done = [false; 2];
    poll_fn(|context| {
        done[0] = done[0] || one.as_mut().poll(context).is_ready();
        done[1] = done[1] || other.as_mut().poll(context).is_ready();
        if done == [true; 2] { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn one_task_may_wait_for_several() {
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let [left, right] = ["left", "right"].map(|name| all.own(name, Semaphore::new(0)));
        all.spawn("both", async move { both(left.acquire(), right.acquire()).await });
    });
    assert_eq!(stuck(end), [waits("both", &["left", "right"])]);
}

#[test]
fn who_has_left_its_waker_nowhere_is_stuck() {
    let pool = Pool::new(1).unwrap();
    let end = pool.computation(|all| all.spawn("waits for ever", pending()));
    assert_eq!(
        end.unwrap_err().to_string(),
        "no task of the computation can go on: 'waits for ever' waits for nothing that could wake it"
    );
}
