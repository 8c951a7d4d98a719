//! What all workers of a pool, and those who send it work, have in common.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyThief;
use crate::deque::{ChaseLevThief, Closed, Inbox, Mailbox, Steal, Thief};
use crate::hunt::Governor;
use crate::job::{Job, Line};
use crate::latch::Flag;
use crate::meter::{Counters, PoolStats, WorkerStats};
use crate::os::{self, Processors, ThreadClock};
use crate::primitive::{AtomicUsize, CachePadded, Ordering};
use crate::sleep::Sleep;
use crate::unwind::{self, AbortOnUnwind, Payload};

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// The heart of a pool. It lives as long as the last worker.
pub(crate) struct Shared {
    seats: Box<[CachePadded<Seat>]>,
    inbox: Inbox<Job>,
    sleep: Sleep,
    governor: Box<dyn Governor>,
    /// Processors allowed when the pool was built.
    processors: usize,
    /// Whether hunters can lower their priority and get it back. Asked once, before there are workers: hunting takes
    /// no lock, not even that of a probe.
    can_lower_priority: bool,
    /// Whether workers take their own tasks oldest first.
    oldest_first: bool,
    panic_handler: Option<Box<PanicHandler>>,
    /// Detached tasks that have not ended, and 1 for the pool's handle. At 0 the pool is closed.
    unfinished: AtomicUsize,
    closed: Flag,
}

/// What others may touch of one worker.
pub(crate) struct Seat {
    thief: ChaseLevThief<Job>,
    #[cfg(feature = "alternatives")]
    instead: Option<AnyThief<Job>>,
    mailbox: Arc<Mailbox<Job>>,
    /// Where this worker's detached tasks stand that begin in the order in which they were spawned.
    line: Line,
    /// Apart from what thieves read: the worker writes these with every task.
    counters: CachePadded<Counters>,
    clock: OnceLock<ThreadClock>,
}

impl Seat {
    pub(crate) fn new(thief: ChaseLevThief<Job>, mailbox: Arc<Mailbox<Job>>) -> Self {
        Self {
            thief,
            #[cfg(feature = "alternatives")]
            instead: None,
            mailbox,
            line: Line::new(),
            counters: CachePadded::default(),
            clock: OnceLock::new(),
        }
    }

    #[cfg(feature = "alternatives")]
    pub(crate) fn with_instead(self, instead: AnyThief<Job>) -> Self {
        Self { instead: Some(instead), ..self }
    }

    pub(crate) fn steal_oldest(&self) -> Steal<Job> {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.steal_oldest();
        }
        self.thief.steal_oldest()
    }

    fn is_empty(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.is_empty();
        }
        self.thief.is_empty()
    }

    pub(crate) fn has_tasks(&self) -> bool {
        !self.is_empty()
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Called by the worker on its own thread.
    pub(crate) fn start_clock(&self) {
        self.clock.get_or_init(ThreadClock::of_this_thread);
    }

    fn stats(&self) -> WorkerStats {
        WorkerStats {
            tasks: self.counters.tasks.read(),
            steals: self.counters.steals.read(),
            failed_steals: self.counters.failed_steals.read(),
            received: self.counters.received.read(),
            yields: self.counters.yields.read(),
            sleeps: self.counters.sleeps.read(),
            wakeups: self.counters.wakeups.read(),
            hunting: Duration::from_nanos(self.counters.hunting_nanos.read()),
            #[cfg(feature = "alternatives")]
            lock_wait: self.instead.as_ref().map_or(Duration::ZERO, AnyThief::lock_wait),
            processor_time: self.clock.get().and_then(ThreadClock::read),
        }
    }
}

impl Shared {
    pub(crate) fn new(
        seats: impl Iterator<Item = Seat>,
        governor: Box<dyn Governor>,
        oldest_first: bool,
        panic_handler: Option<Box<PanicHandler>>,
    ) -> Arc<Self> {
        let seats: Box<[_]> = seats.map(CachePadded::new).collect();
        let sleep = Sleep::new(seats.len());
        Arc::new(Self {
            seats,
            inbox: Inbox::new(),
            sleep,
            governor,
            processors: Processors::allowed().count(),
            can_lower_priority: os::lowered_priority_works(),
            oldest_first,
            panic_handler,
            unfinished: AtomicUsize::new(1),
            closed: Flag::new(),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.seats.len()
    }

    pub(crate) fn seat(&self, worker: usize) -> &Seat {
        &self.seats[worker]
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    pub(crate) fn governor(&self) -> &dyn Governor {
        &*self.governor
    }

    pub(crate) fn processors(&self) -> usize {
        self.processors
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

    pub(crate) fn stats(&self) -> PoolStats {
        let workers = self.seats.iter().map(|seat| seat.stats()).collect();
        PoolStats { governor: self.governor.name(), workers }
    }

    /// Whether any worker could take something now. Exact for what was pushed or sent before the caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        self.seats.iter().any(|seat| !seat.is_empty()) || !self.inbox.is_empty()
    }

    /// Has the deques opened that their owners have closed, so that what was pushed to them is seen and what will be
    /// pushed is pushed openly. `scratch` is empty before and after, and has room for all workers.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, Closed)>) {
        let closed =
            |(worker, seat): (usize, &CachePadded<Seat>)| Some((worker, seat.thief.ask()?));
        scratch.extend(self.seats.iter().enumerate().filter_map(closed));
        // Where the barrier fails, the owners are asked all the same, and open with their next push or pop.
        let may_open = !scratch.is_empty() && os::heavy_barrier();
        for (worker, closed) in scratch.drain(..) {
            if may_open {
                self.seats[worker].thief.open(closed);
            }
        }
    }

    /// Hands a job to the pool from outside.
    pub(crate) fn send(&self, job: NonNull<Job>) {
        self.inbox.send(job);
        self.sleep.work_was_sent();
    }

    /// Panics on a thread that has outlived the pool whose worker it is: no other worker is there any more.
    pub(crate) fn must_be_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Hands a job to one worker, which alone runs it.
    pub(crate) fn send_to(&self, worker: usize, job: NonNull<Job>) {
        self.seats[worker].mailbox.send(job);
        self.sleep.wake(worker);
    }

    /// A detached task is about to be accepted. The caller is the pool's handle, or a task that has not ended.
    pub(crate) fn begin_detached(&self) {
        // Relaxed: the task's end comes after it is sent, which comes after this.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// A detached task, or the pool's handle, has ended. The last one closes the pool.
    pub(crate) fn end_detached(&self) {
        // AcqRel: whoever closes the pool has seen the end of all tasks.
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.closed.set();
            self.sleep.wake_all();
        }
    }

    /// Runs a detached task: its panic goes to the handler, and to nobody else.
    pub(crate) fn run_detached(&self, task: impl FnOnce()) {
        if let Err(payload) = unwind::halt(task) {
            self.report_panic(payload);
        }
        self.end_detached();
    }

    /// Nobody waits for a detached task, so its panic must not pass in silence: without a handler, or when that panics
    /// too, the process ends.
    pub(crate) fn report_panic(&self, payload: Payload) {
        let abort =
            AbortOnUnwind("a detached task panicked and the pool has no handler that takes it");
        if let Some(handler) = &self.panic_handler {
            handler(payload);
            abort.disarm();
        }
    }
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
