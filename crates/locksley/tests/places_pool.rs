//! Pools with several places, which the tests define: the queues to which tasks go, and the workers
//! that take them.

mod common;

use std::mem;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use common::idle_policies::{Helping, RESTLESS, SLEEPLESS, SLEEPY};
use common::places::{PATIENCE, divided, hold};
use common::{AlwaysAsleep, Confined, fib, message, on_worker, wait_for};
use locksley::idle::Balanced;
use locksley::loops::par;
use locksley::task::yield_now;
use locksley::{
    Affinity, Cancellation, Cancelled, Pool, PoolBuilder, Spawn, Worker, scope, scope_until,
    spawn_with,
};

const SHAPES: [&[usize]; 5] = [&[2], &[1, 1], &[1, 2], &[2, 2, 1], &[1, 3, 2, 2]];

fn idle_policies() -> [fn(PoolBuilder) -> PoolBuilder; 7] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Helping { attempts: 64 }),
        |pool| pool.idle_policy(SLEEPLESS),
        |pool| pool.idle_policy(SLEEPY),
        |pool| pool.idle_policy(RESTLESS),
        |pool| pool.idle_policy(Confined),
        |pool| pool.idle_policy(AlwaysAsleep),
    ]
}

fn options() -> impl Iterator<Item = PoolBuilder> {
    let builders = SHAPES
        .into_iter()
        .flat_map(|shape| idle_policies().map(|idle_policy| idle_policy(divided(shape))));
    builders.enumerate().map(|(n, pool)| {
        let affinity = [Affinity::Process, Affinity::Place, Affinity::Builder][n % 3];
        pool.affinity(affinity)
    })
}

fn fib_near(worker: &Worker, places: usize, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let place = n as usize % places;
    let (a, b) =
        worker.join_near(place, |w| fib_near(w, places, n - 1), |w| fib_near(w, places, n - 2));
    a + b
}

