//! The papers' schedulers by name.

use locksley_classic::deque::{BlockingLock, Deque, Locked, SpinningLock};
use locksley_classic::stealing::{
    Abp, BusyWakes, Bws, Delayed, GlobalInformation, Hood, Naive, Selective,
};
use locksley_classic::{Machine, Ready, Scheduler, StartError, Stealing};

use super::{Model, Runtime};

/// Each of them. Those on ABP's deque say nothing of a deque.
pub(super) static ALL: &[Runtime] = &[
    classic("classic-hood", "thieves yield, later at lowered priority", || with(Hood)),
    classic("classic-abp", "Algorithm 1 of BWS: a yield before each attempt", || with(Abp)),
    classic("classic-bws", "Algorithm 2 of BWS, with its watchdog", || with(Bws::default())),
    classic("classic-bws-32", AT, || with(Bws::with_threshold(32))),
    classic("classic-bws-64", AT, || with(Bws::with_threshold(64))),
    classic("classic-bws-128", AT, || with(Bws::with_threshold(128))),
    classic("classic-bws-256", AT, || with(Bws::with_threshold(256))),
    classic("classic-bws-512", AT, || with(Bws::with_threshold(512))),
    classic("classic-bws-1024", AT, || with(Bws::with_threshold(1024))),
    classic("classic-bws-2048", AT, || with(Bws::with_threshold(2048))),
    classic("classic-bws-4096", AT, || with(Bws::with_threshold(4096))),
    classic("classic-busy-wakes", "BWS, but busy workers wake thieves", || with(BusyWakes)),
    classic("classic-global", "half as many thieves as busy workers (WSGI)", || {
        with(GlobalInformation::default())
    }),
    classic("classic-delayed", "thieves yield after 2 P failures", || with(Delayed)),
    classic("classic-selective", "thieves yield after each 64 failures", || with(Selective)),
    classic("classic-naive", "thieves never yield", || with(Naive)),
    classic("classic-spinlock", "spinning locks; thieves never yield", || Scheduler {
        deque: || Box::new(Locked::<Ready, SpinningLock>::new()),
        ..with(Naive)
    }),
    classic("classic-blocking", "blocking locks; thieves never yield", || Scheduler {
        deque: blocking,
        ..with(Naive)
    }),
    classic("classic-blocking-yields", "blocking locks; thieves yield as Hood's", || Scheduler {
        deque: blocking,
        ..with(Hood)
    }),
];

const AT: &str = "BWS with this SleepThreshold";

const fn classic(name: &'static str, about: &'static str, scheduler: fn() -> Scheduler) -> Runtime {
    Runtime { name, about, model: Model::Classic(scheduler) }
}

fn with(stealing: impl Stealing + 'static) -> Scheduler {
    Scheduler { stealing: Box::new(stealing), ..Scheduler::default() }
}

/// A deque with the system's mutex.
pub fn blocking() -> Box<dyn Deque<Ready>> {
    Box::new(Locked::<Ready, BlockingLock>::new())
}

/// Starts the workers of a scheduler.
///
/// # Errors
/// As [`Machine::start`].
#[expect(unsafe_code, reason = "a promise about all programs of the laboratory")]
pub fn start(workers: usize, scheduler: Scheduler) -> Result<Machine, StartError> {
    // SAFETY: while they wait, threads of the laboratory hold slices, numbers, boxed tasks, times
    // and the ends of channels, all of which are `Send`, and no reference to a thread-local value.
    // Each channel is used on one machine. The deques are the crate's own.
    unsafe { Machine::start(workers, scheduler) }
}
