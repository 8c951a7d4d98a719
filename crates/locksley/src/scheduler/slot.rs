//! A worker slot: the part of a worker that other threads may touch.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};

use crate::deque::{Inbox, SharedDeque};
use crate::idle::Activity;
use crate::os::{Assists, RunState, ThreadAffinity, ThreadClock, ThreadDelay, ThreadWatch};
use crate::primitive::{AtomicU64, CachePadded, Ordering};
use crate::scheduler::job::{Job, JobFifo};
use crate::scheduler::worker::WaitParker;
use crate::stats::{Counters, ELSEWHERE, Ledger, WorkerStats};

/// The part of a worker that other threads may touch: its queues, and what it publishes of itself.
/// A replacement has a slot of its own, and works under the index of the worker that it replaces.
pub(crate) struct Slot {
    pub(crate) deque: SharedDeque<Job>,
    /// Tasks that only this worker may run.
    pub(crate) pinned_tasks: Inbox<Job>,
    /// Ready tasks for this worker. Other workers take them, too.
    pub(crate) inbox: Inbox<Job>,
    /// Where the thread blocks while a replacement works under its index.
    pub(crate) parker: WaitParker,
    /// Detached tasks of this worker that begin in the order in which they were spawned.
    pub(crate) fifo: JobFifo,
    /// Padded: the worker writes these with every task, and thieves read the fields around.
    pub(crate) counters: CachePadded<Counters>,
    /// Read by thieves; not part of any protocol.
    activity: CachePadded<AtomicU8>,
    /// The number of searches begun. The deque is empty when a search begins.
    searches: AtomicU32,
    /// Low half: a sentinel steals from a deque that is in use only after the oldest task has lain
    /// there for this many timed parks. High half: the value of `searches` when that was set; after
    /// the next search it no longer holds.
    patience: AtomicU64,
    /// The stolen fork that the worker runs; null if it runs another task, or if its deque held
    /// tasks when the fork began. A hint: jobs are taken by the deque's protocol alone.
    running: CachePadded<AtomicPtr<Job>>,
    /// The last task that the worker pushed to run next. Low half: its index in the deque. High
    /// half: how many there were, which tells it from an earlier one with the same index.
    next: CachePadded<AtomicU64>,
    /// The processor time of the thread.
    pub(crate) clock: OnceLock<ThreadClock>,
    /// How long the thread was ready and did not run.
    pub(crate) delay: OnceLock<ThreadDelay>,
    /// The processors that the thread may run on.
    pub(crate) affinity: OnceLock<ThreadAffinity>,
    /// Where the thread is: on which processor, and whether it runs, waits for it or blocks.
    watch: OnceLock<ThreadWatch>,
    /// The same for the slot of an external thread: of the last one. The lock is only tried.
    external_watch: Mutex<Option<Arc<ThreadWatch>>>,
    /// Where the worker's time goes.
    ledger: CachePadded<Ledger>,
}

impl Slot {
    pub(crate) fn new(deque: SharedDeque<Job>) -> Self {
        Self {
            deque,
            pinned_tasks: Inbox::new(),
            inbox: Inbox::new(),
            parker: WaitParker::default(),
            fifo: JobFifo::new(None),
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
            external_watch: Mutex::new(None),
            ledger: CachePadded::new(Ledger::new()),
        }
    }

    /// Begins to account for the time of the worker. It calls this on its own thread.
    pub(crate) fn start_clock(&self) {
        self.clock.get_or_init(ThreadClock::of_this_thread);
        self.delay.get_or_init(ThreadDelay::of_this_thread);
        self.affinity.get_or_init(ThreadAffinity::of_this_thread);
        self.ledger.begin();
    }

    /// As [`start_clock`](Self::start_clock); also lets other workers observe where the thread
    /// runs.
    pub(crate) fn attach_thread(&self, assists: Assists) {
        self.start_clock();
        self.watch.get_or_init(|| ThreadWatch::with_assists(assists));
    }

    /// Stops accounting for time, and lets no other worker observe the thread any more. The clock,
    /// delay and affinity stay. The worker calls this on its own thread before the thread ends.
    pub(crate) fn detach_thread(&self) {
        self.ledger.end();
        if let Some(watch) = self.watch.get() {
            watch.retire();
        }
    }

    /// Begins the call of an external thread, which other workers observe by `watch`.
    pub(crate) fn begin_call(&self, watch: Option<Arc<ThreadWatch>>) {
        // Otherwise another thread reads the last one's: a hint.
        if let Ok(mut last) = self.external_watch.try_lock() {
            *last = watch;
        }
        self.ledger.begin();
        self.set_activity(Activity::Works);
    }

    /// Ends the call.
    pub(crate) fn end_call(&self) {
        self.set_running(std::ptr::null_mut());
        self.ledger.end();
        self.activity.store(Activity::Sleeps as u8, Ordering::Relaxed);
    }

