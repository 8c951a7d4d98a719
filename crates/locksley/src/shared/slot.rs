//! The state of a slot: the part of a worker that other threads may touch.

use std::time::Duration;

use crate::deque::{ChaseLevOwner, ChaseLevThief, Inbox};
use crate::header::{Job, JobFifo};
use crate::idle::Activity;
use crate::os::{
    Assists, Progress, RunState, ThreadAffinity, ThreadClock, ThreadDelay, ThreadProgress,
    ThreadWatch,
};
use crate::primitive::plain::{AtomicPtr, AtomicU8, OnceLock};
use crate::primitive::{AtomicU64, CachePadded, Ordering};
use crate::shared::lineage::Lineage;
use crate::stats::{Counters, ELSEWHERE, Ledger, WorkerStats};

/// The part of a worker that other threads may touch: its queues, and what it publishes of itself.
pub(crate) struct SlotState {
    pub(crate) deque: ChaseLevThief<Job>,
    /// The owner's handle of the deque, in a box, while no thread is in the slot. Null otherwise.
    own_deque: AtomicPtr<ChaseLevOwner<Job>>,
    /// Tasks that only the thread in this slot may run.
    pub(crate) pinned_tasks: Inbox<Job>,
    /// Ready tasks for the worker with this index. Other workers take them, too.
    pub(crate) inbox: Inbox<Job>,
    /// Detached tasks of this worker that begin in the order in which they were spawned.
    pub(crate) fifo: JobFifo,
    /// Padded: the worker writes these with every task, and thieves read the fields around.
    pub(crate) counters: CachePadded<Counters>,
    /// Read by thieves; not part of any protocol.
    activity: CachePadded<AtomicU8>,
    /// Read by threads that wait for a fork which runs here.
    pub(crate) lineage: CachePadded<Lineage>,
    /// The last task that the worker pushed to run next. Low half: its index in the deque. High
    /// half: how many there were, which tells it from an earlier one with the same index.
    next: CachePadded<AtomicU64>,
    /// Not set for guests.
    thread: OnceLock<ThreadHandles>,
    /// Where the worker's time goes.
    ledger: CachePadded<Ledger>,
}

/// What the system tells of a thread.
pub(crate) struct ThreadHandles {
    /// Its processor time.
    pub(crate) clock: ThreadClock,
    /// How long it was ready and did not run.
    pub(crate) delay: ThreadDelay,
    /// Whether it blocks.
    progress: ThreadProgress,
    /// The processors that it may run on.
    pub(crate) affinity: ThreadAffinity,
    /// On which processor it is, and whether it runs, waits for that or blocks. `None` for borrowed
    /// threads, which may end without [`SlotState::detach_thread`].
    watch: Option<ThreadWatch>,
}

impl SlotState {
    pub(crate) fn new((own_deque, deque): (ChaseLevOwner<Job>, ChaseLevThief<Job>)) -> Self {
        Self {
            deque,
            own_deque: AtomicPtr::new(Box::into_raw(Box::new(own_deque))),
            pinned_tasks: Inbox::new(),
            inbox: Inbox::new(),
            fifo: JobFifo::new(None),
            counters: CachePadded::default(),
            activity: CachePadded::default(),
            lineage: CachePadded::new(Lineage::new()),
            next: CachePadded::new(AtomicU64::new(0)),
            thread: OnceLock::new(),
            ledger: CachePadded::new(Ledger::new()),
        }
    }

    /// Takes the owner's handle of the deque, and with it the slot. `None` if a thread has it.
    pub(crate) fn take_own_deque(&self) -> Option<ChaseLevOwner<Job>> {
        // Acquire pairs with the release in `put_back`: the writes of the thread before are seen.
        let taken = self.own_deque.swap(std::ptr::null_mut(), Ordering::Acquire);
        // SAFETY: not null, so from `into_raw`; the swap gave it to this thread alone.
        (!taken.is_null()).then(|| *unsafe { Box::from_raw(taken) })
    }

    /// Leaves the slot to another thread.
    pub(crate) fn put_back(&self, own_deque: ChaseLevOwner<Job>) {
        self.own_deque.store(Box::into_raw(Box::new(own_deque)), Ordering::Release);
    }

