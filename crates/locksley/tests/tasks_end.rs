//! Tasks of a pool that is dropped.

mod common;

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use common::pools;
use locksley::task::{self, JoinHandle, yield_now};
use locksley::{Pool, Worker, extend};

/// Counts the values that are alive, and those that threads other than workers have dropped.
struct Counted {
    alive: Arc<AtomicUsize>,
    elsewhere: Arc<AtomicUsize>,
}

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, elsewhere: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { alive: Arc::clone(alive), elsewhere: Arc::clone(elsewhere) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let is_worker = Worker::with_current(|current| current.is_some());
        self.elsewhere.fetch_add(usize::from(!is_worker), Ordering::Relaxed);
        let before = self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}

/// A closure with a handle keeps the pool open for what it spawns, as a detached one does.
#[test]
fn closures_with_handles_spawn_others_after_the_pool_is_dropped() {
    for pool in pools() {
        let (go_on, may_go_on) = channel();
        let outer = pool.spawn_task(move || {
            may_go_on.recv().unwrap();
            let inner = extend::spawn_task(|| extend::spawn_task(|| 42));
            locksley::spawn(|| drop(extend::spawn_task(|| ())));
            inner
        });
        // It does not wait. Now the handle of the pool is no reason for it to stay open.
        pool.detach();
        go_on.send(()).unwrap();
        let inner = outer.join().unwrap().join().unwrap();
        assert_eq!(inner.join().unwrap(), 42);
    }
}

