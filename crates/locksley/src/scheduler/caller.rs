//! Callers: threads outside of a pool that run a task in the place of a sleeping worker.
//!
//! A caller has a slot of its own, as a replacement has, and shows its tasks the index of the
//! worker that it has taken over (`../sleep/takeover.rs`). It runs its own task and, while that
//! waits, descendants. So a call needs no other thread, and what runs on a thread nests strictly.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::shared::Shared;
use super::worker::{OwnerHandles, Worker};
use crate::hooks;
use crate::os::{self, Assists, ThreadWatch};
use crate::primitive::{AtomicBool, AtomicPtr, Ordering};
use crate::trace::Event;
use crate::unwind::{self, AbortOnUnwind};

/// What callers need of a pool.
pub(crate) struct Callers {
    /// True if callers run tasks of the pool: the threads of its workers have nothing of their own
    /// that a task may need.
    may_come: AtomicBool,
    /// For each slot of a caller: null while a caller has it.
    handles: Box<[AtomicPtr<OwnerHandles>]>,
}

impl Callers {
    /// One slot for each of `handles`.
    pub(crate) fn new(handles: impl Iterator<Item = OwnerHandles>) -> Self {
        let boxed = |handles| AtomicPtr::new(Box::into_raw(Box::new(handles)));
        let handles: Box<[_]> = handles.map(boxed).collect();
        Self { may_come: AtomicBool::new(!handles.is_empty()), handles }
    }

    pub(crate) fn slots(&self) -> usize {
        self.handles.len()
    }

    /// True if callers run tasks of the pool.
    pub(crate) fn may_come(&self) -> bool {
        self.may_come.load(Ordering::Relaxed)
    }

    /// From now on callers run no tasks. Called before a task is sent to one worker alone, since it
    /// may change that worker's thread.
    pub(crate) fn stop(&self) {
        // Relaxed: the fence that follows the send publishes it, as it does the task.
        self.may_come.store(false, Ordering::Relaxed);
    }

    fn take(&self) -> Option<(usize, OwnerHandles)> {
        self.handles.iter().enumerate().find_map(|(caller, handles)| {
            // Acquire pairs with the release in `put_back`: what the last caller did is seen.
            let taken = handles.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: not null: from `into_raw`, and only this thread has taken it.
            (!taken.is_null()).then(|| (caller, *unsafe { Box::from_raw(taken) }))
        })
    }

    fn put_back(&self, caller: usize, handles: OwnerHandles) {
        self.handles[caller].store(Box::into_raw(Box::new(handles)), Ordering::Release);
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        for handles in &mut self.handles {
            let handles = handles.swap(ptr::null_mut(), Ordering::Acquire);
            if !handles.is_null() {
                // SAFETY: from `into_raw`, and no other thread has it.
                drop(unsafe { Box::from_raw(handles) });
            }
        }
    }
}

/// What a pool has to know of the calling thread.
struct This {
    /// That of the process. A forked child has other threads.
    generation: u32,
    stack: Option<Range<usize>>,
    watch: OnceCell<Arc<ThreadWatch>>,
}

crate::primitive::thread_local! {
    static THIS: RefCell<Option<This>> = const { RefCell::new(None) };
}

impl This {
    fn new() -> Self {
        let (generation, stack) = (os::generation(), os::stack());
        Self { generation, stack, watch: OnceCell::new() }
    }

    /// Calls `look` with the calling thread. `None` if the thread ends.
    fn with<R>(look: impl FnOnce(&Self) -> R) -> Option<R> {
        let look = |this: &RefCell<Option<Self>>| {
            let mut this = this.borrow_mut();
            this.take_if(|this| this.generation != os::generation());
            look(this.get_or_insert_with(Self::new))
        };
        THIS.try_with(look).ok()
    }

    /// True if the thread has about as much stack left as a worker has by default.
    fn has_large_stack(&self) -> bool {
        const ENOUGH: usize = (2 << 20) - (128 << 10);
        let local = 0_u8;
        let here = (&raw const local).addr();
        // On a stack that the program has made itself, nothing is known.
        self.stack.as_ref().is_some_and(|it| it.contains(&here) && here - it.start >= ENOUGH)
    }

