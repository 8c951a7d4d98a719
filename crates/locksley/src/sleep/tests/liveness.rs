//! An executable model of the sleep protocol: do all tasks run, and do the workers then stop?
//!
//! Loom's models (`models.rs`) run the code, for a few steps and all memory orderings. This model
//! is written by hand from the README, for whole lives of small pools. Memory is sequentially
//! consistent, and a step may be several accesses. [`Pool::visit`] goes through all states: no
//! execution may be endless, however unfair its schedule, and each must end well. Left out:
//! inboxes, closed deques, the flag that pushes read.

use Act::{Block, Close, Leaf, PushAndBlock, PushAndWait, Resize};
use std::collections::HashMap;

/// What a broken variant of the protocol does otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    NoRecheck,
    MonitorDoesNotLook,
    MonitorNotReplaced,
    /// The monitor leaves tasks to others although it is within the limit.
    MonitorWithinLimit,
    /// A monitor that retires does not look again.
    RetiresWithoutLook,
    /// A wake-up counts as under way even after the worker has woken up.
    TokenStays,
    /// The last thief stops without a look at what is left.
    NoSuccessor,
    /// No sleeper is woken when the limit is raised or the pool is closed.
    RaiseOrCloseWakesNone,
    /// A waiter goes on while another thread works under its index.
    WaiterTakesIndex,
    /// A replacement works on although its index was taken.
    ReplacementKeepsIndex,
}

