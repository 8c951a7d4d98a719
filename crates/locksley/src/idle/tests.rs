//! What the default policy decides: tables of what a thief sees, and its moves.

use std::time::{Duration, Instant};

use super::test_policies::RESTLESS;
use super::{Activity, Balanced, IdleContext, IdlePolicy, Move, Peers, Thief};
use crate::os::RunState;
use crate::tuning::{PACE, UNPACED_ATTEMPTS};

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
        thief.stole(&self.context(1, worker));
    }
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

#[test]
fn balanced_pauses_at_once_after_a_steal_whose_task_was_shorter_than_the_pace() {
    // A paced thief looks at its victim at each fourth attempt.
    let world = World { victim: Activity::Works, run_state: RunState::WaitsHere, ..BUSY };
    let mut thief = Balanced::default().thief(0, 4);
    let paced = (3, Move::HandOver(1));
    let unpaced = (u64::from(UNPACED_ATTEMPTS) + 3, Move::HandOver(1));
    assert_eq!(world.until_other(&mut *thief), unpaced);
    // The thread may be suspended between the steal and the next search.
    let is_paced = (0..1000).any(|_| {
        world.steal(&mut *thief, 0);
        world.until_other(&mut *thief) == paced
    });
    assert!(is_paced);
    world.steal(&mut *thief, 0);
    std::thread::sleep(PACE);
    assert_eq!(world.until_other(&mut *thief), unpaced);
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

/// Requests pass from a worker with work to a thief, which carries them out.
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

/// A thief that is to sleep, and of which another wake-up is requested, stays awake instead.
#[test]
fn balanced_cancels_a_sleep_against_a_wake_up() {
    let world = World { asleep: 2, ..BUSY };
    let mut thief = Balanced::default().thief(0, 4);
    world.steal(&mut *thief, 0);
    assert_eq!(world.until_other(&mut *thief), (64 + 2 * 65, Move::Sleep));
    assert_eq!(world.until_other(&mut *thief), (64, Move::Sleep));
}

#[test]
fn a_policy_without_a_time_slice_and_a_limit_has_none() {
    let time_slice = Duration::from_micros(700);
    let balanced = Balanced::default().with_time_slice(time_slice);
    let policies: [&dyn IdlePolicy; 3] = [&RESTLESS, &Balanced::default(), &balanced];
    assert_eq!(policies.map(|policy| policy.name()), ["yielding", "balanced", "balanced"]);
    assert_eq!(policies.map(|policy| policy.time_slice()), [None, None, Some(time_slice)]);
    assert_eq!(policies.map(|policy| policy.is_limited()), [false, true, true]);
}

#[test]
fn a_thief_knows_how_many_workers_do_what() {
    let world = World { asleep: 1, ..BUSY };
    let context = world.context(1, 0);
    assert_eq!((context.asleep(), context.is_machine_quiet()), (1, false));
    assert!(QUIET.context(1, 0).is_machine_quiet());
}
