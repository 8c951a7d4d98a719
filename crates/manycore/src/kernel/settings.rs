//! Settings that a new thread has from the thread that made it.

use super::{CpuSet, Kernel, ThreadTimes};
use crate::ids::ThreadId;

impl Kernel {
    /// Gives a new thread the affinity, policy and nice level of the one that makes it. Slices are
    /// not inherited, as if they were set with `SCHED_FLAG_RESET_ON_FORK`.
    pub fn inherit(&mut self, child: ThreadId, parent: ThreadId) {
        let of = &self.threads[parent.index()];
        let (affinity, policy, nice) = (of.affinity.clone(), of.policy, of.nice);
        let parent = &self.entities[parent];
        let (weight, queue_policy) = (parent.weight, parent.policy);
        let new = &mut self.threads[child.index()];
        (new.affinity, new.policy, new.nice) = (affinity, policy, nice);
        let child = &mut self.entities[child];
        (child.weight, child.policy) = (weight, queue_policy);
    }

    /// The processors that the thread may run on.
    pub fn affinity(&self, thread: ThreadId) -> CpuSet {
        let all = || self.topology.all().collect();
        self.threads[thread.index()].affinity.clone().unwrap_or_else(all)
    }

    /// The nice level of the thread.
    pub fn nice(&self, thread: ThreadId) -> i8 {
        self.threads[thread.index()].nice
    }

    /// True if the set has a processor of this machine.
    pub fn has_any(&self, set: &CpuSet) -> bool {
        self.topology.all().any(|cpu| set.contains(cpu))
    }
}

impl ThreadTimes {
    /// Adds the times of another thread.
    pub fn add(&mut self, other: &Self) {
        self.run += other.run;
        self.delay += other.delay;
        self.throttled += other.throttled;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.migrations += other.migrations;
    }
}

impl Kernel {
    pub fn bandwidth(&self, _group: super::GroupId) -> super::Bandwidth {
        todo!()
    }
    pub fn group_times(&self, _group: super::GroupId) -> super::GroupTimes {
        todo!()
    }
}
