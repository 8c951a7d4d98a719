//! Deadlock checks: which process waits for which, followed until a chain ends or closes.
//!
//! A process waits for at most one other process, so a chain of waits either reaches a process that
//! does not wait, or runs into a cycle. A cycle is a deadlock. If one of its channels is full, the
//! deadlock is artificial: the smallest full channel grows (Parks, "Bounded scheduling of process
//! networks", 1995). If a process of the cycle waits for a message of a sender that was dropped,
//! that stream ends instead. Local cycles are found, too (Geilen and Basten, "Requirements on the
//! execution of Kahn process networks", ESOP 2003).
//!
//! A process that begins to wait follows the chain for a few steps. If that is not enough, its
//! worker notes the network, and checks all of it later: when it has found nothing else to do, when
//! it pauses, or after so many tasks that the check costs little beside them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::channel::Core;
use super::error::{Failure, NetworkError, Waiting};
use super::graph::{Graph, NO_PROCESS};
use super::wait::{Need, Wait};
use locksley::Worker;
use locksley_sys::primitive::{Ordering, thread_local};

/// How far a process that begins to wait follows the chain. Under the model checker, a cycle of
/// three is longer.
const FIRST_STEPS: usize = if cfg!(loom) { 2 } else { 4 };

thread_local! {
    /// Networks in which this worker has left a chain before its end.
    static NOTED: RefCell<Vec<Arc<Graph>>> = const { RefCell::new(Vec::new()) };
    /// The worker checks them after this many tasks; 0 if there are none.
    static TASKS_LEFT: Cell<usize> = const { Cell::new(0) };
}

fn is_noted(graph: &Arc<Graph>) -> bool {
    TASKS_LEFT.get() > 0
        && NOTED.with_borrow(|noted| noted.iter().any(|other| Arc::ptr_eq(other, graph)))
}

fn note(graph: &Arc<Graph>) {
    NOTED.with_borrow_mut(|noted| noted.push(Arc::clone(graph)));
    if TASKS_LEFT.get() == 0 {
        TASKS_LEFT.set(256 + 4 * graph.processes.len());
    }
}

/// Checks the noted networks. True if there were any: tasks may have become ready.
pub(super) fn check_noted() -> bool {
    let is_any = TASKS_LEFT.replace(0) > 0;
    if is_any {
        NOTED.take().iter().for_each(|graph| graph.check_all());
    }
    is_any
}

/// The worker has run a task. There may always be another one.
pub(super) fn count_task() {
    match TASKS_LEFT.get() {
        0 => {}
        1 => _ = check_noted(),
        left => TASKS_LEFT.set(left - 1),
    }
}

/// Where a chain leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    /// To a process that does not wait for another process.
    Open,
    /// Into a cycle, it seems, with this process.
    Cycle(u32),
    /// Farther than it was followed.
    Long,
}

/// A process of a cycle, and what it waits for.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    process: u32,
    channel: u32,
    need: Need,
    /// The channel's capacity at that time.
    capacity: u64,
    wait: Wait,
}

impl Graph {
    /// Checks whether a process has closed a cycle. The process has published that it waits, has
    /// made a barrier, and has found that it must wait.
    pub(super) fn check_new_wait(this: &Arc<Self>, process: u32) {
        this.wake_deferred_after_barrier(process);
        if is_noted(this) {
            return; // the check of all processes sees this wait, too
        }
        match this.follow(process) {
            Chain::Open => {}
            Chain::Cycle(member) => this.resolve(member),
            Chain::Long if Worker::with_current(|current| current.is_some()) => note(this),
            Chain::Long => this.check_all(),
        }
    }

    /// Follows the chain of a process for a few steps.
    fn follow(&self, from: u32) -> Chain {
        let mut seen = [from; FIRST_STEPS];
        for step in 1..=FIRST_STEPS {
            let Some(next) = self.awaited_by(seen[step - 1]) else { return Chain::Open };
            if seen[..step].contains(&next) {
                // Not the new one: most often, another process has been woken, and `resolve` ends
                // at the first process that it looks at.
                return Chain::Cycle(seen[step - 1]);
            }
            if step < FIRST_STEPS {
                seen[step] = next;
            }
        }
        Chain::Long
    }

    /// [`Running::waiting`](super::Running::waiting).
    ///
    /// Suppose that one of them has continued, and let it be the first to do so. It was given what
    /// it needs by another one, before that one ended or began the wait that is read here first. So
    /// what it was given is seen, or that it was taken: then its second state is another one.
    pub(super) fn waiting(&self, elsewhere: impl Fn(usize) -> Option<u64>) -> Option<Vec<usize>> {
        let state = |number: usize| {
            let process = &self.processes[number];
            let wait = process.wait.read();
            match wait.target() {
                // Acquire pairs with the release in `finish_process`.
                None if process.has_ended.load(Ordering::Acquire) => Some((wait, None)),
                None => elsewhere(number).map(|mark| (wait, Some(mark))),
                Some(_) => Some((wait, None)),
            }
        };
        let all = || (0..self.processes.len()).map(state).collect::<Option<Vec<_>>>();
        let first = all()?;
        let is_stuck = |(channel, need)| self.core(channel).capacity_if_stuck(need).is_some();
        let are_stuck = first.iter().filter_map(|(wait, _)| wait.target()).all(is_stuck);
        if !are_stuck || all()? != first || self.has_failed() {
            return None;
        }
        let waits =
            |&number: &usize| first[number].1.is_some() || first[number].0.target().is_some();
        let waiting: Vec<_> = (0..first.len()).filter(waits).collect();
        (!waiting.is_empty()).then_some(waiting)
    }

