//! What all workers of a pool, and those who send it work, have in common.
//!
//! | file | what |
//! |---|---|
//! | `slots.rs` | who sits where, and what lies there |
//! | `size.rs` | how many workers may be awake |
//! | `dispatch.rs` | jobs are sent, and who waits is woken |
//! | `detached.rs` | tasks that nobody waits for; what comes after the last of them |
//! | `stats.rs` | what the workers have done |

mod detached;
mod dispatch;
mod size;
mod slots;
mod stats;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::config::{Configuration, PanicHandler};
use super::division::{Division, Unplaced};
use super::pending::Pending;
use super::placement::Placement;
use super::replacement::Replacements;
use super::slot::Slot;
use crate::deque::Inbox;
use crate::idle::IdlePolicy;
use crate::observe::Observer;
use crate::os::{self, Assists, Processors};
use crate::primitive::{AtomicBool, AtomicUsize, CachePadded};
use crate::scheduler::allowance::Allowance;
use crate::scheduler::job::Job;
use crate::scheduler::latch::Flag;
use crate::sleep::Sleep;
use crate::unwind::AbortOnUnwind;
use size::{limit_by, limit_where_allowed};

/// The futures of a pool that wait, so that they can be cancelled.
pub(crate) trait OwnedTasks: Any + Send + Sync {
    /// Has all of them dropped.
    fn cancel_all(&self);
}

/// The heart of a pool. It lives as long as the last worker, handle of the pool, and waker of who [blocks](crate::block_on) here.
pub(crate) struct Shared {
    /// Those of the workers, and behind them those of replacements.
    slots: Box<[CachePadded<Slot>]>,
    workers: usize,
    /// So many of the workers, the first ones, are borrowed threads.
    borrowed_threads: usize,
    /// So many slots have been taken; behind them nobody has ever sat.
    slots_taken: AtomicUsize,
    replacements: Replacements,
    /// That of the process which has built the pool.
    generation: u32,
    inbox: Inbox<Job>,
    division: Division,
    /// Where a task goes for which no place is named.
    unplaced: Unplaced,
    sleep: Sleep,
    idle_policy: Arc<dyn IdlePolicy>,
    /// Processors allowed when the pool was built.
    processors: Processors,
    /// If nobody has chosen how many workers there are: how many may be awake.
    allowance: Option<Allowance>,
    assists: Assists,
    /// Whether thieves can lower their priority and get it back. Asked once, before there are workers: searching takes
    /// no lock, not even that of a probe.
    can_lower_priority: bool,
    /// Whether workers take their own tasks oldest first.
    oldest_first: bool,
    panic_handler: Option<Arc<PanicHandler>>,
    /// Where a task goes that has become ready.
    placement: Placement,
    /// The futures that wait.
    owned_tasks: Box<dyn OwnedTasks>,
    /// What has not ended. At nothing the pool is closed.
    pending: Pending,
    /// Whether tasks are dropped instead of polled: only they are left.
    closing: AtomicBool,
    closed: Flag,
    observer: Option<Arc<dyn Observer>>,
}

