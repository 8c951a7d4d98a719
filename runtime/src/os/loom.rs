//! The model checker's futex and its heavy barrier.

use ::loom::sync::{Condvar, Mutex};

use crate::primitive::{AtomicU32, Ordering, fence};

#[derive(Debug)]
pub(crate) struct Futex {
    word: AtomicU32,
    /// The kernel's own lock on the word's wait queue: it makes the check of the word and the blocking one step.
    queue: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    pub(crate) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), queue: Mutex::new(()), woken: Condvar::new() }
    }

    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    pub(crate) fn wait(&self, expected: u32) {
        let queue = self.queue.lock().unwrap();
        if self.word.load(Ordering::Relaxed) == expected {
            drop(self.woken.wait(queue).unwrap());
        }
    }

    pub(crate) fn wake(&self) {
        drop(self.queue.lock().unwrap());
        self.woken.notify_one();
    }
}

/// With a fence for the light side too: what this shows holds for pairs of a light and a heavy one.
pub(crate) fn heavy_barrier() -> bool {
    fence(Ordering::SeqCst);
    true
}

pub(crate) fn heavy_barrier_works() -> bool {
    true
}
