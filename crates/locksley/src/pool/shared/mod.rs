//! What all workers of a pool, and those who send it work, have in common.
//!
//! | file | what |
//! |---|---|
//! | `seats.rs` | who sits where, and what lies there |
//! | `size.rs` | how many workers may be awake |
//! | `dispatch.rs` | jobs are sent, and who waits is woken |
//! | `detached.rs` | tasks that nobody waits for; what comes after the last of them |
//! | `stats.rs` | what the workers have done |

mod detached;
mod dispatch;
mod seats;
mod size;
mod stats;

use std::fmt;
use std::sync::Arc;

use super::apart::Apart;
use super::division::{Division, Unplaced};
use super::metered::Meter;
use super::seat::Seat;
use super::stand_ins::StandIns;
use super::start::Makeup;
use super::tally::Tally;
use crate::allowance::Allowance;
use crate::deque::Inbox;
use crate::fiber::{StackOptions, Supply};
use crate::fork::Waiting;
#[cfg(feature = "held-locks")]
use crate::held;
use crate::hunt::Governor;
use crate::job::Job;
use crate::latch::Flag;
use crate::os::{self, Assists, Processors};
use crate::primitive::{AtomicBool, AtomicUsize, CachePadded};
use crate::sleep::Sleep;
use crate::task::{Placement, Shelves};
use crate::unwind::{AbortOnUnwind, Payload};
use size::{limit_by, limit_where_allowed};

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// The heart of a pool. It lives as long as the last worker, handle of the pool, and waker of who [blocks](crate::block_on) here.
pub(crate) struct Shared {
    /// Those of the workers, and behind them those of stand-ins.
    seats: Box<[CachePadded<Seat>]>,
    workers: usize,
    /// So many of the workers, the first ones, are guests.
    guests: usize,
    /// So many seats have been taken; behind them nobody has ever sat.
    seats_taken: AtomicUsize,
    stand_ins: StandIns,
    /// That of the process which has built the pool.
    generation: u32,
    inbox: Inbox<Job>,
    /// For what needs a stack of its own.
    apart: Apart<Job>,
    division: Division,
    /// Where a task goes for which no place is named.
    unplaced: Unplaced,
    sleep: Sleep,
    governor: Arc<dyn Governor>,
    /// Processors allowed when the pool was built.
    processors: Processors,
    /// If nobody has chosen how many workers there are: how many may be awake.
    allowance: Option<Allowance>,
    assists: Assists,
    /// Whether hunters can lower their priority and get it back. Asked once, before there are workers: hunting takes
    /// no lock, not even that of a probe.
    can_lower_priority: bool,
    /// Whether workers take their own tasks oldest first.
    oldest_first: bool,
    panic_handler: Option<Arc<PanicHandler>>,
    #[cfg(feature = "held-locks")]
    held_lock_handler: Option<Arc<held::Handler>>,
    /// Where a task goes that has become ready.
    placement: Placement,
    /// Where tasks are noted that wait.
    shelves: Shelves,
    /// Stacks for code that waits.
    stacks: Supply,
    /// What workers run while joins and scopes wait.
    waiting: Waiting,
    /// What has not ended. At nothing the pool is closed.
    tally: Tally,
    /// Whether tasks are dropped instead of polled: only they are left.
    closing: AtomicBool,
    closed: Flag,
    /// If all that the pool does is metered.
    meter: Option<Meter>,
}

/// How workers go about their tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Whether they take their own oldest first.
    pub(crate) oldest_first: bool,
    /// Where one goes that has become ready.
    pub(crate) placement: Placement,
    /// Stacks for those that wait.
    pub(crate) stacks: StackOptions,
    /// What is run while joins and scopes wait.
    pub(crate) waiting: Waiting,
    /// Where a task goes for which no place is named.
    pub(crate) unplaced: Unplaced,
}

