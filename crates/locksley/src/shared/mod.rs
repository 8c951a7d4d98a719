//! What the workers of a pool, and the threads that send it work, share.
//!
//! | file | what |
//! |---|---|
//! | `slot.rs` | the queues of a thread, and what it publishes of itself |
//! | `index_lock.rs` | which thread runs tasks under an index |
//! | `lineage.rs` | which tasks of a deque descend from a stolen fork |
//! | `replacements.rs` | which replacements are free |
//! | `queues.rs` | what lies in the queues; sends jobs |
//! | `place_map.rs` | the workers of each place |
//! | `stats.rs` | the counters and times of the workers |
//! | `pending/`, `closed_event.rs` | what keeps a pool open; where a shutdown waits |
//! | `config.rs`, `placement.rs` | what a pool is built with |

mod closed_event;
pub(crate) mod config;
pub(crate) mod index_lock;
pub(crate) mod lineage;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod pending;
pub(crate) mod place_map;
pub(crate) mod placement;
mod queues;
pub(crate) mod replacements;
pub(crate) mod slot;
mod stats;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::deque::{ChaseLevOwner, Inbox};
use crate::header::{Flag, Job};
use crate::idle::{Activity, Peers};
use crate::limits::Bounds;
use crate::machine::Machine;
use crate::numbers::{Index, Slot};
use crate::observe::Observer;
use crate::os::{self, Assists, RunState};
use crate::primitive::plain::OnceLock;
use crate::primitive::{AtomicBool, AtomicUsize, CachePadded, Instant, Ordering};
use crate::share::Share;
use crate::sleep::Sleep;
use crate::trace::{Event, PoolHandle};
use crate::unwind::{self, AbortOnUnwind, Payload};
use closed_event::ClosedEvent;
use config::Configuration;
use index_lock::IndexLock;
use pending::Pending;
use place_map::PlaceMap;
use replacements::Replacements;
use slot::SlotState;

/// The futures of a pool that have returned `Pending`.
pub(crate) trait CancelAll: Any + Send + Sync {
    /// Makes the workers drop all of these futures, and all that return `Pending` later.
    fn cancel_all(&self);

    /// The same value. (Rust coerces one trait object into another since 1.86.)
    fn as_any(&self) -> &dyn Any;
}

/// The shared part of a pool. It lives as long as the last worker, the last handle of the pool, and
/// the last waker of a [`block_on`](crate::block_on) on one of its workers.
pub(crate) struct Shared {
    /// The slots of the workers, of guests, and of replacements. The last ones are made when they
    /// are needed.
    slots: Box<[OnceLock<Box<SlotState>>]>,
    pub(crate) workers: usize,
    /// The number of slots of guests, which come after those of the workers.
    guests: usize,
    /// The number of these up to the last one that a guest ever had. A hint for thieves.
    guests_seen: AtomicUsize,
    pub(crate) replacements: Replacements,
    /// The number of slots up to the last one that a thread ever had.
    slots_taken: AtomicUsize,
    /// By index.
    index_locks: Box<[CachePadded<IndexLock>]>,
    /// The generation of the process that built the pool.
    generation: u32,
    pub(crate) injector: Inbox<Job>,
    pub(crate) place_map: PlaceMap,
    pub(crate) sleep: Sleep,
    pub(crate) bounds: Bounds,
    pub(crate) machine: Machine,
    pub(crate) share: Share,
    pub(crate) config: Configuration,
    pub(crate) owned_tasks: Box<dyn CancelAll>,
    /// Counts what keeps the pool open.
    pub(crate) pending: Pending,
    /// True if futures that have waited are dropped instead of polled, because only futures keep
    /// the pool open.
    pub(crate) closing: AtomicBool,
    /// True while [`Pool::shutdown`](crate::Pool::shutdown) waits: futures are not cancelled.
    pub(crate) waits_for_tasks: AtomicBool,
    /// What a shutdown waits for.
    pub(crate) closed_event: ClosedEvent,
    pub(crate) closed: Flag,
}

