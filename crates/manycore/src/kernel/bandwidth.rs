//! Control groups with a quota (`cpu.max`).

use super::{Enqueue, Kernel, KernelTimer, ThreadState};
use crate::ids::{Cpu, GroupId, MILLISECOND, Nanos, Table, ThreadId};

/// What a processor keeps of its slice when the group's last thread leaves it: Linux's
/// `min_cfs_rq_runtime`.
const KEPT: Nanos = MILLISECOND;
/// How long run time that processors returned waits for more of it: Linux's
/// `cfs_bandwidth_slack_period`.
const SLACK_DELAY: Nanos = 5 * MILLISECOND;

/// The quota of a control group: its threads together run for `quota` in each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Run time for each period.
    pub quota: Nanos,
    /// Linux: 100 ms by default.
    pub period: Nanos,
    /// What a processor takes from the quota at once. Linux: `sched_cfs_bandwidth_slice_us`, 5 ms.
    pub slice: Nanos,
}

impl Bandwidth {
    /// A quota of this many thousandths of a processor, with Linux's period and slice.
    pub const fn of_processors(thousandths: u64) -> Self {
        let period = 100 * MILLISECOND;
        let quota = (period / 1000).saturating_mul(thousandths);
        Self { quota, period, slice: 5 * MILLISECOND }
    }

    /// False if nothing could ever run.
    pub(crate) fn is_possible(&self) -> bool {
        self.quota > 0 && self.period > 0 && self.slice > 0
    }
}

/// What a group's quota did: `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTimes {
    /// Periods in which the group was active (`nr_periods`).
    pub periods: u64,
    /// Those of them in which a processor was throttled (`nr_throttled`).
    pub throttled_periods: u64,
}

/// A control group's run time: a pool, from which processors take slices.
pub(super) struct Group {
    bandwidth: Bandwidth,
    pool: Nanos,
    /// True if the end of a period is requested. Periods end when the group is idle.
    is_active: bool,
    /// True if the pool was not used since the last period.
    is_idle: bool,
    has_slack_timer: bool,
    locals: Table<Cpu, Local>,
    /// The processors on which the group is throttled, in that order.
    throttled: Vec<Cpu>,
    times: GroupTimes,
}

/// A group on one processor.
#[derive(Clone, Default)]
struct Local {
    /// What is left of the slice; negative after a late check.
    remaining: i64,
    /// How many of its threads are in the queue.
    runnable: usize,
    is_throttled: bool,
    /// The threads that left the queue.
    threads: Vec<ThreadId>,
}

impl Group {
    /// Takes run time from the pool until `cpu` has `wanted`. True if it has some.
    fn assign(&mut self, cpu: Cpu, wanted: Nanos) -> bool {
        let local = &mut self.locals[cpu];
        let missing = signed(wanted) - local.remaining;
        let amount = u64::try_from(missing).unwrap_or(0).min(self.pool);
        self.pool -= amount;
        self.is_idle = false;
        local.remaining += signed(amount);
        local.remaining > 0
    }
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

impl Kernel {
    /// Adds a control group with a quota.
    ///
    /// # Panics
    /// If the quota, the period or the slice is 0.
    pub fn add_group(&mut self, bandwidth: Bandwidth) -> GroupId {
        assert!(bandwidth.is_possible(), "a quota without time");
        self.groups.push(Group {
            bandwidth,
            pool: bandwidth.quota,
            is_active: false,
            is_idle: true,
            has_slack_timer: false,
            locals: vec![Local::default(); self.topology.processors()].into(),
            throttled: Vec::new(),
            times: GroupTimes::default(),
        })
    }

    /// The group's quota.
    pub fn bandwidth(&self, group: GroupId) -> Bandwidth {
        self.groups[group].bandwidth
    }

    /// What the group's quota did until the last call that concerned it.
    pub fn group_times(&self, group: GroupId) -> GroupTimes {
        self.groups[group].times
    }

    /// A thread of the group ran for `ran` on `cpu`. False if the group has no run time left there.
    pub(super) fn charge(&mut self, id: GroupId, cpu: Cpu, ran: Nanos, now: Nanos) -> bool {
        let group = &mut self.groups[id];
        group.locals[cpu].remaining -= signed(ran);
        self.has_run_time(id, cpu, now)
    }

