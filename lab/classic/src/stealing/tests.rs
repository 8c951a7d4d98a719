//! What each policy decides, by the text of its paper, on a worker that is made up.

use std::cell::{Cell, RefCell};

use crate::LoweredPriority;

use std::cmp::Ordering::{Equal, Greater, Less};

use super::global_information::Numbers;
use super::*;
use crate::thief::{Stealing, Thief};
use crate::wake_ups::WakeUpCounter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Yield,
    YieldTo(usize),
    Lower,
    Fails(usize),
    Steals(usize),
    Sleep,
    Wake(usize),
}
use Call::*;

/// What a victim does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Works,
    IsPreempted,
    Sleeps,
    Searches,
}

/// Worker 0 of `workers`. Its victim is always worker 1; it steals after this many failures.
struct Seen {
    workers: usize,
    victim: Victim,
    failures: Cell<usize>,
    /// The work is done after this many calls of a policy.
    calls_to_do: Cell<usize>,
    calls: RefCell<Vec<Call>>,
}

impl Seen {
    fn new(victim: Victim, failures: usize) -> Seen {
        Seen {
            workers: 4,
            victim,
            failures: Cell::new(failures),
            calls_to_do: Cell::new(usize::MAX),
            calls: RefCell::default(),
        }
    }

    fn call(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }

    /// What a policy does until it has stolen, or until its one attempt has failed.
    fn calls_of(self, policy: &dyn Stealing) -> Vec<Call> {
        policy.steal(&self);
        self.calls.into_inner()
    }
}

