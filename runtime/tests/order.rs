//! In which order a worker runs what it has spawned: newest first, or as spawned, or oldest first.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use common::pools;
use locksley::{Pool, Scope, Worker};

/// What a single worker makes of `spawn`, called with each of 0 to 9.
fn order_of(
    pool: &Pool,
    spawn: impl for<'s> Fn(&Scope<'s>, usize, &'s Mutex<Vec<usize>>) + Sync,
) -> Vec<usize> {
    let order = Mutex::new(Vec::new());
    pool.run(|w| w.scope(|_, scope| (0..10).for_each(|n| spawn(scope, n, &order))));
    order.into_inner().unwrap()
}

#[test]
fn a_single_worker_keeps_the_order_that_was_asked_for() {
    let pool = Pool::new(1).unwrap();
    let newest_first =
        order_of(&pool, |scope, n, order| scope.spawn(move |_| order.lock().unwrap().push(n)));
    assert_eq!(newest_first, Vec::from_iter((0..10).rev()));
    let as_spawned =
        order_of(&pool, |scope, n, order| scope.spawn_fifo(move |_| order.lock().unwrap().push(n)));
    assert_eq!(as_spawned, Vec::from_iter(0..10));

    let pool = Pool::builder().workers(1).oldest_first().build().unwrap();
    let oldest_first =
        order_of(&pool, |scope, n, order| scope.spawn(move |_| order.lock().unwrap().push(n)));
    assert_eq!(oldest_first, Vec::from_iter(0..10));
}

#[test]
fn detached_tasks_do_as_well() {
    let pool = Pool::new(1).unwrap();
    let (sender, receiver) = channel();
    pool.run(|w| {
        for n in 0..10 {
            let sender = sender.clone();
            w.spawn_fifo(move |w| {
                for m in 0..10 {
                    let sender = sender.clone();
                    w.spawn_fifo(move |_| sender.send(n * 10 + m).unwrap());
                }
            });
        }
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..100));
}

#[test]
fn both_orders_in_one_scope_do_not_disturb_each_other() {
    let pool = Pool::new(1).unwrap();
    let order = order_of(&pool, |scope, n, order| {
        if n % 2 == 0 {
            scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
        } else {
            scope.spawn(move |_| order.lock().unwrap().push(n));
        }
    });
    assert!(order.iter().filter(|&&n| n % 2 == 0).is_sorted());
    assert!(order.iter().rev().filter(|&&n| n % 2 == 1).is_sorted());
    assert_eq!(order.len(), 10);
}

/// Thieves take the words from the line in any order; the tasks begin in order all the same.
#[test]
fn tasks_begin_in_order_whoever_runs_them() {
    for pool in pools() {
        let begun = AtomicUsize::new(0);
        let turns = Mutex::new(Vec::new());
        pool.run(|w| {
            w.scope(|_, scope| {
                for n in 0..300 {
                    let (begun, turns) = (&begun, &turns);
                    scope.spawn_fifo(move |_| {
                        let turn = begun.fetch_add(1, Ordering::Relaxed);
                        turns.lock().unwrap().push((n, turn));
                    });
                }
            });
        });
        let turns = turns.into_inner().unwrap();
        assert_eq!(turns.len(), 300);
        // Between taking its task and its turn a worker can be overtaken by each of the others' tasks in hand, and, if it is
        // suspended there, by any number. Each task has had one turn:
        let mut all: Vec<_> = turns.iter().map(|turn| turn.1).collect();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..300));
        if pool.workers() == 1 {
            assert!(turns.iter().all(|&(n, turn)| n == turn));
        }
    }
}

#[test]
fn tasks_in_order_may_be_spawned_from_elsewhere() {
    let (pool, other) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
    let order = Mutex::new(Vec::new());
    pool.in_place_scope(|scope| {
        for n in 0..10 {
            let order = &order;
            let spawn = || scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
            if n % 2 == 0 { spawn() } else { other.run(|_| spawn()) }
        }
    });
    assert_eq!(order.into_inner().unwrap(), Vec::from_iter(0..10));
    let (sender, receiver) = channel();
    (0..10).for_each(|n| {
        let sender = sender.clone();
        pool.spawn_fifo(move |_| sender.send(n).unwrap());
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..10));
}

#[test]
fn what_stands_in_a_line_runs_while_its_worker_is_stuck() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..100 {
        let flags: Vec<_> = (0..20).map(|_| AtomicBool::new(false)).collect();
        pool.run(|w| {
            w.scope(|_, scope| {
                flags.iter().for_each(|flag| {
                    scope.spawn_fifo(move |_| flag.store(true, Ordering::Release));
                });
                while !flags.iter().all(|flag| flag.load(Ordering::Acquire)) {
                    thread::yield_now();
                }
            });
        });
    }
}

#[test]
fn oldest_first_loses_nothing() {
    fn fib(w: &Worker, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
        a + b
    }
    for workers in [1, 2, 5] {
        let pool = Pool::builder().workers(workers).oldest_first().build().unwrap();
        assert_eq!(pool.run(|w| fib(w, 18)), 2584);
        let count = AtomicUsize::new(0);
        pool.run(|w| {
            w.scope(|w, scope| {
                for _ in 0..500 {
                    scope.spawn_on(w, |w, _| {
                        count.fetch_add(fib(w, 5) as usize, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 2500);
    }
}