/// A task, which the program sends; or another act of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Act {
    Leaf,
    /// Blocks outside of the runtime until all leaves have run.
    Block,
    PushAndBlock,
    /// Pushes a leaf and waits for it in the runtime. A replacement works under the index
    /// meanwhile.
    PushAndWait,
    /// Removes the limit.
    Resize,
    /// Closes the pool when all tasks have ended.
    Close,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum At {
    /// Between two tasks, or stopped: the pool is closed, or no worker is replaced.
    Next,
    /// Searches, and may miss a task.
    Search,
    Announce,
    Recheck(Role),
    Asleep(Role),
    /// The monitor, which has seen that no worker is active.
    Retires,
    /// Searches after a sleep, and misses no task.
    Look,
    Work(Act),
    Wait,
    /// The program has done so many acts.
    Program(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Role {
    Ordinary,
    OverLimit,
    Monitor,
}

/// A wake-up that a thread completes before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wake {
    No,
    Sent,
    Pushed,
    /// It was the last thief. True if its token said that a wake-up was under way.
    Stopped(bool),
    /// The limit was raised.
    Raised,
    /// For all threads from this one on.
    Event(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Thread {
    at: At,
    wake: Wake,
    is_notified: bool,
    /// A wake-up that it has claimed is under way (`WakeToken`).
    has_token: bool,
}

/// The threads are the workers, the replacement and the program: the counters follow from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    has_monitor: bool,
    spare: usize,
    sent: Vec<Act>,
    pushed: usize,
    /// True if a waiter has given its index to the replacement.
    is_assigned: bool,
    is_closed: bool,
}

fn is_asleep(at: At) -> bool {
    matches!(at, At::Recheck(_) | At::Asleep(_) | At::Retires)
}

impl State {
    fn count(&self, is_it: fn(At) -> bool) -> usize {
        self.threads.iter().filter(|thread| is_it(thread.at)).count()
    }

    fn asleep(&self) -> usize {
        self.count(is_asleep)
    }

    fn may_wake(&self) -> bool {
        self.asleep() > if self.has_monitor { self.spare } else { 0 }
    }

    fn needs_thief(&self) -> bool {
        let searches = |at| matches!(at, At::Search | At::Announce | At::Look);
        self.count(searches) == 0 && self.may_wake()
    }

    fn role_of_sleeper(&self) -> Role {
        if self.may_wake() { Role::Ordinary } else { Role::OverLimit }
    }

    fn is_work_left(&self) -> bool {
        self.pushed > 0 || !self.sent.is_empty()
    }
}

#[derive(Clone, Copy)]
struct Pool {
    workers: usize,
    spare: usize,
    /// The monitor looks now and then.
    watches: bool,
    program: &'static [Act],
    fault: Option<Fault>,
}

impl Pool {
    /// Makes a step of a thread, if it is not blocked. A search has three `choices`.
    fn step(&self, state: &mut State, me: usize, choice: usize) -> Option<()> {
        let has = |fault| self.fault == Some(fault);
        let Thread { at, wake, is_notified, has_token } = state.threads[me];
        let has_lost_index = me == self.workers && !state.is_assigned;
        let is_done = state.is_closed || has_lost_index && !has(Fault::ReplacementKeepsIndex);
        let is_leaf_left = state.pushed > 0 || state.count(|at| at == At::Work(Leaf)) > 0;
        let searches = matches!(at, At::Search | At::Look) && wake == Wake::No;
        state.threads[me].at = match at {
            _ if choice > 0 && !searches => return None,
            _ if wake != Wake::No => {
                let asleep = state.asleep();
                let (first, number) = match wake {
                    Wake::Event(0) | Wake::Raised if has(Fault::RaiseOrCloseWakesNone) => (0, 0),
                    Wake::Event(first) => (first, usize::MAX),
                    Wake::Raised => (0, asleep.saturating_sub(state.spare)),
                    Wake::Sent => (0, usize::from(state.may_wake())),
                    Wake::Pushed if state.needs_thief() && !has_token => (0, 1),
                    Wake::Stopped(false) if state.is_work_left() => (0, 1),
                    _ => (0, 0),
                };
                let claims = number == 1 && matches!(wake, Wake::Pushed | Wake::Stopped(_));
                state.threads[me].wake = Wake::No;
                state.threads[me].has_token |= claims && asleep > 0;
                let sleepers = state.threads[first..].iter_mut();
                let sleepers = sleepers.filter(|it| is_asleep(it.at));
                let sleepers = sleepers.filter(|it| !it.is_notified).take(number);
                sleepers.for_each(|it| it.is_notified = true);
                state.threads[me].at
            }
            At::Next if is_done => return None,
            At::Next => At::Search,
            At::Search | At::Look => {
                let (takes_sent, takes_pushed) = (!state.sent.is_empty(), state.pushed > 0);
                let may_fail = at == At::Search || !(takes_sent || takes_pushed);
                state.threads[me].at = match choice {
                    0 if is_done => At::Next,
                    _ if is_done => return None,
                    0 if takes_sent => At::Work(state.sent.remove(0)),
                    1 if takes_pushed => At::Work(Leaf),
                    2 if may_fail => At::Announce,
                    _ => return None,
                };
                state.pushed -= usize::from(choice == 1);
                if state.needs_thief() && !has(Fault::NoSuccessor) {
                    state.threads[me].wake = Wake::Stopped(has_token);
                }
                state.threads[me].at
            }
            At::Announce => {
                let is_over = state.asleep() < state.spare || has(Fault::MonitorWithinLimit);
                if is_over && !state.has_monitor {
                    state.has_monitor = true;
                    At::Recheck(Role::Monitor)
                } else {
                    state.threads[me].at = At::Recheck(Role::OverLimit);
                    At::Recheck(state.role_of_sleeper())
                }
            }
            At::Recheck(role) if has(Fault::NoRecheck) => At::Asleep(role),
            At::Recheck(role) if !(is_done || role == Role::Ordinary && state.is_work_left()) => {
                At::Asleep(role)
            }
            At::Asleep(Role::Monitor)
                if !is_notified && self.watches && !has(Fault::MonitorDoesNotLook) =>
            {
                if state.asleep() >= self.workers {
                    At::Retires
                } else if state.is_work_left() && state.asleep() > state.spare {
                    state.threads[me].is_notified = true; // it wakes up by itself
                    at
                } else if state.is_work_left() && state.spare > 0 {
                    let limit = 2 * (self.workers - state.spare);
                    state.spare = self.workers.saturating_sub(limit);
                    state.threads[me].wake = Wake::Raised;
                    at
                } else {
                    return None;
                }
            }
            At::Retires => {
                state.has_monitor = false;
                let role = state.role_of_sleeper();
                if has(Fault::RetiresWithoutLook) { At::Asleep(role) } else { At::Recheck(role) }
            }
            At::Asleep(_) if !is_notified => return None,
            At::Recheck(role) | At::Asleep(role) => {
                let keeps = has(Fault::TokenStays);
                state.threads.iter_mut().for_each(|thread| thread.has_token &= keeps);
                state.has_monitor &= role != Role::Monitor || has(Fault::MonitorNotReplaced);
                state.threads[me].is_notified = false;
                At::Look
            }
            At::Work(task @ (PushAndBlock | PushAndWait)) => {
                state.pushed += 1;
                state.threads[me].wake = Wake::Pushed;
                state.is_assigned |= task == PushAndWait;
                if task == PushAndWait { At::Wait } else { At::Work(Block) }
            }
            At::Work(Block) if is_leaf_left => return None,
            // Its leaf may have begun only. It ends in any case.
            At::Wait if state.pushed > 0 => return None,
            At::Work(_) => At::Next,
            At::Wait => {
                let is_held = matches!(state.threads[self.workers].at, At::Work(_));
                if is_held && !has(Fault::WaiterTakesIndex) {
                    return None;
                }
                state.is_assigned = false;
                state.threads[me].wake = Wake::Event(self.workers);
                At::Work(Leaf)
            }
            At::Program(number) => {
                let working = state.count(|at| matches!(at, At::Work(_) | At::Wait));
                match *self.program.get(number)? {
                    Resize => {
                        state.spare = 0;
                        state.threads[me].wake = Wake::Raised;
                    }
                    Close if working > 0 || state.is_work_left() => return None,
                    Close => {
                        state.is_closed = true;
                        state.threads[me].wake = Wake::Event(0);
                    }
                    task => {
                        state.sent.push(task);
                        state.threads[me].wake = Wake::Sent;
                    }
                }
                At::Program(number + 1)
            }
        };
        Some(())
    }

    /// Visits a state and all after it; `seen` tells if that has ended. The workers are sorted, as
    /// they are alike. Returns what is wrong with a state, and the way back from it.
    fn visit(&self, state: State, seen: &mut HashMap<State, bool>) -> Result<(), String> {
        if let Some(&has_ended) = seen.get(&state) {
            return has_ended.then_some(()).ok_or("workers do not stop".into());
        }
        seen.insert(state.clone(), false);
        let mut is_end = true;
        for (me, choice) in (0..state.threads.len()).flat_map(|me| [(me, 0), (me, 1), (me, 2)]) {
            let mut next = state.clone();
            if self.step(&mut next, me, choice).is_some() {
                next.threads[..self.workers].sort_unstable();
                self.visit(next, seen).map_err(|found| format!("{found}\n{state:?}"))?;
                is_end = false;
            }
        }
        seen.insert(state.clone(), true);
        let stopped = state.count(|at| at == At::Next);
        let what = match is_end {
            _ if state.count(|at| matches!(at, At::Work(_))) > self.workers => "too many tasks run",
            true if state.is_work_left() => "a ready task waits for ever",
            true if state.is_closed && stopped <= self.workers => "workers sleep for ever",
            _ => return Ok(()),
        };
        Err(format!("{what}\n{state:?}"))
    }

    fn check(&self) -> Result<usize, String> {
        let thread = |at| Thread { at, wake: Wake::No, is_notified: false, has_token: false };
        let threads = [vec![thread(At::Next); self.workers + 1], vec![thread(At::Program(0))]];
        let first = State { threads: threads.concat(), spare: self.spare, ..State::default() };
        let mut seen = HashMap::new();
        self.visit(first, &mut seen).map(|()| seen.len())
    }
}

const fn pool(workers: usize, spare: usize, program: &'static [Act]) -> Pool {
    Pool { workers, spare, watches: true, program, fault: None }
}

const LIMIT: Pool = pool(2, 1, &[Leaf, PushAndBlock, Close]);
const NO_LIMIT: Pool = pool(2, 0, &[PushAndBlock]);
/// A monitor that looks would hide a wake-up that is missing.
const RESIZE: Pool = Pool { watches: false, ..pool(2, 1, &[PushAndBlock, Resize, Close]) };
const WAIT: Pool = pool(2, 1, &[PushAndWait, Leaf, Close]);
const ONE_WAITS: Pool = pool(1, 0, WAIT.program);
const THIEF_BLOCKS: Pool = pool(3, 0, &[PushAndBlock, Block, Close]);
const TWO_OVER: Pool = pool(3, 2, &[PushAndBlock, Leaf, Resize, Close]);
const ALL_BLOCK: Pool = pool(3, 2, &[PushAndBlock, Block, Close]);

#[test]
fn all_tasks_run_and_the_workers_stop() {
    for pool in [LIMIT, NO_LIMIT, RESIZE, WAIT, ONE_WAITS, THIEF_BLOCKS, TWO_OVER, ALL_BLOCK] {
        println!("{} states", pool.check().unwrap_or_else(|found| panic!("{found}")));
    }
}

#[test]
fn each_fault_is_found() {
    for (fault, pool, expected) in [
        (Fault::NoRecheck, NO_LIMIT, "a ready task waits for ever"),
        (Fault::MonitorDoesNotLook, LIMIT, "a ready task waits for ever"),
        (Fault::MonitorNotReplaced, ALL_BLOCK, "a ready task waits for ever"),
        // It would find the task when it looks.
        (
            Fault::MonitorWithinLimit,
            Pool { watches: false, ..NO_LIMIT },
            "a ready task waits for ever",
        ),
        (Fault::RetiresWithoutLook, LIMIT, "a ready task waits for ever"),
        (Fault::TokenStays, THIEF_BLOCKS, "a ready task waits for ever"),
        (Fault::NoSuccessor, THIEF_BLOCKS, "a ready task waits for ever"),
        (Fault::RaiseOrCloseWakesNone, RESIZE, "a ready task waits for ever"),
        (Fault::RaiseOrCloseWakesNone, LIMIT, "workers sleep for ever"),
        (Fault::WaiterTakesIndex, ONE_WAITS, "too many tasks run"),
        (Fault::ReplacementKeepsIndex, ONE_WAITS, "too many tasks run"),
    ] {
        let found = Pool { fault: Some(fault), ..pool }.check();
        let found = found.expect_err(&format!("{fault:?} is not found"));
        assert!(found.starts_with(expected), "{fault:?}: {found}");
    }
}
