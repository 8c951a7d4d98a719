//! What system calls cost, apart from what the scheduler and the caches take. All costs by name.

use std::fmt;

use crate::coherence::CacheCosts;
use crate::ids::Nanos;
use crate::kernel::KernelCosts;

/// Costs of system calls and of the clock, in nanoseconds of the caller's processor.
///
/// `futex_lock`, `spawn`, `thread_clock` and `file` are added to `system_call`; `membarrier`
/// includes it. `membarrier_each` is paid for each processor that is interrupted, `interrupt`
/// by that processor, and `clock` is no call. *Fitted*: chosen so that small programs take as
/// long as on a host (`examples/calibrate`). What the scheduler does is in
/// [`KernelCosts`](crate::kernel::KernelCosts), and what cache lines cost in
/// [`CacheCosts`](crate::coherence::CacheCosts).
///
/// The defaults were measured on two virtual processors of an AMD EPYC under Linux 6.18, where
/// nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCosts {
    /// To enter and leave the kernel.
    pub system_call: Nanos,
    /// How long a call to a futex holds the lock of the futex's bucket. Calls queue for it. Fitted.
    pub futex_lock: Nanos,
    /// To make a thread. Fitted.
    pub spawn: Nanos,
    /// `membarrier`, without what it costs for each processor that runs the program.
    pub membarrier: Nanos,
    /// `membarrier`, for each other processor that runs the program: what the caller waits for.
    pub membarrier_each: Nanos,
    /// What an interrupt takes from the processor that gets it. Fitted.
    pub interrupt: Nanos,
    /// To read the clock.
    pub clock: Nanos,
    /// To read a thread's processor time.
    pub thread_clock: Nanos,
    /// To open, read and close a small file of `/proc` or of a control group.
    pub file: Nanos,
}

impl Default for SystemCosts {
    fn default() -> Self {
        Self {
            system_call: 150,
            futex_lock: 50,
            spawn: 10_000,
            membarrier: 1_800,
            membarrier_each: 1_150,
            interrupt: 1_000,
            clock: 20,
            thread_clock: 300,
            file: 2_500,
        }
    }
}

/// A name that no cost has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCost(String);

impl fmt::Display for UnknownCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown cost '{}'; there are {}", self.0, NAMES.join(", "))
    }
}

impl std::error::Error for UnknownCost {}

macro_rules! by_name {
    ($($part:ident: $costs:ty { $($field:ident)* })*) => {
        const NAMES: &[&str] = &[$($(stringify!($field),)*)*];

        /// The cost of that name.
        pub(crate) fn by_name<'m>(
            name: &str,
            $($part: &'m mut $costs,)*
        ) -> Result<&'m mut Nanos, UnknownCost> {
            match name {
                $($(stringify!($field) => Ok(&mut $part.$field),)*)*
                _ => Err(UnknownCost(name.to_owned())),
            }
        }
    };
}

by_name! {
    caches: CacheCosts {
        hit read_modify_write fence pause core cluster socket remote memory invalidation
        shared_occupancy lease link
    }
    system: SystemCosts {
        system_call futex_lock spawn membarrier membarrier_each interrupt clock thread_clock file
    }
    kernel: KernelCosts {
        context_switch wake_up idle_exit deep_idle_exit deep_idle_after reschedule_interrupt
        migration balance tick
    }
}
