//! Balancing: processors take waiting threads from others. The processors within a [`Distance`] of
//! each other are a scheduling domain of Linux.

use super::{Kernel, KernelConfig, KernelTimer, Policy, Processor};
use crate::ids::{Cpu, Nanos, ThreadId};
use crate::topology::Distance;

/// Why a processor balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It has threads, and its interval is over.
    Busy,
    /// It is idle, and a busy processor has asked it to.
    Idle,
    /// It is about to become idle.
    NewIdle,
}

/// Counts the end of an idle period, as Linux does: a new one has a weight of an eighth.
pub(super) fn update_average_idle(processor: &mut Processor, config: &KernelConfig, now: Nanos) {
    let idle = now.saturating_sub(processor.idle_since);
    let average = processor.average_idle - processor.average_idle / 8 + idle / 8;
    processor.average_idle = average.min(2 * config.balancing.hot);
}

impl Kernel {
    /// What it costs to look at this many processors.
    pub(super) fn search_cost(&self, processors: usize) -> Nanos {
        processors as Nanos * self.config.costs.balance
    }

    fn balancing_cost(&self, level: Distance) -> Nanos {
        self.search_cost(self.topology.size(level).min(self.config.balancing.budget))
    }

    /// Before `cpu` becomes idle, it takes a thread that waits elsewhere, unless the search takes
    /// longer than its idle periods on average. Returns what the search cost.
    pub(super) fn balance_new_idle(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        let mut cost = 0;
        if !self.config.balancing.enabled {
            return cost;
        }
        for (level, ..) in self.topology.levels(cpu) {
            let search = self.balancing_cost(level);
            let is_worthwhile = self.processors[cpu].average_idle >= cost + search;
            if self.overloaded.is_empty() || !is_worthwhile {
                break;
            }
            cost += search;
            if self.pull(cpu, level, Reason::NewIdle, now) {
                break;
            }
        }
        cost
    }

    /// At a tick of a processor that is not idle. Returns what balancing costs.
    pub(super) fn balance_periodically(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        let balancing = self.config.balancing;
        let tick = self.config.tick();
        let mut cost = 0;
        if !balancing.enabled {
            return cost;
        }
        for (level, span, inside) in self.topology.levels(cpu) {
            let next = &mut self.processors[cpu].next_balance[level as usize];
            if now < *next {
                continue;
            }
            // A tick less than a multiple, as in Linux, so that intervals do not keep step.
            let ticks = (balancing.interval * span.len() as Nanos).div_ceil(tick);
            *next = now + (ticks * Nanos::from(balancing.busy_factor)).saturating_sub(1) * tick;
            // One processor balances for its part of the level: an idle one, or the first.
            if self.idle.in_range(inside.clone()).next().is_none() && inside.start == cpu.index() {
                cost += self.balancing_cost(level);
                self.pull(cpu, level, Reason::Busy, now);
            }
        }
        self.kick_idle(cpu, now);
        cost
    }

    /// A processor with waiting threads asks an idle one, near and allowed, to take one of them.
    fn kick_idle(&mut self, cpu: Cpu, now: Nanos) {
        if !self.overloaded.contains(cpu) || self.idle.is_empty() {
            return;
        }
        let find = |thread: ThreadId| {
            let thread = &self.threads[thread];
            let is_free =
                |idle: &Cpu| thread.is_allowed(*idle) && !self.processors[*idle].is_kicked;
            let near = |(_, span, _)| self.idle.around(span, cpu.index()).find(is_free);
            self.topology.levels(cpu).find_map(near)
        };
        let waiting = |n| self.queues[cpu].waiting(&self.entities, n);
        let budget = self.config.balancing.budget;
        if let Some(idle) = (0..budget).map_while(waiting).find_map(find) {
            self.processors[idle].is_kicked = true;
            let at = now + self.idle_exit(idle, now);
            self.request_timer(at, KernelTimer::IdleBalance(idle));
        }
    }