    /// Publishes what the worker does from now on, and charges its time to that.
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as u8, Ordering::Relaxed);
        self.ledger.switch_to(activity as u8);
    }

    /// Publishes that the worker searches. Its deque is empty.
    pub(crate) fn begin_search(&self) {
        // A relaxed load and store: only the worker writes it, and sentinels read it milliseconds
        // apart.
        let searches = self.searches.load(Ordering::Relaxed);
        self.searches.store(searches.wrapping_add(1), Ordering::Relaxed);
        self.set_activity(Activity::Searches);
    }

    /// Publishes that the worker, which announced to sleep, searches on.
    pub(crate) fn cancel_sleep(&self) {
        self.activity.store(Activity::Searches as u8, Ordering::Relaxed);
        self.ledger.switch_back_to(Activity::Searches as u8);
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            0 => Activity::Works,
            1 => Activity::Searches,
            _ => Activity::Sleeps,
        }
    }

    /// Charges the worker's time to code that is not the pool's.
    pub(crate) fn charge_elsewhere(&self) {
        self.ledger.switch_to(ELSEWHERE);
    }

    /// True if the worker's time is charged to code that is not the pool's.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.ledger.is_elsewhere()
    }

    /// The number of searches begun. While it is the same, the oldest task in the deque may be the
    /// same.
    pub(crate) fn searches(&self) -> u32 {
        self.searches.load(Ordering::Relaxed)
    }

    /// The number of timed parks after which a sentinel steals the oldest task of a deque that is
    /// in use. `None` if no sentinel has set it since the worker's last search began.
    pub(crate) fn patience(&self) -> Option<u32> {
        // Relaxed: not part of any protocol.
        let patience = self.patience.load(Ordering::Relaxed);
        ((patience >> 32) as u32 == self.searches() && patience != 0).then_some(patience as u32)
    }

    /// Sets the [`patience`](Self::patience). It holds until the worker begins to search.
    pub(crate) fn set_patience(&self, timed_parks: u32) {
        let patience = u64::from(self.searches()) << 32 | u64::from(timed_parks);
        self.patience.store(patience, Ordering::Relaxed);
    }

    /// Publishes the stolen fork that the worker runs, or null: see the field `running`.
    pub(crate) fn set_running(&self, job: *mut Job) {
        // Relaxed: a later push publishes it together with what is pushed.
        self.running.store(job, Ordering::Relaxed);
    }

    pub(crate) fn running(&self) -> *mut Job {
        self.running.load(Ordering::Relaxed)
    }

    /// True if the worker runs `job`, a stolen fork, and all tasks in its deque belong to that.
    pub(crate) fn is_running(&self, job: NonNull<Job>) -> bool {
        self.running() == job.as_ptr()
    }

    /// Announces that the worker's next push, at `index`, is the task that it runs when the present
    /// one waits.
    pub(crate) fn mark_run_next(&self, index: i64) {
        // Relaxed: the push publishes it, and only the worker writes it.
        let pushed = (self.next.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.next.store(pushed << 32 | u64::from(index as u32), Ordering::Relaxed);
    }

    /// Identifies the only task in the deque, if it was [marked](Self::mark_run_next) to run next.
    pub(crate) fn lone_next_task(&self) -> Option<u64> {
        let (oldest, _) = self.deque.bounds().filter(|(oldest, end)| end - oldest == 1)?;
        // Relaxed: not part of any protocol. A mark that is out of date may name an index where
        // another task lies now.
        Some(self.next.load(Ordering::Relaxed)).filter(|&next| next as u32 == oldest as u32)
    }

    /// The number of tasks in the deque a moment ago; 0 if it does not tell its bounds.
    pub(crate) fn deque_len(&self) -> usize {
        self.deque.bounds().map_or(0, |(oldest, end)| end.saturating_sub(oldest).max(0) as usize)
    }

    /// True if the deque was empty a moment ago, as far as it tells its bounds.
    pub(crate) fn has_empty_deque(&self) -> bool {
        self.deque.bounds().is_some_and(|(oldest, end)| oldest == end)
    }

    /// The processor on which the worker's thread ran last.
    pub(crate) fn processor(&self) -> Option<usize> {
        self.observe(ThreadWatch::processor).flatten()
    }

    fn observe<R>(&self, look: impl FnOnce(&ThreadWatch) -> R) -> Option<R> {
        if let Some(watch) = self.watch.get() {
            return Some(look(watch));
        }
        self.external_watch.try_lock().ok()?.as_deref().map(look)
    }

    /// Whether the worker's thread runs, waits for processor `here` or another one, or blocks.
    pub(crate) fn run_state(&self, here: Option<usize>) -> RunState {
        self.observe(|watch| watch.run_state(here)).unwrap_or(RunState::Unknown)
    }

    /// How often the worker's thread has left its processor and come back.
    pub(crate) fn switches(&self) -> Option<u64> {
        self.watch.get()?.switches()
    }

    /// Moves the worker's thread, if it waits for another processor, to processor `here`. Its
    /// affinity is the same afterwards. Does nothing if `is_unrestricted`, which is called after
    /// the affinity was read, returns false. Returns true if the thread was moved.
    pub(crate) fn pull(&self, here: usize, is_unrestricted: impl FnOnce() -> bool) -> bool {
        self.observe(|watch| watch.pull(here, is_unrestricted)).unwrap_or(false)
    }

    pub(crate) fn stats(&self) -> WorkerStats {
        let [working, searching, sleeping] = self.ledger.read();
        WorkerStats {
            switches: self.switches(),
            working,
            searching,
            sleeping,
            lock_wait: self.deque.lock_wait(),
            processor_time: self.clock.get().and_then(ThreadClock::read),
            ..self.counters.read()
        }
    }
}
