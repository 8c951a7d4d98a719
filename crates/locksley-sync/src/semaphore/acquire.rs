//! The future that waits for permits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::word::Word;
use super::{Closed, Permit, Semaphore, TryAcquireError};
use crate::wait_queue::{Outcome, Ticket, WaiterRef};

/// Future of [`Semaphore::acquire`] and [`Semaphore::acquire_many`].
///
/// It is in the queue from its first poll until it is ready or dropped.
#[must_use = "futures do nothing unless they are polled"]
pub struct Acquire<'s> {
    semaphore: &'s Semaphore,
    permits: usize,
    stage: Stage,
}

enum Stage {
    New,
    /// In the semaphore's word, or in its queue.
    Waiting(Ticket),
    Done,
}

impl<'s> Acquire<'s> {
    pub(super) fn new(semaphore: &'s Semaphore, permits: usize) -> Self {
        Self { semaphore, permits, stage: Stage::New }
    }

    /// The first poll: acquires, or begins to wait.
    fn start(&mut self, waker: &Waker) -> Poll<Result<Permit<'s>, Closed>> {
        let semaphore = self.semaphore;
        let mut unused = None;
        loop {
            match semaphore.try_acquire_many(self.permits) {
                Ok(permit) => {
                    // The destructor of a waker may panic: then the permit is released.
                    drop(unused);
                    return Poll::Ready(Ok(permit));
                }
                Err(TryAcquireError::Closed) => return Poll::Ready(Err(Closed)),
                Err(TryAcquireError::NoPermits) => {}
            }
            let ticket = unused.take().unwrap_or_else(|| Ticket::new(self.permits, waker));
            if self.permits == 1 && matches!(semaphore.word(), Word::Free { .. }) {
                let shared = ticket.share();
                let single = Word::Single(shared.as_ptr());
                if semaphore.compare_exchange(Word::EMPTY.to_raw(), single).is_ok() {
                    let _ = shared.into_raw(); // the word's reference
                    self.stage = Stage::Waiting(ticket);
                    return Poll::Pending;
                }
                drop(shared);
                unused = Some(ticket);
                continue;
            }
            let queue = semaphore.get_or_make_queue();
            queue.waiters.enqueue(&ticket);
            // Stored first: if a waker panics, the destructor of this future cancels the wait.
            self.stage = Stage::Waiting(ticket);
            queue.serve();
            let Stage::Waiting(ticket) = &self.stage else { unreachable!("just stored") };
            let outcome = ticket.outcome();
            return outcome.map(|outcome| self.finish(outcome));
        }
    }

    /// The result of a completed wait.
    fn result(&self, outcome: Outcome) -> Result<Permit<'s>, Closed> {
        match outcome {
            Outcome::Granted => Ok(Permit { semaphore: self.semaphore, permits: self.permits }),
            Outcome::Dismissed => Err(Closed),
        }
    }

    fn finish(&mut self, outcome: Outcome) -> Result<Permit<'s>, Closed> {
        let result = self.result(outcome);
        // The destructor of the waker, in the ticket, may panic: then the permit is released.
        self.stage = Stage::Done;
        result
    }

    /// Cancels the wait in the semaphore's word, or in its queue.
    fn cancel(&self, ticket: &Ticket) -> Result<(), Outcome> {
        ticket.cancel()?;
        let single = Word::Single(ticket.as_ptr()).to_raw();
        let mut word = self.semaphore.load();
        if word == single {
            match self.semaphore.compare_exchange(word, Word::EMPTY) {
                Ok(()) => {
                    // SAFETY: the word's reference, which this step took out of the word.
                    drop(unsafe { WaiterRef::from_raw(ticket.as_ptr()) });
                    return Ok(());
                }
                Err(newer) => word = newer,
            }
        }
        // If the word is free, a thread has taken the node out of it to grant a permit. It finds
        // the wait cancelled, and releases the permit again.
        if let Word::Queue(queue) = Word::from_raw(word) {
            self.semaphore.queue_at(queue).serve_after_cancel(ticket);
        }
        Ok(())
    }
}

impl<'s> Future for Acquire<'s> {
    type Output = Result<Permit<'s>, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match &mut this.stage {
            Stage::New => this.start(context.waker()),
            Stage::Waiting(ticket) => {
                let outcome = ticket.poll(context.waker());
                outcome.map(|outcome| this.finish(outcome))
            }
            Stage::Done => panic!("polled after completion"),
        }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Stage::Waiting(ticket) = &self.stage {
            if let Err(outcome) = self.cancel(ticket) {
                // Permits that were granted go back.
                drop(self.result(outcome));
            }
        }
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("permits", &self.permits).finish_non_exhaustive()
    }
}
