//! What each policy decides: tables of what a thief sees, and its moves.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use locksley::idle::{Activity, IdleContext, IdlePolicy, Move, Thief};
use locksley::{Pool, Spawn};

use super::exact_bws::Victim;
use super::global_information;
use super::{DELAYED_YIELD, EXACT_ABP, ExactBws, GlobalInformation, NO_YIELD, SELECTIVE_YIELD};

/// What a thief sees: numbers, and what its victim does.
#[derive(Clone, Copy, Debug)]
struct Seen {
    failures: u64,
    workers: usize,
    victim: Option<Activity>,
}

/// A pool of four workers. The victim works.
const BUSY: Seen = Seen { failures: 0, workers: 4, victim: Some(Activity::Works) };

/// In a pool of three workers, what each of them does.
const WORKERS: [Activity; 3] = [Activity::Searches, Activity::Sleeps, Activity::Works];

/// Asks `policy` for its moves, on worker 0 of [`WORKERS`].
#[derive(Debug)]
struct Asks<P> {
    policy: Arc<P>,
    table: Arc<[Seen]>,
    moves: Sender<(Vec<Move>, usize)>,
}

impl<P: IdlePolicy> IdlePolicy for Asks<P> {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        if worker != 0 {
            return Box::new(Sleeps);
        }
        let (table, policy) = (Arc::clone(&self.table), Arc::clone(&self.policy));
        let moves = Some(self.moves.clone());
        Box::new(Asking { thief: move || policy.thief(worker, workers), table, moves, asked: 0 })
    }
}

struct Sleeps;

impl Thief for Sleeps {
    fn next(&mut self, _context: &IdleContext<'_>) -> Move {
        Move::Sleep
    }
}

struct Asking<F> {
    thief: F,
    table: Arc<[Seen]>,
    /// `None` when the moves have been sent.
    moves: Option<Sender<(Vec<Move>, usize)>>,
    /// The number of moves so far, with those of thieves that have seen other states.
    asked: usize,
}

impl<F: Fn() -> Box<dyn Thief> + Send> Thief for Asking<F> {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let is_as_in_table =
            || (0..).zip(WORKERS).all(|(worker, does)| context.activity(worker) == does);
        let Some(sender) = &self.moves else { return Move::Sleep };
        let (mut thief, mut moves) = ((self.thief)(), Vec::new());
        for seen in self.table.iter() {
            // A worker that has fallen asleep may find a reason to wake up once more.
            if !is_as_in_table() {
                return Move::Yield;
            }
            let does = |wanted| WORKERS.iter().position(|&does| does == wanted);
            let mut context = *context;
            (context.failures, context.workers) = (seen.failures, seen.workers);
            context.victim = seen.victim.and_then(does);
            moves.push(thief.next(&context));
            self.asked += 1;
        }
        if !is_as_in_table() {
            return Move::Yield;
        }
        sender.send((moves, self.asked)).unwrap();
        self.moves = None;
        Move::Sleep
    }
}

/// Asserts that a thief of `policy` makes these moves, one after the other. Returns how many moves
/// it and those before it have made.
fn assert_moves<P: IdlePolicy>(policy: &Arc<P>, expected: &[(Seen, Move)]) -> usize {
    let (moves, asked) = channel();
    let table = expected.iter().map(|(seen, _)| *seen).collect();
    let asks = Asks { policy: Arc::clone(policy), table, moves };
    let pool = Pool::builder().workers(3).idle_policy(asks).build().unwrap();
    let (release, released) = channel::<()>();
    pool.spawn_with(Spawn::At(2), move |_| released.recv().unwrap());
    let (moves, asked) = asked.recv().unwrap();
    release.send(()).unwrap();
    assert_eq!(moves.len(), expected.len());
    for ((seen, expected), next) in expected.iter().zip(moves) {
        assert_eq!(next, *expected, "{seen:?}");
    }
    asked
}

/// The same where nothing but the number of failures matters.
fn assert_moves_after(policy: impl IdlePolicy, expected: &[(u64, Move)]) {
    let seen = |&(failures, next)| (Seen { failures, ..BUSY }, next);
    assert_moves(&Arc::new(policy), &expected.iter().map(seen).collect::<Vec<_>>());
}

#[test]
fn no_yield_only_searches() {
    let expected = [0, 1, 8, 9, 64, 1_000_000].map(|failures| (failures, Move::Search));
    assert_moves_after(NO_YIELD, &expected);
}

/// BWS, Algorithm 1, lines 16 and 17.
#[test]
fn exact_abp_yields_before_each_attempt() {
    let expected = [0, 1, 2, 8, 9, 64, 65, 1_000_000].map(|failures| (failures, Move::Yield));
    assert_moves_after(EXACT_ABP, &expected);
}

/// BWS, Algorithm 2, lines 17 to 31: what the victim of a failed steal does, and how many wake-ups
/// the victim and the thief then want.
#[test]
fn exact_bws_treats_its_victim_as_the_paper_does() {
    // The victim, and the counters of thief and victim before; the move, and the counters after.
    let cases = [
        (Victim::Preempted, [1, 1], Move::HandOver(1), [1, 1]),
        (Victim::Works, [0, 2], Move::Search, [1, 1]),
        (Victim::Works, [3, 0], Move::Search, [3, 0]),
        (Victim::Sleeps, [2, 5], Move::Wake(1), [1, 5]),
        (Victim::Sleeps, [0, 5], Move::Search, [0, 5]),
        (Victim::Searches, [2, 2], Move::Search, [2, 2]),
    ];
    for (does, before, next, after) in cases {
        let policy = ExactBws::default();
        let mut workers = [0, 1].map(|worker| policy.new_thief(worker, 2));
        (0..2).for_each(|worker| workers[worker].add(before[worker]));
        assert_eq!(workers[0].fail(Some((1, does))), next, "{does:?}");
        let left = [0, 1].map(|worker| workers[worker].drain());
        assert_eq!(left, after, "{does:?}");
    }
}

