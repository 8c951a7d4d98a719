//! Processes on stacks that nobody can begin, and such that only seem to be so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use locksley::kahn::{Network, NetworkError, Product, Running};
use locksley::sync::Semaphore;
use locksley::{Pool, Waiting, Worker, block_on};

use crate::apart::{Patient, as_guest, index, some_are_stuck};
use crate::common::in_time;

fn pool(workers: usize) -> locksley::PoolBuilder {
    Pool::builder().workers(workers).panic_handler(drop)
}

fn process(pool: &Pool) -> (Running, Product<usize>) {
    let mut network = Network::new();
    let ended = network.process_on_stack("elsewhere", (), |()| index());
    (network.start(pool).unwrap(), ended)
}

/// That worker unwinds and waits, and in a task on top of that it is in a call that blocks, until the second is dropped. Permits of the first end the wait.
fn blocks_on_top(pool: &Pool, worker: usize) -> (Arc<Semaphore>, Sender<()>) {
    let gate = Arc::new(Semaphore::new(0));
    let patient = Patient(Arc::clone(&gate));
    let (say, said) = channel();
    let (end, ended): (_, Receiver<()>) = channel();
    // One after the other: letters are read in the order in which they were sent.
    pool.spawn_at(worker, move |_| {
        let _patient = patient;
        panic!("no more arrows")
    });
    pool.spawn_at(worker, move |w| {
        w.blocking(|| {
            say.send(thread::panicking()).unwrap();
            let _ = ended.recv();
        });
    });
    assert!(said.recv().unwrap(), "on top of the wait");
    (gate, end)
}

/// The stand-in of the only worker unwinds, and cannot begin it. That worker can, when it comes back.
#[test]
fn a_stand_in_that_unwinds_leaves_a_process_to_the_worker_that_blocks() {
    in_time(|| {
        let pool = pool(1).build().unwrap();
        let (say, said) = channel();
        let (end, ended): (_, Receiver<()>) = channel();
        let is_blocking = say.clone();
        pool.spawn_at(0, move |w| {
            w.blocking(|| {
                is_blocking.send(()).unwrap();
                let _ = ended.recv();
            });
        });
        said.recv().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let patient = Patient(Arc::clone(&gate));
        pool.spawn(move |_| {
            let _patient = patient;
            panic!("no more arrows")
        });
        let mut network = Network::new();
        // Begun first, and so polled last: the stand-in comes across the other one before.
        network.process("says", (), async move |()| say.send(()).unwrap());
        let elsewhere = network.process_on_stack("elsewhere", (), |()| thread::panicking());
        let running = network.start(&pool).unwrap();
        said.recv().unwrap();
        assert_eq!(elsewhere.get(), None);
        drop(end);
        running.join().unwrap();
        assert_eq!(elsewhere.take(), Some(false));
        gate.add_permits(1);
    });
}

/// The only worker beside the guest unwinds, and is in a call that blocks; its stand-in begins what the guest comes across: at once, or, if it was
/// about something else until it was let go, then.
#[test]
fn a_stand_in_begins_a_process_for_a_worker_that_unwinds() {
    for is_let_go in [false, true] {
        in_time(move || {
            let pool = pool(2).with_current_thread().build().unwrap();
            let (gate, end) = blocks_on_top(&pool, 1);
            let stuck = some_are_stuck(&pool, 1);
            let (running, elsewhere) = process(&pool);
            as_guest();
            if is_let_go {
                let (say, said) = channel();
                // When it is back.
                pool.spawn_at(1, move |_| say.send(()).unwrap());
                drop(end);
                said.recv().unwrap();
                drop(stuck);
                block_on(running).unwrap();
            } else {
                drop(stuck);
                block_on(running).unwrap();
                drop(end);
            }
            assert_eq!(elsewhere.take(), Some(1));
            gate.add_permits(1);
        });
    }
}

/// How a destructor waits.
#[derive(Clone, Copy, Debug)]
enum Way {
    BlockOn,
    RunOne,
    RunLocal,
}

/// Waits when it is dropped.
struct Waits {
    way: Way,
    gate: Arc<Semaphore>,
    is_over: Arc<AtomicBool>,
    begun: Arc<AtomicUsize>,
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let run = |what: fn(&Worker) -> bool| {
            Worker::with_current(|worker| {
                while !self.is_over.load(Ordering::Acquire) {
                    if !what(worker.unwrap()) {
                        thread::yield_now();
                    }
                }
            });
        };
        match self.way {
            Way::BlockOn => block_on(self.gate.acquire()).unwrap().forget(),
            Way::RunOne => run(Worker::run_one),
            Way::RunLocal => run(Worker::run_local),
        }
    }
}

/// All that could begin it unwind, and wait in whatever way.
#[test]
fn a_process_has_no_stack_where_all_wait_in_ways_of_their_own() {
    use Way::{BlockOn, RunLocal, RunOne};
    for ways in [
        [RunOne, BlockOn],
        [BlockOn, RunOne],
        [RunOne, RunOne],
        [RunLocal, BlockOn],
        [RunOne, RunLocal],
    ] {
        in_time(move || {
            let pool = pool(2).build().unwrap();
            let (gate, is_over) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(false)));
            let begun = Arc::new(AtomicUsize::new(0));
            for (worker, way) in ways.into_iter().enumerate() {
                let (gate, is_over, begun) =
                    (Arc::clone(&gate), Arc::clone(&is_over), Arc::clone(&begun));
                let waits = Waits { way, gate, is_over, begun };
                pool.spawn_at(worker, move |_| {
                    let _waits = waits;
                    panic!("no more arrows")
                });
            }
            while begun.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
            let ended = process(&pool).0.join();
            assert!(matches!(ended, Err(NetworkError::NoStack { .. })), "{ways:?}: {ended:?}");
            is_over.store(true, Ordering::Release);
            gate.add_permits(2);
        });
    }
}

/// Waits when it is dropped for a task of a scope of its own, and runs only what lies below. That task is another worker's, unwinds, and waits too.
struct WaitsBelow(Arc<Semaphore>, Sender<()>);

impl Drop for WaitsBelow {
    fn drop(&mut self) {
        Worker::with_current(|worker| {
            worker.unwrap().scope_waiting(Waiting::Below, |worker, scope| {
                let (say, said) = channel();
                let (gate, begun) = (Arc::clone(&self.0), self.1.clone());
                scope.spawn_on(worker, move |_, _| {
                    say.send(()).unwrap();
                    let unwound: thread::Result<()> = catch_unwind(AssertUnwindSafe(|| {
                        let _patient = Patient(gate);
                        begun.send(()).unwrap();
                        panic!("no more arrows")
                    }));
                    assert!(unwound.is_err());
                });
                said.recv().unwrap();
            });
        });
    }
}

#[test]
fn a_process_has_no_stack_where_one_waits_for_what_lies_below() {
    in_time(|| {
        let pool = pool(2).build().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let (begun, has_begun) = channel();
        let waits = WaitsBelow(Arc::clone(&gate), begun);
        pool.spawn_at(0, move |_| {
            let _waits = waits;
            panic!("no more arrows")
        });
        has_begun.recv().unwrap();
        let ended = process(&pool).0.join();
        assert!(matches!(ended, Err(NetworkError::NoStack { .. })), "{ended:?}");
        gate.add_permits(1);
    });
}
