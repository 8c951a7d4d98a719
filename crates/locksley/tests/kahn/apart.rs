//! Where processes on stacks begin that somebody comes across who cannot begin them.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use locksley::kahn::{Network, NetworkError, Running};
use locksley::sync::Semaphore;
use locksley::{Pool, Worker, block_on};

use crate::common::{Sleepy, in_time};
use crate::stacks::pipeline;

pub(crate) fn index() -> usize {
    Worker::with_current(|worker| worker.expect("tasks run on workers").index())
}

/// A pool of so many workers, of whom the calling thread is one.
pub(crate) fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).governor(Sleepy).with_current_thread().build().unwrap()
}

/// What needs no worker of its own, as the guest finds it, is done.
pub(crate) fn as_guest() {
    Worker::with_current(|guest| {
        let guest = guest.expect("the thread has joined the pool");
        // Again, since not to find one means little.
        for _ in 0..1000 {
            guest.run_one();
        }
    });
}

/// Whether the guest, which is the calling thread, comes across the process of a network of one. Then it has run two tasks that it had itself: what begins the
/// network, and this. What it has from others counts elsewhere, too.
fn comes_across(pool: &Pool, run: impl FnOnce()) -> bool {
    let before = pool.stats().workers[0];
    run();
    let did = pool.stats().workers[0] - before;
    did.tasks == did.received + did.steals + 2
}

/// So many times, and until the guest has come across the process once. (Others may be faster.)
fn until_it_comes_across(pool: &Pool, times: usize, mut run: impl FnMut()) {
    let (mut runs, mut is_across) = (0, false);
    while runs < times || !is_across {
        is_across |= comes_across(pool, &mut run);
        runs += 1;
    }
}

/// Each of the other workers is in a call that blocks, until what is returned is dropped.
fn others_block(pool: &Pool) -> Vec<Sender<()>> {
    let (say, said) = channel();
    let block = |index| {
        let (end, ended) = channel::<()>();
        let say = say.clone();
        pool.spawn_at(index, move |w| {
            w.blocking(|| {
                say.send(()).unwrap();
                let _ = ended.recv();
            });
        });
        end
    };
    let ends: Vec<_> = (1..pool.workers()).map(block).collect();
    ends.iter().for_each(|_| said.recv().unwrap());
    ends
}

/// So many of those who take what any may do are in a task until what is returned is dropped.
pub(crate) fn some_are_stuck(pool: &Pool, number: usize) -> Vec<Sender<()>> {
    let (say, said) = channel();
    let stick = |_| {
        let (end, ended): (_, Receiver<()>) = channel();
        let say = say.clone();
        pool.spawn(move |_| {
            say.send(()).unwrap();
            let _ = ended.recv();
        });
        end
    };
    let ends: Vec<_> = (0..number).map(stick).collect();
    ends.iter().for_each(|_| said.recv().unwrap());
    ends
}

/// A network of one process, which ends those calls.
fn that_ends(calls: Vec<Sender<()>>, pool: &Pool) -> Running {
    let mut network = Network::new();
    network.process_on_stack("ends them", (), move |()| drop(calls));
    network.start(pool).unwrap()
}

/// All others are in calls that block, and wait for the process; their stand-ins sleep.
#[test]
fn a_process_begins_at_a_stand_in_that_sleeps() {
    for workers in [2, 3] {
        in_time(move || {
            let pool = pool(workers);
            until_it_comes_across(&pool, 20, || {
                let calls = others_block(&pool);
                that_ends(calls, &pool).join().unwrap();
            });
        });
    }
}

/// The stand-ins are about something else while the guest comes across the process. Then one of them has time.
#[test]
fn a_process_begins_at_a_stand_in_that_comes_to_it_late() {
    for workers in [2, 3] {
        in_time(move || {
            let pool = pool(workers);
            let calls = others_block(&pool);
            let mut stuck = some_are_stuck(&pool, workers - 1);
            let running = that_ends(calls, &pool);
            assert!(comes_across(&pool, as_guest));
            drop(stuck.pop());
            block_on(running).unwrap();
        });
    }
}

