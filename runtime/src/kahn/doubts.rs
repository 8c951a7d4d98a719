//! Networks in which a worker has left chains of waits before their ends.
//!
//! A worker that has other tasks does not follow a long chain: it notes the network, and looks at all of it when it has nothing else to
//! do, before it hunts. So that a cycle is found though its worker never has nothing to do, it also looks after it has noted
//! the network about as often as that has processes.

use std::cell::RefCell;
use std::sync::Arc;

use super::graph::Graph;

/// The networks that a worker has noted.
#[derive(Default)]
pub(crate) struct Doubts(RefCell<Vec<Doubt>>);

struct Doubt {
    graph: Arc<Graph>,
    times: usize,
}

impl Doubts {
    /// Notes a network.
    pub(super) fn note(&self, graph: &Arc<Graph>) {
        let mut doubts = self.0.borrow_mut();
        let noted = doubts.iter_mut().find(|doubt| Arc::ptr_eq(&doubt.graph, graph));
        let is_due = match noted {
            Some(doubt) => {
                doubt.times += 1;
                let is_due = doubt.times >= often_enough(graph);
                if is_due {
                    doubt.times = 0;
                }
                is_due
            }
            None => {
                doubts.push(Doubt { graph: Arc::clone(graph), times: 0 });
                false
            }
        };
        drop(doubts);
        if is_due {
            graph.sweep();
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
}

/// A look at all processes costs so much that it should come once in so many waits.
fn often_enough(graph: &Graph) -> usize {
    256 + 4 * graph.processes().len()
}