    /// What workers observe of this thread, if they may. They do not change its affinity.
    fn watch(&self, assists: Assists) -> Option<Arc<ThreadWatch>> {
        // No records of switches: a ring for each thread that calls would have no bound.
        let make = || Arc::new(ThreadWatch::with_assists(Assists::RUN_STATE));
        assists.has(Assists::RUN_STATE).then(|| Arc::clone(self.watch.get_or_init(make)))
    }
}

impl Drop for This {
    fn drop(&mut self) {
        self.watch.get().inspect(|watch| watch.retire());
    }
}

impl Shared {
    /// Runs `task` on the calling thread, which is no worker, in the place of a sleeping worker.
    /// Gives the task back if that is not possible.
    pub(crate) fn run_on_caller<F, R>(self: &Arc<Self>, task: F) -> Result<R, F>
    where
        F: FnOnce(&Worker) -> R,
    {
        if !self.callers.may_come() || This::with(This::has_large_stack) != Some(true) {
            return Err(task);
        }
        let Some((caller, handles)) = self.callers.take() else { return Err(task) };
        let Some(index) = self.sleep.take_over(caller) else {
            self.callers.put_back(caller, handles);
            return Err(task);
        };
        let abort = AbortOnUnwind("a panic outside of the caller's task");
        let slot = self.workers + caller;
        self.mark_slot_taken(slot);
        let worker = Worker::for_caller(index, slot, handles, Arc::clone(self));
        // The worker that was taken over counts as a thief that has found a task.
        self.sleep.end_search(&worker.wake_token, || {
            self.open_deques(&mut Vec::new());
            self.is_work_left()
        });
        if self.has_sent(index) {
            // It may have been woken for that before it was taken over.
            if !self.give_back(&worker, caller) {
                let _ = self.replacements.subtract_active(1);
            }
            self.end_caller(caller, worker);
            abort.disarm();
            return Err(task);
        }
        self.slot(slot).begin_call(This::with(|this| this.watch(self.assists)).flatten());
        worker.counters().tasks.increment();
        let mut result = None;
        worker.as_current(|| {
            self.trace(|| Event::TaskBegins(slot));
            result = Some(unwind::halt(|| task(&worker)));
            self.trace(|| Event::TaskEnds);
            self.abort_if_in_forked_child();
            hooks::idle();
            self.leave(&worker, caller);
        });
        self.end_caller(caller, worker);
        abort.disarm();
        Ok(result.expect("it was set").unwrap_or_else(|payload| unwind::resume(payload)))
    }

    /// The last step of a call: another caller may act as the same worker from now on.
    fn end_caller(&self, caller: usize, worker: Worker) {
        self.trace(|| Event::Detached);
        self.callers.put_back(caller, worker.into_handles());
    }

    /// True if a task was sent to all workers, to this worker's place, or to it.
    fn has_sent(&self, worker: usize) -> bool {
        let place = self.place_of(worker).and_then(|place| self.place_states().get(place));
        // `stop` comes before anything is sent to one worker alone.
        !self.callers.may_come()
            || !self.injector.is_empty()
            || !self.slot(worker).inbox.is_empty()
            || place.is_some_and(|place| !place.inbox.is_empty())
    }

    /// Gives the worker back. Returns false if it was recalled.
    fn give_back(&self, worker: &Worker, caller: usize) -> bool {
        let index = worker.index();
        self.sleep.give_back(index, caller, |leaves_pushed| {
            self.open_deques(&mut Vec::new());
            self.closed.is_set() || self.has_sent(index) || (!leaves_pushed && self.is_work_left())
        })
    }

    /// Ends a call: leaves the tasks in its queues to other workers, and gives the worker back.
    fn leave(&self, worker: &Worker, caller: usize) {
        worker.deque.open();
        // Detached tasks, the newest first, as a worker would run them.
        let inbox = &worker.slot().inbox;
        while let Some(own) = worker.take_own().or_else(|| worker.receive_from(inbox)) {
            self.send_back(own.job);
        }
        self.slot(worker.slot_index()).end_call();
        self.record_woken_caller();
        if self.give_back(worker, caller) {
            return;
        }
        // Its own thread works, and this one counts beside it. If all others wait at the limit of
        // replacements, they may wait for tasks that are ready.
        while self.replacements.subtract_active(1) {
            self.replacements.add_active(1);
            if !worker.run_one() {
                let _ = self.replacements.subtract_active(1);
                break;
            }
        }
    }
}

/// A caller takes the handles from another thread.
const _: fn() = || {
    fn require_send<T: Send>() {}
    require_send::<OwnerHandles>();
};