    /// An idle processor that was kicked takes a thread. Returns what the search costs.
    pub(super) fn balance_idle(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        self.processors[cpu].is_kicked = false;
        let mut cost = 0;
        for (level, ..) in self.topology.levels(cpu) {
            if !self.idle.contains(cpu) {
                break;
            }
            cost += self.balancing_cost(level);
            if self.pull(cpu, level, Reason::Idle, now) {
                self.reschedule(cpu, now + cost);
            }
        }
        cost
    }

    /// `cpu` takes threads from the most loaded queue of the level that has suitable ones. True if
    /// it took one.
    fn pull(&mut self, cpu: Cpu, level: Distance, reason: Reason, now: Nanos) -> bool {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let budget = self.config.balancing.budget;
        let span = self.topology.within(level, cpu);
        let others = self.overloaded.around(span, cpu.index()).filter(|&other| other != cpu);
        candidates.extend(others.take(budget).map(|other| {
            let queue = &self.queues[other];
            (if reason == Reason::Busy { queue.load() } else { queue.len() as u64 }, other)
        }));
        // Stable: equal ones in the order around `cpu`.
        candidates.sort_by_key(|&(load, _)| std::cmp::Reverse(load));
        let is_unbalanced =
            candidates.iter().any(|&(_, other)| self.is_heavier(other, cpu, reason));
        let took = candidates.iter().any(|&(_, other)| {
            self.is_heavier(other, cpu, reason) && self.pull_from(other, cpu, level, reason, now)
        });
        self.candidates = candidates;
        if reason != Reason::NewIdle {
            let failed = &mut self.processors[cpu].failed_balance[level as usize];
            *failed = if is_unbalanced && !took { *failed + 1 } else { 0 };
        }
        took
    }

    fn is_heavier(&self, other: Cpu, cpu: Cpu, reason: Reason) -> bool {
        let load = |cpu: Cpu| self.queues[cpu].load();
        let has_idle_sibling =
            || self.idle.in_range(self.topology.within(Distance::Cluster, other)).next();
        reason != Reason::Busy
            || load(other) * 100 > load(cpu) * self.config.balancing.imbalance_percent
                && has_idle_sibling().is_none()
    }

    /// `to` takes threads of `from` until half the difference is moved. True if it took one.
    fn pull_from(&mut self, from: Cpu, to: Cpu, level: Distance, why: Reason, now: Nanos) -> bool {
        let [source, target] = [from, to].map(|cpu| &self.queues[cpu]);
        let mut imbalance = source.load().saturating_sub(target.load()) / 2;
        let mut threads = match why {
            Reason::NewIdle => 1,
            Reason::Idle => source.len().saturating_sub(target.len()).div_ceil(2),
            Reason::Busy => self.config.balancing.budget,
        };
        let failed = self.processors[to].failed_balance[level as usize];
        let mut took = false;
        let mut n = 0;
        for _ in 0..self.config.balancing.budget {
            let queue = &self.queues[from];
            let Some(thread) = queue.waiting(&self.entities, n).filter(|_| threads > 0) else {
                break;
            };
            let weight = self.entities[thread].weight;
            let fits = why != Reason::Busy || weight >> failed.min(10) <= imbalance;
            if !fits || !self.can_move(thread, to, level, failed, now) {
                n += 1;
                continue;
            }
            self.migrate(thread, to, now);
            if why == Reason::Busy {
                self.check_preemption(thread, Some(to), now, 0);
            }
            took = true;
            threads -= 1;
            imbalance = imbalance.saturating_sub(weight);
        }
        took
    }

    /// True if balancing may move a waiting thread: it is allowed and not cache-hot. After some
    /// failures hot threads are moved, too.
    fn can_move(&self, id: ThreadId, to: Cpu, level: Distance, failed: u32, now: Nanos) -> bool {
        let thread = &self.threads[id];
        if !thread.is_allowed(to) || self.is_throttled(id, to) || self.is_throttled(id, thread.cpu)
        {
            return false;
        }
        let patience = if level == Distance::Remote { 2 } else { 1 };
        let is_hot = thread.ran_on.is_some()
            && self.entities[id].policy != Policy::Idle
            && level != Distance::Core
            && now.saturating_sub(thread.ran_at) < self.config.balancing.hot;
        !is_hot || failed > patience
    }
}
