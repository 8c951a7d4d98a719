//! Pools with a borrowed thread: the thread that builds the pool is one of its workers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use locksley::{BuildError, Pool, Worker};

/// Runs a test on a new thread, since a borrowed thread stays a worker until it ends.
fn on_a_thread<R: Send>(test: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(test).join().unwrap())
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn the_builder_is_worker_0() {
    for workers in [1, 2, 4] {
        on_a_thread(|| {
            let here = thread::current().id();
            let pool = Pool::builder().workers(workers).with_current_thread().build().unwrap();
            assert_eq!(pool.workers(), workers);
            assert_eq!(Worker::with_current(|w| w.map(Worker::index)), Some(0));
            pool.install(|w| assert_eq!((w.index(), thread::current().id()), (0, here)));
            assert_eq!(fib(15), 610);
            assert_eq!(pool.broadcast(|w| w.index()), Vec::from_iter(0..workers));
            let names = pool.broadcast(|_| thread::current().id() == here);
            assert_eq!(names.iter().filter(|&&is_here| is_here).count(), 1);
        });
    }
}

/// Its waits run any task. A replacement would run it on another thread.
#[test]
fn while_a_borrowed_thread_waits_its_index_is_its_own() {
    on_a_thread(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let (other, here) = (Pool::new(1).unwrap(), thread::current().id());
        let ((sender, receiver), pool) = (channel(), &pool);
        let ran = other.install(move |_| {
            thread::sleep(Duration::from_millis(30)); // the borrowed thread parks meanwhile
            pool.spawn(move |w| sender.send((w.index(), thread::current().id())).unwrap());
            receiver.recv()
        });
        assert_eq!(ran, Ok((0, here)));
    });
}

/// The grant is read again after 100 ms, and the pool has no worker that it limits.
#[test]
fn an_only_worker_that_is_borrowed_may_wait_late() {
    on_a_thread(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let other = Pool::new(1).unwrap();
        thread::sleep(Duration::from_millis(150));
        other.install(|_| thread::sleep(Duration::from_millis(20)));
        assert_eq!(pool.install(|_| 3), 3);
    });
}

/// It runs no tasks in `block_on`, so another thread works under its index.
#[test]
fn the_tasks_of_a_borrowed_thread_run_while_it_blocks_on_one() {
    on_a_thread(|| {
        let _pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let spawned = locksley::task::spawn(async { 42 });
        assert_eq!(locksley::block_on(spawned).unwrap(), 42);
    });
}

#[test]
fn a_worker_cannot_become_a_worker_of_another_pool() {
    on_a_thread(|| {
        let _pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let again = Pool::builder().workers(2).with_current_thread().build();
        assert!(matches!(again, Err(BuildError::AlreadyAWorker)));
        // It can build a pool without becoming a worker.
        assert_eq!(Pool::new(2).unwrap().install(|w| w.workers()), 2);
    });
    let pool = Pool::new(1).unwrap();
    let in_a_task = pool.install(|_| Pool::builder().with_current_thread().build().err());
    assert!(matches!(in_a_task, Some(BuildError::AlreadyAWorker)));
}

#[test]
fn a_failed_build_leaves_the_thread_as_it_was() {
    on_a_thread(|| {
        let refused = Pool::builder()
            .workers(2)
            .with_current_thread()
            .build_with(|_| Err(std::io::Error::other("none")));
        assert!(matches!(refused, Err(BuildError::Thread { worker: 1, .. })));
        assert!(Worker::with_current(|current| current.is_none()));
        let broken = Pool::builder()
            .workers(1)
            .with_current_thread()
            .worker_data(|_| panic!("no data"))
            .build();
        assert!(matches!(broken, Err(BuildError::Hook { worker: 0, .. })));
        assert!(Worker::with_current(|current| current.is_none()));
    });
}

#[test]
fn a_borrowed_thread_calls_no_hooks_and_has_data() {
    on_a_thread(|| {
        let hooked = Arc::new(Mutex::new(Vec::new()));
        let at_start = Arc::clone(&hooked);
        let pool = Pool::builder()
            .workers(3)
            .with_current_thread()
            .on_start(move |index| at_start.lock().unwrap().push(index))
            .worker_data(|index| index * 10)
            .build()
            .unwrap();
        hooked.lock().unwrap().sort_unstable();
        assert_eq!(*hooked.lock().unwrap(), [1, 2]);
        assert_eq!(pool.broadcast(|w| *w.data::<usize>().unwrap()), [0, 10, 20]);
    });
}

#[test]
fn other_workers_run_the_tasks_of_a_borrowed_thread() {
    on_a_thread(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        let (sender, receiver) = channel();
        pool.spawn(move |w| sender.send(w.index()).unwrap());
        // The thread waits without working.
        assert_eq!(receiver.recv(), Ok(1));
    });
}