    /// True if `cpu` has run time of the group, or got a slice from the pool.
    fn has_run_time(&mut self, id: GroupId, cpu: Cpu, now: Nanos) -> bool {
        let group = &mut self.groups[id];
        if group.locals[cpu].remaining > 0 {
            return true;
        }
        if !group.is_active {
            group.is_active = true;
            let at = now + group.bandwidth.period;
            self.request_timer(at, KernelTimer::Period(id));
        }
        let group = &mut self.groups[id];
        group.assign(cpu, group.bandwidth.slice)
    }

    /// True if the thread's group is throttled on `cpu`.
    pub(super) fn is_throttled(&self, thread: ThreadId, cpu: Cpu) -> bool {
        let group = self.threads[thread].group;
        group.is_some_and(|id| self.groups[id].locals[cpu].is_throttled)
    }

    /// True if a thread that was picked may run: its group, if it has one, has run time on `cpu`.
    /// Otherwise the group is throttled there.
    pub(super) fn may_run(&mut self, thread: ThreadId, cpu: Cpu, now: Nanos) -> bool {
        let Some(id) = self.threads[thread].group else { return true };
        if !self.is_throttled(thread, cpu) {
            if self.has_run_time(id, cpu, now) {
                return true;
            }
            let group = &mut self.groups[id];
            group.locals[cpu].is_throttled = true;
            group.throttled.push(cpu);
        }
        false
    }

    /// A thread that is in no queue waits for its group's run time.
    pub(super) fn throttle(&mut self, id: ThreadId, now: Nanos) {
        let thread = &mut self.threads[id];
        thread.enter(ThreadState::Throttled, now);
        let group = thread.group.expect("only groups are throttled");
        self.groups[group].locals[thread.cpu].threads.push(id);
    }

    /// A thread entered its processor's queue.
    pub(super) fn count_queued(&mut self, thread: ThreadId) {
        let thread = &self.threads[thread];
        if let Some(group) = thread.group {
            self.groups[group].locals[thread.cpu].runnable += 1;
        }
    }

    /// A thread left its processor's queue. The last one of its group returns all of the slice but
    /// 1 ms to the pool.
    pub(super) fn count_dequeued(&mut self, thread: ThreadId, now: Nanos) {
        let thread = &self.threads[thread];
        let Some(id) = thread.group else { return };
        let group = &mut self.groups[id];
        let local = &mut group.locals[thread.cpu];
        local.runnable -= 1;
        let slack = local.remaining - signed(KEPT);
        if local.runnable > 0 || slack <= 0 {
            return;
        }
        local.remaining -= slack;
        group.pool += slack.unsigned_abs();
        let is_useful = group.pool > group.bandwidth.slice && !group.throttled.is_empty();
        if is_useful && !group.has_slack_timer {
            group.has_slack_timer = true;
            self.request_timer(now + SLACK_DELAY, KernelTimer::Slack(id));
        }
    }

    /// The end of a period: the pool is full again, and throttled processors take from it.
    pub(super) fn end_period(&mut self, id: GroupId, now: Nanos) {
        let group = &mut self.groups[id];
        group.times.periods += 1;
        group.pool = group.bandwidth.quota;
        if group.is_idle && group.throttled.is_empty() {
            group.is_active = false;
            return;
        }
        group.times.throttled_periods += u64::from(!group.throttled.is_empty());
        group.is_idle = true;
        let at = now + group.bandwidth.period;
        self.request_timer(at, KernelTimer::Period(id));
        self.distribute(id, now);
    }

    pub(super) fn distribute_slack(&mut self, id: GroupId, now: Nanos) {
        self.groups[id].has_slack_timer = false;
        self.distribute(id, now);
    }

    /// Throttled processors get run time, the longest throttled one first. One that has paid its
    /// debt goes on.
    fn distribute(&mut self, id: GroupId, now: Nanos) {
        let mut throttled = std::mem::take(&mut self.groups[id].throttled);
        throttled.retain(|&cpu| {
            let group = &mut self.groups[id];
            if group.pool == 0 || !group.assign(cpu, 1) {
                return true;
            }
            let local = &mut group.locals[cpu];
            local.is_throttled = false;
            for thread in std::mem::take(&mut local.threads) {
                self.unthrottle(thread, cpu, now);
            }
            false
        });
        self.groups[id].throttled.extend(throttled);
    }

    fn unthrottle(&mut self, thread: ThreadId, cpu: Cpu, now: Nanos) {
        let is_allowed = self.threads[thread].is_allowed(cpu);
        let target = if is_allowed { cpu } else { self.place(thread, None, now).0 };
        self.enqueue(thread, target, Enqueue::Wake, now);
        self.check_preemption(thread, None, now, 0);
    }
}
