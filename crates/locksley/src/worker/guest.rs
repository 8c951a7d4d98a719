//! Guests: threads outside of a pool that run a call themselves.
//!
//! A guest has a slot and an index of its own, behind those of the workers, and counts towards no
//! limit. It runs its own task and, while that waits, descendants. So a short call needs no thread
//! switch, and tasks nest. Its other tasks are left to the workers.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Role, Worker};
use crate::hooks;
use crate::numbers::Index;
use crate::os;
use crate::primitive::Instant;
use crate::shared::Shared;
use crate::trace::Event;
use crate::tuning::SHORT_CALL;
use crate::unwind::{self, AbortOnUnwind};

/// What pools know about the calling thread.
struct ThisThread {
    /// The process generation when this was made. A forked child makes it anew.
    generation: u32,
    stack: Option<Range<usize>>,
    /// True if the thread's last call was short: the next one will probably be, too.
    makes_short_calls: Cell<bool>,
}

crate::primitive::thread_local! {
    static THIS_THREAD: RefCell<Option<ThisThread>> = const { RefCell::new(None) };
}

impl ThisThread {
    fn new() -> Self {
        let (generation, stack) = (os::generation(), os::stack());
        // Shuttle's threads seldom make more than one call.
        Self { generation, stack, makes_short_calls: Cell::new(cfg!(shuttle)) }
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
}

/// The size of a worker's stack if the program sets none, as in the standard library.
fn default_stack_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    let from_environment = || std::env::var("RUST_MIN_STACK").ok()?.parse().ok();
    *SIZE.get_or_init(|| from_environment().unwrap_or(2 << 20))
}

impl Shared {
    /// Runs a call of the calling thread, which is not a worker: as a guest, if the thread's last
    /// call was short and a slot is free, else `send`s it.
    pub(crate) fn call<F, R>(self: &Arc<Self>, task: F, send: impl FnOnce(F) -> R) -> R
    where
        F: FnOnce(&Worker) -> R,
    {
        if self.workers == self.first_replacement() {
            return send(task);
        }
        let begun = Instant::now();
        let ended = unwind::catch(|| self.run_as_guest(task).unwrap_or_else(send));
        ThisThread::with(|this| this.makes_short_calls.set(begun.elapsed() < SHORT_CALL));
        ended.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// Returns the task as an error if the calling thread may not or cannot run it.
    fn run_as_guest<F, R>(self: &Arc<Self>, task: F) -> Result<R, F>
    where
        F: FnOnce(&Worker) -> R,
    {
        let is_suitable =
            |this: &ThisThread| this.makes_short_calls.get() && this.has_large_stack();
        if ThisThread::with(is_suitable) != Some(true) {
            return Err(task);
        }
        let Some((slot, deque)) = self.take_slot_of_guest() else { return Err(task) };
        let abort = AbortOnUnwind("a panic outside of the guest's task");
        let numbers = (Index::new(slot.get()), slot);
        let worker = Worker::with_deque(Role::Guest, numbers, deque, Arc::clone(self), None);
        self.slot(slot).begin_call();
        let ended = worker.as_current(|| {
            worker.counters().tasks.increment();
            self.trace(|| Event::TaskBegins(slot.get()));
            let ended = unwind::catch(|| task(&worker));
            self.trace(|| Event::TaskEnds);
            self.abort_if_in_forked_child();
            hooks::flush();
            // Only detached tasks are left. They are sent in the order in which a worker runs them.
            worker.local.deque.open();
            while let Some(own) = worker.take_own() {
                self.inject(own.job);
            }
            ended
        });
        self.slot(slot).end_call();
        self.trace(|| Event::Detached);
        // From now on, another guest may use the slot.
        self.slot(slot).put_back(worker.into_deque());
        abort.disarm();
        Ok(ended.unwrap_or_else(|payload| unwind::resume(payload)))
    }
}