impl Shared {
    /// There may be so many `guests` and `replacements` at a time.
    pub(crate) fn new(
        guests: usize,
        replacements: usize,
        owned_tasks: Box<dyn CancelAll>,
        config: Configuration,
    ) -> Self {
        let (workers, assists) = (config.workers, config.assists);
        let slots: Box<[_]> =
            (0..workers + guests + replacements).map(|_| OnceLock::new()).collect();
        slots[..workers + guests].iter().for_each(|slot| _ = slot.set(config.new_slot()));
        let machine = Machine::new(assists);
        let own = workers - config.borrowed_threads();
        // Without a limit of the policy, all workers may be active.
        let is_limited = config.idle_policy.is_limited();
        let granted = if is_limited { machine.at_build().count() } else { usize::MAX };
        let most = config.size.map_or(own, |size| size.min(own));
        let bounds = Bounds::new(most, granted);
        let limit = if config.size.is_some() { bounds.most() } else { bounds.least() };
        let mut sleep = Sleep::new(own, slots.len(), limit);
        sleep.tracer = config.tracer.clone();
        let index_lock = |index| CachePadded::new(IndexLock::new(Index::new(index).slot()));
        Self {
            owned_tasks,
            slots,
            workers,
            guests,
            guests_seen: AtomicUsize::new(0),
            replacements: Replacements::new(replacements),
            slots_taken: AtomicUsize::new(workers),
            index_locks: (0..workers).map(index_lock).collect(),
            generation: os::generation(),
            injector: Inbox::new(),
            place_map: PlaceMap::new(config.places.clone(), workers, machine.at_build().ids()),
            sleep,
            bounds,
            machine,
            share: Share::new(is_limited && assists.has(Assists::BOARD)),
            pending: Pending::new(),
            closing: AtomicBool::new(false),
            waits_for_tasks: AtomicBool::new(false),
            closed_event: ClosedEvent::default(),
            closed: Flag::default(),
            config,
        }
    }

    /// The lock of an index of a worker.
    pub(crate) fn index_lock(&self, index: Index) -> &IndexLock {
        &self.index_locks[index.get()]
    }

    /// The slot of the first replacement.
    pub(crate) fn first_replacement(&self) -> usize {
        self.workers + self.guests
    }

    /// The number of guests' slots up to the last one that a guest ever had.
    pub(crate) fn guests_seen(&self) -> usize {
        self.guests_seen.load(Ordering::Relaxed)
    }

    /// Takes a slot for a guest, with the deque.
    pub(crate) fn take_slot_of_guest(&self) -> Option<(Slot, ChaseLevOwner<Job>)> {
        (0..self.guests).find_map(|guest| {
            let slot = Slot::new(self.workers + guest);
            let deque = self.slot(slot).take_own_deque()?;
            if self.guests_seen() <= guest {
                self.guests_seen.fetch_max(guest + 1, Ordering::Relaxed);
            }
            self.mark_slot_taken(slot);
            Some((slot, deque))
        })
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

    /// Passes a panic that no code waits for to the pool's handler. Without one it is dropped: the
    /// panic hook has reported it. Aborts the process if the handler panics: no code would learn of
    /// the first panic.
    pub(crate) fn report_panic(&self, payload: Payload) {
        let Some(handler) = &self.config.panic_handler else { return unwind::discard(payload) };
        let abort = AbortOnUnwind("the panic handler of a pool panicked");
        handler(payload);
        abort.disarm();
    }

    /// True if futures that have waited are dropped instead of polled.
    pub(crate) fn is_closing(&self) -> bool {
        // Acquire pairs with the release in `proceed_to_close`.
        self.closing.load(Ordering::Acquire)
    }

    /// Panics if the pool is closed: then the calling thread is the only worker that is left of it.
    pub(crate) fn assert_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Records an event, if the pool is traced. For slow paths.
    pub(crate) fn trace(&self, event: impl FnOnce() -> Event) {
        self.sleep.trace(event);
    }

    /// Unparks the thread in `slot`: an event that it may wait for has happened. The caller has
    /// published the event before.
    pub(crate) fn unpark(&self, slot: Slot) {
        if self.sleep.parker(slot).unpark() {
            self.trace(|| Event::Signals(slot.get()));
        }
    }

    /// The observer of the pool.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.config.observer.as_deref()
    }

