//! Deferred publication, and the process that a thread runs.
//!
//! A process that has taken a message does not look at once whether its producer waits: a barrier
//! with each message would cost more than the message. It looks at the latest when its poll ends or
//! when its thread pauses in the middle of the poll, of which the
//! [hooks](locksley::extend::Hooks) tell.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::deadlock;
use super::graph::Graph;
use locksley::extend::{self, Hooks, Signal};
use locksley_sys::primitive::thread_local;

thread_local! {
    static CURRENT: Cell<Option<NonNull<Current<'static>>>> = const { Cell::new(None) };
}

/// The process that the calling thread polls.
pub(super) struct Current<'p> {
    pub(super) graph: &'p Graph,
    pub(super) process: u32,
    /// How it waits, if it is a blocking process.
    pub(super) signal: Option<&'p Arc<Signal>>,
}

impl Current<'_> {
    /// Calls `poll`, which polls the process and does not unwind.
    pub(super) fn while_polled<R>(&self, poll: impl FnOnce() -> R) -> R {
        let outer = CURRENT.replace(Some(NonNull::from(self).cast()));
        let polled = poll();
        CURRENT.set(outer);
        polled
    }

    /// The signal of that process, if this thread runs it and it blocks.
    pub(super) fn signal_of(graph: &Graph, process: u32) -> Option<Arc<Signal>> {
        Current::with(|current| {
            let is_it = ptr::eq(current.graph, graph) && current.process == process;
            current.signal.filter(|_| is_it).cloned()
        })?
    }

    fn with<R>(use_it: impl FnOnce(&Current<'_>) -> R) -> Option<R> {
        // SAFETY: borrowed by a frame of `while_polled` on this thread.
        CURRENT.get().map(|current| use_it(unsafe { current.as_ref() }))
    }
}

/// Has the hooks of all workers call this module and the deadlock checks.
pub(super) fn register_hooks() {
    static HOOKS: Hooks = Hooks::new(pause, deadlock::count_task, deadlock::check_noted);
    extend::register(&HOOKS);
}

/// The worker may be away for long.
fn pause() {
    Current::with(|current| current.graph.wake_deferred(current.process));
    deadlock::check_noted();
}
