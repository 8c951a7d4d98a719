//! The part of a pool that all its workers, and the threads that send it work, share.
//!
//! | file | what |
//! |---|---|
//! | `slots.rs` | the slots, and what lies in their queues |
//! | `size.rs` | how many workers may be awake |
//! | `send.rs` | sends jobs, and unparks workers that wait |
//! | `detached.rs` | detached tasks, and how the pool closes after the last of them |
//! | `stats.rs` | the counters and times of the workers |

mod detached;
mod send;
mod size;
mod slots;
mod stats;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::config::Configuration;
use super::external::ExternalSlots;
use super::pending::Pending;
use super::place_map::PlaceMap;
use super::replacement::Replacements;
use super::slot::Slot;
use crate::deque::Inbox;
use crate::idle::IdlePolicy;
use crate::observe::Observer;
use crate::os::{self, Assists, Processors};
use crate::primitive::{AtomicBool, AtomicU32, AtomicUsize, CachePadded, Ordering};
use crate::scheduler::allowance::Allowance;
use crate::scheduler::job::Job;
use crate::scheduler::latch::Flag;
use crate::sleep::Sleep;
use crate::trace::Event;
use crate::unwind::AbortOnUnwind;
use size::limit;
use slots::SlotsInUse;

/// The futures of a pool that have returned `Pending`.
pub(crate) trait CancelAll: Any + Send + Sync {
    /// Makes the workers drop all of these futures.
    fn cancel_all(&self);
}

/// The shared part of a pool. It lives as long as the last worker, the last handle of the pool, and
/// the last waker of a [`block_on`](crate::block_on) on one of its workers.
pub(crate) struct Shared {
    /// The slots of the workers, followed by those of external threads, and those of replacements.
    /// The last ones are made when they are needed.
    pub(super) slots: Box<[OnceLock<Box<Slot>>]>,
    pub(crate) workers: usize,
    /// The number of slots up to the last one that a worker ever had.
    slots_taken: AtomicUsize,
    slots_in_use: SlotsInUse,
    pub(crate) external_slots: ExternalSlots,
    pub(crate) replacements: Replacements,
    /// The generation of the process that built the pool.
    generation: u32,
    pub(crate) injector: Inbox<Job>,
    pub(crate) place_map: PlaceMap,
    pub(crate) sleep: Sleep,
    /// The processors that the process was allowed to use when the pool was built.
    processors: Processors,
    /// The number of workers that may be awake, if the number of workers was not chosen.
    pub(crate) allowance: Option<Allowance>,
    pub(crate) config: Configuration,
    /// True if thieves can lower their priority and restore it. Probed once, before there are
    /// workers: a probe takes a lock, and a search takes none.
    pub(crate) can_lower_priority: bool,
    owned_tasks: Box<dyn CancelAll>,
    /// See [`IdleContext::external_wakeups`](crate::idle::IdleContext).
    pub(crate) external_wakeups: CachePadded<AtomicU32>,
    /// Counts what keeps the pool open.
    pub(crate) pending: Pending,
    /// True if futures are dropped instead of polled, because only they keep the pool open.
    closing: AtomicBool,
    pub(crate) closed: Flag,
}

impl Shared {
    /// `slots` has one slot for each worker, and one for each of the `external_slots`.
    pub(crate) fn new(
        slots: impl Iterator<Item = Box<Slot>>,
        external_slots: ExternalSlots,
        replacements: Replacements,
        owned_tasks: Box<dyn CancelAll>,
        config: Configuration,
    ) -> Arc<Self> {
        let (workers, assists) = (config.workers, config.assists);
        let unmade = (0..replacements.all.len()).map(|_| OnceLock::new());
        let slots: Box<[_]> = slots.map(OnceLock::from).chain(unmade).collect();
        let processors = Processors::allowed();
        // Opens the files that this needs, so that no thief waits for another one that opens them.
        let _ = assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads);
        let allowance = config.allowance.as_ref().map(|open| Allowance::new(&processors, open()));
        let at_most = allowance.as_ref().map(Allowance::awake_limit);
        let processors_now = at_most.unwrap_or(processors.count());
        let allowed = at_most.unwrap_or(usize::MAX);
        let limit = limit(&config, processors_now, allowed);
        let mut sleep =
            Sleep::with_slots(workers, slots.len(), config.borrowed_threads(), limit, allowed);
        sleep.tracer = config.tracer.clone();
        if spreads(&*config.idle_policy, assists) {
            sleep.enable_wake_affinities(processors.ids().len());
        }
        Arc::new(Self {
            owned_tasks,
            slots,
            workers,
            slots_taken: AtomicUsize::new(workers),
            slots_in_use: SlotsInUse::new(workers),
            external_slots,
            replacements,
            generation: os::generation(),
            injector: Inbox::new(),
            place_map: PlaceMap::new(config.places.clone(), workers, processors.ids()),
            sleep,
            processors,
            allowance,
            can_lower_priority: assists.has(Assists::LOWERED_PRIORITY)
                && os::lowered_priority_works(),
            external_wakeups: CachePadded::new(AtomicU32::new(0)),
            pending: Pending::new(),
            closing: AtomicBool::new(false),
            closed: Flag::default(),
            config,
        })
    }

    /// Records that an external thread was woken, or has ended a call. It may now use the processor
    /// of a thief.
    pub(crate) fn record_external_wakeup(&self) {
        // Relaxed: a hint.
        self.external_wakeups.fetch_add(1, Ordering::Relaxed);
    }

    /// True if the pool was built before a fork and this is the child, which has none of its
    /// threads.
    pub(crate) fn is_in_forked_child(&self) -> bool {
        self.generation != os::generation()
    }

    pub(crate) fn abort_if_in_forked_child(&self) {
        if self.is_in_forked_child() {
            self.abort_in_forked_child();
        }
    }

    /// Aborts a forked child in which a worker's task waits or has ended. All other work of the
    /// pool belongs to the parent.
    #[cold]
    pub(crate) fn abort_in_forked_child(&self) -> ! {
        debug_assert!(self.is_in_forked_child());
        drop(AbortOnUnwind(
            "a task of a pool waits in a forked child for threads that only the parent has",
        ));
        unreachable!("the process has ended");
    }

    /// The processors that the process was allowed to use when the pool was built.
    pub(crate) fn processor_ids(&self) -> &[usize] {
        self.processors.ids()
    }

    /// Records an event, if the pool is traced. For slow paths.
    pub(crate) fn trace(&self, event: impl FnOnce() -> Event) {
        self.sleep.trace(event);
    }

    /// The observer of the pool.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.config.observer.as_deref()
    }

    /// The futures of the pool that wait. `T` is the type with which the pool was built.
    pub(crate) fn owned_tasks<T: 'static>(&self) -> &T {
        let tasks: &dyn Any = &*self.owned_tasks;
        tasks.downcast_ref().expect("a pool is built with them")
    }
}

/// True if a waker keeps the woken worker off its own processor: if the policy wants that, workers
/// may be moved, and the system tells the number of runnable threads. Only on small machines: the
/// kernel adds that number up over all processors, while a worker with work waits for it.
fn spreads(idle_policy: &dyn IdlePolicy, assists: Assists) -> bool {
    const MOST_PROCESSORS: usize = 64;
    idle_policy.spreads()
        && assists.has(Assists::MOVES)
        && assists.has(Assists::RUNNABLE_THREADS)
        && os::online_processors().is_some_and(|online| online <= MOST_PROCESSORS)
        && os::can_move_threads()
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("workers", &self.workers)
            .field("idle policy", &self.config.idle_policy)
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}
