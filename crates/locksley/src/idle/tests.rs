//! What each policy decides: tables of what a thief sees, and its moves.

use std::time::{Duration, Instant};

use super::{Abp, Activity, Balanced, Bws, End, IdleContext, IdlePolicy, Move, Peers, Thief};
use crate::os::RunState;

/// What a thief sees of its pool. Worker 0 is the thief, and worker 1 its victim.
#[derive(Clone, Copy, Debug)]
struct World {
    workers: usize,
    asleep: usize,
    processors: usize,
    victim: Activity,
    run_state: RunState,
    is_quiet: bool,
}

/// A pool of four workers, of which one searches and three work, beside busy programs.
const BUSY: World = World {
    workers: 4,
    asleep: 0,
    processors: 4,
    victim: Activity::Searches,
    run_state: RunState::Runs,
    is_quiet: false,
};

impl Peers for World {
    fn searching(&self) -> usize {
        1
    }
    fn active(&self) -> usize {
        self.workers - self.asleep
    }
    fn is_machine_quiet(&self) -> bool {
        self.is_quiet
    }
    fn activity(&self, worker: usize) -> Activity {
        assert_eq!(worker, 1, "a thief asks about its victim");
        self.victim
    }
    fn run_state(&self, worker: usize, seen_from: usize) -> RunState {
        assert_eq!((worker, seen_from), (1, 0));
        self.run_state
    }
}

impl World {
    fn context(&self, failures: u64, worker: usize) -> IdleContext<'_> {
        IdleContext {
            failures,
            workers: self.workers,
            processors: self.processors,
            worker,
            victim: (failures > 0).then_some(1),
            slot: 0,
            peers: self,
        }
    }

    /// The move after that many failures.
    fn next(&self, thief: &mut dyn Thief, failures: u64) -> Move {
        thief.next(&self.context(failures, 0))
    }

    /// The moves from the begin of a search to the first one that is no `Search`: the number of
    /// `Search`, and that move.
    fn until_other(&self, thief: &mut dyn Thief) -> (u64, Move) {
        let moves = (0..).map(|failures| (failures, self.next(thief, failures)));
        let mut others = moves.filter(|&(_, next)| next != Move::Search);
        others.next().expect("the thief sleeps at last")
    }

    fn steal(&self, thief: &mut dyn Thief, worker: usize) {
        thief.search_ends(&self.context(1, worker), End::Stole);
    }
}

#[test]
fn abp_yields_after_64_attempts_lowers_after_8_yields_and_sleeps_after_64() {
    let expected = [
        (0, Move::Search),
        (1, Move::Search),
        (63, Move::Search),
        (64, Move::Yield),
        (65, Move::Search),
        (8 * 64, Move::Yield),
        (9 * 64 - 1, Move::Search),
        (9 * 64, Move::YieldLowered),
        (9 * 64 + 1, Move::Search),
        (64 * 64, Move::YieldLowered),
        (65 * 64 - 1, Move::Search),
        (65 * 64, Move::Sleep),
        (65 * 64 + 1, Move::Sleep),
    ];
    let mut thief = Abp::default();
    for (failures, next) in expected {
        assert_eq!(BUSY.next(&mut thief, failures), next, "after {failures}");
    }
    let mut eager = Abp { attempts: 1, lower_after: None, sleep_after: None };
    assert_eq!(BUSY.next(&mut eager, 0), Move::Search);
    for failures in [1, 2, 9, 1000, 1_000_000] {
        assert_eq!(BUSY.next(&mut eager, failures), Move::Yield);
    }
    let mut lowered = Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(3) };
    assert_eq!(BUSY.until_other(&mut lowered), (1, Move::YieldLowered));
    assert_eq!(BUSY.next(&mut lowered, 3), Move::YieldLowered);
    assert_eq!(BUSY.next(&mut lowered, 4), Move::Sleep);
}

#[test]
fn bws_sleeps_after_64_failed_steals() {
    let mut thief = Bws::default().thief(0, 4);
    assert_eq!(BUSY.until_other(&mut *thief), (65, Move::Sleep));
    // The counter begins again.
    assert_eq!(BUSY.until_other(&mut *thief), (65, Move::Sleep));
    let mut short = Bws::with_threshold(3).thief(0, 4);
    assert_eq!(BUSY.until_other(&mut *short), (4, Move::Sleep));
    // The end of a search ends the count.
    (0..3).for_each(|failures| _ = BUSY.next(&mut *short, failures));
    short.search_ends(&BUSY.context(3, 0), End::Received);
    assert_eq!(BUSY.until_other(&mut *short), (4, Move::Sleep));
    let alone = World { workers: 1, ..BUSY };
    assert_eq!(alone.next(&mut *Bws::default().thief(0, 1), 0), Move::Sleep);
}