/// Nobody has time for it before the number of those that may be at work is another one.
#[test]
fn a_process_that_waits_to_begin_does_so_after_the_size_has_changed() {
    for (before, after) in [(3, 1), (1, 3), (2, 1), (1, 2)] {
        for first in [0, 1] {
            in_time(move || {
                let pool = pool(3);
                let mut stuck = some_are_stuck(&pool, 2);
                pool.resize(before).unwrap();
                let free = stuck.swap_remove(first);
                let running = that_ends(stuck, &pool);
                assert!(comes_across(&pool, as_guest));
                pool.resize(after).unwrap();
                drop(free);
                block_on(running).unwrap();
            });
        }
    }
}

/// The guest does not look for anything when it has left the process to others, of whom all sleep, or are about to.
#[test]
fn who_sleeps_is_woken_for_a_process_that_a_guest_has_found() {
    for workers in [2, 3] {
        in_time(move || {
            let pool = pool(workers);
            until_it_comes_across(&pool, 200, || {
                let (say, said) = channel();
                let mut network = Network::new();
                network.process_on_stack("says", (), move |()| say.send(()).unwrap());
                let running = network.start(&pool).unwrap();
                Worker::with_current(|guest| {
                    // What begins the network, and the process, if nobody else was faster.
                    for _ in 0..2 {
                        guest.unwrap().run_one();
                    }
                });
                said.recv().unwrap();
                running.join().unwrap();
            });
        });
    }
}

/// Only one of them is to be awake, beside the guest, and that one waits for the process.
#[test]
fn who_is_beyond_the_size_is_woken_for_a_process() {
    in_time(|| {
        let pool = pool(3);
        pool.resize(1).unwrap();
        until_it_comes_across(&pool, 1, || {
            let stuck = some_are_stuck(&pool, 1);
            let running = that_ends(stuck, &pool);
            as_guest();
            block_on(running).unwrap();
        });
    });
}

/// What nobody has begun yet keeps no pool from cancelling its tasks; and that ends what keeps others from beginning it.
#[test]
fn a_pool_is_dropped_while_a_process_waits_to_begin() {
    in_time(|| {
        let pool = pool(2);
        let (say, said) = channel();
        let (end, ended) = channel::<()>();
        // The other worker is in its poll, and nobody stands in.
        drop(pool.spawn_future(async move {
            say.send(()).unwrap();
            let _ = ended.recv();
        }));
        said.recv().unwrap();
        drop(pool.spawn_future(async move {
            let _end = end;
            pending::<()>().await;
        }));
        let has_run = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&has_run);
        let mut network = Network::new();
        network.process_on_stack("too late", (), move |()| says.store(true, Ordering::Relaxed));
        let running = network.start(&pool).unwrap();
        as_guest();
        drop(pool);
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert!(!has_run.load(Ordering::Relaxed));
    });
}

#[test]
fn a_worker_that_is_a_guest_hands_processes_on() {
    let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
    for _ in 0..20 {
        assert_eq!(pipeline(&pool, 1, 1, 1).unwrap(), (1..=300).sum::<u64>());
    }
    drop(pool);
}

/// The guest begins nothing itself, and one of the two other workers is stuck: the processes are open to the third.
#[test]
fn what_a_guest_hands_on_does_not_wait_for_a_worker_that_is_stuck() {
    for stuck in [1, 2] {
        in_time(move || {
            let pool = Pool::builder().workers(3).with_current_thread().build().unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let [first, second] = [1, 2].map(|index| {
                let (open, opened) = std::sync::mpsc::channel::<()>();
                let say = say.clone();
                pool.spawn_at(index, move |_| {
                    say.send(()).unwrap();
                    let _ = opened.recv();
                });
                open
            });
            (0..2).for_each(|_| said.recv().unwrap());
            let mut network = Network::new();
            let ended: Vec<_> =
                (0..6).map(|n| network.process_on_stack(format!("{n}"), (), move |()| n)).collect();
            let running = network.start(&pool).unwrap();
            Worker::with_current(|guest| {
                let guest = guest.expect("the thread has joined the pool");
                assert_eq!(guest.index(), 0);
                // The task that begins them, each of them, and some that have come back.
                for _ in 0..20 {
                    guest.run_one();
                }
            });
            assert!(ended.iter().all(|ended| ended.get().is_none()), "nobody had time");
            let (free, held) = if stuck == 1 { (second, first) } else { (first, second) };
            drop(free);
            block_on(running).unwrap();
            let numbers: Vec<_> = ended.into_iter().map(|ended| ended.take().unwrap()).collect();
            assert_eq!(numbers, Vec::from_iter(0..6));
            drop(held);
        });
    }
}

