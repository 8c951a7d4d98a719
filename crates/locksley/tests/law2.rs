//! Law 2: whatever a worker does, other workers can take its ready tasks.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::Confined;
use common::idle_policies::{RESTLESS, SLEEPLESS};
use locksley::{Pool, Worker};

fn wait_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
}

fn pools_of_two() -> [Pool; 4] {
    let of_two = || Pool::builder().workers(2);
    let confined = of_two().idle_policy(Confined);
    [of_two(), of_two().idle_policy(SLEEPLESS), of_two().idle_policy(RESTLESS), confined]
        .map(|builder| builder.build().unwrap())
}

/// Forks until the worker closes its deque. A steal in between opens it again.
fn fork_much(w: &Worker) {
    for _ in 0..1000 {
        w.join(|_| (), |_| ());
    }
}

#[test]
fn the_second_half_of_a_join_runs_while_the_first_waits_for_it() {
    for pool in pools_of_two() {
        for _ in 0..200 {
            let flag = AtomicBool::new(false);
            pool.install(|w| {
                w.join(|_| wait_until(&flag), |_| flag.store(true, Ordering::Release))
            });
        }
    }
}

#[test]
fn the_second_half_of_a_join_runs_though_its_worker_had_closed_its_deque() {
    for pool in pools_of_two() {
        for _ in 0..50 {
            let flag = AtomicBool::new(false);
            pool.install(|w| {
                fork_much(w);
                w.join(|_| wait_until(&flag), |_| flag.store(true, Ordering::Release));
            });
        }
    }
}

#[test]
fn a_task_runs_though_its_worker_forks_until_it_has_run() {
    for pool in pools_of_two() {
        for _ in 0..3 {
            let flag = AtomicBool::new(false);
            pool.install(|w| {
                locksley::in_place_scope(|scope| {
                    scope.spawn(|_| flag.store(true, Ordering::Release));
                    while !flag.load(Ordering::Acquire) {
                        w.join(|_| (), |_| ());
                    }
                });
            });
        }
    }
}

#[test]
fn all_tasks_below_a_stuck_task_run_though_its_worker_had_closed_its_deque() {
    for pool in pools_of_two() {
        let flags: Vec<_> = (0..50).map(|_| AtomicBool::new(false)).collect();
        pool.install(|w| {
            locksley::in_place_scope(|scope| {
                fork_much(w);
                for flag in &flags {
                    scope.spawn(|_| flag.store(true, Ordering::Release));
                    fork_much(w);
                }
                flags.iter().for_each(wait_until);
            });
        });
    }
}

#[test]
fn a_task_below_many_others_runs_while_its_worker_is_stuck() {
    for pool in pools_of_two() {
        let flags: Vec<_> = (0..50).map(|_| AtomicBool::new(false)).collect();
        // Each level pushes the task that sets its flag. The innermost level waits for all flags.
        fn nest(w: &locksley::Worker, flags: &[AtomicBool], level: usize) {
            match flags.get(level) {
                None => flags.iter().for_each(wait_until),
                Some(flag) => {
                    w.join(|w| nest(w, flags, level + 1), |_| flag.store(true, Ordering::Release));
                }
            }
        }
        pool.install(|w| nest(w, &flags, 0));
    }
}

#[test]
fn spawned_tasks_run_while_the_body_of_their_scope_waits_for_them() {
    for pool in pools_of_two() {
        let flag = AtomicBool::new(false);
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| flag.store(true, Ordering::Release));
                wait_until(&flag);
            })
        });
    }
}

#[test]
fn all_workers_but_one_may_wait() {
    const WORKERS: usize = 8;
    let pool = Pool::new(WORKERS).unwrap();
    let flags: Vec<_> = (0..WORKERS).map(|_| AtomicBool::new(false)).collect();
    // Task n waits for task n + 1. So all tasks run at the same time, on any number of processors.
    pool.install(|_| {
        locksley::in_place_scope(|scope| {
            for n in 0..WORKERS {
                let flags = &flags;
                scope.spawn(move |_| {
                    if n + 1 < WORKERS {
                        while !flags[n + 1].load(Ordering::Acquire) {
                            std::thread::yield_now();
                        }
                    }
                    flags[n].store(true, Ordering::Release);
                });
            }
        })
    });
    assert!(flags.iter().all(|flag| flag.load(Ordering::Acquire)));
}
