//! What a worker has in a child of the process in which its pool was built.

use super::Worker;
use crate::fork::Inherited;
use crate::hunt::Found;

impl Worker {
    /// In a child of the process in which the pool was built: the newest job that this worker has pushed there.
    pub(crate) fn take_in_a_child(&self) -> Option<Found> {
        self.inherit();
        self.take_newest()
    }

    /// In such a child: what was in the deque when the process forked, which the parent runs; but in the child somebody may wait for it.
    pub(crate) fn inherited(&self) -> &Inherited {
        self.inherit();
        &self.inherited
    }

    /// Brings to safety what was in the deque, before anything is written over it.
    pub(super) fn inherit(&self) {
        self.inherited.secure(|indices| {
            #[cfg(feature = "alternatives")]
            if let Some(instead) = &self.instead {
                return Inherited::words_of(std::iter::from_fn(|| instead.pop_newest()));
            }
            self.deque.lost(indices).collect()
        });
    }
}