    /// The channels whose sender was dropped, and whose receiver waits for the end of the stream.
    pub(super) fn dropped_streams(&self) -> impl Iterator<Item = &Core> {
        let awaited = self.processes.iter().filter_map(|process| process.wait.read().target());
        let empty = awaited.filter(|&(_, need)| need == Need::Message);
        let cores = empty.map(|(channel, _)| self.core(channel));
        cores.filter(|core| core.is_sender_dropped() && !core.is_closed())
    }

    /// The process that a process waits for.
    #[inline]
    fn awaited_by(&self, process: u32) -> Option<u32> {
        let (channel, need) = self.process(process).wait.read().target()?;
        let provider = self.link(channel).provider(need);
        (provider != NO_PROCESS).then_some(provider)
    }

    /// Checks the chains of all processes.
    fn check_all(&self) {
        // Pairs with the barriers of the processes that have begun to wait: what was published
        // before the last of them is seen.
        self.barrier();
        let mut seen_in = vec![0_u32; self.processes.len()];
        for from in 0..self.processes.len() as u32 {
            let mut next = Some(from);
            while let Some(at) = next {
                let seen = std::mem::replace(&mut seen_in[at as usize], from + 1);
                if seen == from + 1 {
                    self.resolve(at);
                }
                next = if seen == 0 { self.awaited_by(at) } else { None };
            }
        }
    }

    /// Ends the deadlock that a process is said to be a part of, if it is one: ends a stream, grows
    /// a channel, or ends the network.
    fn resolve(&self, member: u32) {
        let Some(cycle) = self.confirmed(member) else { return };
        let is_over = |stuck: &&Stuck| {
            stuck.need == Need::Message && self.core(stuck.channel).is_sender_dropped()
        };
        if let Some(last) = cycle.iter().find(is_over) {
            // The sender's process has not failed: it has dropped the sender, and waits.
            return self.close(self.core(last.channel));
        }
        let full = cycle.iter().filter(|stuck| stuck.need == Need::Room);
        match full.min_by_key(|stuck| (stuck.capacity, stuck.channel)) {
            None => {
                let cycle = cycle.iter().map(|stuck| self.named(stuck)).collect();
                self.fail(Failure::Error(NetworkError::Deadlock(cycle)));
            }
            Some(smallest) if smallest.capacity >= self.limit => {
                let Waiting { channel, .. } = self.named(smallest);
                let (capacity, cycle) = (smallest.capacity as usize, cycle.iter());
                let cycle = cycle.map(|stuck| self.named(stuck)).collect();
                self.fail(Failure::Error(NetworkError::Limit { channel, capacity, cycle }));
            }
            Some(smallest) => {
                let to = smallest.capacity.saturating_mul(2).min(self.limit);
                // A second finder of the same cycle finds that the channel has grown.
                if self.core(smallest.channel).grow(smallest.capacity, to) {
                    self.grown.fetch_add(1, Ordering::Relaxed);
                    self.process(smallest.process).wake();
                }
            }
        }
    }

    fn named(&self, stuck: &Stuck) -> Waiting {
        Waiting {
            process: self.process(stuck.process).name.to_string(),
            channel: self.core(stuck.channel).name.to_string(),
            is_full: stuck.need == Need::Room,
        }
    }

    /// The cycle, if all its processes wait at the same time and none of them was given what it
    /// waits for.
    fn confirmed(&self, member: u32) -> Option<Vec<Stuck>> {
        let mut cycle = Vec::new();
        let mut at = member;
        loop {
            let wait = self.process(at).wait.read();
            let (channel, need) = wait.target()?;
            // Most often it ends here: a process was given what it waits for, and has not run yet.
            let capacity = self.core(channel).capacity_if_stuck(need)?;
            cycle.push(Stuck { process: at, channel, need, capacity, wait });
            at = self.link(channel).provider(need);
            if at == member {
                break;
            }
            if at == NO_PROCESS || cycle.len() > self.processes.len() {
                return None;
            }
        }
        // All have been seen to wait. If they still do after their channels were looked at again,
        // none of them has done anything in between.
        for stuck in &mut cycle {
            stuck.capacity = self.core(stuck.channel).capacity_if_stuck(stuck.need)?;
        }
        let still_waits = |stuck: &Stuck| self.process(stuck.process).wait.read() == stuck.wait;
        cycle.iter().all(still_waits).then_some(cycle)
    }
}