    /// Begins to account for the time of the calling thread, which is the worker's. With `assists`,
    /// lets other workers observe where it runs.
    pub(crate) fn attach_thread(&self, assists: Option<Assists>) {
        self.thread.get_or_init(|| ThreadHandles {
            clock: ThreadClock::of_this_thread(),
            delay: ThreadDelay::of_this_thread(),
            progress: ThreadProgress::of_this_thread(),
            affinity: ThreadAffinity::of_this_thread(),
            watch: assists.map(ThreadWatch::with_assists),
        });
        self.ledger.begin();
    }

    /// Stops accounting for time, and lets no other worker observe the thread any more. The clock
    /// and affinity stay. The worker calls this on its own thread before the thread ends.
    pub(crate) fn detach_thread(&self) {
        self.ledger.end();
        if let Some(thread) = self.thread() {
            thread.watch.iter().for_each(ThreadWatch::retire);
            thread.delay.retire();
        }
    }

    /// What the system tells of the thread. `None` for a guest, and until the thread has started.
    pub(crate) fn thread(&self) -> Option<&ThreadHandles> {
        self.thread.get()
    }

    fn watch(&self) -> Option<&ThreadWatch> {
        self.thread()?.watch.as_ref()
    }

    /// Begins the call of a guest.
    pub(crate) fn begin_call(&self) {
        self.ledger.begin();
        self.set_activity(Activity::Works);
    }

    /// Ends the call.
    pub(crate) fn end_call(&self) {
        self.lineage.reset();
        self.ledger.end();
        self.activity.store(Activity::Sleeps as u8, Ordering::Relaxed);
    }

    /// Publishes what the worker does from now on, and charges its time to that.
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as u8, Ordering::Relaxed);
        self.ledger.switch_to(activity as u8);
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

    /// Announces that the worker's next push, at `index`, is the task that it runs when the present
    /// one waits.
    pub(crate) fn mark_run_next(&self, index: i64) {
        // Relaxed: the push publishes it, and only the worker writes it.
        let pushed = (self.next.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.next.store(pushed << 32 | u64::from(index as u32), Ordering::Relaxed);
    }

    /// Identifies the only task in the deque, if it was [marked](Self::mark_run_next) to run next.
    pub(crate) fn lone_next_task(&self) -> Option<u64> {
        let (oldest, end) = self.deque.bounds();
        // Relaxed: not part of any protocol. A mark that is out of date may name an index where
        // another task lies now.
        let next = (end - oldest == 1).then(|| self.next.load(Ordering::Relaxed));
        next.filter(|&next| next as u32 == oldest as u32)
    }

    /// The number of tasks in the deque a moment ago.
    pub(crate) fn deque_len(&self) -> usize {
        let (oldest, end) = self.deque.bounds();
        (end - oldest).max(0) as usize
    }

    /// True if the deque was empty a moment ago.
    pub(crate) fn has_empty_deque(&self) -> bool {
        let (oldest, end) = self.deque.bounds();
        oldest == end
    }

    /// The processor on which the worker's thread ran last.
    pub(crate) fn processor(&self) -> Option<usize> {
        self.watch()?.processor()
    }

    /// Whether the worker's thread runs, waits for processor `here` or another one, or blocks.
    pub(crate) fn run_state(&self, here: Option<usize>) -> RunState {
        self.watch().map_or(RunState::Unknown, |watch| watch.run_state(here))
    }

    /// The processor time of the thread, and whether it blocks, where the system tells. A thread
    /// that has not begun to run waits for a processor.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let not_begun = Progress { processor_time: Duration::ZERO, is_blocked: false };
        self.thread().map_or(Some(not_begun), |thread| thread.progress.read())
    }

    /// How often the worker's thread has left its processor and come back.
    pub(crate) fn switches(&self) -> Option<u64> {
        self.watch()?.switches()
    }

    pub(crate) fn stats(&self) -> WorkerStats {
        let [working, searching, sleeping] = self.ledger.read();
        WorkerStats {
            switches: self.switches(),
            working,
            searching,
            sleeping,
            processor_time: self.thread().and_then(|thread| thread.clock.read()),
            ..self.counters.read()
        }
    }
}

impl Drop for SlotState {
    fn drop(&mut self) {
        drop(self.take_own_deque());
    }
}