#[test]
fn each_task_and_item_runs_once_under_every_option() {
    let other = Pool::new(1).unwrap();
    for builder in options() {
        let pool = builder.build().unwrap();
        let places = pool.places().count();
        let (sender, receiver) = channel();
        for n in 0..40 {
            let sender = sender.clone();
            let task = move |_: &Worker| {
                let again = sender.clone();
                locksley::spawn_with(Spawn::Near((n + 1) % places), move || {
                    again.send(100 + n).unwrap()
                });
                sender.send(n).unwrap();
            };
            if n % 4 == 0 {
                pool.spawn(task)
            } else {
                pool.spawn_with(Spawn::Near(n % places), task)
            }
        }
        drop(sender);
        assert_eq!(pool.install(|w| fib(w, 15)), 610);
        assert_eq!(pool.install(|w| fib_near(w, places, 9)), 34);
        let mut visits = vec![0_u8; 5000];
        for _ in 0..3 {
            pool.install(|_| par(&mut visits).by_place().for_each(|visit| *visit += 1));
        }
        let token = Cancellation::new();
        let more =
            |_: &Worker| par(&mut visits).cancel(&token).by_place().for_each(|visit| *visit += 1);
        assert_eq!(pool.install(more), Ok(()));
        let squares =
            pool.install(|_| par(0..3000_u64).cancel(&token).by_place().map(|n| n * n)).unwrap();
        assert!(squares.iter().zip(0..3000).all(|(&square, n)| square == n * n));
        let all = |_: &Worker| {
            let all = par(&squares).cancel(&token).by_place();
            all.reduce(|| 0, |sum, n| sum + n, |a, b| a + b)
        };
        assert_eq!(pool.install(all), Ok(squares.iter().sum()));
        assert!(visits.iter().all(|&visits| visits == 4));
        let names = pool.install(|_| par(0..3000_u32).by_place().map(|n| n.to_string()));
        assert!(names.iter().enumerate().all(|(n, name)| *name == n.to_string()));
        assert_eq!(names.len(), 3000);
        // Not commutative: all items, in order.
        let append = |mut all: Vec<u32>, n: u32| {
            all.push(n);
            all
        };
        let in_order = |_: &Worker| {
            let all = par(0..3000_u32).by_place();
            all.reduce(Vec::new, append, |a, b| [a, b].concat())
        };
        assert_eq!(pool.install(in_order), (0..3000).collect::<Vec<_>>());
        for items in [0_u16, 1, 2, 5, 1000] {
            // The sum of floats depends on the order of additions.
            let root = |sum: f32, n: u16| sum + f32::from(n).sqrt();
            let bits = |sum: f32| sum.to_bits();
            for leaf in [1, 3, 64, 10_000] {
                let all = || par(0..items).grain(leaf);
                let anywhere = all().reduce(|| 0.1, root, |a, b| a + b);
                let by_place =
                    pool.install(|_| all().by_place().reduce(|| 0.1, root, |a, b| a + b));
                assert_eq!(bits(by_place), bits(anywhere), "{items} {leaf}");
                let until = pool.install(|_| {
                    all().by_place().cancel(&token).reduce(|| 0.1, root, |a, b| a + b)
                });
                assert_eq!(until.map(bits), Ok(bits(anywhere)));
            }
        }
        for count in [0, 1, 2] {
            let all = || par(0..count).by_place();
            assert_eq!(pool.install(|_| all().map(|n| n)).len(), count);
            let until = pool.install(|_| all().cancel(&token).map(|n| n));
            assert_eq!(until.unwrap().len(), count);
            let counted = pool.install(|_| all().reduce(|| 0, |a, _| a + 1, |a, b| a + b));
            assert_eq!(counted, count);
        }
        let futures: Vec<_> = (0..20)
            .map(|n| {
                let future = async move {
                    yield_now().await;
                    n
                };
                let place = n % places;
                match n % 3 {
                    0 => pool.spawn_future_with(Spawn::Near(place), future),
                    1 => pool.install(|_| pool.spawn_future_with(Spawn::Near(place), future)),
                    _ => pool.install(|_| locksley::task::spawn(future)),
                }
            })
            .collect();
        let answers = futures.into_iter().map(|task| task.join().unwrap());
        assert_eq!(answers.collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
        let count = AtomicUsize::new(0);
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                for n in 0..50 {
                    let count = &count;
                    scope.spawn(move |scope| {
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                    scope.spawn_with(Spawn::Near(n % places), move |_, scope| {
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 100);
        let count = AtomicUsize::new(0);
        let add = &|| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        // By a thread that is no worker, by a worker of another pool, and by a worker that is
        // looked up.
        pool.in_place_scope(|scope| {
            (0..places).for_each(|place| scope.spawn_with(Spawn::Near(place), move |_, _| add()));
        });
        other.install(|_| {
            pool.in_place_scope(|scope| {
                (0..places)
                    .for_each(|place| scope.spawn_with(Spawn::Near(place), move |_, _| add()));
            });
        });
        pool.install(|_| {
            scope(|scope| {
                (0..places).for_each(|place| {
                    scope.spawn_with(Spawn::Near(place), move |_, scope| {
                        scope.spawn_with(Spawn::Near(place), move |_, _| add())
                    });
                });
            });
            let all = scope_until(&token, |scope| {
                (0..places)
                    .for_each(|place| scope.spawn_with(Spawn::Near(place), move |_, _| add()));
            });
            assert_eq!(all, Ok(()));
        });
        assert_eq!(count.into_inner(), 4 * places);
        assert_eq!(pool.install(|w| w.join_near(places - 1, |_| 1, |_| 2)), (1, 2));
        let (near, is_near) = channel();
        pool.install(|_| spawn_with(Spawn::Near(places - 1), move || near.send(1).unwrap()));
        assert_eq!(is_near.recv_timeout(PATIENCE), Ok(1));
        let mut done: Vec<_> = receiver.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..40).chain(100..140).collect::<Vec<_>>());
    }
}

/// Cancelled scopes and loops, and panics, at a place.
#[test]
fn cancelled_tasks_of_a_place_do_not_begin_and_panics_of_a_place_arrive() {
    let pool = divided(&[1, 1]).own_threads_only().build().unwrap();
    let _held = hold(&pool, 1);
    let token = Cancellation::new();
    let count = AtomicUsize::new(0);
    let result = pool.install(|_| {
        locksley::scope_until(&token, |scope| {
            let add = || {
                count.fetch_add(1, Ordering::Relaxed);
            };
            scope.spawn_with(Spawn::Near(1), move |_, _| add());
            scope.spawn_with(Spawn::Near(1), |_, _| token.cancel());
            scope.spawn_with(Spawn::Near(1), move |_, _| add());
        })
    });
    assert_eq!((result, count.into_inner()), (Err(Cancelled), 1));
    token.cancel();
    for items in [0, 10] {
        let all = || par(0..items).cancel(&token).by_place();
        let none = pool.install(|_| all().for_each(|_| unreachable!()));
        assert_eq!(none, Err(Cancelled));
        assert_eq!(pool.install(|_| all().map(|n| n)), Err(Cancelled));
        let add = |a, b| a + b;
        assert_eq!(pool.install(|_| all().reduce(|| 0, add, add)), Err(Cancelled));
        assert_eq!(pool.install(|_| all().grain(3).reduce(|| 0, add, add)), Err(Cancelled));
    }
    // No result of another worker is lost, and none is dropped twice.
    let made = Arc::new(());
    let broken = |n: usize| {
        assert!(n != 7, "the seventh");
        Arc::clone(&made)
    };
    let all = || par(0..1000_usize).by_place();
    let payload = catch_unwind(AssertUnwindSafe(|| pool.install(|_| all().map(broken))));
    assert_eq!(message(&*payload.unwrap_err()), "the seventh");
    assert_eq!(Arc::strong_count(&made), 1);
    // The same if one of the last items cancels the loop. The free worker runs the items of its own
    // place first, in order, and then those of the other. So in one case half of them are missing,
    // and in the other case all were visited before.
    for (place, expected) in [Err(Cancelled), Ok(1000)].into_iter().enumerate() {
        let token = Cancellation::new();
        let some = |n: usize| {
            if n == 500 * place + 499 {
                token.cancel();
            }
            Arc::clone(&made)
        };
        let result = pool.install(|_| all().cancel(&token).map(some));
        assert_eq!(result.map(|all| all.len()), expected);
        assert_eq!(Arc::strong_count(&made), 1);
    }
    // A task that is spawned after the cancellation is dropped at once, an earlier one later.
    let token = Cancellation::new();
    let result = pool.install(|_| {
        scope_until(&token, |scope| {
            let [sent, late] = [0, 1].map(|_| Arc::clone(&made));
            scope.spawn_with(Spawn::Near(1), move |_, _| unreachable!("{sent:?}"));
            token.cancel();
            scope.spawn_with(Spawn::Near(1), move |_, _| unreachable!("{late:?}"));
            assert_eq!(Arc::strong_count(&made), 2);
        })
    });
    assert_eq!((result, Arc::strong_count(&made)), (Err(Cancelled), 1));
    let task = pool.spawn_future_with(Spawn::Near(1), async { panic!("at a place") });
    assert!(matches!(task.join(), Err(error) if !error.is_cancelled()));
}

#[test]
fn a_future_begins_at_its_place() {
    let pool = divided(&[1, 1]).build().unwrap();
    for place in [0, 1] {
        // A thread that is no worker spawns it. The worker of the other place is held.
        let _held = hold(&pool, 1 - place);
        let here = || Worker::with_current(|current| current.unwrap().place());
        let task = pool.spawn_future_with(Spawn::Near(place), async move { here() });
        assert_eq!(task.join().unwrap(), place);
    }
}

/// The files of the panics about places that do not exist. No other test causes one.
static BLAMED: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn a_place_that_does_not_exist_is_refused() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if message(info.payload()).starts_with("there is no place") {
            let at = info.location().map(|it| it.file().to_owned());
            BLAMED.lock().unwrap().extend(at);
        }
        before(info);
    }));
    for shape in SHAPES {
        let pool = divided(shape).build().unwrap();
        let count = shape.len();
        assert_eq!(pool.places().count(), count);
        let said = format!("there is no place {count} in a pool of {count}");
        let refused = |what: &dyn Fn()| {
            let payload = catch_unwind(AssertUnwindSafe(what)).unwrap_err();
            assert_eq!(message(&*payload), said);
            let blamed = mem::take(&mut *BLAMED.lock().unwrap());
            assert_eq!(blamed, [file!()], "the panic names the caller");
        };
        refused(&|| pool.spawn_with(Spawn::Near(count), |_| ()));
        refused(&|| pool.install(|_| locksley::spawn_with(Spawn::Near(count), || ())));
        refused(&|| pool.install(|w| w.join_near(count, |_| (), |_| ())).0);
        refused(&|| {
            pool.install(|_| {
                locksley::in_place_scope(|scope| scope.spawn_with(Spawn::Near(count), |_, _| ()))
            })
        });
        refused(&|| {
            pool.install(|_| scope(|scope| scope.spawn_with(Spawn::Near(count), |_, _| ())))
        });
        refused(&|| pool.in_place_scope(|scope| scope.spawn_with(Spawn::Near(count), |_, _| ())));
        refused(&|| pool.install(|_| spawn_with(Spawn::Near(count), || ())));
        refused(&|| drop(pool.spawn_future_with(Spawn::Near(count), async {})));
        let token = Cancellation::new();
        refused(&|| {
            _ = scope_until(&token, |_| {
                pool.in_place_scope(|scope| scope.spawn_with(Spawn::Near(count), |_, _| ()))
            });
        });
        refused(&|| {
            _ = pool.install(|_| {
                scope_until(&token, |scope| scope.spawn_with(Spawn::Near(count), |_, _| ()))
            })
        });
        let last = pool.install(|w| w.join_near(count - 1, |_| 1, |_| 2));
        assert_eq!(last, (1, 2));
    }
}

