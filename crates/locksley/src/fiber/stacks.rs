//! A worker's stacks: which one it is on, which are ready, and going from one to another.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::fmt;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::thread;

use super::node::{Node, Ready};
use super::switch::{Routine, Stack, Way, go_back};
use crate::held;
use crate::hunt::Found;
use crate::job;
use crate::kahn::ForeignWait;
use crate::latch::Flag;
use crate::os;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// After so many stacks in a row that were ready, something else has its turn. A prime, as with polls.
const OTHERS_AFTER: u32 = 61;

/// What a worker keeps of its stacks.
pub(crate) struct Stacks {
    /// The one that it is on; null on its thread's own.
    current: Cell<*const Fiber>,
    ready: Ready,
    /// Those that wait, or are ready.
    waiting: Cell<usize>,
    /// How often it went to another one: what a frame finds changed when others have run in between.
    switches: Cell<u64>,
    /// Ready ones that were resumed in a row.
    in_a_row: Cell<u32>,
    /// What has ended, to be used again.
    kept: RefCell<Vec<NonNull<Fiber>>>,
}

/// A stack, and what runs on it: one job that was found while others waited.
///
/// Its address is in three places at most: in `current`; in `kept`; or its node's, wherever that is.
#[repr(C)]
struct Fiber {
    node: Node,
    /// The way back; there while something runs.
    way: Cell<*const Way>,
    routine: UnsafeCell<Option<Routine>>,
    /// While nothing runs.
    stack: Cell<Option<Stack>>,
    /// The locks that what runs there holds.
    held: held::Context,
}

/// The time at which a frame began: see `take_above`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The end of the worker's deque.
    end: i64,
    switches: u64,
}

impl Stacks {
    pub(crate) fn new() -> Self {
        Self {
            current: Cell::new(ptr::null()),
            ready: Ready::new(),
            waiting: Cell::new(0),
            switches: Cell::new(0),
            in_a_row: Cell::new(0),
            kept: RefCell::new(Vec::new()),
        }
    }
}

impl Worker {
    /// Whether this worker may go to another stack. Not while it is unwinding, since the count of panics is the thread's;
    /// nor where the thread is a guest's, which may go away and leave others waiting for what it has begun.
    pub(crate) fn may_switch(&self) -> bool {
        !self.is_guest() && !thread::panicking() && self.is_current()
    }

    /// Runs what was found, on a stack of its own if one can be had. Returns when it has ended, or waits.
    pub(crate) fn start(&self, found: Found) {
        match self.may_switch().then(|| self.fiber()).flatten() {
            Some(fiber) => {
                self.prepare(fiber, found);
                self.resume(fiber);
            }
            None => self.execute(found),
        }
    }