impl Shared {
    /// `slots` are those of so many `workers`, some of whom are `borrowed_threads`, and those of replacements.
    pub(crate) fn new(
        slots: Vec<Slot>,
        workers: usize,
        borrowed_threads: usize,
        replacements: Replacements,
        owned_tasks: Box<dyn OwnedTasks>,
        configuration: Configuration,
    ) -> Arc<Self> {
        let Configuration { idle_policy, assists, .. } = configuration;
        let slots: Box<[_]> = slots.into_iter().map(CachePadded::new).collect();
        let processors = Processors::allowed();
        // Opens what has to be opened, so that no thief waits for another one that does.
        let _ = assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads);
        let allowance =
            configuration.allowance.map(|source| Allowance::new(&processors, source.open()));
        let limit = match &allowance {
            Some(allowance) => {
                limit_where_allowed(&*idle_policy, allowance.awake(), borrowed_threads)
            }
            None => limit_by(&*idle_policy, processors.count_up(), borrowed_threads),
        };
        let sleep = Sleep::with_slots(workers, slots.len(), limit).with_borrowed(borrowed_threads);
        let sleep = if spreads(&*idle_policy, assists) {
            sleep.spreading(processors.ids().len())
        } else {
            sleep
        };
        let sleep = sleep.allowing(allowance.as_ref().map_or(usize::MAX, Allowance::allowed));
        let sleep = sleep.waking_with_every_push(idle_policy.wakes_with_every_push());
        Arc::new(Self {
            placement: configuration.rules.placement,
            owned_tasks,
            slots,
            workers,
            borrowed_threads,
            slots_taken: AtomicUsize::new(workers),
            replacements,
            generation: os::generation(),
            inbox: Inbox::new(),
            division: Division::new(configuration.places, workers, processors.ids()),
            unplaced: configuration.rules.unplaced,
            sleep,
            idle_policy,
            processors,
            allowance,
            assists,
            can_lower_priority: assists.has(Assists::LOWERED_PRIORITY)
                && os::lowered_priority_works(),
            oldest_first: configuration.rules.oldest_first,
            panic_handler: configuration.panic_handler,
            pending: Pending::new(),
            closing: AtomicBool::new(false),
            closed: Flag::new(),
            observer: configuration.observer,
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Whether its threads are lost: it was built before a fork, and this is the child.
    pub(crate) fn is_lost(&self) -> bool {
        self.generation != os::generation()
    }

    /// Ends the process: in a forked child, a worker's task waits or has ended. What the worker could go
    /// on with belongs to the parent.
    #[cold]
    pub(crate) fn end_of_the_lost(&self) -> ! {
        debug_assert!(self.is_lost());
        drop(AbortOnUnwind(
            "a task of a pool waits in a forked child for threads that only the parent has",
        ));
        unreachable!("the process has ended");
    }

    pub(crate) fn replacements(&self) -> &Replacements {
        &self.replacements
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn division(&self) -> &Division {
        &self.division
    }

    #[inline]
    pub(crate) fn unplaced(&self) -> Unplaced {
        self.unplaced
    }

    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    pub(crate) fn idle_policy(&self) -> &dyn IdlePolicy {
        &*self.idle_policy
    }

    /// The processors that the process was allowed to use when the pool was built.
    pub(crate) fn processor_ids(&self) -> &[usize] {
        self.processors.ids()
    }

    pub(crate) fn assists(&self) -> Assists {
        self.assists
    }

    pub(crate) fn moves_workers(&self) -> bool {
        self.assists.has(Assists::MOVES)
    }

    /// Threads of all programs that can run.
    pub(crate) fn runnable_threads(&self) -> Option<usize> {
        self.assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads).flatten()
    }

    pub(crate) fn can_lower_priority(&self) -> bool {
        self.can_lower_priority
    }

    pub(crate) fn oldest_first(&self) -> bool {
        self.oldest_first
    }

    pub(crate) fn closed(&self) -> &Flag {
        &self.closed
    }

    pub(crate) fn placement(&self) -> Placement {
        self.placement
    }

    /// What observes the workers.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// The futures that wait, as the module of tasks keeps them.
    pub(crate) fn owned_tasks<T: 'static>(&self) -> &T {
        let tasks: &dyn Any = &*self.owned_tasks;
        tasks.downcast_ref().expect("a pool is built with them")
    }
}

/// Whether workers that are woken go where no other one is: if the idle policy says so, they may be moved, and it can be seen whether a processor is free; and only on machines
/// where that is seen quickly, since a worker with work looks: the kernel adds up what it counts for each processor.
fn spreads(idle_policy: &dyn IdlePolicy, assists: Assists) -> bool {
    const MOST_PROCESSORS: usize = 64;
    idle_policy.spreads()
        && assists.has(Assists::MOVES)
        && assists.has(Assists::RUNNABLE_THREADS)
        && os::online().is_some_and(|online| online <= MOST_PROCESSORS)
        && os::moves_threads()
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("workers", &self.workers())
            .field("idle policy", &self.idle_policy)
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}
