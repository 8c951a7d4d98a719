//! The stall harness for computations: one worker is held for ever at each of its steps in turn, and all tasks end but those that
//! it has in hand, and who waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::{Computation, Incomplete};
use crate::Pool;
use crate::hunt::Abp;
use crate::primitive::stepped::{self, Gate, wait_for};
use crate::sync::Semaphore;

struct World {
    gate: Arc<Gate>,
    steps: usize,
    ended: AtomicUsize,
}

impl World {
    fn arm(&self) {
        stepped::arm(self.steps, &self.gate);
    }

    fn one_has_ended(&self) {
        self.ended.fetch_add(1, Ordering::Release);
    }
}

type Body = for<'c, 'env> fn(&'c Computation<'c, 'env>, &'env World);

/// What is to come of a computation: so many tasks end while a worker is held, and so many in all. The rest is stuck.
#[derive(Clone, Copy)]
struct Expected {
    least: usize,
    all: usize,
    stuck: usize,
}

/// Runs `body` among three workers, one of which arms itself. Says whether that was held.
fn hold_after(steps: usize, sleep_after: Option<u32>, expected: Expected, body: Body) -> bool {
    let Expected { least, all, stuck } = expected;
    let governor = Abp { attempts: 2, lower_after: None, sleep_after };
    let pool = Pool::builder().workers(3).governor(governor).build().unwrap();
    let world = World { gate: Arc::default(), steps, ended: AtomicUsize::new(0) };
    let (ended, held, result) = thread::scope(|scope| {
        let computation = scope.spawn(|| pool.computation(|all| body(all, &world)));
        while !world.gate.is_held() && !computation.is_finished() {
            thread::sleep(Duration::from_micros(20));
        }
        let ended = wait_for(&world.ended, least);
        let held = world.gate.is_held();
        world.gate.open();
        (ended, held, computation.join().unwrap())
    });
    assert!(ended >= least, "held after {steps} steps: {ended} of {least}");
    assert_eq!(world.ended.load(Ordering::Acquire), all, "nothing is lost");
    let found = match result {
        Ok(()) => 0,
        Err(Incomplete::Stuck(waiting)) => waiting.len(),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(found, stuck, "held after {steps} steps: who is stuck");
    held
}

fn hold_at_each_step(expected: Expected, body: Body) {
    let mut times_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in (0..150).chain((150..600).step_by(29)) {
            times_held += usize::from(hold_after(steps, sleep_after, expected, body));
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

const PAIRS: usize = 6;
const ROUNDS: usize = 4;

/// Pairs of tasks that wake each other by turns; one of them arms its worker.
fn pairs<'c>(all: &'c Computation<'c, '_>, world: &'c World) {
    for pair in 0..PAIRS {
        let [ping, pong] = ["ping", "pong"].map(|name| all.own(name, Semaphore::new(0)));
        let (come, go) = (ping.clone(), pong.clone());
        all.spawn("first", async move {
            for round in 0..ROUNDS {
                if (pair, round) == (0, 1) {
                    world.arm();
                }
                come.add_permits(1);
                go.acquire().await.unwrap().forget();
            }
            world.one_has_ended();
        });
        all.spawn("second", async move {
            for _ in 0..ROUNDS {
                ping.acquire().await.unwrap().forget();
                pong.add_permits(1);
            }
            world.one_has_ended();
        });
    }
}

#[test]
#[allow(clippy::redundant_closure, reason = "without them, they are not general enough")]
fn other_pairs_go_on_while_a_worker_is_held_at_any_step() {
    let expected = Expected { least: 2 * (PAIRS - 1), all: 2 * PAIRS, stuck: 0 };
    hold_at_each_step(expected, |all, world| pairs(all, world));
}

const PARENTS: usize = 6;
const CHILDREN: usize = 4;

/// Tasks that spawn others; one arms its worker before it does.
fn parents<'c>(all: &'c Computation<'c, '_>, world: &'c World) {
    for parent in 0..PARENTS {
        all.spawn("parent", async move {
            if parent == 0 {
                world.arm();
            }
            for _ in 0..CHILDREN {
                all.spawn("child", async { world.one_has_ended() });
            }
        });
    }
}

#[test]
#[allow(clippy::redundant_closure, reason = "without them, they are not general enough")]
fn others_spawn_while_one_is_held_at_any_step() {
    let least = (PARENTS - 1) * CHILDREN;
    let expected = Expected { least, all: PARENTS * CHILDREN, stuck: 0 };
    hold_at_each_step(expected, |all, world| parents(all, world));
}

/// Tasks that wait for what nobody gives, and one that ends; that one arms its worker, and is in time or late.
fn stuck<'c>(all: &'c Computation<'c, '_>, world: &'c World) {
    let [one, none] = [1, 0].map(|permits| all.own("permits", Semaphore::new(permits)));
    all.spawn("ends", async move {
        world.arm();
        one.acquire().await.unwrap().forget();
        world.one_has_ended();
    });
    for _ in 0..PAIRS {
        let none = none.clone();
        all.spawn("waits", async move { none.acquire().await.unwrap().forget() });
    }
}

/// Nobody is said to be stuck while a worker is held, since that may do something; and all are when it has gone on.
#[test]
#[allow(clippy::redundant_closure, reason = "without them, they are not general enough")]
fn who_is_stuck_is_found_though_a_worker_was_held_at_any_step() {
    hold_at_each_step(Expected { least: 0, all: 1, stuck: PAIRS }, |all, world| stuck(all, world));
}
