//! A slot: what others may touch of one worker.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};
use std::sync::{Arc, OnceLock};

use crate::deque::{Inbox, PinnedQueue, SharedDeque, Steal};
use crate::idle::Activity;
use crate::os::{Assists, Standing, ThreadAffinity, ThreadClock, ThreadDelay, ThreadWatch};
use crate::primitive::{AtomicU64, CachePadded, Ordering};
use crate::scheduler::job::{Job, Line};
use crate::scheduler::worker::Parker;
use crate::stats::{Counters, Ledger, WorkerStats};

/// What others may touch of one worker.
pub(crate) struct Slot {
    deque: SharedDeque<Job>,
    pub(crate) pinned_queue: Arc<PinnedQueue<Job>>,
    /// Ready tasks that were sent to this worker, or gave way here. Others take them too.
    inbox: Inbox<Job>,
    /// Where its thread blocks while a replacement has the slot.
    parker: Parker,
    /// Where this worker's detached tasks stand that begin in the order in which they were spawned.
    line: Line,
    /// Apart from what thieves read: the worker writes these with every task.
    counters: CachePadded<Counters>,
    /// What the worker does. Read by thieves, and no part of any protocol.
    activity: CachePadded<AtomicU8>,
    /// How many times it has begun to search, which it does when there is nothing in its deque.
    searches: AtomicU32,
    /// For how many timed parks sentinels leave it the oldest task in its deque; and by that number of searches, before which they said so.
    patience: AtomicU64,
    /// The stolen second half of a join that the worker is in, if all that it has in its deque lies below that. No part of what
    /// decides who runs what.
    running: CachePadded<AtomicPtr<Job>>,
    /// Where the task lies, or lay, that the worker last pushed as the one that it runs next; and a number that no recent one had.
    next: CachePadded<AtomicU64>,
    pub(crate) clock: OnceLock<ThreadClock>,
    pub(crate) delay: OnceLock<ThreadDelay>,
    pub(crate) affinity: OnceLock<ThreadAffinity>,
    watch: OnceLock<ThreadWatch>,
    /// Where its time went.
    ledger: CachePadded<Ledger>,
}

impl Slot {
    pub(crate) fn new(deque: SharedDeque<Job>, pinned_queue: Arc<PinnedQueue<Job>>) -> Self {
        Self {
            deque,
            pinned_queue,
            inbox: Inbox::new(),
            parker: Parker::new(),
            line: Line::new(),
            counters: CachePadded::default(),
            activity: CachePadded::default(),
            searches: AtomicU32::new(0),
            patience: AtomicU64::new(0),
            running: CachePadded::new(AtomicPtr::new(std::ptr::null_mut())),
            next: CachePadded::new(AtomicU64::new(0)),
            clock: OnceLock::new(),
            delay: OnceLock::new(),
            affinity: OnceLock::new(),
            watch: OnceLock::new(),
            ledger: CachePadded::new(Ledger::new()),
        }
    }

    pub(crate) fn deque(&self) -> &SharedDeque<Job> {
        &self.deque
    }

    /// Steals from the built-in deque, if that is wanted when it has been seen what the oldest is.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce(&Self) -> bool) -> Steal<Job> {
        self.deque.steal_oldest_if(|| is_wanted(self))
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn parker(&self) -> &Parker {
        &self.parker
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
        self.delay.get_or_init(ThreadDelay::of_this_thread);
        self.affinity.get_or_init(ThreadAffinity::of_this_thread);
        self.ledger.begin();
    }

    /// The same, and from then on the thread is seen by others.
    pub(crate) fn appear(&self, assists: Assists) {
        self.start_clock();
        self.watch.get_or_init(|| ThreadWatch::of_this_thread(assists));
    }

    /// Called by the worker on its own thread, before that ends.
    pub(crate) fn disappear(&self) {
        self.ledger.end();
        if let Some(watch) = self.watch.get() {
            watch.retire();
        }
    }

    pub(crate) fn does(&self, activity: Activity) {
        self.activity.store(activity as u8, Ordering::Relaxed);
        self.ledger.turn_to(activity as u8);
    }

    /// Called by the worker, whose deque is empty.
    pub(crate) fn begin_search(&self) {
        // Relaxed, and not one step: nobody else writes it, and sentinels read it milliseconds apart.
        let searches = self.searches.load(Ordering::Relaxed);
        self.searches.store(searches.wrapping_add(1), Ordering::Relaxed);
        self.does(Activity::Searches);
    }

    /// How many times it has begun to search. While that is the same, what is the oldest in its deque may be the same task.
    pub(crate) fn searches(&self) -> u32 {
        self.searches.load(Ordering::Relaxed)
    }