/// `spawn_with` on a worker uses its pool, and on any other thread the global pool.
#[test]
fn places_are_those_of_the_calling_workers_pool_or_of_the_global_one() {
    let global = Pool::global().places().count();
    let builder = divided(&vec![1; global + 1]).thread_name(|_| "divided".to_owned());
    let pool = builder.build().unwrap();
    let (sender, receiver) = channel();
    let send = || {
        let sender = sender.clone();
        let is_divided = || thread::current().name() == Some("divided");
        move || sender.send(is_divided()).unwrap()
    };
    pool.install(|_| spawn_with(Spawn::Near(global), send()));
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(true));
    spawn_with(Spawn::Near(global - 1), send());
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(false));
}

#[test]
fn workers_that_are_neighbours_share_a_place() {
    let pool = divided(&[1, 3, 2]).build().unwrap();
    assert_eq!(pool.broadcast(Worker::place), [0, 1, 1, 1, 2, 2]);
    let fewer = divided(&[1, 3, 2]).workers(2).build().unwrap();
    assert_eq!(fewer.broadcast(Worker::place), [0, 1]);
    assert_eq!(fewer.install(|w| w.join_near(2, |_| 1, |_| 2)), (1, 2), "place 2 has no worker");
    let (sender, receiver) = channel();
    fewer.spawn_with(Spawn::Near(2), move |w| sender.send(w.place()).unwrap());
    assert!(receiver.recv_timeout(PATIENCE).unwrap() < 2);
}

