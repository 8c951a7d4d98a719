//! Who waits for whom, followed round: a cycle is a deadlock, true or artificial.
//!
//! A process waits for one other at most, so waits are a function on processes, and a chain of them either comes to one that does
//! not wait, or runs into a cycle. Geilen and Basten ("Requirements on the execution of Kahn process networks", ESOP 2003) say that
//! local cycles must be found too, and Parks ("Bounded scheduling of process networks", 1995) which channel to grow.

use super::error::Failure;
use super::graph::{Graph, NOBODY};
use super::wait::{Need, Wait};

/// Where a chain leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// To a process that does not wait for another one of the network.
    Open,
    /// Into a cycle, as it seems, of which this process is one.
    Cycle(u32),
    /// Farther than it was followed.
    Long,
}

/// A process of a cycle, what it waits for, and with which capacity of the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    pub(super) process: u32,
    pub(super) channel: u32,
    pub(super) need: Need,
    pub(super) capacity: u64,
    wait: Wait,
}

impl Graph {
    /// Follows the chain from a process, for so many steps at most.
    ///
    /// Cycles are found by Brent's method ("An improved Monte Carlo factorization algorithm", 1980, section 3): a mark that is moved on
    /// after 1, 2, 4, ... steps.
    pub(super) fn follow(&self, from: u32, most: usize) -> Chain {
        let (mut at, mut mark, mut lap, mut left) = (from, from, 0_usize, 1_usize);
        loop {
            let Some(next) = self.awaited_by(at) else { return Chain::Open };
            if next == from || next == mark {
                return Chain::Cycle(next);
            }
            lap += 1;
            if lap >= most {
                return Chain::Long;
            }
            left -= 1;
            if left == 0 {
                (mark, left) = (next, lap);
            }
            at = next;
        }
    }

    /// The process that this one waits for.
    #[inline]
    fn awaited_by(&self, process: u32) -> Option<u32> {
        let (channel, need) = self.process(process).wait.read().target()?;
        let giver = self.link(channel).giver(need);
        (giver != NOBODY).then_some(giver)
    }

    /// Looks at all processes, for cycles that nobody has seen.
    pub(super) fn sweep(&self) {
        // Pairs with the barriers of those who have begun to wait: what was said before the last of them was made is seen.
        self.barrier();
        let mut seen_in = vec![0_u32; self.processes().len()];
        for from in 0..self.processes().len() as u32 {
            let mut at = from;
            loop {
                let seen = &mut seen_in[at as usize];
                if *seen == from + 1 {
                    self.see_to_cycle(at);
                }
                if *seen != 0 {
                    break;
                }
                *seen = from + 1;
                match self.awaited_by(at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }

    /// Ends the deadlock of which a process is said to be a part, if it is one: grows a channel, or ends the network.
    pub(super) fn see_to_cycle(&self, member: u32) {
        // Most often it is none: somebody has been given what they wait for, and not run yet.
        if !self.looks_stuck(member) {
            return;
        }
        let Some(cycle) = self.confirmed(member) else { return };
        let full = cycle.iter().filter(|stuck| stuck.need == Need::Room);
        match full.min_by_key(|stuck| (stuck.capacity, stuck.channel)) {
            None => self.fail(Failure::Deadlock { cycle }),
            Some(&smallest) if smallest.capacity >= self.limit() => {
                self.fail(Failure::Limit { smallest, cycle });
            }
            Some(smallest) => {
                let (from, to) = (smallest.capacity, smallest.capacity.saturating_mul(2));
                // Who comes second finds that it has grown.
                if self.core(smallest.channel).grow(from, to.min(self.limit())) {
                    self.has_grown();
                    self.process(smallest.process).wake();
                }
            }
        }
    }

    /// Whether it and the next one have not been given what they wait for.
    fn looks_stuck(&self, member: u32) -> bool {
        let mut at = member;
        (0..2).all(|_| {
            let Some((channel, need)) = self.process(at).wait.read().target() else { return false };
            at = self.link(channel).giver(need);
            at != NOBODY && self.core(channel).is_stuck(need).is_some()
        })
    }

    /// The cycle, if all its processes wait at the same time and none of them has been given what it waits for.
    fn confirmed(&self, member: u32) -> Option<Vec<Stuck>> {
        let mut cycle = Vec::new();
        let mut at = member;
        loop {
            let wait = self.process(at).wait.read();
            let (channel, need) = wait.target()?;
            cycle.push(Stuck { process: at, channel, need, capacity: 0, wait });
            let next = self.link(channel).giver(need);
            if next == member {
                break;
            }
            if next == NOBODY || cycle.len() > self.processes().len() {
                return None;
            }
            at = next;
        }
        // All have been seen to wait, so if they still do when they are looked at again, nobody does anything in between.
        for stuck in &mut cycle {
            stuck.capacity = self.core(stuck.channel).is_stuck(stuck.need)?;
        }
        let still_waits = |stuck: &Stuck| self.process(stuck.process).wait.read() == stuck.wait;
        cycle.iter().all(still_waits).then_some(cycle)
    }
}
