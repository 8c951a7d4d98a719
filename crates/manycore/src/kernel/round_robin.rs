//! Round-robin: a queue in the order of arrival.

use super::run_queue::{Dequeue, Enqueue, Entities, RunQueue};
use crate::ids::{Nanos, ThreadId};
use std::collections::VecDeque;

/// The queue of one processor.
pub(super) struct RoundRobin {
    slice: Nanos,
    waiting: VecDeque<ThreadId>,
    current: Option<ThreadId>,
    load: u64,
    /// True if the current thread's turn is over.
    is_over: bool,
}

impl RoundRobin {
    pub(super) fn new(slice: Nanos) -> Self {
        Self { slice, waiting: VecDeque::new(), current: None, load: 0, is_over: false }
    }

    fn start(&mut self, entities: &mut Entities, thread: ThreadId, ran: Nanos) {
        entities[thread].ran = ran;
        self.current = Some(thread);
        self.is_over = false;
    }
}

impl RunQueue for RoundRobin {
    fn enqueue(&mut self, entities: &mut Entities, thread: ThreadId, _why: Enqueue) {
        self.waiting.push_back(thread);
        self.load += entities[thread].weight;
    }

    fn dequeue(&mut self, entities: &mut Entities, thread: ThreadId, _why: Dequeue) {
        self.load -= entities[thread].weight;
        if self.current == Some(thread) {
            self.current = None;
        } else {
            self.waiting.retain(|&other| other != thread);
        }
    }

    fn reweight(&mut self, entities: &mut Entities, thread: ThreadId, weight: u64) {
        self.load += weight;
        self.load -= entities[thread].weight;
        entities[thread].weight = weight;
    }

    fn pick(&mut self, entities: &mut Entities) -> Option<ThreadId> {
        if let Some(current) = self.current {
            if !self.is_over {
                return Some(current);
            }
            self.waiting.push_back(current);
        }
        self.current = None;
        let next = self.waiting.pop_front()?;
        self.start(entities, next, 0);
        Some(next)
    }

    fn pick_directly(&mut self, entities: &mut Entities, thread: ThreadId, left: Nanos) {
        self.waiting.extend(self.current);
        self.waiting.retain(|&other| other != thread);
        let ran = entities[thread].slice.unwrap_or(self.slice).saturating_sub(left);
        self.start(entities, thread, ran);
    }

    fn update_current(&mut self, entities: &mut Entities, ran: Nanos) -> bool {
        let Some(current) = self.current else { return false };
        entities[current].ran += ran;
        let slice = entities[current].slice.unwrap_or(self.slice);
        if entities[current].ran < slice {
            return false;
        }
        if self.waiting.is_empty() {
            entities[current].ran %= slice;
            return false;
        }
        self.is_over = true;
        true
    }

    fn yield_current(&mut self, _entities: &mut Entities) {
        self.is_over = true;
    }

    fn preempts(&mut self, _entities: &mut Entities, _woken: ThreadId) -> bool {
        false
    }

    fn slice_left(&self, entities: &Entities) -> Option<Nanos> {
        let current = self.current?;
        let slice = entities[current].slice.unwrap_or(self.slice);
        Some(slice.saturating_sub(entities[current].ran))
    }

    fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.current.is_some())
    }

    fn load(&self) -> u64 {
        self.load
    }

    fn waiting(&self, _entities: &Entities, n: usize) -> Option<ThreadId> {
        self.waiting.get(n).copied()
    }
}