#[test]
fn a_borrowed_thread_runs_one_task_for_each_call_of_run_one() {
    on_a_thread(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let (sender, receiver) = channel();
        let also = sender.clone();
        pool.spawn(move |_| sender.send("spawned").unwrap());
        assert!(receiver.try_recv().is_err());
        Worker::with_current(|current| {
            let worker = current.unwrap();
            assert!(worker.has_own_tasks());
            assert!(worker.run_one());
            assert!(!worker.has_own_tasks());
            assert!(!worker.run_one() && !worker.run_local());
        });
        assert_eq!(receiver.try_recv(), Ok("spawned"));
        // A task from outside is not one of the worker's own.
        thread::scope(|scope| {
            scope.spawn(|| pool.spawn(move |_| also.send("sent").unwrap()));
        });
        Worker::with_current(|current| {
            let worker = current.unwrap();
            assert!(!worker.run_local());
            assert!(worker.run_one());
        });
        assert_eq!(receiver.try_recv(), Ok("sent"));
    });
}

#[test]
fn dropping_the_pool_runs_its_accepted_tasks() {
    for workers in [1, 3] {
        on_a_thread(|| {
            let count = Arc::new(AtomicUsize::new(0));
            let pool = Pool::builder().workers(workers).with_current_thread().build().unwrap();
            for _ in 0..20 {
                let count = Arc::clone(&count);
                pool.spawn(move |_| {
                    locksley::spawn(move || {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            let for_all = Arc::clone(&count);
            pool.spawn_broadcast(move |_| {
                for_all.fetch_add(1, Ordering::Relaxed);
            });
            drop(pool);
            while Arc::strong_count(&count) > 1 {
                thread::yield_now(); // the other workers finish theirs
            }
            assert_eq!(count.load(Ordering::Relaxed), 20 + workers);
        });
    }
}

#[test]
fn a_borrowed_thread_can_go_on_after_the_pool_is_closed() {
    on_a_thread(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        drop(pool);
        assert_eq!(fib(12), 144);
        let mut squares = [0; 10];
        locksley::scope(|scope| {
            squares.iter_mut().enumerate().for_each(|(n, square)| {
                scope.spawn(move |_| *square = n * n);
            });
        });
        assert_eq!(squares[9], 81);
        // A task of the outer scope is not the inner one's, and a future may go behind other tasks.
        let nest = || {
            locksley::scope(|outer| {
                locksley::scope(|inner| {
                    inner.spawn(|_| ());
                    outer.spawn(|_| ());
                });
                outer.spawn_future(locksley::task::yield_now());
            });
        };
        nest();
        locksley::blocking(nest);
        // No thread would run a spawned task, so it is dropped.
        let kept = Arc::new(());
        let here = Arc::clone(&kept);
        locksley::spawn(move || drop(here));
        let here = Arc::clone(&kept);
        locksley::spawn_with(locksley::Spawn::Fifo, move || drop(here));
        assert_eq!(Arc::strong_count(&kept), 1);
        // No worker is left to send to.
        let sent = std::panic::catch_unwind(|| {
            locksley::in_place_scope(|scope| scope.spawn_broadcast(|_, _| ()));
        });
        assert!(sent.is_err());
    });
}

/// A worker ends with a task of a scope in its deque, for which the borrowed thread waits.
/// This thread waits in a scope. Worker 1 has a task of the scope, which the pool's end does not
/// wait for. After the end, it spawns three more.
fn leave_tasks_when_the_pool_closes(pool: Pool, delay: Duration) {
    let (started, is_started) = channel();
    let (closed, is_closed) = channel();
    let ended = AtomicUsize::new(0);
    thread::scope(|threads| {
        threads.spawn(move || {
            is_started.recv().unwrap();
            thread::sleep(delay);
            pool.detach(); // closes it: a scope keeps no pool open
            closed.send(()).unwrap();
        });
        locksley::in_place_scope(|scope| {
            let ended = &ended;
            scope.spawn_with(locksley::Spawn::At(1), move |_, scope| {
                started.send(()).unwrap();
                is_closed.recv().unwrap();
                thread::sleep(delay);
                for _ in 0..3 {
                    scope.spawn(|_| {
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
    });
    assert_eq!(ended.into_inner(), 3);
}

#[test]
fn what_a_worker_leaves_when_the_pool_closes_is_run() {
    // After the delays, this thread sleeps in its search for any task.
    for delay in [0, 1, 20].map(Duration::from_millis) {
        on_a_thread(|| {
            let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
            leave_tasks_when_the_pool_closes(pool, delay);
        });
    }
}

#[test]
fn what_a_worker_leaves_is_run_whatever_the_size() {
    for delay in [0, 1, 20].map(Duration::from_millis) {
        on_a_thread(|| {
            let pool = Pool::builder().workers(4).with_current_thread().build().unwrap();
            pool.resize(1).unwrap();
            leave_tasks_when_the_pool_closes(pool, delay);
        });
    }
}