/// A replacement is no victim that the policy sees.
#[test]
fn bws_counts_a_failed_steal_from_a_replacement() {
    let mut thief = Bws::with_threshold(3).thief(0, 4);
    let context = |failures| IdleContext { victim: None, ..BUSY.context(failures, 0) };
    let moves: Vec<_> = (0..=4).map(|failures| thief.next(&context(failures))).collect();
    let search = Move::Search;
    assert_eq!(moves, [search, search, search, search, Move::Sleep]);
}

#[test]
fn bws_gives_its_processor_to_a_preempted_victim_with_work() {
    let cases = [
        (Activity::Works, RunState::WaitsHere, Move::HandOver(1)),
        (Activity::Works, RunState::WaitsElsewhere, Move::Search),
        (Activity::Works, RunState::Runs, Move::Search),
        (Activity::Works, RunState::Unknown, Move::Search),
        (Activity::Searches, RunState::WaitsHere, Move::Search),
        (Activity::Sleeps, RunState::WaitsHere, Move::Search),
    ];
    for (victim, run_state, next) in cases {
        let world = World { victim, run_state, ..BUSY };
        let mut thief = Bws::default().thief(0, 4);
        assert_eq!(world.next(&mut *thief, 1), next, "{victim:?} {run_state:?}");
    }
}

/// A successful thief requests two wake-ups. A thief that meets a sleeper carries one out. One that
/// meets a worker with work takes over one of its requests.
#[test]
fn bws_wakes_two_sleepers_for_a_steal() {
    let policy = Bws::default();
    let (mut thief, mut victim) = (policy.thief(0, 4), policy.thief(1, 4));
    let sleeper = World { victim: Activity::Sleeps, ..BUSY };
    let working = World { victim: Activity::Works, ..BUSY };
    BUSY.steal(&mut *thief, 0);
    let moves: Vec<_> = (1..=3).map(|failures| sleeper.next(&mut *thief, failures)).collect();
    assert_eq!(moves, [Move::Wake(1), Move::Wake(1), Move::Search]);
    BUSY.steal(&mut *victim, 1);
    for expected in [Move::Wake(1), Move::Wake(1), Move::Search] {
        assert_eq!(working.next(&mut *thief, 1), Move::Search);
        assert_eq!(sleeper.next(&mut *thief, 2), expected);
    }
    // A search without a steal requests none.
    thief.search_ends(&BUSY.context(1, 0), End::Received);
    assert_eq!(sleeper.next(&mut *thief, 1), Move::Search);
}

/// A thief that is to sleep, and of which another wake-up is requested, stays awake instead.
#[test]
fn bws_cancels_a_sleep_against_a_wake_up() {
    let mut thief = Bws::with_threshold(2).thief(0, 4);
    BUSY.steal(&mut *thief, 0);
    let moves: Vec<_> = (0..=9).map(|failures| BUSY.next(&mut *thief, failures)).collect();
    assert_eq!(moves.iter().filter(|&&next| next == Move::Sleep).count(), 1, "{moves:?}");
    // Two steals, then a third one that would be followed by sleep, for each of the two requests.
    assert_eq!(moves[9], Move::Sleep);
}

#[test]
fn balanced_sleeps_after_64_failed_steals_beside_busy_programs() {
    let mut thief = Balanced::default().thief(0, 4);
    assert_eq!(BUSY.until_other(&mut *thief), (64, Move::Sleep));
    assert_eq!(BUSY.until_other(&mut *thief), (64, Move::Sleep));
    let mut short = Balanced::with_threshold(3).thief(0, 4);
    assert_eq!(BUSY.until_other(&mut *short), (3, Move::Sleep));
    let alone = World { workers: 1, ..BUSY };
    assert_eq!(alone.next(&mut *Balanced::default().thief(0, 1), 0), Move::Sleep);
}

const QUIET: World = World { is_quiet: true, ..BUSY };

#[test]
fn balanced_is_four_times_as_patient_on_a_quiet_machine_and_yields() {
    let mut thief = Balanced::default().thief(0, 4);
    let moves: Vec<_> = (0..257).map(|failures| QUIET.next(&mut *thief, failures)).collect();
    let number_of = |wanted| moves.iter().filter(|&&next| next == wanted).count();
    assert_eq!((number_of(Move::Yield), number_of(Move::Sleep)), (8, 1));
    assert_eq!((moves[31], moves[63], moves[256]), (Move::Yield, Move::Yield, Move::Sleep));
}

