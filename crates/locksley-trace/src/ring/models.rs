//! Loom models of a ring that wraps around while it is read.

use std::ops::Range;

use locksley_sys::primitive::{AtomicU64, Ordering, fence};
use loom::sync::Arc;
use loom::thread;

use super::{Ends, Word, begin, kept, write};

impl Word for AtomicU64 {
    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }
}

struct Ring {
    first: AtomicU64,
    head: AtomicU64,
    name: AtomicU64,
    words: Vec<AtomicU64>,
}

impl Ring {
    fn new(capacity: usize) -> Arc<Self> {
        let words = (0..2 * capacity).map(|_| AtomicU64::new(0)).collect();
        let [first, head, name] = [0; 3].map(AtomicU64::new);
        Arc::new(Self { first, head, name, words })
    }

    /// Both words of an event tell its number.
    fn write(&self, events: Range<u64>) {
        events.for_each(|number| write(&self.head, &self.words, number, [number + 1; 2]));
    }

    fn ends(&self) -> Ends {
        // In this order: the head tells that the first event is known.
        let head = self.head.load(Ordering::Acquire);
        Ends { first: self.first.load(Ordering::Relaxed), head }
    }

    /// What a reader keeps, as `read::snapshot` does it. Panics if it is torn.
    fn read(&self) -> Range<u64> {
        let before = self.ends();
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        let words: Vec<u64> = words.collect();
        fence(Ordering::Acquire);
        let kept = kept(before, self.ends(), self.words.len() as u64 / 2);
        for number in kept.clone() {
            let first = (2 * number as usize) & (words.len() - 1);
            assert_eq!(words[first..][..2], [number + 1; 2], "in {kept:?} of {words:?}");
        }
        kept
    }
}

#[test]
fn loom_a_reader_sees_whole_events_while_the_ring_wraps_around() {
    loom::model(|| {
        let ring = Ring::new(2);
        let writer = Arc::clone(&ring);
        let writer = thread::spawn(move || writer.write(0..3));
        ring.read();
        writer.join().unwrap();
        assert_eq!(ring.read(), 2..3);
    });
}

#[test]
fn loom_a_slow_reader_keeps_nothing_that_was_overwritten() {
    loom::model(|| {
        let ring = Ring::new(2);
        ring.write(0..2);
        let writer = Arc::clone(&ring);
        let writer = thread::spawn(move || writer.write(2..4));
        let kept = ring.read();
        assert!(kept.end >= 2 && kept.end - kept.start <= 1, "{kept:?}");
        writer.join().unwrap();
    });
}

/// A reader that dies in the middle, or begins again, changes nothing for another one.
#[test]
fn loom_readers_do_not_disturb_each_other() {
    loom::model(|| {
        let ring = Ring::new(2);
        let [writer, other] = [Arc::clone(&ring), Arc::clone(&ring)];
        let writer = thread::spawn(move || writer.write(0..2));
        let other = thread::spawn(move || _ = other.words[0].load(Ordering::Relaxed));
        ring.read();
        writer.join().unwrap();
        other.join().unwrap();
        assert_eq!(ring.read(), 1..2);
    });
}

/// A thread gets the ring of an ended one. A reader keeps events of the named thread only.
#[test]
fn loom_a_reader_does_not_mix_the_threads_that_use_a_ring() {
    loom::model(|| {
        let ring = Ring::new(2);
        let write_named = |ring: &Ring, name, events: Range<u64>| {
            ring.name.store(name, Ordering::Relaxed);
            events.for_each(|number| write(&ring.head, &ring.words, number, [name; 2]));
        };
        write_named(&ring, 1, 0..2);
        let writer = Arc::clone(&ring);
        let writer = thread::spawn(move || {
            begin(&writer.first, 2);
            write_named(&writer, 2, 2..3);
        });
        let before = ring.ends();
        let name = ring.name.load(Ordering::Relaxed);
        let words: Vec<u64> = ring.words.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        fence(Ordering::Acquire);
        for number in kept(before, ring.ends(), 2) {
            let first = 2 * number as usize & 3;
            assert_eq!(words[first..][..2], [name; 2], "event {number} of {words:?}");
        }
        writer.join().unwrap();
    });
}
