//! Callers: threads outside of a pool that run a task in the place of a sleeping worker.
//!
//! A caller has a slot of its own, as a replacement has, and shows its tasks the index of the
//! worker that it has taken over (`../sleep/takeover.rs`). It runs its own task and, while that
//! waits, descendants. So a call needs no other thread, and what runs on a thread nests strictly.

use std::cell::{OnceCell, RefCell};
use std::ptr;
use std::sync::Arc;

use super::shared::Shared;
use super::worker::{OwnerHandles, Worker};
use crate::hooks;
use crate::os::{self, Assists, ThreadWatch};
use crate::primitive::{AtomicBool, AtomicPtr, Ordering};
use crate::trace::Event;
use crate::unwind;

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
    stack_end: Option<usize>,
    watch: OnceCell<Arc<ThreadWatch>>,
}

crate::primitive::thread_local! {
    static THIS: RefCell<Option<This>> = const { RefCell::new(None) };
}

impl This {
    fn new() -> Self {
        let (generation, stack_end) = (os::generation(), os::stack_end());
        Self { generation, stack_end, watch: OnceCell::new() }
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
        let left = |end| (&raw const local).addr().saturating_sub(end);
        self.stack_end.is_some_and(|end| left(end) >= ENOUGH)
    }

    /// What workers observe of this thread, if they may. They do not change its affinity.
    fn watch(&self, assists: Assists) -> Option<Arc<ThreadWatch>> {
        const OBSERVED: Assists = Assists::RUN_STATE.with(Assists::SWITCH_RECORDS);
        let make = || Arc::new(ThreadWatch::with_assists(OBSERVED));
        assists.has(OBSERVED).then(|| Arc::clone(self.watch.get_or_init(make)))
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
        let slot = self.workers + caller;
        self.mark_slot_taken(slot);
        let worker = Worker::for_caller(index, slot, handles, Arc::clone(self));
        self.end_search(&worker);
        self.slot(slot).begin_call(This::with(|this| this.watch(self.assists)).flatten());
        worker.counters().tasks.increment();
        let mut result = None;
        worker.as_current(|| {
            self.trace(|| Event::TaskBegins(slot));
            result = Some(unwind::halt(|| task(&worker)));
            self.trace(|| Event::TaskEnds);
            self.abort_if_in_forked_child();
            hooks::idle();
        });
        self.leave(worker, caller);
        Ok(result.expect("it was set").unwrap_or_else(|payload| unwind::resume(payload)))
    }

    /// The worker that was taken over counts as a thief that has found a task.
    fn end_search(&self, worker: &Worker) {
        self.sleep.end_search(&worker.wake_token, || {
            self.open_deques(&mut Vec::new());
            self.is_work_left()
        });
    }

    /// Ends a call: leaves what is in its deque to other workers, and gives the worker back.
    fn leave(&self, worker: Worker, caller: usize) {
        worker.deque.open();
        // Detached tasks, the newest first, as a worker would run them.
        while let Some(job) = worker.take_own() {
            self.send_back(job.job);
        }
        let (slot, index) = (worker.slot_index(), worker.index());
        self.slot(slot).end_call();
        self.record_woken_caller();
        self.callers.put_back(caller, worker.into_handles());
        self.sleep.give_back(index, caller, |leaves_pushed| {
            self.open_deques(&mut Vec::new());
            // `stop` comes before anything is sent to one worker alone.
            let is_addressed = !self.callers.may_come() || !self.slot(index).inbox.is_empty();
            let is_left =
                || if leaves_pushed { !self.injector.is_empty() } else { self.is_work_left() };
            is_addressed || self.closed.is_set() || is_left()
        });
    }
}
