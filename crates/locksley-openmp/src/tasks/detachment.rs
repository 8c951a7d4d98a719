//! The event of a detached task: the task ends when its body has ended and the event is fulfilled.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use crate::mutex::lock;
use crate::race_detector;

/// An event.
#[derive(Default)]
pub(crate) struct Event {
    /// Which of the two have happened.
    happened: AtomicU8,
    /// What the second of the two does.
    completion: Mutex<Option<Completion>>,
}

type Completion = Box<dyn FnOnce() + Send>;

const ENDED: u8 = 1;
const FULFILLED: u8 = 2;

impl Event {
    /// The body has ended. `completion` runs now, or when the event is fulfilled.
    pub(crate) fn end(&self, completion: Completion) {
        *lock(&self.completion) = Some(completion);
        self.happen(ENDED);
    }

    pub(crate) fn is_fulfilled(&self) -> bool {
        // Acquire: pairs with the release in `happen`.
        self.happened.load(Ordering::Acquire) & FULFILLED != 0
    }

    fn happen(&self, what: u8) {
        race_detector::release(self);
        // Release and acquire: the second of the two sees all that came before the first.
        if self.happened.fetch_or(what, Ordering::AcqRel) == (ENDED | FULFILLED) & !what {
            let completion = lock(&self.completion).take();
            race_detector::acquire(self);
            if let Some(completion) = completion {
                completion();
            }
        }
    }

    /// A handle for the program, `omp_event_handle_t`, with which it fulfills the event once.
    pub(crate) fn handle(self: &Arc<Self>) -> usize {
        Arc::into_raw(Arc::clone(self)) as usize
    }

    /// Fulfills the event.
    ///
    /// # Safety
    /// The handle is from [`handle`](Self::handle), and has not been used before.
    pub(crate) unsafe fn fulfill(handle: usize) {
        // SAFETY: it holds a reference, which this call takes over.
        let event = unsafe { Arc::from_raw(handle as *const Self) };
        event.happen(FULFILLED);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("happened", &self.happened).finish_non_exhaustive()
    }
}
