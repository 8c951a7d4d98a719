//! Attributes of threads: affinity, policy, nice level, slice.

use super::{CpuSet, Dequeue, Kernel, Policy, ThreadState, weights};
use crate::ids::{MILLISECOND, Nanos, ThreadId};

impl Kernel {
    /// Gives a new thread the affinity, policy and nice level of the one that makes it. Slices are
    /// not inherited, as if they were set with `SCHED_FLAG_RESET_ON_FORK`.
    pub fn inherit(&mut self, child: ThreadId, parent: ThreadId) {
        let of = &self.threads[parent];
        let (affinity, nice) = (of.affinity.clone(), of.nice);
        let new = &mut self.threads[child];
        (new.affinity, new.nice) = (affinity, nice);
        let policy = self.entities[parent].policy;
        self.entities[child].policy = policy;
        self.entities[child].weight = weights::weight(policy, nice);
    }

    /// The processors that the thread may run on.
    pub fn affinity(&self, thread: ThreadId) -> CpuSet {
        let all = || self.topology.all().collect();
        self.threads[thread].affinity.clone().unwrap_or_else(all)
    }

    /// True if the set has a processor of this machine.
    pub fn has_any(&self, set: &CpuSet) -> bool {
        set.count(0..self.topology.processors()) > 0
    }

    /// Restricts the thread to a set of processors. A thread that waits elsewhere moves at once.
    /// One that runs elsewhere moves after a reschedule interrupt.
    ///
    /// # Panics
    /// If the set has no processor of this machine.
    pub fn set_affinity(&mut self, thread: ThreadId, set: CpuSet, now: Nanos) {
        assert!(self.has_any(&set), "an affinity without processors");
        let cpu = self.processor(thread);
        let is_allowed = set.contains(cpu);
        self.threads[thread].affinity = Some(set);
        if is_allowed {
            return;
        }
        match self.state(thread) {
            ThreadState::Ready => {
                let (target, cost) = self.place(thread, None, now);
                self.migrate(thread, target, now);
                self.check_preemption(thread, None, now, cost);
            }
            ThreadState::Running => {
                self.reschedule(cpu, now + self.config.costs.reschedule_interrupt);
            }
            ThreadState::Blocked | ThreadState::Throttled | ThreadState::Exited => {}
        }
    }

    /// Sets the scheduling policy.
    pub fn set_policy(&mut self, thread: ThreadId, policy: Policy, now: Nanos) {
        self.entities[thread].policy = policy;
        self.reweight(thread, now);
    }

    /// The nice level of the thread.
    pub fn nice(&self, thread: ThreadId) -> i8 {
        self.threads[thread].nice
    }

    /// Sets the nice level, -20 to 19; other values are clamped.
    pub fn set_nice(&mut self, thread: ThreadId, nice: i8, now: Nanos) {
        self.threads[thread].nice = nice;
        self.reweight(thread, now);
    }

    /// Sets the slice that the thread asks for, clamped to 0.1 to 100 ms (`sched_setattr` with
    /// `sched_runtime`, since 6.12). The deadline counts with it from the next slice on. CFS has no
    /// such attribute.
    pub fn set_slice(&mut self, thread: ThreadId, slice: Nanos) {
        let slice = slice.clamp(MILLISECOND / 10, 100 * MILLISECOND);
        self.entities[thread].slice = Some(slice);
        if matches!(self.state(thread), ThreadState::Ready | ThreadState::Running) {
            let weight = self.entities[thread].weight;
            let cpu = self.processor(thread);
            self.queues[cpu].reweight(&mut self.entities, thread, weight);
        }
    }

    fn reweight(&mut self, id: ThreadId, now: Nanos) {
        let thread = &self.threads[id];
        let weight = weights::weight(self.entities[id].policy, thread.nice);
        let cpu = thread.cpu;
        if self.entities[id].is_delayed {
            self.settle(cpu, now);
            let queue = &mut self.queues[cpu];
            queue.dequeue(&mut self.entities, id, Dequeue::Leave);
        }
        match self.state(id) {
            ThreadState::Ready | ThreadState::Running => {
                self.settle(cpu, now);
                self.queues[cpu].reweight(&mut self.entities, id, weight);
            }
            ThreadState::Blocked | ThreadState::Throttled | ThreadState::Exited => {
                self.entities[id].weight = weight;
            }
        }
    }
}
