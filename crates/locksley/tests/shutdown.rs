//! The end of a pool: what runs, what is cancelled, and what a shutdown says.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use locksley::task::{self, yield_now};
use locksley::{Pool, Unfinished};

const LONG: Duration = Duration::from_secs(60);

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A pool of one worker, which is busy until the barrier is passed: what is spawned waits.
fn busy() -> (Pool, Arc<Barrier>) {
    let (pool, barrier) = (Pool::new(1).unwrap(), Arc::new(Barrier::new(2)));
    let door = Arc::clone(&barrier);
    pool.spawn(move |_| _ = door.wait());
    (pool, barrier)
}

/// Passes the barrier while `end` ends the pool.
fn end_busy<R: Send>(
    (pool, barrier): (Pool, Arc<Barrier>),
    end: impl FnOnce(Pool) -> R + Send,
) -> R {
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| end(pool));
        barrier.wait();
        ended.join().unwrap()
    })
}

#[test]
fn a_dropped_pool_runs_all_that_does_not_wait() {
    let (pool, barrier) = busy();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = Arc::clone(&ran);
        move || _ = ran.fetch_add(1, Ordering::Relaxed)
    };
    let mut handles = Vec::new();
    for _ in 0..20 {
        let (closure, with_handle, future) = (count(), count(), count());
        pool.spawn(move |_| closure());
        handles.push(pool.spawn_task(with_handle));
        handles.push(pool.spawn_future(async move { future() }));
    }
    end_busy((pool, barrier), drop);
    assert_eq!(ran.load(Ordering::Relaxed), 60);
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

#[test]
fn a_dropped_pool_cancels_what_waits() {
    let (pool, barrier) = busy();
    let waiting = pool.spawn_future(async {
        yield_now().await;
        pending::<()>().await;
    });
    let spawning = pool.spawn_future(async {
        // The pool is closing: a task that is spawned now is cancelled.
        task::spawn(async {}).await.unwrap_err().is_cancelled()
    });
    // On this thread: a drop on another one could begin after the last closure has ended.
    pool.detach();
    barrier.wait();
    assert!(waiting.join().unwrap_err().is_cancelled());
    assert!(spawning.join().is_ok_and(|is_cancelled| is_cancelled));
}

#[test]
fn a_shutdown_waits_for_futures_and_for_what_they_spawn() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = channel();
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let sender = sender.clone();
            pool.spawn_future(async move {
                yield_now().await;
                locksley::spawn(move || sender.send(n).unwrap());
                task::spawn(yield_now()).await
            })
        })
        .collect();
    drop(sender);
    assert_eq!(pool.shutdown(LONG), Ok(()));
    assert!(tasks.into_iter().all(|task| task.join().is_ok_and(|inner| inner.is_ok())));
    assert_eq!(receiver.iter().count(), 20);
}

#[test]
fn a_shutdown_without_tasks_ends_the_threads() {
    let (sender, ended) = channel();
    let sender = Mutex::new(sender);
    let exit = move |index| sender.lock().unwrap().send(index).unwrap();
    let pool = Pool::builder().workers(2).on_exit(exit).build().unwrap();
    assert_eq!(pool.shutdown(LONG), Ok(()));
    assert_eq!(ended.try_iter().count(), 2, "the threads have ended");
}

#[test]
fn a_shutdown_says_what_was_left() {
    let (pool, barrier) = busy();
    let dropped = Arc::new(AtomicUsize::new(0));
    let waiting = [(); 3].map(|()| {
        let counted = Counted(Arc::clone(&dropped));
        pool.spawn_future(async move {
            let _counted = counted;
            pending::<()>().await;
        })
    });
    let ran = pool.spawn_task(|| 7);
    let unfinished = pool.shutdown(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(unfinished, Unfinished { closures: 2, futures: 3, .. }), "{unfinished:?}");
    let text = unfinished.to_string();
    assert_eq!(text, "a pool was shut down while 2 closures and 3 futures had not ended");
    barrier.wait();
    // The threads go on, and end as those of a dropped pool.
    assert!(waiting.map(|task| task.join().unwrap_err().is_cancelled()).iter().all(|it| *it));
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    assert_eq!(ran.join().unwrap(), 7);
}

