//! Tasks run on the threads of their pool, and on no other thread.

use std::cell::RefCell;

use super::*;

thread_local! {
    static LOCAL: RefCell<()> = const { RefCell::new(()) };
    /// The number that the start handler of the thread's pool has set.
    static POOL: Cell<usize> = const { Cell::new(0) };
}

/// Calls `calls` 100 times while a thread-local value is borrowed, as in a task of an async
/// runtime.
pub(super) fn while_local_is_borrowed(calls: impl Fn()) {
    LOCAL.with(|local| {
        let _borrowed = local.borrow_mut();
        (0..100).for_each(|_| calls());
    });
}

/// False on a thread that has borrowed the value.
fn is_elsewhere() -> bool {
    LOCAL.with(|local| local.try_borrow_mut().is_ok())
}

fn assert_elsewhere() {
    assert!(is_elsewhere(), "a task runs on the thread of the caller");
}

/// Each function that uses the global pool on a thread that belongs to none.
pub(super) fn call_global_pool() {
    rayon_core::join(assert_elsewhere, assert_elsewhere);
    rayon_core::join_context(|_| assert_elsewhere(), |_| assert_elsewhere());
    for_each(0..16, &|_| assert_elsewhere());
    rayon_core::scope(|scope| {
        assert_elsewhere();
        (0..3).for_each(|_| scope.spawn(|_| assert_elsewhere()));
        scope.spawn_broadcast(|_, _| assert_elsewhere());
    });
    rayon_core::scope_fifo(|scope| {
        assert_elsewhere();
        (0..3).for_each(|_| scope.spawn_fifo(|_| assert_elsewhere()));
    });
    rayon_core::in_place_scope(|scope| {
        assert!(!is_elsewhere(), "the body stays");
        (0..3).for_each(|_| scope.spawn(|_| assert_elsewhere()));
    });
    rayon_core::in_place_scope_fifo(|scope| {
        assert!(!is_elsewhere(), "the body stays");
        (0..3).for_each(|_| scope.spawn_fifo(|_| assert_elsewhere()));
    });
    rayon_core::broadcast(|_| assert_elsewhere());
    let (sender, receiver) = channel();
    let (second, third) = (sender.clone(), sender.clone());
    rayon_core::spawn(move || sender.send(is_elsewhere()).unwrap());
    rayon_core::spawn_fifo(move || second.send(is_elsewhere()).unwrap());
    rayon_core::spawn_broadcast(move |_| third.send(is_elsewhere()).unwrap());
    assert!(receiver.iter().all(|is_elsewhere| is_elsewhere));
}

#[test]
fn calls_from_outside_run_in_the_global_pool() {
    while_local_is_borrowed(call_global_pool);
}

#[test]
fn calls_from_outside_run_in_a_global_pool_that_locksley_has_built() {
    let (text, succeeded) = child("locksley builds the global pool");
    assert!(succeeded && text.contains("all in the pool\n"), "{text}");
}

#[test]
fn calls_from_outside_run_in_the_pool_that_is_named() {
    let pool = pool(2);
    while_local_is_borrowed(|| {
        pool.install(assert_elsewhere);
        pool.install(|| for_each(0..16, &|_| assert_elsewhere()));
        pool.join(assert_elsewhere, assert_elsewhere);
        pool.scope(|scope| {
            assert_elsewhere();
            scope.spawn(|_| assert_elsewhere());
        });
        pool.scope_fifo(|scope| {
            assert_elsewhere();
            scope.spawn_fifo(|_| assert_elsewhere());
        });
        pool.in_place_scope(|scope| {
            assert!(!is_elsewhere(), "the body stays");
            scope.spawn(|_| assert_elsewhere());
        });
        pool.in_place_scope_fifo(|scope| {
            assert!(!is_elsewhere(), "the body stays");
            scope.spawn_fifo(|_| assert_elsewhere());
        });
        pool.broadcast(|_| assert_elsewhere());
        let (sender, receiver) = channel();
        let (second, third) = (sender.clone(), sender.clone());
        pool.spawn(move || sender.send(is_elsewhere()).unwrap());
        pool.spawn_fifo(move || second.send(is_elsewhere()).unwrap());
        pool.spawn_broadcast(move |_| third.send(is_elsewhere()).unwrap());
        assert!(receiver.iter().all(|is_elsewhere| is_elsewhere));
    });
}

/// A pool whose threads, and their replacements, know its number. It has as many threads, too.
fn numbered_pool(number: usize) -> ThreadPool {
    builder(number).start_handler(move |_| POOL.set(number)).build().unwrap()
}

fn assert_in_pool(number: usize) {
    assert_eq!((POOL.get(), current_num_threads()), (number, number));
    assert!(current_thread_index().is_some_and(|index| index < number));
}

#[test]
fn tasks_and_what_they_call_run_on_the_threads_of_their_pool() {
    assert_ends(|| {
        let (two, three) = (numbered_pool(2), numbered_pool(3));
        two.install(|| {
            for_each(0..100, &|_| {
                assert_in_pool(2);
                three.install(|| {
                    rayon_core::join(|| assert_in_pool(3), || assert_in_pool(3));
                    assert_in_pool(3);
                    assert_eq!(
                        two.install(|| (POOL.get(), three.current_thread_index())),
                        (2, None)
                    );
                    assert_in_pool(3);
                });
                assert_in_pool(2);
                three.in_place_scope(|scope| {
                    assert_in_pool(2);
                    scope.spawn(|_| assert_in_pool(3));
                });
                rayon_core::scope(|scope| scope.spawn(|_| assert_in_pool(2)));
                assert_in_pool(2);
            });
            rayon_core::broadcast(|_| assert_in_pool(2));
            let (sender, receiver) = channel();
            let second = sender.clone();
            rayon_core::spawn(move || sender.send(POOL.get()).unwrap());
            rayon_core::spawn_broadcast(move |_| second.send(POOL.get()).unwrap());
            // The replacements of the threads that wait run them.
            three.install(move || assert_eq!(receiver.iter().collect::<Vec<_>>(), [2, 2, 2]));
        });
    });
}
