//! An executable model of the sleep protocol: do all tasks run, and do the workers then stop?
//!
//! Loom's models (`models.rs`) run the code, for a few steps and all memory orderings. This model
//! is written by hand from the README, for whole lives of small pools. Memory is sequentially
//! consistent, and a step may be several accesses. [`Pool::visit`] goes through all states: no
//! execution may be endless, however unfair its schedule, and each must end well. Left out:
//! inboxes, closed deques, `ReserveSentinel`, wake-up affinity.

use Act::{Block, Close, Leaf, PushAndBlock, PushAndWait, Resize};
use std::collections::HashMap;

/// What a broken variant of the protocol does otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    NoRecheck,
    /// A worker over the limit does not become the sentinel. It consumes a wake-up in vain.
    NoSentinel,
    SentinelNotReplaced,
    SentinelWithinLimit,
    /// A wake-up counts as under way even after the worker has woken up.
    TokenStays,
    /// The last thief stops without a look at what is left.
    NoSuccessor,
    ResizeOrCloseWakesNone,
    /// A worker over the size leaves to others the task for which it has not parked.
    LeavesWhatItStaysFor,
    /// A replacement works on although its worker is back.
    ReplacementKeepsSlot,
}

/// A task, which the program sends; or another act of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Act {
    Leaf,
    /// Blocks outside of the runtime until all leaves have run.
    Block,
    PushAndBlock,
    /// Pushes a leaf and waits for it in the runtime. A replacement works meanwhile.
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
    /// If it is spare, and leaves pushed tasks to the sentinel; and if it is the sentinel.
    Recheck(bool, bool),
    Asleep(bool),
    /// Searches after a sleep, and misses no task. Whether it takes sent and pushed tasks over the
    /// limit, too.
    Look(bool, bool),
    Work(Act),
    Wait,
    /// The program has done so many acts.
    Program(usize),
}

/// A wake-up that a thread completes before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wake {
    No,
    Sent,
    Pushed,
    /// It was the last thief. True if its token said that a wake-up was under way.
    Stopped(bool),
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
    has_sentinel: bool,
    spare: usize,
    sent: Vec<Act>,
    pushed: usize,
    is_assigned: bool,
    is_closed: bool,
}

fn is_asleep(at: At) -> bool {
    matches!(at, At::Recheck(..) | At::Asleep(_))
}

impl State {
    fn count(&self, is_it: fn(At) -> bool) -> usize {
        self.threads.iter().filter(|thread| is_it(thread.at)).count()
    }

    fn needs_thief(&self) -> bool {
        let searching = self.count(|at| matches!(at, At::Search | At::Announce | At::Look(..)));
        let spare = if self.has_sentinel { self.spare } else { 0 };
        searching == 0 && self.count(is_asleep) > spare
    }

    fn is_limit_reached(&self) -> bool {
        self.has_sentinel && self.count(is_asleep) <= self.spare
    }

    fn is_work_left(&self) -> bool {
        self.pushed > 0 || !self.sent.is_empty()
    }
}

#[derive(Clone, Copy)]
struct Pool {
    workers: usize,
    spare: usize,
    /// The limit is the size, and so the send limit.
    limits_sends: bool,
    has_timeouts: bool,
    program: &'static [Act],
    fault: Option<Fault>,
}