/// All workers but the guest are about something else: it finds nothing that it could do, and keeps nothing going round.
#[test]
fn a_guest_comes_across_a_process_once() {
    const PROCESSES: usize = 6;
    for workers in [2, 3] {
        in_time(move || {
            let pool = Pool::builder().workers(workers).with_current_thread().build().unwrap();
            let (say, said) = channel();
            let held: Vec<_> = (1..workers)
                .map(|index| {
                    let (open, opened) = channel::<()>();
                    let say = say.clone();
                    pool.spawn_at(index, move |_| {
                        say.send(()).unwrap();
                        let _ = opened.recv();
                    });
                    open
                })
                .collect();
            held.iter().for_each(|_| said.recv().unwrap());
            let mut network = Network::new();
            let ended: Vec<_> = (0..PROCESSES)
                .map(|n| network.process_on_stack(format!("{n}"), (), |()| index()))
                .collect();
            let running = network.start(&pool).unwrap();
            let ran = Worker::with_current(|guest| {
                let guest = guest.expect("the thread has joined the pool");
                // Again, since not to find one means little.
                (0..1000).filter(|_| guest.run_one()).count()
            });
            assert!(ran <= 1 + PROCESSES, "{ran}");
            assert!(ended.iter().all(|ended| ended.get().is_none()), "nobody had time");
            drop(held);
            block_on(running).unwrap();
            assert!(ended.into_iter().all(|ended| ended.take().unwrap() != 0));
        });
    }
}

/// Waits when it is dropped.
pub(crate) struct Patient(pub(crate) Arc<Semaphore>);

impl Drop for Patient {
    fn drop(&mut self) {
        block_on(self.0.acquire()).unwrap().forget();
    }
}

/// It runs what it finds on top of the destructor that waits, but processes it leaves to others.
#[test]
fn a_worker_that_unwinds_hands_processes_on() {
    in_time(|| {
        let panics = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&panics);
        let pool = Pool::builder().workers(2).panic_handler(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let pool = pool.build().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let (say, said) = channel();
        let (open, opened) = channel::<()>();
        let begun = say.clone();
        pool.spawn_at(1, move |_| {
            begun.send(()).unwrap();
            let _ = opened.recv();
        });
        said.recv().unwrap();
        let patient = Patient(Arc::clone(&gate));
        pool.spawn_at(0, move |_| {
            let _patient = patient;
            panic!("no more arrows")
        });
        let mut network = Network::new();
        // Begun first, and so polled last: the worker comes across the other one before.
        network.process("says", (), async move |()| say.send(()).unwrap());
        let ended = network.process_on_stack("elsewhere", (), |()| index());
        let running = network.start(&pool).unwrap();
        said.recv().unwrap();
        assert_eq!((ended.get(), panics.load(Ordering::Relaxed)), (None, 0));
        drop(open);
        running.join().unwrap();
        assert_eq!(ended.take(), Some(1));
        gate.add_permits(1);
        drop(pool);
        assert_eq!(panics.load(Ordering::Relaxed), 1);
    });
}

/// Where all that could begin it unwind, it is said.
#[test]
fn a_process_that_nobody_can_begin_has_no_stack() {
    in_time(|| {
        let pool = Pool::builder().workers(2).panic_handler(drop).build().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        for worker in 0..2 {
            let patient = Patient(Arc::clone(&gate));
            pool.spawn_at(worker, move |_| {
                let _patient = patient;
                panic!("no more arrows")
            });
        }
        while !pool.stats().workers.iter().all(|worker| worker.tasks > 0) {
            thread::yield_now();
        }
        let mut network = Network::new();
        network.process_on_stack("nowhere", (), |()| ());
        let ended = network.run(&pool);
        assert!(matches!(ended, Err(NetworkError::NoStack { process }) if process == "nowhere"));
        gate.add_permits(2);
    });
}
