//! Stall tests: one worker is held at each of its atomic steps in turn. All intervals end, except
//! those that it is about to start, and what depends on them.

#[path = "../../../locksley/tests/common/idle_policies.rs"]
mod idle_policies;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use idle_policies::Yielding;
use locksley::Pool;
use locksley::places::Places;
use locksley_sys::primitive::stepped::{self, Gate, wait_for};

use crate::{Context, IntervalLock, Root};

struct World {
    gate: Arc<Gate>,
    steps: usize,
    ended: AtomicUsize,
    lock: IntervalLock<usize>,
    is_cancelled: AtomicBool,
}

impl World {
    fn arm(&self) {
        stepped::arm(self.steps, &self.gate);
    }

    fn count_end(&self) {
        self.ended.fetch_add(1, Ordering::Release);
    }
}

type Body = for<'g, 'env> fn(&Context<'g, 'env>, &'env World);

/// Runs `body` as a root on three workers at these places. One of them arms itself, and is held
/// after that many steps. Meanwhile at least `least` intervals end. Afterwards all do: `all` of
/// them, of which `locked` have used the lock. Returns true if the worker was held.
fn hold_after(
    sets: &[&str],
    steps: usize,
    sleep_after: Option<u64>,
    [least, all, locked]: [usize; 3],
    body: Body,
) -> bool {
    let idle_policy = Yielding { attempts: 2, sleep_after };
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let places = Places::given(&(0..3).collect(), sets).unwrap();
    let pool = Pool::builder().workers(3).places(places).idle_policy(idle_policy).build().unwrap();
    let (lock, is_cancelled) = (IntervalLock::new(0), AtomicBool::new(false));
    let (gate, ended) = (Arc::default(), AtomicUsize::new(0));
    let world = World { gate, steps, ended, lock, is_cancelled };
    let (ended, held) = thread::scope(|scope| {
        let root = scope.spawn(|| Root::new("root").on(&pool).run(|root| body(root, &world)));
        let ended = wait_for(&world.ended, least);
        let held = world.gate.is_held();
        world.gate.open();
        let end = root.join().unwrap();
        assert_eq!(end.is_err(), world.is_cancelled.load(Ordering::Relaxed));
        (ended, held)
    });
    assert!(ended >= least, "held after {steps} steps: {ended} of {least}");
    assert_eq!(world.ended.load(Ordering::Acquire), all, "nothing is lost");
    assert_eq!(world.lock.into_inner(), locked, "nor is an interval with the lock");
    held
}

fn hold_at_each_step(sets: &[&str], numbers: [usize; 3], body: Body) {
    let mut times_held = 0;
    for sleep_after in [Some(0), None] {
        for steps in (0..150).chain((150..600).step_by(29)) {
            times_held += usize::from(hold_after(sets, steps, sleep_after, numbers, body));
        }
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}

const ONE_PLACE: &[&str] = &["0-2"];
const CHAINS: usize = 8;
const LENGTH: usize = 5;
/// A held worker keeps back the rest of its own chain, and of another one that it is about to
/// start.
const ALL_BUT_TWO: [usize; 3] = [(CHAINS - 2) * LENGTH, CHAINS * LENGTH, 0];

/// Counts an end. The second interval of the first chain arms its worker before.
fn count(world: &World, chain: usize, number: usize) {
    if (chain, number) == (0, 1) {
        world.arm();
    }
    world.count_end();
}

fn chains<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        let mut last = None;
        for number in 0..LENGTH {
            let next = root.interval("next").after_all(last);
            last = Some(next.spawn(move |_| count(world, chain, number)));
        }
    }
}

#[test]
fn other_chains_go_on_while_a_worker_is_held_at_any_step() {
    hold_at_each_step(ONE_PLACE, ALL_BUT_TWO, chains);
}

/// Chains that alternate between two places.
fn placed_chains<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        let mut last = None;
        for number in 0..LENGTH {
            let next = root.interval("next").near((chain + number) % 2).after_all(last);
            last = Some(next.spawn(move |_| count(world, chain, number)));
        }
    }
}

#[test]
fn other_chains_alternate_between_places_while_a_worker_is_held_at_any_step() {
    hold_at_each_step(&["0-1", "2"], ALL_BUT_TWO, placed_chains);
}