#[test]
fn a_replacement_belongs_to_the_place_of_its_worker() {
    let pool = divided(&[1, 1]).build().unwrap();
    let _held = hold(&pool, 0);
    let (sender, receiver) = channel();
    pool.spawn_with(Spawn::At(1), move |_| {
        // The other worker is held, so the replacement runs this.
        let (here, is_here) = channel();
        locksley::spawn(move || on_worker(|w| here.send((w.index(), w.place())).unwrap()));
        sender.send(locksley::blocking(|| is_here.recv_timeout(PATIENCE).unwrap())).unwrap();
    });
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok((1, 1)));
}

#[test]
fn panics_of_both_halves_arrive() {
    let pool = divided(&[1, 1]).build().unwrap();
    for (first, second, said) in
        [(false, true, "second"), (true, false, "first"), (true, true, "first")]
    {
        let both = || {
            pool.install(|w| {
                let place = 1 - w.place();
                w.join_near(place, |_| assert!(!first, "first"), |_| assert!(!second, "second"))
            })
        };
        let payload = catch_unwind(AssertUnwindSafe(both)).unwrap_err();
        assert_eq!(message(&*payload), said);
    }
}

/// Law 2: the only worker of a place is stuck, and other workers run the tasks for that place.
#[test]
fn a_task_for_a_stuck_place_runs_at_another() {
    for idle_policy in idle_policies() {
        for shape in [&[1, 1][..], &[2, 1], &[1, 1, 1]] {
            let pool = idle_policy(divided(shape)).build().unwrap();
            let (stuck, last) = (shape.iter().sum::<usize>() - 1, shape.len() - 1);
            for _ in 0..20 {
                let flags = [AtomicBool::new(false), AtomicBool::new(false)];
                pool.in_place_scope(|scope| {
                    let flags = &flags;
                    let (here, is_here) = channel();
                    // Sent by the place's own worker, and by another thread.
                    scope.spawn_broadcast(move |w, scope| {
                        if w.index() == stuck {
                            scope.spawn_with(Spawn::Near(last), |_, _| {
                                flags[0].store(true, Ordering::Release)
                            });
                            here.send(()).unwrap();
                            flags.iter().for_each(wait_for);
                        }
                    });
                    is_here.recv_timeout(PATIENCE).unwrap();
                    pool.install(|w| {
                        w.join_near(last, |_| (), |_| flags[1].store(true, Ordering::Release));
                    });
                });
            }
            let total = pool.stats().total();
            assert!(total.out_of_place >= 20, "{total:?}");
        }
    }
}