impl Pool {
    /// Makes a step of a thread, if it is not blocked. A search has three `choices`.
    fn step(&self, state: &mut State, me: usize, choice: usize) -> Option<()> {
        let has = |fault| self.fault == Some(fault);
        let Thread { at, wake, is_notified, has_token } = state.threads[me];
        let is_done = state.is_closed || (me == self.workers && !state.is_assigned);
        let is_over = state.count(is_asleep) < state.spare;
        let is_leaf_left = state.pushed > 0 || state.count(|at| at == At::Work(Leaf)) > 0;
        let searches = matches!(at, At::Search | At::Look(..)) && wake == Wake::No;
        let is_send_limit_reached = self.limits_sends && state.is_limit_reached();
        let is_sent_left = |spare| !(state.sent.is_empty() || spare && is_send_limit_reached);
        let is_left = |spare: bool| is_sent_left(spare) || (state.pushed > 0 && !spare);
        // A timeout is long: no other worker can make a step. So what is ready is untouched.
        let times_out = || {
            let others = Self { has_timeouts: false, ..*self };
            let can_step = |it, choice| others.step(&mut state.clone(), it, choice).is_some();
            let is_blocked = |it| it == me || !(0..3).any(|choice| can_step(it, choice));
            self.has_timeouts && (0..=self.workers).all(is_blocked)
        };
        state.threads[me].at = match at {
            _ if choice > 0 && !searches => return None,
            _ if wake != Wake::No => {
                let (first, number) = match wake {
                    Wake::Event(0) if has(Fault::ResizeOrCloseWakesNone) => (0, 0),
                    Wake::Event(first) => (first, usize::MAX),
                    Wake::Sent => (0, usize::from(!is_send_limit_reached)),
                    Wake::Pushed if state.needs_thief() && !has_token => (0, 1),
                    Wake::Stopped(false) if state.is_work_left() => (0, 1),
                    _ => (0, 0),
                };
                let claims = number == 1 && wake != Wake::Sent && state.count(is_asleep) > 0;
                state.threads[me].wake = Wake::No;
                state.threads[me].has_token |= claims;
                let sleepers = state.threads[first..].iter_mut().filter(|it| is_asleep(it.at));
                let sleepers = sleepers.filter(|it| !it.is_notified).take(number);
                sleepers.for_each(|it| it.is_notified = true);
                at
            }
            At::Next if is_done => return None,
            At::Next => At::Search,
            At::Search | At::Look(..) => {
                let (sent, pushed) = if let At::Look(s, p) = at { (s, p) } else { (false, false) };
                let takes_sent = !state.sent.is_empty() && (!is_over || sent);
                let takes_pushed = state.pushed > 0 && (!is_over || pushed);
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
                let may_lead = is_over || has(Fault::SentinelWithinLimit);
                let leads = may_lead && !state.has_sentinel && !has(Fault::NoSentinel);
                state.has_sentinel |= leads;
                At::Recheck(is_over, leads)
            }
            At::Recheck(_, leads) if has(Fault::NoRecheck) => At::Asleep(leads),
            At::Recheck(spare, leads) if !(is_done || is_left(spare)) => At::Asleep(leads),
            At::Asleep(leads) if !(is_notified || leads && times_out()) => return None,
            At::Recheck(_, leads) | At::Asleep(leads) => {
                let keeps = has(Fault::TokenStays);
                state.threads.iter_mut().for_each(|thread| thread.has_token &= keeps);
                state.has_sentinel &= !leads || has(Fault::SentinelNotReplaced);
                state.threads[me].is_notified = false;
                let has_timed_out = at == At::Asleep(true) && !is_notified;
                let has_stayed = !matches!(at, At::Asleep(_)) && !has(Fault::LeavesWhatItStaysFor);
                At::Look(has_timed_out || has_stayed || !self.limits_sends, has_timed_out)
            }
            At::Work(task @ (PushAndBlock | PushAndWait)) => {
                state.pushed += 1;
                state.threads[me].wake = Wake::Pushed;
                state.is_assigned |= task == PushAndWait;
                if task == PushAndWait { At::Wait } else { At::Work(Block) }
            }
            At::Work(Block) | At::Wait if is_leaf_left => return None,
            At::Work(_) => At::Next,
            At::Wait => {
                state.is_assigned = has(Fault::ReplacementKeepsSlot);
                state.threads[me].wake = Wake::Event(self.workers);
                At::Next
            }
            At::Program(number) => {
                let working = state.count(|at| matches!(at, At::Work(_) | At::Wait));
                state.threads[me].wake = Wake::Event(0);
                match *self.program.get(number)? {
                    Resize => state.spare = 0,
                    Close if working > 0 || state.is_work_left() => return None,
                    Close => state.is_closed = true,
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
        let idle = state.count(|at| matches!(at, At::Asleep(_) | At::Wait)) + stopped;
        let what = match is_end {
            _ if state.is_assigned && idle == 0 => "too many workers are awake",
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
    Pool { workers, spare, limits_sends: false, has_timeouts: true, program, fault: None }
}

const LIMIT: Pool = pool(2, 1, &[Leaf, PushAndBlock, Close]);
const NO_LIMIT: Pool = pool(2, 0, &[PushAndBlock]);
/// A timeout would hide a wake-up that is missing.
const RESIZE: Pool = Pool { has_timeouts: false, ..pool(2, 1, &[PushAndBlock, Resize, Close]) };
const SIZE: Pool = Pool { limits_sends: true, ..LIMIT };
const WAIT: Pool = pool(2, 1, &[PushAndWait, Leaf, Close]);
const THIEF_BLOCKS: Pool = pool(3, 0, &[PushAndBlock, Block, Close]);
const TWO_SPARE: Pool = pool(3, 2, &[PushAndBlock, Leaf, Resize, Close]);

#[test]
fn all_tasks_run_and_the_workers_stop() {
    let one_worker = pool(1, 0, WAIT.program);
    for pool in [LIMIT, NO_LIMIT, RESIZE, SIZE, WAIT, one_worker, THIEF_BLOCKS, TWO_SPARE] {
        println!("{} states", pool.check().unwrap_or_else(|found| panic!("{found}")));
    }
}

#[test]
fn each_fault_is_found() {
    for (fault, pool, expected) in [
        (Fault::NoRecheck, NO_LIMIT, "a ready task waits for ever"),
        (Fault::NoSentinel, LIMIT, "a ready task waits for ever"),
        (Fault::SentinelNotReplaced, LIMIT, "a ready task waits for ever"),
        (Fault::SentinelWithinLimit, LIMIT, "workers do not stop"),
        (Fault::TokenStays, THIEF_BLOCKS, "a ready task waits for ever"),
        (Fault::NoSuccessor, THIEF_BLOCKS, "a ready task waits for ever"),
        (Fault::ResizeOrCloseWakesNone, RESIZE, "a ready task waits for ever"),
        (Fault::ResizeOrCloseWakesNone, LIMIT, "workers sleep for ever"),
        (Fault::LeavesWhatItStaysFor, SIZE, "workers do not stop"),
        (Fault::ReplacementKeepsSlot, WAIT, "too many workers are awake"),
    ] {
        let found = Pool { fault: Some(fault), ..pool }.check().unwrap_err();
        assert!(found.starts_with(expected), "{fault:?}: {found}");
    }
}
