//! Joins, scopes and broadcasts.

use rayon_core::{Scope, ScopeFifo};

use super::*;

#[test]
fn a_join_calls_its_first_half_itself_and_then_the_second() {
    let order = Mutex::new(Vec::new());
    let note = |half| order.lock().unwrap().push((half, thread::current().id()));
    let here = pool(1).install(|| {
        rayon_core::join(|| note("first"), || note("second"));
        thread::current().id()
    });
    assert_eq!(order.into_inner().unwrap(), [("first", here), ("second", here)]);
}

#[test]
fn the_first_half_of_a_join_stays_on_the_calling_thread() {
    pool(3).install(|| {
        for_each(0..1000, &|_| {
            let caller = thread::current().id();
            let ((first, has_moved), ()) = rayon_core::join_context(
                |context| (thread::current().id(), context.migrated()),
                |_| thread::yield_now(),
            );
            assert_eq!((first, has_moved), (caller, false));
        });
    });
}

#[test]
fn a_join_runs_both_halves_and_panics_as_the_first_that_does() {
    let outcome = |first: Option<u32>, second: Option<u32>, pool: Option<&ThreadPool>| {
        let ended = AtomicUsize::new(0);
        let half = |panics: Option<u32>| {
            ended.fetch_add(1, SeqCst);
            if let Some(number) = panics {
                panic_any(number);
            }
        };
        let join = || rayon_core::join(|| half(first), || half(second));
        let panic = panic_of(|| pool.map_or_else(join, |pool| pool.install(join)));
        (panic, ended.into_inner())
    };
    let pool = pool(2);
    for pool in [None, Some(&pool)] {
        assert_eq!(outcome(None, None, pool), (None, 2));
        assert_eq!(outcome(Some(1), None, pool), (Some(1), 2));
        assert_eq!(outcome(None, Some(2), pool), (Some(2), 2));
        assert_eq!(outcome(Some(1), Some(2), pool), (Some(1), 2));
    }
}

#[test]
fn a_scope_ends_after_all_its_tasks_and_before_the_task_that_made_it() {
    let ended = AtomicUsize::new(0);
    let end = || {
        thread::yield_now();
        ended.fetch_add(1, SeqCst);
    };
    let result = pool(3).scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|scope| {
                let inner = AtomicUsize::new(0);
                rayon_core::scope(|scope| {
                    for _ in 0..5 {
                        scope.spawn(|_| {
                            thread::yield_now();
                            inner.fetch_add(1, SeqCst);
                        });
                    }
                });
                assert_eq!(inner.into_inner(), 5);
                scope.spawn(|scope| {
                    scope.spawn(|_| end());
                    end();
                });
                end();
            });
        }
        7
    });
    assert_eq!((result, ended.into_inner()), (7, 60));
}

#[test]
fn a_scope_runs_all_its_tasks_although_some_panic() {
    let pool = pool(2);
    let ended = AtomicUsize::new(0);
    let end = || _ = ended.fetch_add(1, SeqCst);
    fn body<'scope>(end: &'scope (impl Fn() + Sync)) -> impl FnOnce(&Scope<'scope>) + Send {
        move |scope| {
            for number in 1..=5_u32 {
                scope.spawn(move |scope| {
                    scope.spawn(move |_| end());
                    panic_any(number);
                });
            }
            scope.spawn(move |_| end());
            panic_any(6_u32);
        }
    }
    fn fifo<'scope>(end: &'scope (impl Fn() + Sync)) -> impl FnOnce(&ScopeFifo<'scope>) + Send {
        move |scope| {
            for number in 1..=5_u32 {
                scope.spawn_fifo(move |scope| {
                    scope.spawn_fifo(move |_| end());
                    panic_any(number);
                });
            }
            scope.spawn_fifo(move |_| end());
            panic_any(6_u32);
        }
    }
    let calls: [&dyn Fn(); 8] = [
        &|| rayon_core::scope(body(&end)),
        &|| rayon_core::scope_fifo(fifo(&end)),
        &|| rayon_core::in_place_scope(body(&end)),
        &|| rayon_core::in_place_scope_fifo(fifo(&end)),
        &|| pool.scope(body(&end)),
        &|| pool.scope_fifo(fifo(&end)),
        &|| pool.in_place_scope(body(&end)),
        &|| pool.in_place_scope_fifo(fifo(&end)),
    ];
    for call in calls {
        assert!(panic_of(call).is_some_and(|number| number <= 6));
        assert_eq!(ended.swap(0, SeqCst), 6);
    }
}

#[test]
fn a_thread_takes_its_newest_task_first_unless_they_are_in_order() {
    let order = |in_order: bool, is_scope: bool| {
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let send = |number: i32| {
            let sender = sender.lock().unwrap().clone();
            move || sender.send(number).unwrap()
        };
        pool(1).install(|| match (in_order, is_scope) {
            (false, false) => (0..4).for_each(|n| rayon_core::spawn(send(n))),
            (true, false) => (0..4).for_each(|n| rayon_core::spawn_fifo(send(n))),
            (false, true) => rayon_core::scope(|scope| {
                for n in 0..4 {
                    let send = send(n);
                    scope.spawn(move |_| send());
                }
            }),
            (true, true) => rayon_core::scope_fifo(|scope| {
                for n in 0..4 {
                    let send = send(n);
                    scope.spawn_fifo(move |_| send());
                }
            }),
        });
        drop(sender);
        receiver.iter().collect::<Vec<_>>()
    };
    for is_scope in [false, true] {
        assert_eq!(order(false, is_scope), [3, 2, 1, 0]);
        assert_eq!(order(true, is_scope), [0, 1, 2, 3]);
    }
}

#[test]
fn a_scope_broadcasts_to_each_thread_once() {
    let pool = pool(3);
    let calls: [AtomicUsize; 3] = Default::default();
    let count = |index: usize| _ = calls[index].fetch_add(1, SeqCst);
    pool.scope(|scope| scope.spawn_broadcast(|_, context| count(context.index())));
    pool.scope_fifo(|scope| scope.spawn_broadcast(|_, context| count(context.index())));
    pool.in_place_scope(|scope| {
        scope.spawn_broadcast(|scope, context| {
            let index = context.index();
            scope.spawn(move |_| count(index));
        });
    });
    assert_eq!(calls.map(AtomicUsize::into_inner), [3; 3]);
}

#[test]
fn a_thread_runs_a_broadcast_after_its_own_tasks_and_before_those_of_others() {
    let pool = pool(1);
    let (sender, receiver) = channel();
    let send = |name: &'static str| {
        let sender = sender.clone();
        move || sender.send(name).unwrap()
    };
    pool.install(|| {
        let (from_outside, broadcast) = (send("from outside"), send("broadcast"));
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.spawn(from_outside);
                pool.spawn_broadcast(move |_| broadcast());
            });
        });
        rayon_core::spawn(send("own"));
    });
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), ["own", "broadcast", "from outside"]);
}

#[test]
fn a_broadcast_panics_once_after_it_has_ended_everywhere() {
    let pool = pool(4);
    let ended = AtomicUsize::new(0);
    let broadcast = || {
        pool.broadcast(|context| {
            ended.fetch_add(1, SeqCst);
            if context.index() % 2 == 0 {
                panic_any(context.index() as u32);
            }
        })
    };
    assert!(matches!(panic_of(broadcast), Some(0 | 2)));
    assert_eq!(ended.into_inner(), 4);
}