#[test]
fn a_late_shutdown_cancels_what_waits_although_a_closure_never_ends() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = channel::<()>();
    let (running, runs) = channel();
    pool.spawn(move |_| {
        running.send(()).unwrap();
        _ = receiver.recv();
    });
    runs.recv().unwrap();
    let waiting = pool.spawn_future(pending::<()>());
    let unfinished = pool.shutdown(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(unfinished, Unfinished { closures: 1, futures: 1, .. }), "{unfinished:?}");
    assert!(waiting.join().unwrap_err().is_cancelled(), "while the closure runs");
    drop(sender);
}

#[test]
fn a_worker_may_shut_a_pool_down() {
    let (own, other) = (Pool::new(1).unwrap(), Pool::new(1).unwrap());
    let task = own.spawn_future(yield_now());
    assert_eq!(other.install(|_| own.shutdown(LONG)), Ok(()), "the worker of another pool waits");
    assert!(task.join().is_ok());
    let (sender, receiver) = channel();
    let pool = Arc::new(Mutex::new(None::<Pool>));
    let taken = Arc::clone(&pool);
    let (door, opened) = channel();
    let own = Pool::new(1).unwrap();
    own.spawn(move |_| {
        opened.recv().unwrap();
        let own = taken.lock().unwrap().take().unwrap();
        sender.send(own.shutdown(LONG)).unwrap();
    });
    *pool.lock().unwrap() = Some(own);
    door.send(()).unwrap();
    // The closure that calls is itself not at its end.
    assert!(matches!(receiver.recv().unwrap(), Err(Unfinished { closures: 1, futures: 0, .. })));
}

#[test]
fn a_borrowed_thread_runs_tasks_until_its_pool_is_shut_down() {
    std::thread::spawn(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let task = pool.spawn_future(yield_now());
        assert_eq!(pool.shutdown(LONG), Ok(()));
        assert!(task.join().is_ok());
    })
    .join()
    .unwrap();
    // Another worker has a task that takes longer.
    std::thread::spawn(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        let (running, runs) = channel();
        let task = pool.spawn_task(move || {
            running.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        });
        runs.recv().unwrap();
        assert_eq!(pool.shutdown(LONG), Ok(()));
        assert!(task.join().is_ok());
    })
    .join()
    .unwrap();
}

#[test]
fn a_borrowed_thread_stops_at_the_deadline() {
    fn respawn() {
        locksley::spawn(respawn);
    }
    std::thread::spawn(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let endless = pool.spawn_future(async {
            loop {
                yield_now().await;
            }
        });
        pool.spawn(|_| respawn());
        let unfinished = pool.shutdown(Duration::from_millis(5)).unwrap_err();
        assert!(unfinished.futures == 1 && unfinished.closures >= 1, "{unfinished:?}");
        let _: &task::JoinHandle<()> = &endless;
    })
    .join()
    .unwrap();
}

#[test]
fn shutdowns_at_all_moments_lose_nothing() {
    for round in 0..300_u64 {
        let pool = Pool::new(2).unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..10)
            .map(|n| {
                let counted = Counted(Arc::clone(&dropped));
                pool.spawn_future(async move {
                    let _counted = counted;
                    for _ in 0..n {
                        yield_now().await;
                    }
                })
            })
            .collect();
        let result = pool.shutdown(Duration::from_micros(round));
        let cancelled = tasks.into_iter().filter_map(|task| task.join().err()).count();
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
        match result {
            Ok(()) => assert_eq!(cancelled, 0),
            Err(Unfinished { closures, futures, .. }) => {
                assert!(closures == 0 && futures >= cancelled, "{futures} of {cancelled}");
            }
        }
    }
}