/// Chains whose odd intervals have places, and whose even ones run where the one before the last
/// has run.
fn following_chains<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        let (mut last, mut before_last) = (None, None);
        for number in 0..LENGTH {
            let next = root.interval("next").after_all(last);
            let next = match before_last {
                Some(before_last) if number % 2 == 0 => next.follow(before_last),
                _ if number % 2 == 1 => next.near((chain + number / 2) % 2),
                _ => next,
            };
            let next = next.spawn(move |_| count(world, chain, number));
            (before_last, last) = (last, Some(next));
        }
    }
}

#[test]
fn other_chains_follow_their_own_while_a_worker_is_held_at_any_step() {
    hold_at_each_step(&["0-1", "2"], ALL_BUT_TWO, following_chains);
}

/// Intervals with children that come after an interval outside: the edges are searched for cycles.
/// One arms its worker before it creates children.
fn parents<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        let before = root.interval("before").spawn(|_| ());
        root.interval("parent").spawn(move |cx| {
            if chain == 0 {
                world.arm();
            }
            let mut last = before;
            for _ in 0..LENGTH {
                last = cx.interval("inside").after(last).spawn(|_| world.count_end());
            }
        });
    }
}

#[test]
fn other_parents_go_on_while_one_is_held_at_any_step() {
    hold_at_each_step(ONE_PLACE, ALL_BUT_TWO, parents);
}

/// Intervals that declare and start a chain. One arms its worker before.
fn drafting_parents<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        root.interval("parent").spawn(move |cx| {
            if chain == 0 {
                world.arm();
            }
            let mut draft = cx.draft();
            let inside = [(); LENGTH].map(|()| draft.declare("inside", |_| world.count_end()));
            inside.windows(2).for_each(|pair| draft.connect(pair[1], pair[0]));
            draft.start().expect("a chain is no cycle");
        });
    }
}

#[test]
fn other_drafts_go_on_while_the_worker_of_one_is_held_at_any_step() {
    hold_at_each_step(ONE_PLACE, ALL_BUT_TWO, drafting_parents);
}

/// Counts an end when it is dropped: with its body, whether that has run or not.
struct Counted<'env>(&'env World);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.count_end();
    }
}

/// Chains, of which every other one is cancelled by its first interval: the starts of the others in
/// that chain fail. One of the first intervals arms its worker before it cancels.
fn failing_chains<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for chain in 0..CHAINS {
        let (is_cancelled, counted) = (chain % 2 == 0, Counted(world));
        let mut last = root.interval("first").spawn(move |cx| {
            if chain == 0 {
                world.arm();
            }
            if is_cancelled {
                world.is_cancelled.store(true, Ordering::Relaxed);
                cx.cancel("no more arrows");
            }
            drop(counted);
        });
        for _ in 1..LENGTH {
            let counted = Counted(world);
            last = root.interval("next").after(last).spawn(move |_| {
                assert!(!is_cancelled, "it has failed at its start");
                drop(counted);
            });
        }
    }
}

#[test]
fn failing_intervals_in_other_chains_end_while_a_worker_is_held_at_any_step() {
    hold_at_each_step(ONE_PLACE, ALL_BUT_TWO, failing_chains);
}

const LOCK_USERS: usize = 6;

/// Intervals that need one lock, and chains that do not. One of its holders arms its worker.
fn lock_users<'env>(root: &Context<'_, 'env>, world: &'env World) {
    for user in 0..LOCK_USERS {
        let mut builder = root.interval("user");
        let mut key = builder.lock(&world.lock);
        builder.spawn(move |cx| {
            if user == 1 {
                world.arm();
            }
            *key.get_mut(cx) += 1;
        });
    }
    for _ in 0..CHAINS {
        let mut last = None;
        for _ in 0..LENGTH {
            let next = root.interval("free").after_all(last).spawn(|_| world.count_end());
            last = Some(next);
        }
    }
}

#[test]
fn intervals_without_the_lock_go_on_while_its_holder_is_held_at_any_step() {
    // Only intervals that need the lock wait for a worker that is held with it.
    let numbers = [(CHAINS - 1) * LENGTH, CHAINS * LENGTH, LOCK_USERS];
    hold_at_each_step(ONE_PLACE, numbers, lock_users);
}
