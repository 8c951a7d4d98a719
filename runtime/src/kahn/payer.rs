//! What a process owes when its worker is about to wait in the middle of a poll, or to go on with something else.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use super::graph::Graph;

/// The process that a worker polls, on the stack that it is on.
///
/// A process pays what it owes when its poll is over. If it waits before, in code that is not `async`, nobody knows but its worker.
#[derive(Default)]
pub(crate) struct Payer(Cell<Option<Polled>>);

/// A process, while it is polled.
#[derive(Clone, Copy)]
pub(crate) struct Polled {
    graph: NonNull<Graph>,
    process: u32,
}

impl Payer {
    /// Polls a process: `poll` does not unwind.
    pub(super) fn while_polled<R>(
        &self,
        graph: &Arc<Graph>,
        process: u32,
        poll: impl FnOnce() -> R,
    ) -> R {
        let before = self.0.replace(Some(Polled { graph: NonNull::from(&**graph), process }));
        let polled = poll();
        self.0.set(before);
        polled
    }

    /// Pays what the process owes, if there is one: what comes next may last.
    pub(crate) fn pay(&self) {
        if let Some(Polled { graph, process }) = self.0.get() {
            // SAFETY: it is borrowed by a frame of `while_polled` on this stack: whoever leaves the stack takes this along.
            let graph = unsafe { graph.as_ref() };
            graph.process(process).pay_at_a_pause(graph);
        }
    }

    /// Whether it is in a process.
    pub(crate) fn is_any(&self) -> bool {
        self.0.get().is_some()
    }

    /// The worker leaves a stack, or is on its way to another one.
    pub(crate) fn take(&self) -> Option<Polled> {
        self.0.take()
    }

    /// It is back.
    pub(crate) fn set(&self, polled: Option<Polled>) {
        self.0.set(polled);
    }
}
