//! Where processes on stacks begin that somebody comes across who cannot begin them.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use locksley::kahn::{Network, NetworkError, Running};
use locksley::{Pool, Worker, block_on};

use crate::common::{Sleepy, in_time};

/// A pool of so many workers, of whom the calling thread is one.
fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).governor(Sleepy).with_current_thread().build().unwrap()
}

/// What needs no worker of its own, as the guest finds it, is done.
fn as_guest() {
    Worker::with_current(|guest| {
        let guest = guest.expect("the thread has joined the pool");
        // Again, since not to find one means little.
        for _ in 0..1000 {
            guest.run_one();
        }
    });
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
fn some_are_stuck(pool: &Pool, number: usize) -> Vec<Sender<()>> {
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
            for _ in 0..20 {
                let calls = others_block(&pool);
                that_ends(calls, &pool).join().unwrap();
            }
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
            as_guest();
            drop(stuck.pop());
            block_on(running).unwrap();
        });
    }
}

/// The guest does not look for anything when it has left the process to others, of whom all sleep, or are about to.
#[test]
fn who_sleeps_is_woken_for_a_process_that_a_guest_has_found() {
    for workers in [2, 3] {
        in_time(move || {
            let pool = pool(workers);
            for _ in 0..200 {
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
            }
        });
    }
}

/// Only one of them is to be awake, beside the guest, and that one waits for the process.
#[test]
fn who_is_beyond_the_size_is_woken_for_a_process() {
    in_time(|| {
        let pool = pool(3);
        pool.resize(1).unwrap();
        let stuck = some_are_stuck(&pool, 1);
        let running = that_ends(stuck, &pool);
        as_guest();
        block_on(running).unwrap();
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