impl Thief for Seen {
    fn index(&self) -> usize {
        0
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn work_is_done(&self) -> bool {
        self.calls.borrow().len() >= self.calls_to_do.get()
    }

    fn random_victim(&self) -> usize {
        1
    }

    fn steal_from(&self, victim: usize) -> bool {
        match self.failures.get().checked_sub(1) {
            Some(fewer) => {
                self.failures.set(fewer);
                self.call(Fails(victim));
                false
            }
            None => {
                self.call(Steals(victim));
                true
            }
        }
    }

    fn has_task(&self, _worker: usize) -> bool {
        matches!(self.victim, Victim::Works | Victim::IsPreempted)
    }

    fn is_preempted(&self, _worker: usize) -> bool {
        self.victim == Victim::IsPreempted
    }

    fn yield_core(&self) {
        self.call(Yield);
    }

    fn yield_to(&self, worker: usize) {
        self.call(YieldTo(worker));
    }

    fn lower_priority(&self) -> Option<LoweredPriority> {
        self.call(Lower);
        None
    }

    fn is_asleep(&self, _worker: usize) -> bool {
        self.victim == Victim::Sleeps
    }

    fn sleep(&self) {
        self.call(Sleep);
    }

    fn wake(&self, worker: usize) -> bool {
        self.call(Wake(worker));
        self.victim == Victim::Sleeps
    }

    fn sleeper(&self) -> Option<usize> {
        (self.victim == Victim::Sleeps).then_some(2)
    }
}

/// Takes all wake-ups, and returns how many there were.
fn drain(counter: &WakeUpCounter) -> usize {
    std::iter::repeat_with(|| counter.take_one()).take_while(|&is_one| is_one).count()
}

/// The numbers of failures after which a policy makes a call, in a search with this many failures.
fn after(policy: &dyn Stealing, failures: usize, wanted: Call) -> Vec<usize> {
    let mut failed = 0;
    let mut found = Vec::new();
    for call in Seen::new(Victim::Works, failures).calls_of(policy) {
        failed += usize::from(call == Fails(1));
        found.extend((call == wanted).then_some(failed));
    }
    found
}

#[test]
fn algorithm_1_yields_before_each_attempt() {
    let calls = |failures| Seen::new(Victim::Works, failures).calls_of(&Abp);
    assert_eq!(calls(0), [Yield, Steals(1)]);
    assert_eq!(calls(1), [Yield, Fails(1)]);
}

#[test]
fn naive_thieves_only_try() {
    let calls = |failures| Seen::new(Victim::IsPreempted, failures).calls_of(&Naive);
    assert_eq!((calls(0), calls(1)), (vec![Steals(1)], vec![Fails(1)]));
}

#[test]
fn nornir_yields_after_each_failure() {
    let calls = |failures| Seen::new(Victim::Works, failures).calls_of(&Nornir);
    assert_eq!((calls(0), calls(1)), (vec![Steals(1)], vec![Fails(1), Yield]));
}

#[test]
fn lassi_tries_once() {
    let calls = |failures| Seen::new(Victim::Works, failures).calls_of(&Lassi);
    assert_eq!((calls(0), calls(1)), (vec![Steals(1)], vec![Fails(1), Yield]));
}

#[test]
fn delayed_yields_begin_after_twice_the_number_of_workers() {
    assert_eq!(after(&Delayed, 11, Yield), [9, 10, 11]);
    assert_eq!(after(&Delayed, 8, Yield), [0; 0]);
}

#[test]
fn selective_yields_come_after_each_64_failures() {
    assert_eq!(after(&Selective, 200, Yield), [64, 128, 192]);
}

#[test]
fn hood_yields_seldom_and_lowers_its_priority_once() {
    assert_eq!(after(&Hood, 330, Yield), [64, 128, 192, 256, 320]);
    assert_eq!(after(&Hood, 330, Lower), [160]);
    assert_eq!(after(&Hood, 159, Lower), [0; 0]);
}

fn bws(threshold: u64) -> Bws {
    let mut bws = Bws::with_threshold(threshold);
    bws.start(4);
    bws
}

#[test]
fn bws_looks_at_its_victim_after_a_failure() {
    // Lines 17 to 31, without pending wake-ups.
    for (victim, expected) in [
        (Victim::IsPreempted, vec![Fails(1), YieldTo(1), Steals(1)]),
        (Victim::Works, vec![Fails(1), Steals(1)]),
        (Victim::Sleeps, vec![Fails(1), Steals(1)]),
        (Victim::Searches, vec![Fails(1), Steals(1)]),
    ] {
        assert_eq!(Seen::new(victim, 1).calls_of(&bws(64)), expected, "{victim:?}");
    }
}

#[test]
fn bws_wakes_two_for_each_steal() {
    // Lines 13 and 26 to 30: two wake-ups for sleeping victims, then no more.
    let policy = bws(64);
    assert_eq!(Seen::new(Victim::Works, 0).calls_of(&policy), [Steals(1)]);
    let expected = [Fails(1), Wake(1), Fails(1), Wake(1), Fails(1), Steals(1)];
    assert_eq!(Seen::new(Victim::Sleeps, 3).calls_of(&policy), expected);
    // Those of the second steal, which a victim that works does not take.
    assert_eq!(Seen::new(Victim::Works, 5).calls_of(&policy).len(), 6);
    let wakes = Seen::new(Victim::Sleeps, 9).calls_of(&policy);
    assert_eq!(wakes.iter().filter(|&&call| call == Wake(1)).count(), 4);
}

#[test]
fn bws_takes_wake_ups_over_from_a_victim_that_works() {
    // Lines 20 to 25: worker 0 takes one for each look, and has it then.
    let policy = bws(64);
    policy.c(1).add(2);
    Seen::new(Victim::Works, 1).calls_of(&policy);
    // One that was taken over, and two for the steal.
    assert_eq!(drain(policy.c(0)), 3);
    assert_eq!(drain(policy.c(1)), 1);
    policy.c(1).add(2);
    // From a preempted one it takes none: it yields to it.
    Seen::new(Victim::IsPreempted, 1).calls_of(&policy);
    assert_eq!((drain(policy.c(0)), drain(policy.c(1))), (2, 2));
}

#[test]
fn bws_sleeps_when_failures_exceed_the_threshold() {
    // Lines 34 to 40. The first time, the position of the watchdog is vacant.
    let policy = bws(3);
    policy.watchdog.try_become(2);
    assert_eq!(after(&policy, 3, Sleep), [0; 0]);
    drain(policy.c(0));
    assert_eq!(after(&policy, 8, Sleep), [4, 8]);
    drain(policy.c(0));
    // A pending wake-up cancels a sleep, and the steal counter is reset.
    policy.c(0).add(1);
    assert_eq!(after(&policy, 8, Sleep), [8]);
}

#[test]
fn the_look_at_the_victim_comes_before_the_threshold() {
    let policy = bws(0);
    policy.watchdog.try_become(2);
    let calls = Seen::new(Victim::IsPreempted, 1).calls_of(&policy);
    assert_eq!(calls, [Fails(1), YieldTo(1), Sleep, Steals(1)]);
}

#[test]
fn the_watchdog_does_not_sleep_and_wakes_by_itself() {
    let policy = bws(3);
    // The next worker that would sleep becomes the watchdog.
    assert_eq!(after(&policy, 40, Sleep), [0; 0]);
    // After a steal it wakes no sleeper by counter: the first one that it woke is its successor.
    assert_eq!(drain(policy.c(0)), 0);
    policy.watchdog.try_become(0);
    let calls = Seen::new(Victim::Sleeps, 0).calls_of(&policy);
    assert_eq!(calls, [Steals(1), Wake(2), Wake(2)]);
    assert!(policy.watchdog.is(2) && !policy.watchdog.try_become(0));
}

#[test]
fn a_watchdog_leaves_its_position_when_the_work_is_done() {
    let policy = bws(3);
    let seen = Seen::new(Victim::Works, 100);
    seen.calls_to_do.set(50);
    assert!(!seen.calls_of(&policy).contains(&Sleep));
    // Otherwise it could work in the next run, while all others sleep.
    assert!(!policy.watchdog.is(0) && policy.watchdog.try_become(3));
}

#[test]
fn busy_workers_wake_two_and_thieves_only_sleep() {
    let sleeping = Seen::new(Victim::Sleeps, 0);
    BusyWakes.generated(&sleeping);
    assert_eq!(sleeping.calls.into_inner(), [Wake(2), Wake(2)]);
    let working = Seen::new(Victim::Works, 0);
    BusyWakes.generated(&working);
    assert_eq!(working.calls.into_inner(), []);
    assert_eq!(after(&BusyWakes, 64, Sleep), [0; 0]);
    assert_eq!(after(&BusyWakes, 130, Sleep), [65, 130]);
}

#[test]
fn half_as_many_thieves_as_busy_workers_are_awake() {
    for (busy, awake, expected) in [
        (4, 2, Equal),
        (4, 3, Greater),
        (4, 1, Less),
        (5, 2, Less),
        (5, 3, Equal),
        (3, 1, Less),
        (1, 1, Equal),
        (1, 2, Greater),
        // One stays awake in any case.
        (0, 1, Equal),
    ] {
        let numbers = Numbers { busy, awake, asleep: 0 };
        assert_eq!(numbers.awake_is(), expected, "{numbers:?}");
    }
}