    /// For how many timed parks sentinels leave it the oldest task in its deque, if somebody has said so since it last began to search.
    pub(crate) fn patience(&self) -> Option<u32> {
        // Relaxed: no part of any protocol.
        let patience = self.patience.load(Ordering::Relaxed);
        ((patience >> 32) as u32 == self.searches() && patience != 0).then_some(patience as u32)
    }

    /// From now on sentinels leave it that for so many timed parks, until it begins to search.
    pub(crate) fn is_given_patience(&self, timed_parks: u32) {
        let patience = u64::from(self.searches()) << 32 | u64::from(timed_parks);
        self.patience.store(patience, Ordering::Relaxed);
    }

    /// The worker's time goes into that, or into something that is none of the pool's.
    pub(crate) fn spends_time_on(&self, activity: Option<Activity>) {
        match activity {
            Some(activity) => self.ledger.turn_to(activity as u8),
            None => self.ledger.turn_away(),
        }
    }

    /// Whether it goes into something that is none of the pool's.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.ledger.is_elsewhere()
    }

    /// The worker, which was about to sleep, searches on.
    pub(crate) fn does_not_sleep(&self) {
        self.activity.store(Activity::Searches as u8, Ordering::Relaxed);
        self.ledger.turn_back_to(Activity::Searches as u8);
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            0 => Activity::Works,
            1 => Activity::Searches,
            _ => Activity::Sleeps,
        }
    }

    /// Called by the worker, with null where there is none.
    pub(crate) fn now_runs(&self, job: *mut Job) {
        // Relaxed: what is pushed later is published by the push, and this with it.
        self.running.store(job, Ordering::Relaxed);
    }

    /// Called by the worker before it pushes, at that index, a task that it runs next if the one waits that it runs now.
    pub(crate) fn mark_run_next(&self, index: i64) {
        // Relaxed: published by the push; and nobody but the worker writes it.
        let pushed = (self.next.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.next.store(pushed << 32 | u64::from(index as u32), Ordering::Relaxed);
    }

    /// Which task it is, if there is one in its deque only, and that was pushed like that.
    pub(crate) fn is_about_to_run(&self) -> Option<u64> {
        let (oldest, _) = self.deque.marks().filter(|(oldest, end)| end - oldest == 1)?;
        // Relaxed: no part of any protocol. An old one may lie where another one did that was pushed like that.
        Some(self.next.load(Ordering::Relaxed)).filter(|&next| next as u32 == oldest as u32)
    }

    /// Whether there seems to be nothing in its deque.
    pub(crate) fn seems_empty(&self) -> bool {
        self.deque.marks().is_some_and(|(oldest, end)| oldest == end)
    }

    pub(crate) fn running(&self) -> *mut Job {
        self.running.load(Ordering::Relaxed)
    }

    /// Whether the worker is in that job, and all that it has in its deque lies below.
    pub(crate) fn runs(&self, job: NonNull<Job>) -> bool {
        self.running() == job.as_ptr()
    }

    /// The processor that the worker last ran on.
    pub(crate) fn processor(&self) -> Option<usize> {
        self.watch.get()?.processor()
    }

    /// Where the worker is, as seen by one that runs on processor `here`.
    pub(crate) fn standing(&self, here: Option<usize>) -> Standing {
        self.watch.get().map_or(Standing::Unknown, |watch| watch.standing(here))
    }

    /// How often the worker's thread has left its processor and come back.
    pub(crate) fn switches(&self) -> Option<u64> {
        self.watch.get()?.switches()
    }

    /// Has the worker wait for processor `here`. Says whether that was done.
    pub(crate) fn pull(&self, here: usize, was_all: impl FnOnce() -> bool) -> bool {
        self.watch.get().is_some_and(|watch| watch.pull(here, was_all))
    }

    pub(crate) fn stats(&self) -> WorkerStats {
        let spent = self.ledger.read();
        WorkerStats {
            tasks: self.counters.tasks.read(),
            steals: self.counters.steals.read(),
            failed_steals: self.counters.failed_steals.read(),
            received: self.counters.received.read(),
            yields: self.counters.yields.read(),
            sleeps: self.counters.sleeps.read(),
            wakeups: self.counters.wakeups.read(),
            hand_overs: self.counters.hand_overs.read(),
            pulls: self.counters.pulls.read(),
            moves: self.counters.moves.read(),
            out_of_place: self.counters.out_of_place.read(),
            switches: self.switches(),
            to_thief: self.counters.to_thief.read(),
            working: spent.working,
            searching: spent.searching,
            sleeping: spent.sleeping,
            off_processor: None,
            lock_wait: self.deque.lock_wait(),
            processor_time: self.clock.get().and_then(ThreadClock::read),
        }
    }
}
