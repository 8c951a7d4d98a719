//! The order in which a worker runs the tasks that it has spawned: newest first, FIFO, or oldest
//! first.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use common::{on_worker, pools};
use locksley::{Pool, Scope, Spawn, Worker};

/// Records the number of tasks that have begun before this one. Each task writes its own variable,
/// so only the pool orders the accesses, and ThreadSanitizer checks that it does.
struct Start<'s> {
    begun: &'s AtomicUsize,
    start: &'s mut usize,
}

impl Start<'_> {
    fn record(self) {
        *self.start = self.begun.fetch_add(1, Ordering::Relaxed);
    }
}

/// The starts of `number` tasks, which `spawn_all` spawns.
fn starts_of(number: usize, spawn_all: impl FnOnce(&AtomicUsize, &mut [usize])) -> Vec<usize> {
    let (begun, mut starts) = (AtomicUsize::new(0), vec![usize::MAX; number]);
    spawn_all(&begun, &mut starts);
    let mut all = starts.clone();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..number), "each task began once");
    starts
}

/// The order in which a single worker runs ten tasks that `spawn` spawns.
fn order_of(
    pool: &Pool,
    spawn: impl for<'s> Fn(&Scope<'s>, usize, Start<'s>) + Sync,
) -> Vec<usize> {
    let starts = starts_of(10, |begun, starts| {
        // Not `Pool::install`: a guest would be a second worker.
        locksley::extend::install(pool, |_| {
            locksley::in_place_scope(|scope| {
                for (n, start) in starts.iter_mut().enumerate() {
                    spawn(scope, n, Start { begun, start });
                }
            });
        });
    });
    let mut order = Vec::from_iter(0..10);
    order.sort_by_key(|&n| starts[n]);
    order
}

#[test]
fn a_single_worker_keeps_the_chosen_order() {
    let pool = Pool::new(1).unwrap();
    let newest_first = order_of(&pool, |scope, _, start| scope.spawn(|_| start.record()));
    assert_eq!(newest_first, Vec::from_iter((0..10).rev()));
    let fifo =
        order_of(&pool, |scope, _, start| scope.spawn_with(Spawn::Fifo, |_, _| start.record()));
    assert_eq!(fifo, Vec::from_iter(0..10));

    let pool = Pool::builder().workers(1).oldest_first().build().unwrap();
    let oldest_first = order_of(&pool, |scope, _, start| scope.spawn(|_| start.record()));
    assert_eq!(oldest_first, Vec::from_iter(0..10));
}

#[test]
fn a_single_worker_keeps_the_order_of_detached_tasks() {
    let pool = Pool::new(1).unwrap();
    let (sender, receiver) = channel();
    pool.install(|_| {
        for n in 0..10 {
            let sender = sender.clone();
            locksley::spawn_with(Spawn::Fifo, move || {
                on_worker(|_| {
                    for m in 0..10 {
                        let sender = sender.clone();
                        locksley::spawn_with(Spawn::Fifo, move || sender.send(n * 10 + m).unwrap());
                    }
                })
            });
        }
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..100));
}

#[test]
fn both_orders_hold_in_one_scope() {
    let pool = Pool::new(1).unwrap();
    let order = order_of(&pool, |scope, n, start| match n % 2 {
        0 => scope.spawn_with(Spawn::Fifo, |_, _| start.record()),
        _ => scope.spawn(|_| start.record()),
    });
    assert!(order.iter().filter(|&&n| n % 2 == 0).is_sorted());
    assert!(order.iter().rev().filter(|&&n| n % 2 == 1).is_sorted());
    assert_eq!(order.len(), 10);
}

/// Thieves take the words of the FIFO in any order, and the tasks begin in order nevertheless.
#[test]
fn fifo_tasks_begin_in_order_on_all_workers() {
    for pool in pools() {
        // A worker that has taken a task can be suspended before the task records its start, so the
        // starts have no exact order. But each task starts once.
        let starts = starts_of(300, |begun, starts| {
            locksley::extend::install(&pool, |_| {
                locksley::in_place_scope(|scope| {
                    for start in starts {
                        scope.spawn_with(Spawn::Fifo, move |_, _| Start { begun, start }.record());
                    }
                });
            });
        });
        if pool.workers() == 1 {
            assert_eq!(starts, Vec::from_iter(0..300));
        }
    }
}

#[test]
fn fifo_tasks_may_be_spawned_from_other_pools_and_threads() {
    let (pool, other) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
    let starts = starts_of(10, |begun, starts| {
        pool.in_place_scope(|scope| {
            for (n, start) in starts.iter_mut().enumerate() {
                let spawn = move || {
                    scope.spawn_with(Spawn::Fifo, move |_, _| Start { begun, start }.record())
                };
                if n % 2 == 0 { spawn() } else { other.install(|_| spawn()) }
            }
        });
    });
    assert_eq!(starts, Vec::from_iter(0..10));
    let (sender, receiver) = channel();
    (0..10).for_each(|n| {
        let sender = sender.clone();
        pool.spawn_with(Spawn::Fifo, move |_| sender.send(n).unwrap());
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..10));
}

#[test]
fn fifo_tasks_run_while_their_worker_is_stuck() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..100 {
        let flags: Vec<_> = (0..20).map(|_| AtomicBool::new(false)).collect();
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                flags.iter().for_each(|flag| {
                    scope.spawn_with(Spawn::Fifo, move |_, _| flag.store(true, Ordering::Release));
                });
                while !flags.iter().all(|flag| flag.load(Ordering::Acquire)) {
                    thread::yield_now();
                }
            });
        });
    }
}

#[test]
fn oldest_first_runs_all_tasks() {
    fn fib(w: &Worker, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
        a + b
    }
    for workers in [1, 2, 5] {
        let pool = Pool::builder().workers(workers).oldest_first().build().unwrap();
        assert_eq!(pool.install(|w| fib(w, 18)), 2584);
        let count = AtomicUsize::new(0);
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                for _ in 0..500 {
                    scope.spawn(|_| {
                        on_worker(|w| {
                            count.fetch_add(fib(w, 5) as usize, Ordering::Relaxed);
                        })
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 2500);
    }
}