/// The first 16 attempts follow each other at once.
#[test]
fn balanced_paces_its_attempts() {
    let mut thief = Balanced::default().thief(0, 4);
    let begun = Instant::now();
    (0..16 + 50).for_each(|failures| _ = BUSY.next(&mut *thief, failures));
    assert!(begun.elapsed() >= 49 * Duration::from_nanos(800));
}

#[test]
fn balanced_gives_its_processor_to_a_victim_that_waits_for_it_beside_busy_programs() {
    let help = |world: World| {
        let mut thief = Balanced::default().thief(0, 4);
        // It looks at its victim before every fourth attempt, and not before the first 16.
        let moves: Vec<_> = (0..24).map(|failures| world.next(&mut *thief, failures)).collect();
        assert!(moves[..19].iter().all(|&next| next == Move::Search), "{moves:?}");
        assert!(moves[20..23].iter().all(|&next| next == Move::Search), "{moves:?}");
        [moves[19], moves[23]]
    };
    let here = World { victim: Activity::Works, run_state: RunState::WaitsHere, ..BUSY };
    assert_eq!(help(here), [Move::HandOver(1); 2]);
    for run_state in [RunState::WaitsElsewhere, RunState::Runs, RunState::Unknown] {
        assert_eq!(help(World { run_state, ..here }), [Move::Search; 2], "{run_state:?}");
    }
    for victim in [Activity::Searches, Activity::Sleeps] {
        assert_eq!(help(World { victim, ..here }), [Move::Search; 2], "{victim:?}");
    }
    assert_eq!(help(World { is_quiet: true, ..here }), [Move::Search; 2]);
}

/// Wake-ups are requested only if a sleeper has a processor to run on.
#[test]
fn balanced_wakes_two_sleepers_for_a_steal_if_there_is_room() {
    let cases = [(0, 4, 0), (0, 8, 0), (2, 2, 0), (2, 3, 2), (1, 4, 2), (3, 1, 0), (3, 2, 2)];
    for (asleep, processors, wanted) in cases {
        let world = World { asleep, processors, victim: Activity::Sleeps, ..BUSY };
        let mut thief = Balanced::default().thief(0, 4);
        world.steal(&mut *thief, 0);
        let moves = (0..64).map(|failures| world.next(&mut *thief, failures));
        let woken = moves.filter(|&next| next == Move::Wake(1)).count();
        assert_eq!(woken, wanted, "{asleep} asleep, {processors} processors");
    }
}

/// As `bws_wakes_two_sleepers_for_a_steal`: requests pass from a worker with work to a thief.
#[test]
fn balanced_takes_over_the_requests_of_a_worker_with_work() {
    let policy = Balanced::default();
    let (mut thief, mut victim) = (policy.thief(0, 4), policy.thief(1, 4));
    let sleeper = World { asleep: 1, victim: Activity::Sleeps, ..BUSY };
    let working = World { victim: Activity::Works, ..sleeper };
    sleeper.steal(&mut *victim, 1);
    for expected in [Move::Wake(1), Move::Wake(1), Move::Search] {
        let first = (0..20).map(|failures| working.next(&mut *thief, failures)).last();
        assert_eq!(first, Some(Move::Search), "it has looked at its victim");
        let second = (20..24).map(|failures| sleeper.next(&mut *thief, failures)).last();
        assert_eq!(second, Some(expected));
    }
}

/// As `bws_cancels_a_sleep_against_a_wake_up`.
#[test]
fn balanced_cancels_a_sleep_against_a_wake_up() {
    let world = World { asleep: 2, ..BUSY };
    let mut thief = Balanced::default().thief(0, 4);
    world.steal(&mut *thief, 0);
    assert_eq!(world.until_other(&mut *thief), (64 + 2 * 65, Move::Sleep));
    assert_eq!(world.until_other(&mut *thief), (64, Move::Sleep));
}

#[test]
fn policies_tell_their_names_time_slices_and_limits() {
    let time_slice = Duration::from_micros(700);
    let balanced = Balanced::default().with_time_slice(time_slice);
    let policies: [&dyn IdlePolicy; 3] = [&Abp::default(), &Bws::default(), &balanced];
    assert_eq!(policies.map(|policy| policy.name()), ["abp", "bws", "balanced"]);
    assert_eq!(policies.map(|policy| policy.time_slice()), [None, None, Some(time_slice)]);
    assert_eq!(policies.map(|policy| policy.is_limited()), [false, false, true]);
}

#[test]
fn a_thief_knows_how_many_workers_do_what() {
    let world = World { asleep: 1, ..BUSY };
    let context = world.context(1, 0);
    assert_eq!((context.searching(), context.asleep(), context.is_machine_quiet()), (1, 1, false));
    assert!(QUIET.context(1, 0).is_machine_quiet());
}