/// A closure that never begins keeps no pool open.
#[test]
fn an_aborted_closure_lets_the_pool_end() {
    let pool = Pool::new(1).unwrap();
    let (go_on, may_go_on) = channel();
    let first = pool.spawn_task(move || may_go_on.recv().unwrap());
    let (alive, elsewhere) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let counted = Counted::new(&alive, &elsewhere);
    let second = pool.spawn_task(move || drop(counted));
    second.abort();
    go_on.send(()).unwrap();
    first.join().unwrap();
    drop(pool); // waits for the threads
    assert!(second.join().unwrap_err().is_cancelled());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn waiting_tasks_are_cancelled_and_dropped_by_workers() {
    for pool in pools() {
        let (alive, elsewhere) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
        let tasks: Vec<_> = (0..300)
            .map(|n| {
                let (counted, wakers) = (Counted::new(&alive, &elsewhere), Arc::clone(&wakers));
                pool.spawn_future(async move {
                    let _counted = counted;
                    if n % 3 == 0 {
                        yield_now().await;
                    }
                    poll_fn(|context| {
                        wakers.lock().unwrap().push(context.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                })
            })
            .collect();
        drop(pool);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled());
        }
        // Late wakes, some by the last reference:
        for (n, waker) in std::mem::take(&mut *wakers.lock().unwrap()).into_iter().enumerate() {
            if n % 2 == 0 { waker.wake() } else { waker.wake_by_ref() }
        }
    }
}

#[test]
fn endless_tasks_are_cancelled() {
    for pool in pools() {
        let tasks: Vec<_> = (0..5)
            .map(|_| {
                pool.spawn_future(async {
                    loop {
                        yield_now().await;
                    }
                })
            })
            .collect();
        drop(pool);
        for task in tasks {
            let result: Result<(), _> = task.join();
            assert!(result.unwrap_err().is_cancelled());
        }
    }
}

/// Another thread wakes the tasks.
#[test]
fn tasks_are_woken_while_the_pool_is_dropped() {
    for round in 0..200 {
        let pool = Pool::new(1 + round % 3).unwrap();
        let (alive, elsewhere) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let (sender, wakers) = channel::<Waker>();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (counted, sender) = (Counted::new(&alive, &elsewhere), sender.clone());
                pool.spawn_future(async move {
                    let _counted = counted;
                    poll_fn(|context| {
                        let _ = sender.send(context.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                })
            })
            .collect();
        drop(sender);
        thread::scope(|scope| {
            scope.spawn(move || {
                // Each wake makes a task send another waker, until its future is gone.
                wakers.iter().for_each(Waker::wake);
            });
            if round % 2 == 0 {
                thread::yield_now();
            }
            drop(pool);
        });
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
        tasks.into_iter().for_each(|task| assert!(task.join().unwrap_err().is_cancelled()));
    }
}

#[test]
fn detached_closures_end_first_and_may_use_tasks() {
    for pool in pools() {
        let (sender, receiver) = channel();
        pool.spawn(move |_| {
            thread::yield_now();
            let task = locksley::task::spawn(async {
                yield_now().await;
                42
            });
            sender.send(task.join().unwrap()).unwrap();
        });
        drop(pool);
        assert_eq!(receiver.recv(), Ok(42));
    }
}

#[test]
fn tasks_that_a_dropped_future_spawns_end() {
    struct SpawnsWhenDropped(Arc<AtomicUsize>);
    impl Drop for SpawnsWhenDropped {
        fn drop(&mut self) {
            let (closures, handle) = (Arc::clone(&self.0), Arc::new(AtomicBool::new(false)));
            let flag = Arc::clone(&handle);
            let task = task::spawn(async move { flag.store(true, Ordering::Relaxed) });
            locksley::spawn(move || {
                // The pool is closing, so the task is not polled any more.
                assert!(task.join().unwrap_err().is_cancelled());
                assert!(!handle.load(Ordering::Relaxed));
                closures.fetch_add(1, Ordering::Relaxed);
            });
        }
    }
    for pool in pools() {
        let closures = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let spawner = SpawnsWhenDropped(Arc::clone(&closures));
            let waiting = async move {
                pending::<()>().await;
                drop(spawner);
            };
            drop(pool.spawn_future(waiting));
        }
        drop(pool);
        assert_eq!(closures.load(Ordering::Relaxed), 10);
    }
}

#[test]
fn a_detached_pool_cancels_its_tasks() {
    let pool = Pool::new(2).unwrap();
    let task = pool.spawn_future(pending::<()>());
    pool.detach();
    assert!(task.join().unwrap_err().is_cancelled());
}

#[test]
fn a_pool_dropped_by_its_own_task_is_closed() {
    let pool = Arc::new(Mutex::new(Some(Pool::new(2).unwrap())));
    let (inside, waiting) = {
        let locked = pool.lock().unwrap();
        let (pool, spawner) = (Arc::clone(&pool), locked.as_ref().unwrap());
        let waiting = spawner.spawn_future(pending::<()>());
        (spawner.spawn_future(async move { drop(pool.lock().unwrap().take()) }), waiting)
    };
    assert!(inside.join().is_ok());
    assert!(waiting.join().unwrap_err().is_cancelled());
}

#[test]
fn handles_may_outlive_their_pool_unjoined() {
    let pool = Pool::new(2).unwrap();
    let done = pool.spawn_future(async { String::from("done") });
    let waiting = pool.spawn_future(pending::<String>());
    while !done.is_finished() {
        thread::yield_now();
    }
    drop(pool);
    assert!(done.is_finished() && waiting.is_finished());
    waiting.abort();
    drop(waiting);
    assert_eq!(done.join().unwrap(), "done");
}

/// Code that spawns may be unwinding, or a destructor.
#[test]
fn a_refused_future_that_panics_when_it_is_dropped_has_panicked() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("of the refused future");
        }
    }
    struct SpawnsWhenDropped(Sender<JoinHandle<()>>);
    impl Drop for SpawnsWhenDropped {
        fn drop(&mut self) {
            let panics = Panics;
            self.0.send(task::spawn(async move { drop(panics) })).unwrap();
        }
    }
    for pool in pools() {
        let (sender, spawned) = channel();
        let spawner = SpawnsWhenDropped(sender);
        let waiting = pool.spawn_future(async move {
            pending::<()>().await;
            drop(spawner);
        });
        drop(pool);
        assert!(waiting.join().unwrap_err().is_cancelled());
        let refused = spawned.recv().unwrap();
        assert!(!refused.join().unwrap_err().is_cancelled());
    }
}
