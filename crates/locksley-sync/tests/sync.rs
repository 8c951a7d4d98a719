//! Stress tests with more threads than processors: nothing is lost or doubled, and no wait is
//! endless. Some waits are dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use locksley::{Pool, task};
use locksley_sync::{Barrier, Condvar, Mutex, OnceCell, Semaphore};
use pollster::block_on;

const THREADS: usize = 6;

/// A generator of random choices (splitmix64, Steele, Lea and Flood 2014).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % limit as u64) as usize
    }
}

/// Waits for a future. One time in three, it polls it a few times, and drops it.
fn wait_or_cancel<F: Future>(future: F, choices: &mut Choices) -> Option<F::Output> {
    if choices.below(3) > 0 {
        return Some(block_on(future));
    }
    let mut future = pin!(future);
    for _ in 0..choices.below(4) {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(value);
        }
        thread::yield_now();
    }
    None
}

/// Runs a function in all threads, with their numbers.
fn in_all_threads(run: impl Fn(usize, &mut Choices) + Send + Sync + 'static) {
    let run = Arc::new(run);
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let run = Arc::clone(&run);
            thread::spawn(move || run(number, &mut Choices(number as u64)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn permits_are_conserved() {
    const PERMITS: usize = 3;
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let (there, held) = (Arc::clone(&semaphore), AtomicUsize::new(0));
    in_all_threads(move |_, choices| {
        for _ in 0..3_000 {
            let permits = 1 + choices.below(PERMITS);
            let permit = if choices.below(4) == 0 {
                there.try_acquire_many(permits).ok()
            } else {
                wait_or_cancel(there.acquire_many(permits), choices).map(Result::unwrap)
            };
            if let Some(permit) = permit {
                let before = held.fetch_add(permits, Ordering::Relaxed);
                assert!(before + permits <= PERMITS, "{before} and {permits}");
                if choices.below(8) == 0 {
                    thread::yield_now();
                }
                held.fetch_sub(permits, Ordering::Relaxed);
                drop(permit);
            }
        }
    });
    assert_eq!(semaphore.available_permits(), PERMITS);
}

#[test]
fn a_closed_semaphore_dismisses_all() {
    let (semaphore, waiting_count) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let waiting: Vec<_> = (0..THREADS)
        .map(|_| {
            let (semaphore, waiting_count) = (Arc::clone(&semaphore), Arc::clone(&waiting_count));
            thread::spawn(move || {
                let mut acquire = pin!(semaphore.acquire());
                let polled = acquire.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                waiting_count.fetch_add(1, Ordering::Release);
                block_on(acquire).is_err()
            })
        })
        .collect();
    // All are in the queue. Some threads block already, others are about to.
    while waiting_count.load(Ordering::Acquire) < THREADS {
        thread::yield_now();
    }
    semaphore.close();
    assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
}

#[test]
fn the_lock_excludes() {
    let mutex = Arc::new(Mutex::new((0_usize, 0_usize)));
    let (there, locked) = (Arc::clone(&mutex), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&locked);
    in_all_threads(move |_, choices| {
        for _ in 0..5_000 {
            if let Some(mut guard) = wait_or_cancel(there.lock(), choices) {
                count.fetch_add(1, Ordering::Relaxed);
                // Two numbers, which are equal while the lock is free.
                guard.0 += 1;
                if choices.below(16) == 0 {
                    thread::yield_now();
                }
                guard.1 += 1;
                assert_eq!(guard.0, guard.1);
            }
        }
    });
    let locked = locked.load(Ordering::Relaxed);
    assert_eq!(*mutex.try_lock().unwrap(), (locked, locked));
}

#[test]
fn a_buffer_with_two_conditions() {
    const ITEMS: usize = 3_000;
    const ROOM: usize = 4;
    struct Buffer {
        items: Mutex<Vec<usize>>,
        not_full: Condvar,
        not_empty: Condvar,
        sum: AtomicUsize,
        taken: AtomicUsize,
    }
    let buffer = Arc::new(Buffer {
        items: Mutex::default(),
        not_full: Condvar::new(),
        not_empty: Condvar::new(),
        sum: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
    });
    let there = Arc::clone(&buffer);
    in_all_threads(move |number, choices| {
        let buffer = &*there;
        for item in 0..ITEMS {
            let once = async || {
                let mut guard = buffer.items.lock().await;
                if number % 2 == 0 {
                    guard = buffer.not_full.wait_while(guard, |items| items.len() == ROOM).await;
                    guard.push(item);
                    buffer.not_empty.notify_one();
                } else {
                    guard = buffer.not_empty.wait_while(guard, |items| items.is_empty()).await;
                    buffer.sum.fetch_add(guard.pop().unwrap(), Ordering::Relaxed);
                    buffer.taken.fetch_add(1, Ordering::Relaxed);
                    buffer.not_full.notify_one();
                }
            };
            // A dropped operation is repeated. A notification that it got goes to another.
            while wait_or_cancel(once(), choices).is_none() {}
        }
    });
    assert!(buffer.items.try_lock().unwrap().is_empty());
    assert_eq!(buffer.taken.load(Ordering::Relaxed), THREADS / 2 * ITEMS);
    let each: usize = (0..ITEMS).sum();
    assert_eq!(buffer.sum.load(Ordering::Relaxed), THREADS / 2 * each);
}

#[test]
fn all_are_notified() {
    let gate = Arc::new((Mutex::new(0_usize), Condvar::new()));
    let there = Arc::clone(&gate);
    in_all_threads(move |_, _| {
        for round in 1..=300 {
            block_on(async {
                let mut guard = there.0.lock().await;
                *guard += 1;
                // The last of each round notifies the others.
                if *guard == round * THREADS {
                    there.1.notify_all();
                }
                drop(there.1.wait_while(guard, |arrived| *arrived < round * THREADS).await);
            });
        }
    });
    assert_eq!(*gate.0.try_lock().unwrap(), 300 * THREADS);
}

#[test]
fn a_barrier_waits_for_all() {
    const ROUNDS: usize = 1_000;
    let barrier = Barrier::new(THREADS);
    let (arrived, leaders) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let led = Arc::clone(&leaders);
    in_all_threads(move |_, _| {
        for round in 0..ROUNDS {
            arrived.fetch_add(1, Ordering::Relaxed);
            let result = block_on(barrier.wait());
            led.fetch_add(usize::from(result.is_leader()), Ordering::Relaxed);
            assert!(arrived.load(Ordering::Relaxed) >= (round + 1) * THREADS);
        }
    });
    assert_eq!(leaders.load(Ordering::Relaxed), ROUNDS);
}

#[test]
fn cancelled_arrivals_do_not_count() {
    // One of two waits is cancelled often. A generation ends only when both wait.
    let barrier = Arc::new(Barrier::new(2));
    let there = Arc::clone(&barrier);
    let restless = thread::spawn(move || {
        let mut choices = Choices(1);
        let mut completed = 0;
        while completed < 500 {
            completed += usize::from(wait_or_cancel(there.wait(), &mut choices).is_some());
        }
        completed
    });
    // A generation that ends during a cancellation counts here, and not there.
    let mut completed = 0;
    while !restless.is_finished() {
        let mut wait = pin!(barrier.wait());
        loop {
            match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(_) => {
                    completed += 1;
                    break;
                }
                Poll::Pending if restless.is_finished() => break,
                Poll::Pending => thread::yield_now(),
            }
        }
    }
    // The last generation may end after the last poll.
    assert!(completed + 1 >= restless.join().unwrap());
}

#[test]
fn a_value_is_made_once() {
    for _ in 0..200 {
        let (cell, made) = (Arc::new(OnceCell::new()), AtomicUsize::new(0));
        let there = Arc::clone(&cell);
        in_all_threads(move |number, choices| {
            let get = there.get_or_init(async || {
                thread::yield_now();
                assert_eq!(made.fetch_add(1, Ordering::Relaxed), 0, "once");
                number
            });
            if let Some(value) = wait_or_cancel(get, choices) {
                assert_eq!(there.get(), Some(value));
            }
        });
    }
}

#[test]
fn signals_are_counted() {
    for round in 0..200 {
        let signals = Arc::new(Semaphore::new(0));
        let (there, sent) = (Arc::clone(&signals), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&sent);
        let waiter = {
            let (signals, sent) = (Arc::clone(&signals), Arc::clone(&sent));
            thread::spawn(move || {
                block_on(signals.acquire_many(THREADS * 10)).unwrap().forget();
                sent.load(Ordering::Relaxed)
            })
        };
        in_all_threads(move |_, _| {
            for _ in 0..10 {
                count.fetch_add(1, Ordering::Relaxed);
                there.add_permits(1);
            }
        });
        assert_eq!(waiter.join().unwrap(), THREADS * 10, "round {round}");
        assert_eq!(signals.available_permits(), 0);
    }
}

#[test]
fn tasks_that_wait_occupy_no_worker() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        // More tasks than workers contend for a mutex, and wait at a barrier.
        let (count, barrier) = (Arc::new(Mutex::new(0)), Arc::new(Barrier::new(20)));
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (count, barrier) = (Arc::clone(&count), Arc::clone(&barrier));
                pool.spawn_future(async move {
                    for _ in 0..50 {
                        let mut guard = count.lock().await;
                        task::yield_now().await;
                        *guard += 1;
                    }
                    barrier.wait().await.is_leader()
                })
            })
            .collect();
        let leaders: usize = tasks.into_iter().map(|task| usize::from(task.join().unwrap())).sum();
        assert_eq!((leaders, *count.try_lock().unwrap()), (1, 1000));
    }
}

#[test]
fn two_tasks_take_turns() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let turns = Arc::new([Semaphore::new(1), Semaphore::new(0)]);
        let log = Arc::new(std::sync::Mutex::new(Vec::new()));
        let players: Vec<_> = (0..2)
            .map(|me| {
                let (turns, log) = (Arc::clone(&turns), Arc::clone(&log));
                pool.spawn_future(async move {
                    for _ in 0..500 {
                        turns[me].acquire().await.unwrap().forget();
                        log.lock().unwrap().push(me);
                        turns[1 - me].add_permits(1);
                    }
                })
            })
            .collect();
        players.into_iter().for_each(|player| player.join().unwrap());
        let log = log.lock().unwrap();
        assert!(log.len() == 1000 && log.iter().enumerate().all(|(n, &player)| player == n % 2));
    }
}