    /// Begins a task on a stack of its own; returns when it has ended, or waits. Gives it back where no stack can be had. It keeps the pool
    /// open, but when that is dropped, it is not waited for before tasks are cancelled: by then it is to learn of that.
    pub(crate) fn spawn_apart<F>(&self, task: F) -> Result<(), F>
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        let Some(fiber) = self.may_switch().then(|| self.fiber()).flatten() else {
            return Err(task);
        };
        match self.shared().cancellable(task) {
            Some(job) => {
                // SAFETY: just made, and run once, below.
                let job = unsafe { self.carried(job) };
                self.prepare(fiber, Found { job, from: self.seat_index() });
                self.resume(fiber);
            }
            None => self.put_away(fiber), // the pool is closed, and the task dropped, as in `spawn`
        }
        Ok(())
    }

    /// Which stack it is on, as a number that no other one has at the same time; `None` on its thread's own.
    pub(crate) fn stack(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.stacks().current.get().addr())
    }

    /// Leaves the stack that it is on for others that are ready and, from time to time, for something else, and comes back. On the
    /// thread's own stack it resumes one of them, or runs something else, itself.
    pub(crate) fn let_others_go_first(&self) {
        match NonNull::new(self.stacks().current.get().cast_mut()) {
            Some(fiber) if self.may_switch() => self.leave_for_those_ready(fiber),
            Some(_) => {}
            // What it comes upon has its own path, and so has what a look at networks makes ready.
            None => self.while_aside(|| self.take_turns()),
        }
    }

    /// On the thread's own stack: whoever goes on there without ever waiting is one of those in a row.
    fn take_turns(&self) {
        if self.shared().is_lost() {
            return; // what waits is the parent's
        }
        let abort = AbortOnUnwind("a panic came out of a task");
        let in_a_row = &self.stacks().in_a_row;
        if !self.resume_one() {
            in_a_row.set(in_a_row.get().wrapping_add(1));
        }
        if self.is_others_turn() {
            self.start_what_waits_here();
        }
        self.settle_as_guest();
        abort.disarm();
    }

    /// Begins what waits at this worker, or was sent to the pool; but nothing that others can take on top of a frame that could go on:
    /// it might wait for what that frame does next.
    fn start_what_waits_here(&self) {
        let fiber = self.may_switch().then(|| self.fiber()).flatten();
        let may_begin = fiber.is_some() || self.shared().workers() == 1;
        let found = if may_begin { self.take_what_waits_here() } else { None };
        let is_any = found.is_some();
        match (fiber, found) {
            (Some(fiber), Some(found)) => {
                self.prepare(fiber, found);
                self.resume(fiber);
            }
            (Some(fiber), None) => self.put_away(fiber),
            (None, Some(found)) => self.execute(found),
            (None, None) => {}
        }
        if is_any {
            self.doubts().executed();
        }
    }

    /// A stack that nothing runs on.
    fn fiber(&self) -> Option<NonNull<Fiber>> {
        if let Some(fiber) = self.stacks().kept.borrow_mut().pop() {
            return Some(fiber);
        }
        let stack = self.shared().stacks().make()?;
        let fiber = Fiber {
            node: Node::new(),
            way: Cell::new(ptr::null()),
            routine: UnsafeCell::new(None),
            stack: Cell::new(Some(stack)),
            held: held::Context::new(),
        };
        Some(NonNull::from(Box::leak(Box::new(fiber))))
    }

    /// Puts a job on a stack that nothing runs on.
    fn prepare(&self, fiber: NonNull<Fiber>, found: Found) {
        let worker = NonNull::from(self);
        let body = move |way: &Way| {
            let abort = AbortOnUnwind("a panic came out of a task");
            // SAFETY: it is not freed while something runs on it.
            unsafe { fiber.as_ref() }.way.set(way);
            // SAFETY: a worker outlives what runs on its stacks: it serves until its pool is closed, and by then all jobs have
            // ended.
            let worker = unsafe { worker.as_ref() };
            debug_assert!(!worker.payer().is_any(), "what begins is in no process");
            worker.execute(found);
            abort.disarm();
        };
        // SAFETY: alive until it is freed by this worker.
        let this = unsafe { fiber.as_ref() };
        let stack = this.stack.take().expect("nothing runs on it");
        // SAFETY: nothing runs on it, so nobody is about to resume it.
        unsafe { *this.routine.get() = Some(Routine::new(stack, body)) };
    }

    /// Goes to a stack, and comes back when what runs there waits, or has ended.
    fn resume(&self, fiber: NonNull<Fiber>) {
        let stacks = self.stacks();
        stacks.switches.set(stacks.switches.get().wrapping_add(1));
        self.seat().now_runs(ptr::null_mut());
        let payer = self.payer().take();
        let before = stacks.current.replace(fiber.as_ptr());
        // SAFETY: alive until it is freed by this worker.
        let this = unsafe { fiber.as_ref() };
        // SAFETY: who resumes is alone with it: what runs there touches the other fields only.
        let routine = unsafe { &mut *this.routine.get() };
        let running = routine.as_mut().expect("something runs there");
        let has_ended = self.while_aside(|| this.held.within(|| running.resume()));
        stacks.current.set(before);
        self.payer().set(payer);
        self.seat().now_runs(ptr::null_mut());
        if has_ended {
            this.stack.set(routine.take().map(Routine::into_stack));
            self.put_away(fiber);
        }
    }

    /// What ran there has ended.
    fn put_away(&self, fiber: NonNull<Fiber>) {
        let supply = self.shared().stacks();
        let mut kept = self.stacks().kept.borrow_mut();
        if kept.len() < supply.kept() {
            return kept.push(fiber);
        }
        drop(kept);
        // SAFETY: made by `fiber`, of a box; it is nowhere else.
        let fiber = unsafe { Box::from_raw(fiber.as_ptr()) };
        if let Some(stack) = fiber.stack.take() {
            supply.unmake(stack);
        }
    }

    /// Whether a stack of this worker is ready. Exact for what was given back before the caller's last fence.
    pub(crate) fn has_returns(&self) -> bool {
        let stacks = self.stacks();
        stacks.waiting.get() > 0 && !(stacks.ready.is_empty() && self.seat().returns().is_empty())
    }

    /// Whether one is, and this worker may leave the one that it is on.
    pub(crate) fn has_ready_stack(&self) -> bool {
        self.has_returns() && self.may_switch()
    }

    /// Resumes the stack that has been ready longest, if there is one. Says whether there was.
    pub(crate) fn resume_one(&self) -> bool {
        let stacks = self.stacks();
        if stacks.waiting.get() == 0 || !self.may_switch() {
            return false;
        }
        let Some(node) = stacks.ready.take(self.seat().returns()) else { return false };
        stacks.waiting.set(stacks.waiting.get() - 1);
        stacks.in_a_row.set(stacks.in_a_row.get().wrapping_add(1));
        self.resume(node.cast());
        true
    }

    /// Whether stacks that wake each other have had their turn for now.
    pub(crate) fn is_others_turn(&self) -> bool {
        let in_a_row = &self.stacks().in_a_row;
        let is_it = in_a_row.get() >= OTHERS_AFTER;
        if is_it {
            in_a_row.set(0);
        }
        is_it
    }

    /// Waits until `event` is set, and works meanwhile.
    ///
    /// On a stack of its own the waiter leaves the work to whoever resumed it, who comes back when the event is set; on the
    /// thread's own stack, it resumes what is ready there and runs what can be found, each on a stack of its own.
    ///
    /// A strand that comes here learns nothing of the path to the event; those that do have been put aside before.
    pub(crate) fn wait_until(&self, event: &Flag) {
        self.has_uncarried();
        if !event.is_set() {
            let _foreign = ForeignWait::begin(self);
            self.work_or_leave_until(event);
        }
    }

    /// The same for a process that waits at a channel, which is told when the pool's tasks are cancelled, and has paid what it owes. The
    /// caller says that a strand learns nothing of the path to the event.
    pub(crate) fn work_or_leave_until(&self, event: &Flag) {
        let abort = AbortOnUnwind("a panic came out of a task");
        self.while_aside(|| {
            while !event.is_set() {
                if self.shared().is_lost() {
                    self.shared().end_of_the_lost();
                }
                match NonNull::new(self.stacks().current.get().cast_mut()) {
                    Some(fiber) if self.may_switch() => self.suspend(fiber, event),
                    _ => self.work_until(event),
                }
            }
        });
        abort.disarm();
    }

    /// Leaves the stack that it is on until `event` is set.
    fn suspend(&self, fiber: NonNull<Fiber>, event: &Flag) {
        // SAFETY: this worker is on that stack, so the node is its own.
        if unsafe { event.await_by(fiber.cast()) }.is_ok() {
            self.leave(fiber);
        }
    }

    /// Leaves the stack that it is on, whose node is in other hands now.
    fn leave(&self, fiber: NonNull<Fiber>) {
        let waiting = &self.stacks().waiting;
        waiting.set(waiting.get() + 1);
        // SAFETY: this worker is on that stack, so it is alive.
        let way = unsafe { fiber.as_ref() }.way.get();
        let payer = self.payer().take();
        // SAFETY: set when that stack was begun, at whose beginning it lies.
        self.while_aside(|| go_back(unsafe { &*way }));
        self.payer().set(payer);
    }

    /// Between two tasks that run on top of a waiting frame: stacks that are ready come first.
    pub(crate) fn give_way(&self) {
        if !self.has_ready_stack() {
            return;
        }
        match NonNull::new(self.stacks().current.get().cast_mut()) {
            None => drop(self.resume_one()),
            Some(fiber) => self.leave_for_those_ready(fiber),
        }
    }

    /// Leaves the stack that it is on, which is the last of those that are ready then.
    fn leave_for_those_ready(&self, fiber: NonNull<Fiber>) {
        // Those that have come back, before this one.
        self.stacks().ready.fetch(self.seat().returns());
        // SAFETY: this worker is on that stack, so the node is its own.
        unsafe { self.stacks().ready.put_last(fiber.cast()) };
        self.leave(fiber);
    }

    /// For a worker that is about to end, when its last hook has been called: that may have waited, and begun something of another one's
    /// hook meanwhile.
    pub(crate) fn see_stacks_off(&self) {
        while self.stacks().waiting.get() > 0 {
            if !self.resume_one() {
                os::yield_now();
            }
        }
    }

    /// The present time: what is pushed here from now on lies above it.
    pub(crate) fn mark(&self) -> Mark {
        Mark { end: self.deque_end(), switches: self.stacks().switches.get() }
    }

    /// Whether it has been on another stack since.
    pub(crate) fn has_switched_since(&self, mark: Mark) -> bool {
        self.stacks().switches.get() != mark.switches
    }

    /// Whether any of its stacks waits, or is ready.
    pub(crate) fn has_waiting_stacks(&self) -> bool {
        self.stacks().waiting.get() > 0
    }

    /// The newest job that was pushed here since, if it is certain that nothing but what was called since, or ran on top of that,
    /// can have pushed it: as soon as the worker has been on another stack, it is not.
    fn take_above(&self, mark: Mark) -> Option<Found> {
        let is_any = !self.has_switched_since(mark) && self.deque_end() > mark.end;
        if is_any && !self.shared().oldest_first() { self.take_newest() } else { None }
    }

    /// Runs what was pushed here since the mark: on top of the frame that waits for `event` what that waits for, the tasks of
    /// that scope, or the intervals of that root. A stranger gets a stack, since what comes after the scope may have to come before its end.
    pub(crate) fn work_above(&self, mark: Mark, scope: NonNull<()>, event: &Flag) {
        let abort = AbortOnUnwind("a panic came out of a task");
        while !event.is_set()
            && let Some(found) = self.take_above(mark)
        {
            // SAFETY: just taken.
            match unsafe { job::scope(found.job) } {
                Some(its) if its == scope => self.execute(found),
                _ => self.start(found),
            }
            self.give_way();
        }
        abort.disarm();
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // One that waits would be left as it is, for ever: frames on it are in the hands of others.
        debug_assert_eq!(self.waiting.get(), 0, "a worker ends after all jobs");
        for fiber in self.kept.get_mut().drain(..) {
            // SAFETY: made of a box, and nowhere else.
            drop(unsafe { Box::from_raw(fiber.as_ptr()) });
        }
    }
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("waiting", &self.waiting.get()).finish_non_exhaustive()
    }
}