/// A worker spins until a task has run that it has sent to another place. The worker of that place
/// sleeps or searches.
#[test]
fn a_task_for_another_place_runs_although_its_sender_is_stuck() {
    for idle_policy in idle_policies() {
        let pool = idle_policy(divided(&[1, 1])).build().unwrap();
        for place in 0..2 {
            for _ in 0..50 {
                let flag = AtomicBool::new(false);
                pool.install(|_| {
                    locksley::in_place_scope(|scope| {
                        scope.spawn_with(Spawn::Near(place), |_, _| {
                            flag.store(true, Ordering::Release)
                        });
                        wait_for(&flag);
                    });
                });
            }
        }
    }
}

/// Each worker waits for its own scope, and has sent tasks of it to the others.
#[test]
fn workers_that_wait_run_what_they_have_sent_to_places() {
    let pool = divided(&[1, 1]).build().unwrap();
    for _ in 0..100 {
        let barrier = Barrier::new(2);
        let count = AtomicUsize::new(0);
        pool.broadcast(|_| {
            locksley::in_place_scope(|scope| {
                for place in 0..2 {
                    let add = || {
                        count.fetch_add(1, Ordering::Relaxed);
                    };
                    scope.spawn_with(Spawn::Near(place), move |_, _| add());
                    scope.spawn(move |_| add());
                    scope.spawn(move |_| add());
                }
                barrier.wait();
            });
        });
        assert_eq!(count.into_inner(), 12);
    }
}

#[test]
fn a_worker_prefers_tasks_for_its_place() {
    for idle_policy in idle_policies() {
        let pool = idle_policy(divided(&[1, 1])).build().unwrap();
        let held = [0, 1].map(|worker| hold(&pool, worker));
        let (sender, receiver) = channel();
        for n in 0..6 {
            let sender = sender.clone();
            let task = move |w: &Worker| sender.send((n, w.index())).unwrap();
            pool.spawn_with(Spawn::Near(n % 2), task);
        }
        held[1].send(()).unwrap();
        let order: Vec<_> = (0..6).map(|_| receiver.recv_timeout(PATIENCE).unwrap()).collect();
        assert_eq!(order, [1, 3, 5, 0, 2, 4].map(|n| (n, 1)));
        assert_eq!(pool.stats().workers[1].out_of_place, 3);
    }
}

