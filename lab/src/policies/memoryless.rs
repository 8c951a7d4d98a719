//! Idle policies without state.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// A policy that chooses each move by the [`IdleContext`] alone.
#[derive(Clone, Copy, Debug)]
pub struct Memoryless {
    pub(super) name: &'static str,
    pub(super) next: fn(&IdleContext<'_>) -> Move,
}

impl IdlePolicy for Memoryless {
    fn name(&self) -> &'static str {
        self.name
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Memoryless {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        (self.next)(context)
    }
}
