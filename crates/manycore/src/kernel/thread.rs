//! A thread as the kernel sees it: its state, where it may run, and its times.

use crate::cpu_set::CpuSet;
use crate::ids::{Cpu, GroupId, Nanos};

/// Whether a thread runs, waits for a processor, or waits for something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// It waits for a wake-up. A thread that was added and not yet woken is blocked too.
    #[default]
    Blocked,
    /// It waits in the queue of [`processor`](super::Kernel::processor).
    Ready,
    /// It is the current thread of [`processor`](super::Kernel::processor).
    Running,
    /// It is runnable, but its group has used its quota on this processor.
    Throttled,
    /// It has exited.
    Exited,
}

/// The scheduling policy of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_BATCH`: as `Other`, but its wake-ups do not preempt.
    Batch,
    /// `SCHED_IDLE`: weight 3 (nice 0 has 1,024), and any other thread's wake-up preempts it.
    Idle,
}

/// The times and counters of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Nanoseconds on processors. The cost of the switch to this thread is part of it, as in Linux;
    /// time that a hypervisor took is not.
    pub run: Nanos,
    /// Nanoseconds in which the thread was runnable and did not run, throttled or not: the second
    /// number of `/proc/self/schedstat`.
    pub delay: Nanos,
    /// The part of `delay` in which the thread's group was throttled.
    pub throttled: Nanos,
    /// Switches because the thread blocked.
    pub voluntary_switches: u64,
    /// Switches while the thread was runnable. A yield is one of them, as in Linux.
    pub involuntary_switches: u64,
    /// How often the thread was put on another processor.
    pub migrations: u64,
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

#[derive(Default)]
pub(super) struct Thread {
    pub(super) state: ThreadState,
    pub(super) group: Option<GroupId>,
    /// The processor that runs it, queues it, or ran it before it blocked.
    pub(super) cpu: Cpu,
    /// The processor that ran it last.
    pub(super) ran_on: Option<Cpu>,
    /// `None`: all processors.
    pub(super) affinity: Option<CpuSet>,
    /// Since when it is in its state, if that is `Ready` or `Throttled`.
    pub(super) since: Nanos,
    /// Until when it ran last.
    pub(super) ran_at: Nanos,
    pub(super) nice: i8,
    /// True until its first wake-up.
    pub(super) is_new: bool,
    pub(super) times: ThreadTimes,
}

impl Thread {
    /// Its times, with the delay until now. The run time is that of its processor's clock.
    pub(super) fn settled_times(&self, now: Nanos) -> ThreadTimes {
        let mut times = self.times;
        let waited = now.saturating_sub(self.since);
        if matches!(self.state, ThreadState::Ready | ThreadState::Throttled) {
            times.delay += waited;
        }
        if self.state == ThreadState::Throttled {
            times.throttled += waited;
        }
        times
    }

    pub(super) fn enter(&mut self, state: ThreadState, now: Nanos) {
        self.times = self.settled_times(now);
        self.since = self.since.max(now);
        self.state = state;
    }

    pub(super) fn is_allowed(&self, cpu: Cpu) -> bool {
        self.affinity.as_ref().is_none_or(|set| set.contains(cpu))
    }
}
