//! External threads: threads outside of a pool that run a task in place of a sleeping worker.
//!
//! Like a replacement, an external thread has a slot of its own. Its tasks see the index of the
//! worker that it has taken over (`../sleep/takeover.rs`). It runs its own task and, while that
//! waits, descendants (one exception: `leave`). So a call needs no thread switch, and tasks nest.
//!
//! Long calls run on workers' threads: a thief can move a preempted worker to another processor,
//! but never changes the affinity of an external thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::shared::Shared;
use super::worker::Worker;
use crate::deque::OwnDeque;
use crate::hooks;
use crate::os::{self, Assists, ThreadWatch};
use crate::primitive::{AtomicBool, AtomicPtr, Instant, Ordering};
use crate::scheduler::job::Job;
use crate::trace::Event;
use crate::unwind::{self, AbortOnUnwind};

/// The slots of a pool's external threads.
pub(crate) struct ExternalSlots {
    /// False if tasks may depend on the thread-local state of a worker.
    allows_external_threads: AtomicBool,
    /// The owner's handle of each slot's deque. Null while an external thread uses the slot.
    deques: Box<[AtomicPtr<OwnDeque<Job>>]>,
}

impl ExternalSlots {
    /// One slot for each of `deques`.
    pub(crate) fn new(deques: impl Iterator<Item = OwnDeque<Job>>) -> Self {
        let boxed = |deque| AtomicPtr::new(Box::into_raw(Box::new(deque)));
        let deques: Box<[_]> = deques.map(boxed).collect();
        Self { allows_external_threads: AtomicBool::new(!deques.is_empty()), deques }
    }

    pub(crate) fn count(&self) -> usize {
        self.deques.len()
    }

    /// True if external threads may run tasks of the pool.
    pub(crate) fn allows_external_threads(&self) -> bool {
        self.allows_external_threads.load(Ordering::Relaxed)
    }

    /// Makes all later calls run on workers' own threads. Called before a task is pinned: it may
    /// set thread-local state of its worker.
    pub(crate) fn forbid_external_threads(&self) {
        // Relaxed: the fence after the send publishes it, together with the task.
        self.allows_external_threads.store(false, Ordering::Relaxed);
    }

    /// True if no external thread uses the slot. A hint.
    pub(super) fn is_free(&self, external: usize) -> bool {
        !self.deques[external].load(Ordering::Relaxed).is_null()
    }

    fn take(&self) -> Option<(usize, OwnDeque<Job>)> {
        self.deques.iter().enumerate().find_map(|(external, deque)| {
            // Acquire pairs with the release in `put_back`: the previous external thread's writes
            // are seen.
            let taken = deque.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: not null, so from `into_raw`; the swap gave it to this thread alone.
            (!taken.is_null()).then(|| (external, *unsafe { Box::from_raw(taken) }))
        })
    }

    fn put_back(&self, external: usize, deque: OwnDeque<Job>) {
        self.deques[external].store(Box::into_raw(Box::new(deque)), Ordering::Release);
    }
}

impl Drop for ExternalSlots {
    fn drop(&mut self) {
        for deque in &mut self.deques {
            let deque = deque.swap(ptr::null_mut(), Ordering::Acquire);
            if !deque.is_null() {
                // SAFETY: from `into_raw`, and no other thread has it.
                drop(unsafe { Box::from_raw(deque) });
            }
        }
    }
}

/// A call that takes less is short. Two thread switches cost a few percent of that, and a thread
/// that has just woken up is hardly preempted within that time.
const SHORT: Duration = Duration::from_millis(2);

/// What pools know about the calling thread.
struct ThisThread {
    /// The process generation when this was made. A forked child makes it anew.
    generation: u32,
    stack: Option<Range<usize>>,
    /// True if the thread's last call was short: the next one will probably be, too.
    makes_short_calls: Cell<bool>,
    watch: OnceCell<Arc<ThreadWatch>>,
}

crate::primitive::thread_local! {
    static THIS_THREAD: RefCell<Option<ThisThread>> = const { RefCell::new(None) };
}

impl ThisThread {
    fn new() -> Self {
        let (generation, stack) = (os::generation(), os::stack());
        // Shuttle's threads seldom make more than one call.
        let makes_short_calls = Cell::new(cfg!(shuttle));
        Self { generation, stack, makes_short_calls, watch: OnceCell::new() }
    }

    /// Calls `look` with the data of the calling thread. `None` if its thread-locals are destroyed.
    fn with<R>(look: impl FnOnce(&Self) -> R) -> Option<R> {
        let look = |this: &RefCell<Option<Self>>| {
            let mut this = this.borrow_mut();
            this.take_if(|this| this.generation != os::generation());
            look(this.get_or_insert_with(Self::new))
        };
        THIS_THREAD.try_with(look).ok()
    }

    /// True if the thread has about as much stack left as a worker has by default.
    fn has_large_stack(&self) -> bool {
        let enough = default_stack_size().saturating_sub(128 << 10);
        let local = 0_u8;
        let here = (&raw const local).addr();
        // False on a stack that the program allocated itself: its bounds are unknown.
        self.stack.as_ref().is_some_and(|it| it.contains(&here) && here - it.start >= enough)
    }