    /// The futures of the pool that wait. `T` is the type with which the pool was built.
    pub(crate) fn owned_tasks<T: 'static>(&self) -> &T {
        self.owned_tasks.as_any().downcast_ref().expect("a pool is built with them")
    }

    /// The number of processors that the system granted, and other pools left, when that was last
    /// read.
    pub(crate) fn processors(&self) -> usize {
        self.bounds.processors().min(self.machine.at_build().ids().len().max(1))
    }

    /// Sets the largest limit, which the program has chosen.
    pub(crate) fn resize(&self, size: usize) {
        self.sleep.set_limit(self.bounds.set_most(size));
    }

    /// Follows what the system grants, if it is time to read that.
    pub(crate) fn follow_grant(&self, now: Instant) {
        if !self.config.idle_policy.is_limited() {
            return;
        }
        let own = self.config.borrowed_threads()..self.workers;
        let threads = own.filter_map(|worker| self.slot(Slot::new(worker)).thread());
        if let Some(granted) = self.machine.read_grant(now, threads.map(|it| &it.affinity)) {
            self.raise_limit(self.bounds.set_granted(granted, self.sleep.limit()));
        }
        let workers = || {
            let active = self.sleep.active();
            let is_limited = active >= self.sleep.limit();
            (if is_limited { self.bounds.most() } else { active }, self.sample())
        };
        let (is_busy, granted) = (self.machine.is_busy(), self.bounds.granted());
        if let Some(share) = self.share.read(now, is_busy, granted, workers) {
            self.raise_limit(self.bounds.set_share(share, self.sleep.limit()));
        }
    }

    pub(crate) fn raise_limit(&self, limit: usize) {
        if limit > self.sleep.limit() {
            self.set_limit(limit);
        }
    }

    /// Sets the limit that the pool has found. A resize in the same moment takes precedence.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.sleep.set_limit(limit);
        // If the resize has set its limit before, the change of the limit has made its size
        // visible.
        let most = self.bounds.most();
        if limit > most {
            self.sleep.set_limit(most);
        }
    }
}

impl PoolHandle for std::sync::Weak<Shared> {
    fn size(&self) -> Option<usize> {
        self.upgrade().map(|pool| pool.sleep.limit())
    }

    fn resize(&self, size: usize) -> bool {
        let pool = self.upgrade().filter(|pool| (1..=pool.workers).contains(&size));
        pool.inspect(|pool| pool.resize(size)).is_some()
    }

    fn queued(&self) -> Vec<usize> {
        self.upgrade().map_or_else(Vec::new, |pool| pool.queued().collect())
    }
}

impl Peers for Shared {
    fn active(&self) -> usize {
        self.sleep.active() + self.config.borrowed_threads()
    }

    fn is_machine_quiet(&self) -> bool {
        self.machine.is_quiet()
    }

    fn activity(&self, slot: usize) -> Activity {
        self.slot(Slot::new(slot)).activity()
    }

    fn run_state(&self, slot: usize, seen_from: usize) -> RunState {
        self.slot(Slot::new(slot)).run_state(self.slot(Slot::new(seen_from)).processor())
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("workers", &self.workers)
            .field("limit", &self.sleep.limit())
            .field("active", &self.sleep.active())
            .finish_non_exhaustive()
    }
}

/// True if both are the same pool.
pub(crate) fn is_same(one: &Arc<Shared>, other: &Shared) -> bool {
    std::ptr::eq(&**one, other)
}
