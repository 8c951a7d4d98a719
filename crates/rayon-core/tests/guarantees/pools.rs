//! Pools and their builder.

use rayon_core::{ThreadBuilder, Yield};

use super::*;

#[test]
fn an_install_returns_or_panics_as_its_task_does() {
    let (pool, other) = (pool(2), pool(1));
    let fail = || panic_any(5_u32);
    assert_eq!(pool.install(|| "it returns"), "it returns");
    assert_eq!(panic_of(|| pool.install(fail)), Some(5));
    assert_eq!(panic_of(|| pool.install(|| other.install(fail))), Some(5));
    assert_eq!(panic_of(|| pool.install(|| pool.install(fail))), Some(5));
}

#[test]
fn a_dropped_pool_finishes_what_was_spawned() {
    let (sender, receiver) = channel();
    let pool = pool(2);
    for _ in 0..50 {
        let sender = sender.clone();
        pool.spawn(move || {
            thread::yield_now();
            rayon_core::spawn_fifo(move || sender.send(()).unwrap());
        });
    }
    drop((pool, sender));
    assert_eq!(receiver.iter().count(), 50);
}

#[test]
fn threads_of_a_handler_end_after_the_pool_is_dropped() {
    let threads = Mutex::new(Vec::new());
    let handler = |thread: ThreadBuilder| {
        threads.lock().unwrap().push(thread::spawn(|| thread.run()));
        Ok(())
    };
    let pool = builder(2).spawn_handler(handler).build().unwrap();
    pool.broadcast(|_| ());
    let threads = threads.into_inner().unwrap();
    assert!(!threads.iter().any(|thread| thread.is_finished()));
    drop(pool);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_scoped_pool_ends_before_its_builder_returns() {
    thread_local!(static IS_WRAPPED: Cell<bool> = const { Cell::new(false) });
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrapper = |thread: ThreadBuilder| {
        begun.fetch_add(1, SeqCst);
        IS_WRAPPED.set(true);
        thread.run();
        ended.fetch_add(1, SeqCst);
    };
    let sum = builder(2).build_scoped(wrapper, |pool| {
        assert_eq!(pool.broadcast(|_| IS_WRAPPED.get()), [true, true]);
        pool.install(|| 3)
    });
    assert_eq!((sum.unwrap(), begun.into_inner(), ended.into_inner()), (3, 2, 2));
}

#[test]
fn an_error_of_the_system_is_that_of_the_builder() {
    let error = builder(1).stack_size(usize::MAX - 1_000_000).build().unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
}

#[test]
fn the_calling_thread_may_be_the_first_of_a_pool() {
    let (sender, receiver) = channel();
    let at_exit = sender.clone();
    let caller = thread::spawn(move || {
        let pool = builder(2)
            .use_current_thread()
            .start_handler(move |index| sender.send(("start", index)).unwrap())
            .exit_handler(move |index| at_exit.send(("exit", index)).unwrap())
            .build()
            .unwrap();
        let (this, ran) = (thread::current().id(), AtomicUsize::new(0));
        assert_eq!((pool.current_thread_index(), current_thread_index()), (Some(0), Some(0)));
        assert_eq!(pool.install(|| thread::current().id()), this);
        // Thread 1 is busy, and this thread runs no task before it yields.
        let (busy, free) = (AtomicBool::new(false), AtomicBool::new(false));
        rayon_core::in_place_scope(|scope| {
            scope.spawn(|_| {
                busy.store(true, SeqCst);
                until(|| free.load(SeqCst));
                // The calling thread waits meanwhile. No replacement works under its index.
                thread::sleep(Duration::from_millis(50));
            });
            until(|| busy.load(SeqCst));
            scope.spawn(|_| {
                assert_eq!(thread::current().id(), this);
                ran.fetch_add(1, SeqCst);
            });
            assert_eq!(ran.load(SeqCst), 0);
            assert_eq!(rayon_core::yield_now(), Some(Yield::Executed));
            assert_eq!(ran.load(SeqCst), 1);
            free.store(true, SeqCst);
        });
    });
    caller.join().unwrap();
    // The handlers are never freed, so the channel stays open.
    let mut calls: Vec<_> = receiver.iter().take(2).collect();
    calls.sort_unstable();
    assert_eq!(calls, [("exit", 1), ("start", 1)]);
    assert!(receiver.try_recv().is_err(), "no handler is called for thread 0");
}

#[test]
fn a_panic_of_a_handler_goes_to_the_panic_handler_and_its_thread_goes_on() {
    let (sender, receiver) = channel();
    let pool = builder(2)
        .start_handler(|index| panic_any(10 + index))
        .exit_handler(|index| panic_any(20 + index))
        .panic_handler(move |payload| sender.send(*payload.downcast().unwrap()).unwrap())
        .build()
        .unwrap();
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    drop(pool);
    let mut panics: Vec<usize> = receiver.iter().collect();
    panics.sort_unstable();
    assert_eq!(panics, [10, 11, 20, 21]);
}

#[test]
fn the_panic_handler_gets_what_no_caller_waits_for() {
    let (sender, receiver) = channel();
    let handler = move |payload: Box<dyn std::any::Any + Send>| {
        sender.send(*payload.downcast::<u32>().unwrap()).unwrap();
    };
    let pool = builder(2).panic_handler(handler).build().unwrap();
    pool.spawn(|| panic_any(1_u32));
    pool.spawn_fifo(|| panic_any(2_u32));
    pool.spawn_broadcast(|_| panic_any(3_u32));
    assert_eq!(panic_of(|| pool.install(|| panic_any(9_u32))), Some(9));
    drop(pool);
    let mut panics: Vec<_> = receiver.iter().collect();
    panics.sort_unstable();
    assert_eq!(panics, [1, 2, 3, 3]);
}

#[test]
fn a_panic_that_no_handler_takes_aborts_the_process() {
    for case in [
        "a spawned task panics",
        "a spawned task of the global pool panics",
        "a spawned task panics in a global pool that Locksley has built",
        "a spawned task panics on a pool of Locksley's",
        "a broadcast task panics on a pool of Locksley's",
        "a broadcast task panics",
        "the panic handler panics",
        "the start handler panics",
    ] {
        let (text, succeeded) = child(case);
        assert!(!succeeded && text.contains("of the "), "{case}: {text}");
    }
}

#[test]
fn a_dropped_handle_of_locksleys_ends_no_process() {
    assert!(child("a dropped handle's task panics").1);
}

/// Two handlers are in progress at the same time.
#[test]
fn handlers_may_run_in_parallel() {
    static BARRIER: Barrier = Barrier::new(2);
    assert_ends(|| {
        let wait = |_| _ = BARRIER.wait();
        let pool = builder(2).start_handler(wait).exit_handler(wait);
        let (sender, receiver) = channel();
        let handler = move |_| {
            BARRIER.wait();
            sender.send(()).unwrap();
        };
        let pool = pool.panic_handler(handler).build().unwrap();
        pool.spawn_broadcast(|_| panic!("on both threads"));
        drop(pool);
        assert_eq!(receiver.iter().count(), 2);
    });
}
