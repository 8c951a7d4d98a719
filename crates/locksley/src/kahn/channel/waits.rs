//! Waiting, as both ends of a channel do it.

use std::task::Context;

use super::Core;
use crate::kahn::graph::Graph;
use crate::kahn::wait::Need;
use crate::primitive::Ordering;

/// Whether an end of a channel waits.
#[derive(Debug, Default)]
pub(super) struct Waits(bool);

/// An end of a channel: whose it is, and what is waited for there.
#[derive(Clone, Copy)]
pub(super) struct End<'c> {
    pub(super) core: &'c Core,
    pub(super) graph: &'c Graph,
    /// The process that it belongs to.
    pub(super) owner: u32,
    pub(super) need: Need,
}

impl Waits {
    /// Says that the end's owner waits, unless it does. Then there may be what it waits for: the caller looks again.
    pub(super) fn begin(&mut self, end: End<'_>, context: &Context<'_>) {
        let End { core, graph, owner, need } = end;
        if !self.0 {
            graph.process(owner).begin_to_wait(context, core.number(), need);
            self.0 = true;
            if let Some(measures) = core.measures() {
                measures.begins_to_wait(need, graph.begun().elapsed());
            }
        }
        core.mark_of(need).store(true, Ordering::Relaxed);
        // Pairs with the barrier of the other end, after it has put or taken a message, and when it is dropped: either it sees that this one
        // waits, or we see what it has done. And with the one of whoever waits too: of those who close a cycle one sees it.
        graph.barrier();
    }

    /// It does not wait any more, if it did.
    #[inline]
    pub(super) fn end(&mut self, end: End<'_>) {
        if self.0 {
            self.is_over(end);
        }
    }

    fn is_over(&mut self, End { core, graph, owner, need }: End<'_>) {
        self.0 = false;
        core.mark_of(need).store(false, Ordering::Relaxed);
        graph.process(owner).wait_is_over();
        if let Some(measures) = core.measures() {
            measures.ends_to_wait(need, graph.begun().elapsed());
        }
    }
}