/// Lines 32 to 40: the counter exceeds 64 after the 65th failure, and is tested after the victim
/// was looked at.
#[test]
fn exact_bws_sleeps_after_more_than_64_failures_without_a_wanted_wake_up() {
    let policy = ExactBws::default();
    let (mut thief, victim) = (policy.new_thief(0, 2), policy.new_thief(1, 2));
    let mut fails = |does| thief.fail(Some((1, does)));
    for _ in 0..2 {
        assert!((0..64).all(|_| fails(Victim::Searches) == Move::Search));
        assert_eq!(fails(Victim::Searches), Move::Sleep);
    }
    // A wake-up that the last victim wanted cancels the sleep, and the count begins again.
    victim.add(1);
    assert!((0..64).all(|_| fails(Victim::Searches) == Move::Search));
    assert_eq!(fails(Victim::Works), Move::Search);
    assert!((0..64).all(|_| fails(Victim::Works) == Move::Search));
    // It yields to the last victim, and then sleeps.
    assert_eq!([fails(Victim::Preempted), fails(Victim::Works)], [Move::HandOver(1), Move::Sleep]);
    assert_eq!(fails(Victim::Searches), Move::Search);
}

#[test]
fn exact_bws_wants_two_wake_ups_for_each_steal_without_a_maximum() {
    let policy = ExactBws::default();
    let thief = policy.new_thief(0, 2);
    (0..1000).for_each(|_| thief.add(2));
    assert_eq!(thief.drain(), 2000);
    // Through the pool: the victim of these attempts sleeps, and none has stolen before.
    let sleeps = Some(Activity::Sleeps);
    let seen = |failures| Seen { failures, victim: sleeps, ..BUSY };
    let expected: Vec<_> = (0..=64).map(|failures| (seen(failures), Move::Search)).collect();
    let expected = [&expected[..], &[(seen(65), Move::Sleep), (seen(1), Move::Search)]].concat();
    assert_moves(&Arc::new(policy), &expected);
}

/// BWS, section 5.3: not "until the number of failed steals exceeds a threshold, which is two times
/// the number of workers". Then "on each unsuccessful steal".
#[test]
fn delayed_yield_yields_after_more_failures_than_twice_the_number_of_workers() {
    let search = [0, 1, 7, 8].map(|failures| (failures, Move::Search));
    let yields = [9, 10, 11, 64, 65, 1_000_000].map(|failures| (failures, Move::Yield));
    assert_moves_after(DELAYED_YIELD, &[&search[..], &yields[..]].concat());
    let of_32 = |failures| Seen { failures, workers: 32, ..BUSY };
    let expected = [(of_32(64), Move::Search), (of_32(65), Move::Yield)];
    assert_moves(&Arc::new(DELAYED_YIELD), &expected);
}

/// BWS, section 5.3: "once every time it has conducted a number (e.g., 64 ..) of failed steals".
#[test]
fn selective_yield_yields_after_every_64th_failure() {
    let search = [0, 1, 8, 9, 32, 63, 65, 127, 129].map(|failures| (failures, Move::Search));
    let yields = [64, 128, 192, 64_000_000].map(|failures| (failures, Move::Yield));
    assert_moves_after(SELECTIVE_YIELD, &[&search[..], &yields[..]].concat());
}

/// BWS, section 5.5: "a fixed ratio between the number of busy workers and the number of
/// non-sleeping thieves", which is 2.
#[test]
fn global_information_keeps_half_as_many_thieves_as_workers_that_work() {
    let wake = Move::Wake(1);
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
    for (workers, searching, asleep, with_sleeper, with_other) in cases {
        let next = |sleeper| global_information::next(workers, searching, asleep, sleeper);
        let seen = (workers, searching, asleep);
        assert_eq!([next(Some(1)), next(None)], [with_sleeper, with_other], "{seen:?}");
    }
}

/// Through the pool: one of three workers searches, one sleeps and one works.
#[test]
fn global_information_reads_the_numbers_of_the_pool_under_its_lock() {
    let victims = [Some(Activity::Sleeps), None, Some(Activity::Searches), Some(Activity::Works)];
    let seen = |victim| Seen { failures: 1, workers: 3, victim };
    let expected = victims.map(|victim| (seen(victim), Move::Search));
    let policy = Arc::new(GlobalInformation::default());
    let asked = assert_moves(&policy, &expected);
    // Each decision takes the lock.
    let count = format!("data: {asked}");
    assert!(format!("{policy:?}").contains(&count), "{policy:?}");
}

#[test]
fn policies_have_names() {
    let policies: [(&dyn IdlePolicy, _); 6] = [
        (&NO_YIELD, "no-yield"),
        (&DELAYED_YIELD, "delayed-yield"),
        (&SELECTIVE_YIELD, "selective-yield"),
        (&GlobalInformation::default(), "global-information"),
        (&EXACT_ABP, "exact-abp"),
        (&ExactBws::default(), "exact-bws"),
    ];
    assert!(policies.iter().all(|(policy, name)| policy.name() == *name));
}
