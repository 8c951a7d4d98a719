//! In which order a worker runs what it has spawned: newest first, or as spawned, or oldest first.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use common::pools;
use locksley::{Pool, Scope, Spawn, Worker};

/// Where a task notes when it began: the how-manieth of all. Each has a place of its own, and no
/// lock: std's mutex, where it has to be waited for, is taken in code that ThreadSanitizer does not
/// see, and what it guards is then reported as a race. Like this, all that it sees is what the pool
/// itself orders.
struct Turn<'s> {
    begun: &'s AtomicUsize,
    turn: &'s mut usize,
}

impl Turn<'_> {
    fn take(self) {
        *self.turn = self.begun.fetch_add(1, Ordering::Relaxed);
    }
}

/// The turns of so many tasks, each of which is spawned by `spawn_all`.
fn turns_of(number: usize, spawn_all: impl FnOnce(&AtomicUsize, &mut [usize])) -> Vec<usize> {
    let (begun, mut turns) = (AtomicUsize::new(0), vec![usize::MAX; number]);
    spawn_all(&begun, &mut turns);
    let mut all = turns.clone();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..number), "each task has had one turn");
    turns
}

/// What a single worker makes of `spawn`, called with each of 0 to 9.
fn order_of(pool: &Pool, spawn: impl for<'s> Fn(&Scope<'s>, usize, Turn<'s>) + Sync) -> Vec<usize> {
    let turns = turns_of(10, |begun, turns| {
        pool.install(|w| {
            w.scope(|_, scope| {
                for (n, turn) in turns.iter_mut().enumerate() {
                    spawn(scope, n, Turn { begun, turn });
                }
            });
        });
    });
    let mut order = Vec::from_iter(0..10);
    order.sort_by_key(|&n| turns[n]);
    order
}

#[test]
fn a_single_worker_keeps_the_order_that_was_asked_for() {
    let pool = Pool::new(1).unwrap();
    let newest_first = order_of(&pool, |scope, _, turn| scope.spawn(|_| turn.take()));
    assert_eq!(newest_first, Vec::from_iter((0..10).rev()));
    let as_spawned =
        order_of(&pool, |scope, _, turn| scope.spawn_with(Spawn::Fifo, |_, _| turn.take()));
    assert_eq!(as_spawned, Vec::from_iter(0..10));

    let pool = Pool::builder().workers(1).oldest_first().build().unwrap();
    let oldest_first = order_of(&pool, |scope, _, turn| scope.spawn(|_| turn.take()));
    assert_eq!(oldest_first, Vec::from_iter(0..10));
}

#[test]
fn detached_tasks_do_as_well() {
    let pool = Pool::new(1).unwrap();
    let (sender, receiver) = channel();
    pool.install(|w| {
        for n in 0..10 {
            let sender = sender.clone();
            w.spawn_with(Spawn::Fifo, move |w| {
                for m in 0..10 {
                    let sender = sender.clone();
                    w.spawn_with(Spawn::Fifo, move |_| sender.send(n * 10 + m).unwrap());
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
    let order = order_of(&pool, |scope, n, turn| match n % 2 {
        0 => scope.spawn_with(Spawn::Fifo, |_, _| turn.take()),
        _ => scope.spawn(|_| turn.take()),
    });
    assert!(order.iter().filter(|&&n| n % 2 == 0).is_sorted());
    assert!(order.iter().rev().filter(|&&n| n % 2 == 1).is_sorted());
    assert_eq!(order.len(), 10);
}

/// Thieves take the words from the line in any order; the tasks begin in order all the same.
#[test]
fn tasks_begin_in_order_on_whatever_worker() {
    for pool in pools() {
        // Between taking its task and its turn a worker can be overtaken by each of the others'
        // tasks in hand, and, if it is suspended there, by any number. But each task has one turn.
        let turns = turns_of(300, |begun, turns| {
            pool.install(|w| {
                w.scope(|_, scope| {
                    for turn in turns {
                        scope.spawn_with(Spawn::Fifo, move |_, _| Turn { begun, turn }.take());
                    }
                });
            });
        });
        if pool.workers() == 1 {
            assert_eq!(turns, Vec::from_iter(0..300));
        }
    }
}

#[test]
fn tasks_in_order_may_be_spawned_from_elsewhere() {
    let (pool, other) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
    let turns = turns_of(10, |begun, turns| {
        pool.in_place_scope(|scope| {
            for (n, turn) in turns.iter_mut().enumerate() {
                let spawn =
                    move || scope.spawn_with(Spawn::Fifo, move |_, _| Turn { begun, turn }.take());
                if n % 2 == 0 { spawn() } else { other.install(|_| spawn()) }
            }
        });
    });
    assert_eq!(turns, Vec::from_iter(0..10));
    let (sender, receiver) = channel();
    (0..10).for_each(|n| {
        let sender = sender.clone();
        pool.spawn_with(Spawn::Fifo, move |_| sender.send(n).unwrap());
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..10));
}

#[test]
fn what_stands_in_a_line_runs_while_its_worker_is_stuck() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..100 {
        let flags: Vec<_> = (0..20).map(|_| AtomicBool::new(false)).collect();
        pool.install(|w| {
            w.scope(|_, scope| {
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
        assert_eq!(pool.install(|w| fib(w, 18)), 2584);
        let count = AtomicUsize::new(0);
        pool.install(|w| {
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
