//! Threads of one's own, and pools that start in the background.

mod common;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use common::message;
use locksley::{BuildError, Pool, Worker};

fn current_index() -> Option<usize> {
    Worker::with_current(|current| current.map(Worker::index))
}

#[test]
fn workers_run_on_the_threads_they_are_given() {
    let names = thread::scope(|scope| {
        let pool = Pool::builder().workers(3).build_with(|worker| {
            let name = format!("mine {}", worker.index());
            let run = move || {
                let index = worker.index();
                assert_eq!(current_index(), None);
                worker.run();
                assert_eq!(
                    current_index(),
                    None,
                    "worker {index} is a thread like any other again"
                );
            };
            thread::Builder::new().name(name).spawn_scoped(scope, run).map(drop)
        });
        pool.unwrap().broadcast(|w| {
            assert_eq!(current_index(), Some(w.index()));
            thread::current().name().map(str::to_owned)
        })
    });
    assert_eq!(names, [0, 1, 2].map(|n| Some(format!("mine {n}"))));
}

#[test]
fn a_thread_that_is_refused_is_an_error_and_nobody_stays() {
    let (sender, receiver) = channel();
    let mut threads = Vec::new();
    let built = Pool::builder()
        .workers(3)
        .on_exit(move |index| sender.send(index).unwrap())
        .build_with(|worker| {
            if worker.index() == 2 {
                return Err(io::Error::other("enough"));
            }
            threads.push(thread::spawn(|| worker.run()));
            Ok(())
        });
    match built.unwrap_err() {
        BuildError::Thread { worker: 2, source } => assert_eq!(source.to_string(), "enough"),
        other => panic!("{other}"),
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut left: Vec<_> = receiver.iter().collect();
    left.sort_unstable();
    assert_eq!(left, [0, 1]);
}

#[test]
fn a_worker_that_is_dropped_is_an_error() {
    let mut threads = Vec::new();
    let built = Pool::builder().workers(2).build_with(|worker| {
        if worker.index() == 0 {
            threads.push(thread::spawn(|| worker.run()));
        }
        Ok(())
    });
    assert!(matches!(built.unwrap_err(), BuildError::Thread { worker: 1, .. }));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_handler_that_panics_leaves_nobody() {
    let (sender, receiver) = channel();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let builder = Pool::builder().workers(3).on_exit(move |index| sender.send(index).unwrap());
        builder.build_with(|worker| {
            assert!(worker.index() < 2, "no more");
            thread::spawn(|| worker.run());
            Ok(())
        })
    }));
    assert_eq!(message(&*caught.err().unwrap()), "no more");
    assert_eq!(receiver.iter().count(), 2, "both have left");
}

#[test]
fn threads_may_start_after_a_build_in_the_background() {
    let mut waiting = Vec::new();
    let pool = Pool::builder().workers(2).start_in_background().build_with(|worker| {
        waiting.push(worker);
        Ok(())
    });
    let pool = pool.unwrap();
    let (sender, receiver) = channel();
    pool.spawn_broadcast(move |w| sender.send(w.index()).unwrap());
    thread::scope(|scope| {
        for worker in waiting {
            scope.spawn(|| worker.run());
        }
        assert_eq!(receiver.iter().count(), 2);
        drop(pool);
    });
}

#[test]
fn in_the_background_hooks_do_not_keep_the_builder_waiting() {
    let all = Arc::new(Barrier::new(4));
    let at_start = Arc::clone(&all);
    let builder = Pool::builder().workers(3).start_in_background().on_start(move |index| {
        assert_eq!(current_index(), Some(index), "hooks are called by the worker");
        assert_eq!(locksley::join(|| 1, || 2), (1, 2));
        at_start.wait();
    });
    let pool = builder.build().unwrap();
    all.wait();
    assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
}

#[test]
fn in_the_background_a_hooks_panic_goes_to_the_handler_and_the_worker_works() {
    let panics = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&panics);
    let builder = Pool::builder()
        .workers(3)
        .start_in_background()
        .panic_handler(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .worker_data(|index| assert!(index != 1, "no data"))
        .on_start(|_| panic!("at the start"))
        .on_exit(|_| panic!("at the end"));
    let pool = builder.build().unwrap();
    assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    drop(pool);
    assert_eq!(panics.load(Ordering::Relaxed), 3 + 3 + 1);
}

#[test]
fn a_detached_pool_finishes_what_it_has_accepted() {
    let (start, started) = channel::<()>();
    let (sender, receiver) = channel();
    let pool = Pool::new(2).unwrap();
    pool.spawn(move |w| {
        started.recv().unwrap(); // after `detach`, which waits for nobody
        w.spawn(move |_| sender.send("done").unwrap());
    });
    pool.detach();
    start.send(()).unwrap();
    assert_eq!(receiver.recv(), Ok("done"));
    assert!(receiver.recv().is_err());
}

#[test]
fn a_worker_may_serve_another_pool_in_between() {
    let outer = Pool::new(1).unwrap();
    let (send_worker, get_worker) = channel();
    let inner = Pool::builder().workers(1).start_in_background().build_with(|worker| {
        send_worker.send(worker).unwrap();
        Ok(())
    });
    let inner = inner.unwrap();
    thread::scope(|scope| {
        let served = scope.spawn(move || {
            let inner = get_worker.recv().unwrap();
            outer.run(|w| {
                inner.run();
                Worker::with_current(|now| std::ptr::eq(now.unwrap(), w))
            })
        });
        assert_eq!(inner.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
        drop(inner);
        assert!(served.join().unwrap(), "it is what it was before");
    });
}
