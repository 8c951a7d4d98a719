//! Options of the kernel model: its scheduler, its tick, its costs and its balancing.

use super::{
    cfs::{Cfs, CfsYield},
    eevdf::{Eevdf, EevdfYield},
};
use crate::costs::{costs, options};
use crate::ids::{MICROSECOND, MILLISECOND, Nanos};

/// Which threads of a processor's queue run, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Earliest eligible virtual deadline first: Linux since 6.6.
    Eevdf(Eevdf),
    /// The completely fair scheduler: Linux 2.6.23 to 6.5.
    Cfs(Cfs),
    /// A queue in the order of arrival. A thread runs for `slice`, then goes to the end. Weights,
    /// policies and wake-ups change nothing.
    RoundRobin {
        /// The length of a turn.
        slice: Nanos,
    },
}

/// How the model of the kernel behaves. Start from a preset, and change fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelConfig {
    /// The scheduler of each processor's queue.
    pub scheduler: Scheduler,
    /// Ticks per second on a processor that is not idle. Distributions have 250 or 1,000.
    pub hz: u32,
    /// True if the end of a slice has a timer of its own. False, the default of Linux (`HRTICK`):
    /// a slice ends at the first tick or other event of the scheduler after its end.
    pub precise_slices: bool,
    /// True if the times of the scheduler grow with the number of processors, as Linux does by
    /// default: times 1, 2, 3, 4 for 1, 2, 4, 8 processors and more.
    pub scale_slices: bool,
    /// What operations of the kernel cost.
    pub costs: KernelCosts,
    /// How threads are placed and moved.
    pub balancing: Balancing,
}

costs! {
    /// What operations of the kernel cost. The values of presets are near published ones; calibrate
    /// them for a given host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KernelCosts {
        /// Nanoseconds of a processor to go from one thread to another, between two user programs.
        /// Source: lmbench's and Tsafrir's direct costs on current x86, 1 to 1.5 µs; fitted.
        context_switch = 1_200,
        /// Nanoseconds of the waker to make a thread runnable, without the entry into the kernel.
        /// Fitted to a futex wake-up with one sleeper.
        wake_up = 800,
        /// Nanoseconds from a wake-up until a halted processor schedules: interrupt and exit from
        /// C1. Source: 2 µs in Linux's `intel_idle` tables for C1, plus the interrupt.
        idle_exit = 3_000,
        /// As `idle_exit`, of a processor that has been idle for longer than `deep_idle_after`.
        /// Equal to `idle_exit` where deep states are off, as in many virtual machines.
        deep_idle_exit = 3_000,
        /// Nanoseconds of idleness after which a processor is in a deep state. Source: the target
        /// residency of C6 in `intel_idle`, 600 µs on Skylake servers.
        deep_idle_after = 600 * MICROSECOND,
        /// Nanoseconds from the request until a running processor handles a reschedule interrupt.
        /// Fitted; about 1 µs on hardware, several in virtual machines.
        reschedule_interrupt = 1_000,
        /// Nanoseconds that a thread loses when it runs on another core than before, as it fills
        /// the private caches again. Fitted.
        migration = 2_000,
        /// Nanoseconds to look at one processor, in balancing and in the search for an idle one.
        /// Fitted.
        balance = 30,
        /// Nanoseconds of a tick's handler. Source: 1 to 2 µs in measurements of `nohz_full`.
        tick = 1_500,
    }
}

options! {
    /// How threads are placed at wake-ups and moved between processors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Balancing {
        /// False: a thread stays on its parent's processor, unless its affinity excludes that.
        enabled: bool = true,
        /// How many processors a wake-up looks at in the search for an idle one.
        idle_scan: IdleScan = IdleScan::Utilization,
        /// A thread that ran less than this long ago is cache-hot, and balancing leaves it. Linux:
        /// `sched_migration_cost_ns`, 0.5 ms.
        hot: Nanos = 500 * MICROSECOND,
        /// The most processors that one balancing looks at, and the most threads of one queue.
        budget: usize = 32,
        /// Periodic balancing of a group of `n` processors has an interval of `n` times this.
        interval: Nanos = MILLISECOND,
        /// A busy processor balances less often by this factor. Linux: 16 (32 until 5.9).
        busy_factor: u32 = 16,
        /// Percent by which a queue must be heavier than another one. Linux: 117.
        imbalance_percent: u64 = 117,
    }
}