impl Shared {
    /// `seats` are those of so many `workers`, some of whom are `guests`, and those of stand-ins.
    pub(super) fn new(
        seats: Vec<Seat>,
        workers: usize,
        guests: usize,
        stand_ins: StandIns,
        makeup: Makeup,
    ) -> Arc<Self> {
        let Makeup { governor, assists, .. } = makeup;
        let seats_at_most = seats.len();
        let seats: Box<[_]> = seats.into_iter().map(CachePadded::new).collect();
        let processors = Processors::allowed();
        // Opens what has to be opened, so that no hunter waits for another one that does.
        let _ = assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads);
        let allowance = makeup.allowance.map(|source| Allowance::new(&processors, source.open()));
        let limit = match &allowance {
            Some(allowance) => limit_where_allowed(&*governor, allowance.awake(), guests),
            None => limit_by(&*governor, processors.count_up(), guests),
        };
        let sleep = Sleep::with_seats(workers, seats.len(), limit).with_guests(guests);
        let sleep = if spreads(&*governor, assists) {
            sleep.spreading(processors.ids().len())
        } else {
            sleep
        };
        let sleep = sleep.allowing(allowance.as_ref().map_or(usize::MAX, Allowance::allowed));
        #[cfg(feature = "alternatives")]
        let sleep = sleep.waking_with_every_push(governor.wakes_with_every_push());
        Arc::new(Self {
            placement: makeup.rules.placement,
            shelves: Shelves::new(seats.len()),
            stacks: Supply::new(makeup.rules.stacks, seats.len()),
            waiting: makeup.rules.waiting,
            seats,
            workers,
            guests,
            seats_taken: AtomicUsize::new(workers),
            stand_ins,
            generation: os::generation(),
            inbox: Inbox::new(),
            apart: Apart::new(seats_at_most, guests..workers),
            division: Division::new(makeup.places, workers, processors.ids()),
            unplaced: makeup.rules.unplaced,
            sleep,
            governor,
            processors,
            allowance,
            assists,
            can_lower_priority: assists.has(Assists::LOWERED_PRIORITY)
                && os::lowered_priority_works(),
            oldest_first: makeup.rules.oldest_first,
            panic_handler: makeup.panic_handler,
            #[cfg(feature = "held-locks")]
            held_lock_handler: makeup.held_lock_handler,
            tally: Tally::new(),
            closing: AtomicBool::new(false),
            closed: Flag::new(),
            meter: Meter::start(makeup.meter, seats_at_most),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Whether its thieves push what they have stolen into their own deques.
    pub(crate) fn takes_half(&self) -> bool {
        #[cfg(feature = "alternatives")]
        return self.governor().takes_half();
        #[cfg(not(feature = "alternatives"))]
        false
    }

    /// Whether its threads are lost: it was built before a fork, and this is the child.
    pub(crate) fn is_lost(&self) -> bool {
        self.generation != os::generation()
    }

    /// Ends the process: a worker that has forked is done, in the child, with the task in which it did, or waits for others.
    /// Whatever it could go on with is the parent's, which does it itself.
    #[cold]
    pub(crate) fn end_of_the_lost(&self) -> ! {
        debug_assert!(self.is_lost());
        drop(AbortOnUnwind("a worker goes on with what was lost in a fork"));
        unreachable!("the process has ended");
    }

    pub(super) fn stand_ins(&self) -> &StandIns {
        &self.stand_ins
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn apart(&self) -> &Apart<Job> {
        &self.apart
    }

    pub(super) fn division(&self) -> &Division {
        &self.division
    }

    #[inline]
    pub(super) fn unplaced(&self) -> Unplaced {
        self.unplaced
    }

    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    pub(crate) fn governor(&self) -> &dyn Governor {
        &*self.governor
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

    pub(crate) fn stacks(&self) -> &Supply {
        &self.stacks
    }

    pub(crate) fn waiting(&self) -> Waiting {
        self.waiting
    }

    #[cfg(feature = "held-locks")]
    pub(crate) fn held_lock_handler(&self) -> Option<&held::Handler> {
        self.held_lock_handler.as_deref()
    }

    pub(crate) fn shelves(&self) -> &Shelves {
        &self.shelves
    }

    pub(super) fn has_meter(&self) -> bool {
        self.meter.is_some()
    }

    pub(super) fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }
}

/// Whether workers that are woken go where no other one is: if the governor says so, they may be moved, and it can be seen whether a processor is free; and only on machines
/// where that is seen quickly, since a worker with work looks: the kernel adds up what it counts for each processor.
fn spreads(governor: &dyn Governor, assists: Assists) -> bool {
    const MOST_PROCESSORS: usize = 64;
    governor.spreads()
        && assists.has(Assists::MOVES)
        && assists.has(Assists::RUNNABLE_THREADS)
        && os::online().is_some_and(|online| online <= MOST_PROCESSORS)
        && os::moves_threads()
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("workers", &self.workers())
            .field("governor", &self.governor)
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}
