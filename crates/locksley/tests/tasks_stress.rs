//! Simultaneous wakes, cancellations, ends and drops of tasks. Also run by ThreadSanitizer.

mod common;

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use common::{block_on, pools};
use locksley::task::{self, JoinHandle, yield_now};

/// A pseudorandom generator: xorshift64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Counts how often it is made, and dropped.
struct Counted(Arc<[AtomicUsize; 2]>);

impl Counted {
    fn new(counts: &Arc<[AtomicUsize; 2]>) -> Self {
        counts[0].fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counts))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

fn all_are_dropped(counts: &[AtomicUsize; 2]) -> bool {
    counts[0].load(Ordering::Relaxed) == counts[1].load(Ordering::Relaxed)
}

type Wakers = Arc<Mutex<Vec<Waker>>>;

/// A future that needs `rounds` wakes, and leaves its waker each time. It keeps plain data from
/// poll to poll.
fn waits(
    wakers: &Wakers,
    rounds: u64,
    counted: Counted,
) -> impl Future<Output = Counted> + Send + use<> {
    let (wakers, mut left, mut plain) = (Arc::clone(wakers), rounds, vec![0; 8]);
    let mut counted = Some(counted);
    poll_fn(move |context| {
        plain.iter_mut().for_each(|number| *number += 1);
        assert!(plain.iter().all(|number| *number == plain[0]));
        if left == 0 {
            return Poll::Ready(counted.take().unwrap());
        }
        left -= 1;
        wakers.lock().unwrap().push(context.waker().clone());
        Poll::Pending
    })
}

/// Drops, detaches, cancels, joins or awaits a task.
fn use_up(task: JoinHandle<Counted>, dice: &mut Dice) {
    match dice.roll(6) {
        0 => drop(task),
        1 => drop(task),
        2 => {
            task.abort();
            drop(task);
        }
        3 => {
            task.abort();
            let _ = task.join();
        }
        4 => assert!(task.join().is_ok()),
        _ => assert!(block_on(task).is_ok()),
    }
}

#[test]
fn wakes_cancellations_and_ends_at_once() {
    for (round, pool) in pools().enumerate() {
        let counts = Arc::new([0, 0].map(AtomicUsize::new));
        let wakers = Wakers::default();
        let (senders, over) = (4, AtomicUsize::new(0));
        thread::scope(|scope| {
            for seed in 0..senders {
                let (pool, counts, wakers, over) = (&pool, &counts, &wakers, &over);
                scope.spawn(move || {
                    let mut dice = Dice(1 + seed + 10 * round as u64);
                    for _ in 0..200 {
                        let rounds = dice.roll(4);
                        let future = waits(wakers, rounds, Counted::new(counts));
                        use_up(pool.spawn_future(future), &mut dice);
                    }
                    over.fetch_add(1, Ordering::Release);
                });
            }
            for seed in 0..2 {
                let (wakers, over) = (&wakers, &over);
                scope.spawn(move || {
                    let mut dice = Dice(99 + seed);
                    while over.load(Ordering::Acquire) < senders as usize {
                        let woken = std::mem::take(&mut *wakers.lock().unwrap());
                        for waker in woken {
                            match dice.roll(3) {
                                0 => waker.wake(),
                                1 => waker.wake_by_ref(),
                                _ => {
                                    waker.wake_by_ref();
                                    let another = waker.clone();
                                    drop(waker);
                                    another.wake();
                                }
                            }
                        }
                        thread::yield_now();
                    }
                });
            }
        });
        drop(pool);
        // Wakers keep no future alive, and late wakes do nothing.
        assert!(all_are_dropped(&counts), "round {round}: {counts:?}");
        std::mem::take(&mut *wakers.lock().unwrap()).into_iter().for_each(Waker::wake);
    }
}

#[test]
fn pools_are_dropped_while_tasks_do_everything() {
    for round in 0..3 {
        for pool in pools() {
            let counts = Arc::new([0, 0].map(AtomicUsize::new));
            let wakers = Wakers::default();
            let mut dice = Dice(7 + round);
            let mut tasks = Vec::new();
            for n in 0..100 {
                let (counts, inner) = (Arc::clone(&counts), Arc::clone(&wakers));
                let (rounds, counted) = (dice.roll(3), Counted::new(&counts));
                let task = pool.spawn_future(async move {
                    let _counted = counted;
                    let below = task::spawn(waits(&inner, rounds, Counted::new(&counts)));
                    if n % 2 == 0 {
                        yield_now().await;
                    }
                    if n % 3 == 0 {
                        below.abort();
                    }
                    drop(below.await);
                });
                tasks.push(task);
            }
            let waker = thread::spawn({
                let wakers = Arc::clone(&wakers);
                move || {
                    for _ in 0..50 {
                        let woken = std::mem::take(&mut *wakers.lock().unwrap());
                        woken.into_iter().for_each(Waker::wake);
                        thread::yield_now();
                    }
                }
            });
            drop(pool);
            assert!(all_are_dropped(&counts), "{counts:?}");
            waker.join().unwrap();
            for task in tasks {
                assert!(task.is_finished());
                drop(task);
            }
        }
    }
}
