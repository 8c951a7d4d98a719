//! Networks in which chains of waits were left before their ends.
//!
//! A process that begins to wait does not follow a long chain: its worker notes the network, and looks at all of it when it has found
//! nothing else to do for a while, at the latest before it sleeps or blocks; or after so many tasks, polls or hunts that the look costs little beside
//! them. A guest, whose thread is somebody else's, looks before it goes on with what is its own.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

use super::graph::Graph;

/// The networks that a worker has noted.
pub(crate) struct Doubts {
    noted: RefCell<Vec<Doubt>>,
    /// The one that was noted last, if none has been looked at since: that one is still there.
    newest: Cell<*const Graph>,
    /// Whether there are any.
    is_any: Cell<bool>,
    /// How many tasks were executed while there were.
    executed: Cell<u32>,
}

/// After so many tasks it is seen what has become due.
const TOGETHER: u32 = 64;

struct Doubt {
    graph: Arc<Graph>,
    /// So many polls after it was noted.
    polls: usize,
}

impl Default for Doubts {
    fn default() -> Self {
        let (noted, is_any, executed) = Default::default();
        Self { noted, newest: Cell::new(ptr::null()), is_any, executed }
    }
}

impl Doubts {
    /// Whether it will be looked at that network in any case. At a glance: it may be, though this says no.
    #[inline]
    pub(super) fn has(&self, graph: &Arc<Graph>) -> bool {
        ptr::eq(self.newest.get(), Arc::as_ptr(graph))
    }

    /// Notes a network.
    pub(super) fn note(&self, graph: &Arc<Graph>) {
        let mut noted = self.noted.borrow_mut();
        if !noted.iter().any(|doubt| Arc::ptr_eq(&doubt.graph, graph)) {
            noted.push(Doubt { graph: Arc::clone(graph), polls: 0 });
            self.is_any.set(true);
        }
        self.newest.set(Arc::as_ptr(graph));
    }

    /// Looks at all that are noted. Says whether there were any: then tasks may have become ready.
    pub(crate) fn settle(&self) -> bool {
        if !self.is_any.get() {
            return false;
        }
        self.is_any.set(false);
        self.newest.set(ptr::null());
        self.noted.take().iter().for_each(|doubt| doubt.graph.sweep());
        true
    }

    /// A task was executed: a poll, or a closure, of which there may always be another one.
    #[inline]
    pub(crate) fn executed(&self) {
        if self.is_any.get() {
            self.executed.set(self.executed.get().wrapping_add(1));
            if self.executed.get().is_multiple_of(TOGETHER) {
                self.polled(TOGETHER as usize);
            }
        }
    }

    /// So many polls, or as much, have been made. Looks at what was noted long ago. Says whether there was any.
    pub(crate) fn polled(&self, polls: usize) -> bool {
        let mut due = Vec::new();
        let mut noted = self.noted.borrow_mut();
        noted.retain_mut(|doubt| {
            doubt.polls += polls;
            let is_due = doubt.polls >= often_enough(&doubt.graph);
            if is_due {
                due.push(Arc::clone(&doubt.graph));
            }
            !is_due
        });
        self.is_any.set(!noted.is_empty());
        drop(noted);
        if !due.is_empty() {
            self.newest.set(ptr::null());
        }
        due.iter().for_each(|graph| graph.sweep());
        !due.is_empty()
    }
}

/// A look at all processes costs so much that it should come once in so many polls.
fn often_enough(graph: &Graph) -> usize {
    256 + 4 * graph.processes().len()
}
