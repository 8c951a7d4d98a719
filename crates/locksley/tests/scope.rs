//! `scope`: all tasks end before it does, and their panics arrive.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{message, on_worker, pools};
use locksley::{Pool, Scope, scope};

#[test]
fn all_tasks_end_before_the_scope() {
    for pool in pools() {
        let count = AtomicU32::new(0);
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                for _ in 0..300 {
                    scope.spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            })
        });
        assert_eq!(count.into_inner(), 300);
    }
}

#[test]
fn tasks_may_spawn_tasks() {
    fn tree<'s>(scope: &Scope<'s>, count: &'s AtomicU32, depth: u32) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            scope.spawn(move |scope| tree(scope, count, depth - 1));
            scope.spawn(move |scope| tree(scope, count, depth - 1));
        }
    }
    for pool in pools() {
        let count = AtomicU32::new(0);
        pool.install(|_| scope(|scope| tree(scope, &count, 8)));
        assert_eq!(count.into_inner(), 511);
    }
}

#[test]
fn a_scope_returns_the_result_of_its_body() {
    assert_eq!(scope(|_| 7), 7);
}

#[test]
fn a_task_may_be_spawned_from_another_pool() {
    let (one, other) = (Pool::new(2).unwrap(), Pool::new(3).unwrap());
    let sizes = std::sync::Mutex::new(Vec::new());
    one.install(|_| {
        locksley::in_place_scope(|scope| {
            other.install(|_| {
                scope.spawn(|_| on_worker(|w| sizes.lock().unwrap().push(w.workers())));
            });
        })
    });
    assert_eq!(*sizes.lock().unwrap(), [2], "it runs in the scope's pool");
}

#[test]
fn panics_arrive_after_all_have_ended() {
    for pool in pools() {
        let ended = AtomicU32::new(0);
        let in_a_task = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|_| {
                locksley::in_place_scope(|scope| {
                    for n in 0..20 {
                        let ended = &ended;
                        scope.spawn(move |_| {
                            ended.fetch_add(1, Ordering::Relaxed);
                            assert!(n != 7, "task 7");
                        });
                    }
                })
            })
        }));
        assert_eq!(message(&*in_a_task.unwrap_err()), "task 7");
        assert_eq!(ended.load(Ordering::Relaxed), 20);

        let in_the_body = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|_| {
                locksley::in_place_scope(|scope| {
                    scope.spawn(|_| {
                        ended.fetch_add(1, Ordering::Relaxed);
                        panic!("a task");
                    });
                    panic!("the body");
                })
            })
        }));
        assert_eq!(message(&*in_the_body.unwrap_err()), "the body");
        assert_eq!(ended.into_inner(), 21);
    }
}

#[test]
fn one_of_many_panics_arrives() {
    let pool = Pool::new(4).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.install(|_| {
            scope(|scope| (0..50).for_each(|_| scope.spawn(|_| panic!("one of many"))));
        })
    }));
    assert_eq!(message(&*caught.unwrap_err()), "one of many");
}
