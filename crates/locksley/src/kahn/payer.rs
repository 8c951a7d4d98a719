//! What a process owes when its worker is about to wait in the middle of a poll, or to go on with something else; and what it is owed.

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
    foreign: Foreign,
}

/// Whether a process waits for what is no channel of its network; of waits inside one another the outermost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    No,
    /// It does, and its pool owes it an end of that.
    Owed,
    /// It does, but its pool was about to close when it began.
    NotOwed,
}

impl Payer {
    /// Polls a process: `poll` does not unwind.
    pub(super) fn while_polled<R>(
        &self,
        graph: &Arc<Graph>,
        process: u32,
        poll: impl FnOnce() -> R,
    ) -> R {
        let (graph, foreign) = (NonNull::from(&**graph), Foreign::No);
        let before = self.0.replace(Some(Polled { graph, process, foreign }));
        let polled = poll();
        self.0.set(before);
        polled
    }

    /// Pays what the process owes, if there is one: what comes next may last.
    pub(crate) fn pay(&self) {
        if let Some(Polled { graph, process, .. }) = self.0.get() {
            // SAFETY: it is borrowed by a frame of `while_polled` on this stack: whoever leaves the stack takes this along.
            let graph = unsafe { graph.as_ref() };
            graph.process(process).pay_at_a_pause(graph);
        }
    }

    /// Whether it is in a process.
    pub(crate) fn is_any(&self) -> bool {
        self.0.get().is_some()
    }

    /// What the process waits for, if there is one.
    pub(super) fn foreign(&self) -> Option<Foreign> {
        self.0.get().map(|polled| polled.foreign)
    }

    /// From now on it waits for that. Returns what it did before.
    pub(super) fn waits(&self, foreign: Foreign) -> Option<Foreign> {
        let polled = self.0.get()?;
        self.0.set(Some(Polled { foreign, ..polled }));
        Some(polled.foreign)
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