/// A worker also runs tasks for all workers, and pinned ones, although tasks for its place are
/// always ready.
#[test]
fn tasks_for_a_place_do_not_starve_other_tasks() {
    for idle_policy in idle_policies() {
        let pool = idle_policy(divided(&[1, 1])).build().unwrap();
        let [first, _second] = [0, 1].map(|worker| hold(&pool, worker));
        let (sender, receiver) = channel();
        let task = |name: &'static str| {
            let sender = sender.clone();
            move |_: &Worker| sender.send(name).unwrap()
        };
        (0..500).for_each(|_| pool.spawn_with(Spawn::Near(0), task("near")));
        pool.spawn(task("to all"));
        pool.spawn_with(Spawn::At(0), task("to one"));
        first.send(()).unwrap();
        let order: Vec<_> = (0..502).map(|_| receiver.recv_timeout(PATIENCE).unwrap()).collect();
        for name in ["to all", "to one"] {
            let position = order.iter().position(|&it| it == name).unwrap();
            assert!(position < 250, "{name}: {position}");
        }
    }
}

#[test]
fn a_pool_with_one_place_counts_no_task_out_of_place() {
    for pool in [divided(&[3]), Pool::builder().workers(2)] {
        let pool = pool.build().unwrap();
        if pool.places().count() > 1 {
            continue; // a large machine
        }
        assert_eq!(pool.install(|w| fib(w, 20)), 6765);
        let (sender, receiver) = channel();
        pool.spawn_with(Spawn::Near(0), move |w| sender.send(w.place()).unwrap());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(0));
        assert_eq!(pool.stats().total().out_of_place, 0);
    }
}

/// The borrowed thread drops the pool and runs no more tasks of it.
#[test]
fn a_task_for_another_place_runs_although_a_borrowed_thread_drops_the_pool() {
    let (done, is_done) = channel();
    thread::spawn(move || {
        let pool = divided(&[1, 1]).with_current_thread().build().unwrap();
        let (here, is_here) = channel();
        let (go_on, reported) = channel();
        pool.spawn_with(Spawn::At(1), move |_| {
            here.send(()).unwrap();
            reported.recv().unwrap();
            done.send(()).unwrap();
        });
        is_here.recv_timeout(PATIENCE).unwrap();
        pool.spawn_with(Spawn::Near(1), move |_| go_on.send(()).unwrap());
        drop(pool);
    });
    assert_eq!(is_done.recv_timeout(PATIENCE), Ok(()));
}

/// One call finds the task, although this worker has never searched that place.
#[test]
fn run_one_finds_a_task_that_was_sent_to_another_place() {
    let pool = divided(&[1, 1]).build().unwrap();
    let _held = hold(&pool, 1);
    let (sender, receiver) = channel();
    pool.install(|w| {
        for n in 0..10 {
            let sender = sender.clone();
            locksley::spawn_with(Spawn::Near(1), move || sender.send(n).unwrap());
        }
        while w.run_one() {}
    });
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_loop_gives_each_place_the_same_items() {
    let pool = divided(&[1, 1]).build().unwrap();
    for turn in 0..40 {
        // The barrier makes both workers visit the first item of a part at the same time. Each part
        // must be visited by the worker of its place. The workers alternate as the caller, because
        // a loop that ignored places would always give the first item to the caller.
        let (caller, has_grain) = (turn % 2, turn % 4 > 1);
        let barrier = Barrier::new(2);
        let at = [AtomicUsize::new(9), AtomicUsize::new(9)];
        let body = |n: usize| {
            if n % 500 == 0 {
                let here = Worker::with_current(|current| current.unwrap().place());
                at[n / 500].store(here, Ordering::Relaxed);
                barrier.wait();
            }
        };
        pool.broadcast(|w| {
            if w.index() != caller {
            } else if has_grain {
                par(0..1000).by_place().grain(10).for_each(body);
            } else {
                par(0..1000).by_place().for_each(body);
            }
        });
        assert_eq!(at.map(AtomicUsize::into_inner), [0, 1]);
    }
    // On the global pool, with any number of places.
    let count = AtomicUsize::new(0);
    par(0..1000).by_place().for_each(|_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(Pool::global().install(|w| w.join_near(0, |_| 1, |_| 2)), (1, 2));
    assert_eq!(count.into_inner(), 1000);
}
