//! What each policy decides: tables of what a thief sees, and its moves.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use locksley::idle::{Activity, IdleContext, IdlePolicy, Move, Thief};
use locksley::{Pool, Spawn};

use super::{DelayedYield, GlobalInformation, NoYield, SelectiveYield};

/// What a thief sees: numbers, and what its victim does.
#[derive(Clone, Copy, Debug)]
struct Seen {
    failures: u64,
    workers: usize,
    searching: usize,
    asleep: usize,
    victim: Option<Activity>,
}

/// A pool of four workers, of which one searches and three work.
const BUSY: Seen =
    Seen { failures: 0, workers: 4, searching: 1, asleep: 0, victim: Some(Activity::Works) };

/// In a pool of three workers, what each of them does.
const WORKERS: [Activity; 3] = [Activity::Searches, Activity::Sleeps, Activity::Works];

/// Asks `policy` for its moves, on worker 0 of [`WORKERS`].
#[derive(Debug)]
struct Asks<P> {
    policy: Arc<P>,
    table: Arc<[Seen]>,
    moves: Sender<Vec<Move>>,
}

impl<P: IdlePolicy> IdlePolicy for Asks<P> {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        if worker != 0 {
            return Box::new(Sleeps);
        }
        let (table, moves) = (Arc::clone(&self.table), Some(self.moves.clone()));
        Box::new(Asking { thief: self.policy.thief(worker, workers), table, moves })
    }
}

struct Sleeps;

impl Thief for Sleeps {
    fn next(&mut self, _context: &IdleContext<'_>) -> Move {
        Move::Sleep
    }
}

struct Asking {
    thief: Box<dyn Thief>,
    table: Arc<[Seen]>,
    /// `None` when the table has been sent.
    moves: Option<Sender<Vec<Move>>>,
}

impl Thief for Asking {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if !(0..).zip(WORKERS).all(|(worker, does)| context.activity(worker) == does) {
            return Move::Yield;
        }
        let Some(moves) = self.moves.take() else { return Move::Sleep };
        let table = self.table.iter().map(|seen| {
            let does = |wanted| WORKERS.iter().position(|&does| does == wanted);
            let mut context = *context;
            (context.failures, context.workers) = (seen.failures, seen.workers);
            (context.searching, context.asleep) = (seen.searching, seen.asleep);
            context.victim = seen.victim.and_then(does);
            self.thief.next(&context)
        });
        moves.send(table.collect()).unwrap();
        Move::Sleep
    }
}

/// Asserts that one thief of `policy` makes these moves, one after the other.
fn assert_moves<P: IdlePolicy>(policy: &Arc<P>, expected: &[(Seen, Move)]) {
    let (moves, asked) = channel();
    let table = expected.iter().map(|(seen, _)| *seen).collect();
    let asks = Asks { policy: Arc::clone(policy), table, moves };
    let pool = Pool::builder().workers(3).idle_policy(asks).build().unwrap();
    let (release, released) = channel::<()>();
    pool.spawn_with(Spawn::At(2), move |_| released.recv().unwrap());
    let asked = asked.recv().unwrap();
    release.send(()).unwrap();
    for ((seen, expected), next) in expected.iter().zip(asked) {
        assert_eq!(next, *expected, "{seen:?}");
    }
}

/// The same where nothing but the number of failures matters.
fn assert_moves_after(policy: impl IdlePolicy, expected: &[(u64, Move)]) {
    let seen = |&(failures, next)| (Seen { failures, ..BUSY }, next);
    assert_moves(&Arc::new(policy), &expected.iter().map(seen).collect::<Vec<_>>());
}

#[test]
fn no_yield_only_searches() {
    let expected = [0, 1, 8, 9, 64, 1_000_000].map(|failures| (failures, Move::Search));
    assert_moves_after(NoYield, &expected);
}

/// BWS, section 5.3: not "until the number of failed steals exceeds a threshold, which is two times
/// the number of workers". Then "on each unsuccessful steal".
#[test]
fn delayed_yield_yields_after_more_failures_than_twice_the_number_of_workers() {
    let search = [0, 1, 7, 8].map(|failures| (failures, Move::Search));
    let yields = [9, 10, 11, 64, 65, 1_000_000].map(|failures| (failures, Move::Yield));
    assert_moves_after(DelayedYield, &[&search[..], &yields[..]].concat());
    let of_32 = |failures| Seen { failures, workers: 32, ..BUSY };
    let expected = [(of_32(64), Move::Search), (of_32(65), Move::Yield)];
    assert_moves(&Arc::new(DelayedYield), &expected);
}

/// BWS, section 5.3: "once every time it has conducted a number (e.g., 64 ..) of failed steals".
#[test]
fn selective_yield_yields_after_every_64th_failure() {
    let search = [0, 1, 8, 9, 32, 63, 65, 127, 129].map(|failures| (failures, Move::Search));
    let yields = [64, 128, 192, 64_000_000].map(|failures| (failures, Move::Yield));
    assert_moves_after(SelectiveYield, &[&search[..], &yields[..]].concat());
}

/// BWS, section 5.5: "a fixed ratio between the number of busy workers and the number of
/// non-sleeping thieves", which is 2.
#[test]
fn global_information_keeps_half_as_many_thieves_as_workers_that_work() {
    let (wake, sleeps) = (Move::Wake(1), Some(Activity::Sleeps));
    // Workers, searching, asleep; the move with a sleeping victim, and with any other.
    let cases = [
        (4, 1, 1, Move::Search, Move::Search),
        (5, 1, 1, wake, Move::Search),
        (7, 2, 1, Move::Search, Move::Search),
        (5, 3, 1, Move::Sleep, Move::Sleep),
        (8, 1, 1, wake, Move::Search),
        (8, 2, 1, wake, Move::Search),
        (8, 3, 1, Move::Sleep, Move::Sleep),
        (8, 2, 2, Move::Search, Move::Search),
        (8, 1, 5, Move::Search, Move::Search),
        (8, 1, 4, wake, Move::Search),
        (8, 1, 7, Move::Sleep, Move::Sleep),
        (8, 4, 6, Move::Sleep, Move::Sleep),
    ];
    let others = [None, Some(Activity::Searches), Some(Activity::Works)];
    let mut expected = Vec::new();
    for (workers, searching, asleep, with_sleeper, with_other) in cases {
        let seen = |victim| Seen { failures: 1, workers, searching, asleep, victim };
        expected.push((seen(sleeps), with_sleeper));
        expected.extend(others.map(|victim| (seen(victim), with_other)));
    }
    let policy = Arc::new(GlobalInformation::default());
    assert_moves(&policy, &expected);
    // Each decision takes the lock.
    let count = format!("data: {}", expected.len());
    assert!(format!("{policy:?}").contains(&count), "{policy:?}");
}

#[test]
fn policies_have_names() {
    let policies: [&dyn IdlePolicy; 4] =
        [&NoYield, &DelayedYield, &SelectiveYield, &GlobalInformation::default()];
    let names = policies.map(|policy| policy.name());
    assert_eq!(names, ["no-yield", "delayed-yield", "selective-yield", "global-information"]);
}
