//! `join` on a worker that runs a strand: the same join, which also carries the path.
//!
//! The meter's README says how a join comes to be here, and what it costs.

use super::waiting::Waiting;
use crate::deque::TakeBack;
use crate::job::ForkJob;
use crate::strand::Fork;
use crate::unwind;
use crate::worker::Worker;

impl Worker {
    /// [`join`](Self::join) at a fork of the strand that runs here.
    pub(super) fn join_metered<A, B, RA, RB>(
        &self,
        fork: &Fork<'_>,
        a: A,
        b: B,
        waiting: Option<Waiting>,
    ) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let second = ForkJob::new(|worker: &Worker| worker.run_second(fork, b));
        let index = self.push_in_truth(second.as_job());
        let results = self.fork_and_join(
            fork,
            || unwind::halt(|| a(self)),
            || {
                second.may_be_there()
                    && match self.take_back(index) {
                        TakeBack::Taken => true,
                        TakeBack::Buried => false,
                        TakeBack::Lowered => self.take_lowered(index),
                    }
            },
            || {
                // SAFETY: the word has come back, as `take_back` says.
                let task = unsafe { second.take_back() };
                unwind::halt(|| task(self))
            },
            || self.end(&second, index, waiting),
        );
        match results {
            (Ok(first), Ok(second)) => (first, second),
            (Ok(_), Err(payload)) => unwind::resume(payload),
            // Neither the second one's panic nor that of its result's destructor takes the place of the first one's.
            (Err(payload), second) => {
                match second.map(|result| unwind::halt(|| drop(result))) {
                    Ok(Ok(())) => {}
                    Ok(Err(again)) | Err(again) => unwind::discard(again),
                }
                unwind::resume(payload)
            }
        }
    }
}
