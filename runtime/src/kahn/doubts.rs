//! Networks in which chains of waits were left before their ends.
//!
//! A process that begins to wait does not follow a long chain: its worker notes the network, and looks at all of it when it has found
//! nothing else to do for a while, at the latest before it sleeps; or after so many polls, or hunts, that the look costs little beside them.

use std::cell::RefCell;
use std::sync::Arc;

use super::graph::Graph;

/// The networks that a worker has noted.
#[derive(Default)]
pub(crate) struct Doubts(RefCell<Vec<Doubt>>);

struct Doubt {
    graph: Arc<Graph>,
    /// So many polls after it was noted.
    polls: usize,
}

impl Doubts {
    /// Notes a network.
    pub(super) fn note(&self, graph: &Arc<Graph>) {
        let mut doubts = self.0.borrow_mut();
        if !doubts.iter().any(|doubt| Arc::ptr_eq(&doubt.graph, graph)) {
            doubts.push(Doubt { graph: Arc::clone(graph), polls: 0 });
        }
    }

    /// Looks at all that are noted. Says whether there were any: then tasks may have become ready.
    pub(crate) fn settle(&self) -> bool {
        if self.0.borrow().is_empty() {
            return false;
        }
        let doubts = self.0.take();
        doubts.iter().for_each(|doubt| doubt.graph.sweep());
        true
    }

    /// So many polls have been made. Looks at what was noted long ago.
    pub(crate) fn polled(&self, polls: usize) {
        let mut due = Vec::new();
        self.0.borrow_mut().retain_mut(|doubt| {
            doubt.polls += polls;
            let is_due = doubt.polls >= often_enough(&doubt.graph);
            if is_due {
                due.push(Arc::clone(&doubt.graph));
            }
            !is_due
        });
        due.iter().for_each(|graph| graph.sweep());
    }
}

/// A look at all processes costs so much that it should come once in so many polls.
fn often_enough(graph: &Graph) -> usize {
    256 + 4 * graph.processes().len()
}
