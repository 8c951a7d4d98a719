//! Policies that decide by what a thief sees alone.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// A policy that decides by what a thief sees, and by nothing else.
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