    /// Lets workers observe whether this thread runs, if permitted, but not change its affinity.
    fn watch(&self, assists: Assists) -> Option<Arc<ThreadWatch>> {
        // No log of context switches: one for each calling thread would be unbounded.
        let make = || Arc::new(ThreadWatch::with_assists(Assists::RUN_STATE));
        assists.has(Assists::RUN_STATE).then(|| Arc::clone(self.watch.get_or_init(make)))
    }
}

/// The size of a worker's stack if the program sets none, as in the standard library.
fn default_stack_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    let from_environment = || std::env::var("RUST_MIN_STACK").ok()?.parse().ok();
    *SIZE.get_or_init(|| from_environment().unwrap_or(2 << 20))
}

impl Drop for ThisThread {
    fn drop(&mut self) {
        self.watch.get().inspect(|watch| watch.retire());
    }
}

impl Shared {
    /// Runs a call of the calling thread, which is not a worker: `task` in place of a sleeping
    /// worker, if the thread's last call was short and that is possible, else `send`s it.
    pub(crate) fn call<F, R>(self: &Arc<Self>, task: F, send: impl FnOnce(F) -> R) -> R
    where
        F: FnOnce(&Worker) -> R,
    {
        if !self.external_slots.allows_external_threads() {
            return send(task);
        }
        let begun = Instant::now();
        let ended = unwind::catch(|| self.run_on_this_thread(task).unwrap_or_else(send));
        ThisThread::with(|this| this.makes_short_calls.set(begun.elapsed() < SHORT));
        ended.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// Returns the task as an error if the calling thread may not or cannot run it.
    fn run_on_this_thread<F, R>(self: &Arc<Self>, task: F) -> Result<R, F>
    where
        F: FnOnce(&Worker) -> R,
    {
        let is_suitable =
            |this: &ThisThread| this.makes_short_calls.get() && this.has_large_stack();
        if ThisThread::with(is_suitable) != Some(true) {
            return Err(task);
        }
        let Some((external, deque)) = self.external_slots.take() else { return Err(task) };
        let Some(index) = self.sleep.take_over(external) else {
            self.external_slots.put_back(external, deque);
            return Err(task);
        };
        let abort = AbortOnUnwind("a panic outside of the external thread's task");
        let slot = self.workers + external;
        self.mark_slot_taken(slot);
        let worker = Worker::new(index, slot, deque, Arc::clone(self), None);
        // The worker that was taken over counts as a thief that has found a task.
        self.sleep.end_search(&worker.wake_token, || {
            self.open_deques(&mut Vec::new());
            self.is_work_left()
        });
        self.slot(slot)
            .begin_call(ThisThread::with(|this| this.watch(self.config.assists)).flatten());
        let ended = worker.as_current(|| {
            let ended = if self.has_sent(index) {
                // A sender may have woken this worker for that task just before the takeover.
                Err(task)
            } else {
                worker.counters().tasks.increment();
                self.trace(|| Event::TaskBegins(slot));
                let ended = unwind::catch(|| task(&worker));
                self.trace(|| Event::TaskEnds);
                self.abort_if_in_forked_child();
                hooks::run_idle();
                self.record_external_wakeup();
                Ok(ended)
            };
            self.leave(&worker, external);
            ended
        });
        self.trace(|| Event::Detached);
        // From now on, another external thread may use the slot.
        self.external_slots.put_back(external, worker.into_deque());
        abort.disarm();
        ended.map(|ended| ended.unwrap_or_else(|payload| unwind::resume(payload)))
    }

    /// True if a task was sent to all workers, to this worker, or to its place.
    fn has_sent(&self, worker: usize) -> bool {
        let place = self.place_of(worker).and_then(|place| self.place_states().get(place));
        // Also true after a task was pinned: `forbid_external_threads` precedes every pinned send.
        !self.external_slots.allows_external_threads()
            || !self.injector.is_empty()
            || !self.slot(worker).inbox.is_empty()
            || place.is_some_and(|place| !place.inbox.is_empty())
    }

    /// Ends a call: sends the tasks in its queues to the pool, and gives the worker back.
    fn leave(&self, worker: &Worker, external: usize) {
        self.leave_tasks(worker);
        self.slot(worker.slot_index()).end_call();
        let index = worker.index();
        let look_again = |leaves_pushed: bool| {
            self.open_deques(&mut Vec::new());
            self.closed.is_set() || self.has_sent(index) || (!leaves_pushed && self.is_work_left())
        };
        if self.sleep.give_back(index, external, look_again) {
            return;
        }
        // Recalled: the worker's own thread and this one both count as active. If no other thread
        // is active, all may wait for ready tasks without a replacement: this thread runs them.
        while self.replacements.subtract_active(1) {
            self.replacements.add_active(1);
            if !worker.run_one() {
                let _ = self.replacements.subtract_active(1);
                break;
            }
            hooks::run_idle();
            self.leave_tasks(worker);
        }
    }

    /// Sends the tasks in the worker's queues to the pool.
    fn leave_tasks(&self, worker: &Worker) {
        worker.deque.open();
        // Only detached tasks are left. They are sent in the order in which a worker runs them.
        let inbox = &worker.slot().inbox;
        while let Some(own) = worker.take_own().or_else(|| worker.receive_from(inbox)) {
            self.send_back(own.job);
        }
    }
}
