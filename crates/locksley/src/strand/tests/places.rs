//! Tasks that go to places.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::{TryRecvError, channel};

use super::limits::at_rest;
use super::*;
use crate::Unplaced;
use crate::pool::trial;
use crate::sync::Semaphore;
use crate::task;

/// Two places, the first of which has all workers but one.
fn divided(workers: usize) -> PoolBuilder {
    trial::divided(&[workers - 1, 1])
}

#[test]
fn random_programs_whose_tasks_go_round_the_places() {
    for workers in [2, 3, 5] {
        let build = || divided(workers).unplaced(Unplaced::RoundRobin);
        check(53 * workers as u64, 6, ANY, build);
        check_metered_pools(59 * workers as u64, 6, Kinds { detached: true, ..ANY }, build);
    }
}

/// Whichever of the places is that of the worker.
#[test]
fn who_names_a_place_sends_the_path_there() {
    let pool = divided(2).build().unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        (0..2).for_each(|place| {
            worker.join_near(place, |_| spend(10), |_| spend(20));
        });
        worker.scope(|worker, scope| {
            (0..2).for_each(|place| scope.spawn_near_on(worker, place, |_, _| spend(100)));
            spend(5);
        });
        spend(2);
    });
    assert_eq!((figures.work, figures.path.span), (1 + 2 * 30 + 205 + 2, 1 + 2 * 20 + 100 + 2));
    assert_eq!((figures.forks, figures.uncarried, figures.under_way), (1, 0, 0));
}

/// What it does after a wait comes after what it did before; and who joins it comes after all of it.
#[test]
fn a_future_for_a_place_is_followed() {
    for place in 0..2 {
        for waits in [false, true] {
            let (pool, permits) = (divided(2).build().unwrap(), Arc::new(Semaphore::new(0)));
            let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                let wanted = Arc::clone(&permits);
                let (sender, begun) = channel::<()>();
                let task = worker.spawn_future_near(place, async move {
                    spend(50);
                    let mut permit = pin!(wanted.acquire());
                    let mut sender = Some(sender);
                    // When it is told that this has begun, it waits already, if it is to.
                    let permit = poll_fn(|context| {
                        let polled = permit.as_mut().poll(context);
                        if let Some(sender) = sender.take() {
                            assert!(!waits || polled.is_pending());
                            drop(sender);
                        }
                        polled
                    });
                    permit.await.unwrap().forget();
                    spend(7);
                });
                spend(5);
                // It may have begun only because this one helps.
                while waits && begun.try_recv() == Err(TryRecvError::Empty) {
                    worker.run_one();
                }
                permits.add_permits(1);
                task.join().unwrap();
                spend(1);
            });
            assert_eq!((figures.work, figures.path.span), (63, 50 + 7 + 1));
            assert_eq!(figures.under_way, 0);
        }
    }
}

/// From outside, from a worker of the pool, and from one of another pool.
#[test]
fn detached_tasks_for_places_are_metered() {
    let (pool, plain) = (divided(2).metered_virtually().build().unwrap(), Pool::new(1).unwrap());
    let pool = Arc::new(pool);
    for place in 0..2 {
        pool.spawn_near(place, |worker| {
            spend(10);
            (0..2).for_each(|place| worker.spawn_near(place, |_| spend(20)));
            spend(5);
        });
    }
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (110, 30, 0));
    plain.run(|_| (0..2).for_each(|place| pool.spawn_near(place, |_| spend(7))));
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (124, 30, 2));
}

/// As tasks that are no futures are; but each poll counts as one that may wait for what is not followed.
#[test]
fn detached_futures_for_places_are_metered() {
    let (pool, plain) = (divided(2).metered_virtually().build().unwrap(), Pool::new(1).unwrap());
    let pool = Arc::new(pool);
    let mut line = 0;
    for place in 0..2 {
        line = line!() + 1;
        let task = pool.spawn_future_near(place, async {
            spend(10);
            (0..2).for_each(|place| drop(task::spawn_near(place, async { spend(20) })));
            spend(5);
        });
        drop(task);
    }
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (110, 30, 6));
    let course = pool.report().unwrap().course;
    assert!(
        course.iter().any(|it| it.to_string() == format!("at {}:{line}", file!())),
        "{course:?}"
    );
    plain.run(|_| {
        (0..2).for_each(|place| drop(pool.spawn_future_near(place, async { spend(7) })));
    });
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (124, 30, 6 + 2 + 2));
}

/// A thread that is no worker: of what comes before its tasks no more is known than the scope's beginning.
#[test]
fn a_plain_thread_spawns_into_a_metered_scope_that_goes_round() {
    let pool = divided(2).unplaced(Unplaced::RoundRobin).build().unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(5);
        worker.scope(|_, scope| {
            let spawn = || (0..2).for_each(|_| scope.spawn(|_| spend(100)));
            thread::scope(|threads| drop(threads.spawn(spawn)));
        });
        spend(2);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (207, 107, 2));
}
