//! The processor on which a thread wakes up.

use super::{CpuSet, IdleScan, Kernel, thread::Thread};
use crate::ids::{Cpu, Nanos, ThreadId};
use crate::topology::Distance;

impl Kernel {
    /// The processor for a thread that wakes up, and what the search costs.
    pub(super) fn place(&mut self, id: ThreadId, waker: Option<Cpu>, now: Nanos) -> (Cpu, Nanos) {
        self.update_utilization(self.threads[id].cpu, now);
        if let Some(waker) = waker {
            self.update_utilization(waker, now);
        }
        let thread = &self.threads[id];
        let previous = thread.cpu;
        if !self.config.balancing.enabled {
            return (self.nearest_allowed(thread), 0);
        }
        if thread.is_new {
            return (self.place_new(thread), 0);
        }
        let target = self.previous_or_waker(id, waker);
        let (cpu, looked_at) = self.idle_sibling(thread, previous, target);
        let cpu = if thread.is_allowed(cpu) { cpu } else { self.nearest_allowed(thread) };
        (cpu, self.search_cost(looked_at))
    }

    /// Moves the utilization of a processor's cluster towards its share of busy processors: the
    /// kernel's average forgets half within 32 ms.
    fn update_utilization(&mut self, cpu: Cpu, now: Nanos) {
        const TIME_CONSTANT: Nanos = 46_000_000;
        let span = self.topology.within(Distance::Cluster, cpu);
        let size = span.len();
        let busy = ((size - self.idle.count(span)) * 1024 / size) as Nanos;
        let (average, since) = &mut self.utilization[self.topology.cluster(cpu)];
        let passed = now.saturating_sub(*since);
        *average = (*average * TIME_CONSTANT + busy * passed) / (TIME_CONSTANT + passed);
        *since = (*since).max(now);
    }

    fn is_free(&self, thread: &Thread, cpu: Cpu) -> bool {
        self.idle.contains(cpu) && thread.is_allowed(cpu)
    }

    /// The waker's processor if it has less load with the thread than the previous one without it,
    /// by half the percentage of an imbalance; else the previous one.
    fn previous_or_waker(&self, id: ThreadId, waker: Option<Cpu>) -> Cpu {
        let thread = &self.threads[id];
        let previous = thread.cpu;
        let Some(waker) = waker.filter(|&waker| thread.is_allowed(waker)) else { return previous };
        let load = |cpu: Cpu| self.queues[cpu].load();
        let slack = (self.config.balancing.imbalance_percent.saturating_sub(100)) / 2;
        let at_waker = (load(waker) + self.entities[id].weight) * 100;
        if at_waker < load(previous) * (100 + slack) { waker } else { previous }
    }

    /// An idle processor that shares the last-level cache with `target`, or `target`. The second
    /// number says how many processors were looked at.
    fn idle_sibling(&self, thread: &Thread, previous: Cpu, target: Cpu) -> (Cpu, usize) {
        let is_free = |cpu: &Cpu| self.is_free(thread, *cpu);
        let shares_cache = self.topology.cluster(previous) == self.topology.cluster(target);
        if let Some(cpu) = [target, previous].into_iter().find(is_free)
            && (cpu == target || shares_cache)
        {
            return (cpu, 1);
        }
        let cluster = self.topology.within(Distance::Cluster, target);
        let size = cluster.len();
        let first = target.index() + 1;
        let distance = |cpu: Cpu| (cpu.index() + size - target.index()) % size;
        if self.topology.size(Distance::Core) > 1 {
            if let Some(cpu) = self.idle_cores(cluster.clone(), first).find(is_free) {
                return (cpu, distance(cpu));
            }
            if let Some(cpu) =
                self.idle.in_range(self.topology.within(Distance::Core, target)).find(is_free)
            {
                return (cpu, self.topology.size(Distance::Core));
            }
        }
        let budget = match self.config.balancing.idle_scan {
            IdleScan::All => size,
            IdleScan::AtMost(budget) => budget,
            IdleScan::Utilization => {
                // The kernel's SIS_UTIL: y = 1 - (1.17 x)², in 1024ths.
                let busy = self.utilization[self.topology.cluster(target)].0 as usize;
                let percent = self.config.balancing.imbalance_percent as usize;
                let square = busy * busy / 1024 * percent * percent / 10_000;
                1024_usize.saturating_sub(square) * size / 1024
            }
        };
        let mut near = self.idle.around(cluster, first).take_while(|&cpu| distance(cpu) <= budget);
        match near.find(|&cpu| thread.is_allowed(cpu)) {
            Some(cpu) => (cpu, distance(cpu)),
            None => (target, budget.min(size)),
        }
    }

    /// The processors of idle cores, from `first` on and then around.
    fn idle_cores(
        &self,
        range: std::ops::Range<usize>,
        first: usize,
    ) -> impl Iterator<Item = Cpu> + '_ {
        let is_idle_core = |cpu: &Cpu| {
            self.idle.count(self.topology.within(Distance::Core, *cpu))
                == self.topology.size(Distance::Core)
        };
        self.idle.around(range, first).filter(is_idle_core)
    }

    /// The processor for a thread's first wake-up: in the cluster with the most idle processors of
    /// its parent's socket, then of the machine; without an idle one, the least loaded processor.
    fn place_new(&self, thread: &Thread) -> Cpu {
        let parent = thread.cpu;
        let is_free = |cpu: &Cpu| self.is_free(thread, *cpu);
        let size = self.topology.size(Distance::Cluster);
        let own = self.topology.within(Distance::Cluster, parent).start;
        for level in [Distance::Socket, Distance::Remote] {
            let span = self.topology.within(level, parent);
            let clusters = (own..span.end).chain(span.start..own).step_by(size);
            let mut clusters: Vec<_> = clusters.map(|start| start..start + size).collect();
            // Stable: equal ones in the order from the parent's on.
            clusters.sort_by_key(|cluster| std::cmp::Reverse(self.idle.count(cluster.clone())));
            let free = clusters.into_iter().find_map(|cluster| {
                let core = self.idle_cores(cluster.clone(), cluster.start).find(is_free);
                core.or_else(|| self.idle.in_range(cluster).find(is_free))
            });
            if let Some(cpu) = free {
                return cpu;
            }
        }
        let queue = |cpu: &Cpu| &self.queues[*cpu];
        let allowed = self.topology.all().filter(|&cpu| thread.is_allowed(cpu));
        allowed.min_by_key(|cpu| (queue(cpu).load(), queue(cpu).len())).expect("an allowed one")
    }

    /// The thread's processor if it may run there, else an allowed one nearby, idle if possible.
    fn nearest_allowed(&self, thread: &Thread) -> Cpu {
        let Some(affinity) = thread.affinity.as_ref().filter(|set| !set.contains(thread.cpu))
        else {
            return thread.cpu;
        };
        let inside = |set: &CpuSet, level, free: bool| {
            let span = self.topology.within(level, thread.cpu);
            set.in_range(span).find(|cpu| !free || self.idle.contains(*cpu))
        };
        let levels = Distance::LEVELS.into_iter().flat_map(|level| [(level, true), (level, false)]);
        let mut found = levels.filter_map(|(level, free)| inside(affinity, level, free));
        found.next().expect("an affinity has a processor of the machine")
    }
}