/// How many processors of the last-level cache a wake-up looks at in the search for an idle one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleScan {
    /// All of them, as before Linux 4.14.
    All,
    /// At most this many.
    AtMost(usize),
    /// The fewer, the busier the cache's processors are: Linux since 6.0 (`SIS_UTIL`). Its formula
    /// is used with an average of the share of busy processors, which forgets half in 32 ms.
    Utilization,
}

impl Default for KernelConfig {
    fn default() -> Self {
        Self::linux_6_18()
    }
}

impl KernelConfig {
    /// Linux 6.18.2 and later versions of its series, as distributions configure it.
    pub fn linux_6_18() -> Self {
        Self {
            scheduler: Scheduler::Eevdf(Eevdf::default()),
            hz: 250,
            precise_slices: false,
            scale_slices: true,
            costs: KernelCosts::default(),
            balancing: Balancing::default(),
        }
    }

    /// Linux 6.12 with the given yield: [`EevdfYield::Forfeit`] since 6.12.63.
    pub fn linux_6_12(yielding: EevdfYield) -> Self {
        let options = Eevdf { base_slice: 750 * MICROSECOND, yielding, ..Eevdf::default() };
        Self { scheduler: Scheduler::Eevdf(options), ..Self::linux_6_18() }
    }

    /// Linux 6.6, the first version with EEVDF: no delayed dequeue, no early preemption by short
    /// slices; a yield moves the deadline.
    pub fn linux_6_6() -> Self {
        let options = Eevdf {
            base_slice: 750 * MICROSECOND,
            delay_dequeue: false,
            preempt_short: false,
            yielding: EevdfYield::Deadline,
            ..Eevdf::default()
        };
        Self { scheduler: Scheduler::Eevdf(options), ..Self::linux_6_18() }
    }

    /// Linux 2.6.39 to 6.5, in particular 5.x, with CFS and the skip buddy.
    pub fn linux_5() -> Self {
        Self { scheduler: Scheduler::Cfs(Cfs::default()), ..Self::linux_6_18() }
    }

    /// Linux 2.6.36, on which the BWS paper (2012) ran, with the given yield
    /// ([`CfsYield::Compat`] there).
    pub fn linux_2_6(yielding: CfsYield) -> Self {
        let options = Cfs { yielding, ..Cfs::default() };
        let balancing =
            Balancing { idle_scan: IdleScan::All, busy_factor: 32, ..Balancing::default() };
        Self { scheduler: Scheduler::Cfs(options), balancing, ..Self::linux_6_18() }
    }

    /// Turns of `slice`, without scaling, that end exactly.
    pub fn round_robin(slice: Nanos) -> Self {
        Self {
            scheduler: Scheduler::RoundRobin { slice },
            precise_slices: true,
            scale_slices: false,
            ..Self::linux_6_18()
        }
    }

    /// The same with free operations. For tests of policies.
    #[must_use]
    pub fn without_costs(self) -> Self {
        Self { costs: KernelCosts::FREE, ..self }
    }

    /// The length of a tick.
    pub(super) fn tick(&self) -> Nanos {
        1_000_000_000 / Nanos::from(self.hz.max(1))
    }

    /// What the times of the scheduler are multiplied by on a machine of this size.
    pub(super) fn scale(&self, processors: usize) -> u64 {
        if self.scale_slices { u64::from(processors.clamp(1, 8).ilog2()) + 1 } else { 1 }
    }
}
