//! Events in the order of their times; those of one time in the order in which they were pushed.
//!
//! A wheel with one slot for each nanosecond has the near ones, and a heap the far ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ids::Nanos;

/// A power of two, and at most 64 words of 64 bits.
const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

/// An event, or a free node.
struct Node<T> {
    time: Nanos,
    what: T,
    /// The next node of the list, or `NONE`.
    next: u32,
}

pub(crate) struct Queue<T> {
    /// No event is earlier. The wheel has the events that are less than `SLOTS` later.
    base: Nanos,
    /// The first and the last node of each slot's list.
    slots: Box<[(u32, u32); SLOTS]>,
    /// One bit for each slot that has a node, and one for each word of these that is not 0.
    used: [u64; WORDS],
    used_words: u64,
    nodes: Vec<Node<T>>,
    free: u32,
    /// The times of far events, how many were pushed before, and their nodes.
    far: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    sequence: u64,
}

impl<T: Copy> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            base: 0,
            slots: Box::new([(NONE, NONE); SLOTS]),
            used: [0; WORDS],
            used_words: 0,
            nodes: Vec::with_capacity(SLOTS),
            free: NONE,
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Adds an event. A time that is over is now.
    pub(crate) fn push(&mut self, time: Nanos, what: T) {
        let time = time.max(self.base);
        let event = Node { time, what, next: NONE };
        let node = if self.free == NONE {
            self.nodes.push(event);
            u32::try_from(self.nodes.len() - 1).expect("as many events as threads")
        } else {
            let free = std::mem::replace(&mut self.nodes[self.free as usize], event).next;
            std::mem::replace(&mut self.free, free)
        };
        if time - self.base < SLOTS as u64 {
            self.link(time, node);
        } else {
            self.sequence += 1;
            self.far.push(Reverse((time, self.sequence, node)));
        }
    }

    /// Appends a node to the list of its slot.
    fn link(&mut self, time: Nanos, node: u32) {
        let at = time as usize % SLOTS;
        let (first, last) = &mut self.slots[at];
        if *last == NONE {
            *first = node;
            self.used[at / 64] |= 1 << (at % 64);
            self.used_words |= 1 << (at / 64);
        } else {
            self.nodes[*last as usize].next = node;
        }
        *last = node;
    }

    /// The first slot in use, in the order of time.
    fn first_slot(&self) -> Option<usize> {
        let at = self.base as usize % SLOTS;
        let here = self.used[at / 64] >> (at % 64);
        if here != 0 {
            return Some(at + here.trailing_zeros() as usize);
        }
        // The other words, and then the part of this one that lies before the base.
        let turn = (at / 64 + 1) as u32 % 64;
        let words = self.used_words.rotate_right(turn);
        (words != 0).then(|| {
            let word = (words.trailing_zeros() + turn) as usize % 64;
            word * 64 + self.used[word].trailing_zeros() as usize
        })
    }

    /// The time of the first event, or the end of time.
    #[inline]
    pub(crate) fn next_time(&self) -> Nanos {
        match self.first_slot() {
            Some(slot) => self.nodes[self.slots[slot].0 as usize].time,
            None => self.far.peek().map_or(Nanos::MAX, |Reverse((time, ..))| *time),
        }
    }

    /// Takes the first event out, with its time.
    pub(crate) fn pop(&mut self) -> Option<(Nanos, T)> {
        if self.used_words == 0 {
            self.advance(self.far.peek()?.0.0);
        }
        let slot = self.first_slot()?;
        let (first, last) = &mut self.slots[slot];
        let index = *first;
        let node = &mut self.nodes[index as usize];
        let (time, what) = (node.time, node.what);
        *first = std::mem::replace(&mut node.next, self.free);
        self.free = index;
        if *first == NONE {
            *last = NONE;
            self.used[slot / 64] &= !(1 << (slot % 64));
            if self.used[slot / 64] == 0 {
                self.used_words &= !(1 << (slot / 64));
            }
        }
        self.advance(time);
        Some((time, what))
    }

    /// Moves the wheel on. Far events enter it before later ones of the same time can be pushed.
    fn advance(&mut self, base: Nanos) {
        self.base = base;
        while let Some(&Reverse((time, _, node))) = self.far.peek()
            && time - base < SLOTS as u64
        {
            self.far.pop();
            self.link(time, node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A far event that falls due may lie behind a near one of the same time that was pushed later.
    #[test]
    fn events_come_in_the_order_of_a_sorted_map() {
        let mut queue = Queue::new();
        let mut oracle = BTreeMap::new();
        let (mut random, mut now, mut pushed) = (1_u64, 0, 0);
        for _ in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = random >> 33;
            if number % 9 < 5 {
                let far = [3, 100, 4095, 4096, 5000, 1_000_000][number as usize / 9 % 6];
                let time = now + number / 64 % far;
                queue.push(time, pushed);
                oracle.insert((time, pushed), ());
                pushed += 1;
            } else {
                let expected = oracle.pop_first().map(|(key, ())| key);
                assert_eq!(queue.next_time(), expected.map_or(Nanos::MAX, |(time, _)| time));
                let event = queue.pop();
                assert_eq!(event, expected);
                now = event.map_or(now, |(time, _)| time);
            }
        }
    }

    #[test]
    fn a_time_that_is_over_is_now() {
        let mut queue = Queue::new();
        queue.push(10_000, 1);
        assert_eq!(queue.pop().unwrap().0, 10_000);
        queue.push(5, 2);
        assert_eq!(queue.pop().unwrap().0, 10_000);
        assert!(queue.pop().is_none());
    }
}
