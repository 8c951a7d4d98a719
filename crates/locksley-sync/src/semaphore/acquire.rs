//! Waiting for permits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::{Closed, Permit, Semaphore, TryAcquireError};
use crate::crowd::Crowd;
use crate::line::{Place, Verdict, Waiter};
use crate::word::Word;

/// Waits for permits: see [`Semaphore::acquire`]. It stands in line from when it is first polled
/// until it is dropped.
#[must_use = "futures do nothing unless they are polled"]
pub struct Acquire<'s> {
    semaphore: &'s Semaphore,
    permits: usize,
    stage: Stage<'s>,
}

enum Stage<'s> {
    New,
    /// One of the two shares in this waiter is ours. Whether it still is alone, the semaphore's
    /// word says.
    Alone(NonNull<Waiter>),
    InLine {
        crowd: &'s Crowd,
        place: Place<'s>,
    },
    /// It has what it waited for, or was sent away, and takes that now. Dropped, it gives it back.
    Decided(Result<Permit<'s>, Closed>),
    Done,
}

// SAFETY: a waiter may be shared and sent, and so may all else.
unsafe impl Send for Acquire<'_> {}
// SAFETY: as above.
unsafe impl Sync for Acquire<'_> {}

impl Semaphore {
    /// Takes so many permits, or stands in line for them.
    fn take_or_join(&self, permits: usize, waker: &Waker) -> Stage<'_> {
        let mut now = self.load();
        let mut made = Unused(None);
        loop {
            let then = match Word::of(now) {
                Word::Free { is_closed: true, .. } => return Stage::Decided(Err(Closed)),
                Word::Free { permits: there, .. } if permits <= there => {
                    Word::Free { permits: there - permits, is_closed: false }
                }
                Word::Free { permits: there, .. } if permits - there <= Word::MOST_MISSING => {
                    let waiter = made.get_or_make(permits, waker);
                    Word::Alone { waiter, missing: permits - there, has_some: there > 0 }
                }
                _ => {
                    drop(made);
                    let crowd = self.crowd();
                    return match crowd.try_take(permits) {
                        Ok(()) => self.has_taken(permits),
                        Err(TryAcquireError::Closed) => Stage::Decided(Err(Closed)),
                        Err(TryAcquireError::NoPermits) => {
                            Stage::InLine { crowd, place: crowd.join(permits, waker) }
                        }
                    };
                }
            };
            match (self.change(now, then), then) {
                (Ok(()), Word::Alone { waiter, .. }) => {
                    made.0 = None; // one share is the word's, the other the caller's
                    return Stage::Alone(waiter);
                }
                (Ok(()), _) => {
                    let taken = self.has_taken(permits);
                    drop(made);
                    return taken;
                }
                (Err(newer), _) => now = newer,
            }
        }
    }

    /// What was taken is in good hands at once, since the destructor of a waker that is dropped
    /// then may panic.
    fn has_taken(&self, permits: usize) -> Stage<'_> {
        Stage::Decided(Ok(Permit::new(self, permits)))
    }
}

/// A waiter that is not in a word yet.
struct Unused(Option<NonNull<Waiter>>);

impl Unused {
    fn get_or_make(&mut self, permits: usize, waker: &Waker) -> NonNull<Waiter> {
        *self.0.get_or_insert_with(|| Waiter::alone(permits, waker.clone()))
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if let Some(waiter) = self.0 {
            // SAFETY: just made, and in no word: both shares are ours.
            unsafe { Waiter::withdraw_alone(waiter) };
        }
    }
}

impl<'s> Acquire<'s> {
    pub(super) fn new(semaphore: &'s Semaphore, permits: usize) -> Self {
        Self { semaphore, permits, stage: Stage::New }
    }

    /// Goes to where it stands now.
    fn catch_up(&mut self) {
        let Stage::Alone(waiter) = self.stage else { return };
        match self.semaphore.word() {
            Word::Alone { waiter: alone, .. } if alone == waiter => {}
            Word::Crowd(crowd) if self.semaphore.there(crowd).was_first(waiter) => {
                let crowd = self.semaphore.there(crowd);
                // SAFETY: our share in it.
                let place = unsafe { crowd.place_of_first(waiter) };
                self.stage = Stage::InLine { crowd, place };
            }
            // No longer there: only who served it has taken it out, since nobody sends one away who
            // is alone.
            _ => {
                self.stage = self.semaphore.has_taken(self.permits);
                // SAFETY: our share in it, which the stage has no more.
                unsafe { Waiter::done_alone(waiter) };
            }
        }
    }

    /// What was decided where it stands in line.
    fn decided(&self, verdict: Verdict) -> Result<Permit<'s>, Closed> {
        match verdict {
            Verdict::Granted => Ok(Permit::new(self.semaphore, self.permits)),
            Verdict::Dismissed => Err(Closed),
        }
    }

    /// Does not wait any longer.
    fn leave(&mut self) {
        self.catch_up();
        while let Stage::Alone(waiter) = self.stage {
            let now = self.semaphore.load();
            if let Word::Alone { waiter: alone, missing, .. } = Word::of(now)
                && alone == waiter
            {
                // What it had been given lies open again.
                let then = Word::Free { permits: self.permits - missing, is_closed: false };
                if self.semaphore.change(now, then).is_ok() {
                    self.stage = Stage::Done;
                    // SAFETY: our share, and the word's, which is ours since we have taken it out.
                    unsafe { Waiter::withdraw_alone(waiter) };
                    return;
                }
            }
            self.catch_up();
        }
        if let Stage::InLine { crowd, mut place } = std::mem::replace(&mut self.stage, Stage::Done)
        {
            match place.leave() {
                Err(verdict) => drop(self.decided(verdict)),
                // Who comes next may need fewer.
                Ok(()) => {
                    crowd.serve();
                }
            }
        }
    }
}

impl<'s> Future for Acquire<'s> {
    type Output = Result<Permit<'s>, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Stage::New = this.stage {
            this.stage = this.semaphore.take_or_join(this.permits, context.waker());
            match &this.stage {
                Stage::Alone(_) => return Poll::Pending,
                // It stands in line before others are served, whose wakers may panic: what it gets
                // meanwhile it passes on.
                Stage::InLine { crowd, .. } => {
                    crowd.serve();
                }
                _ => {}
            }
            if let Stage::InLine { place, .. } = &this.stage
                && place.verdict().is_pending()
            {
                return Poll::Pending;
            }
        }
        this.catch_up();
        let verdict = match &mut this.stage {
            // SAFETY: our share in it.
            Stage::Alone(waiter) => unsafe { waiter.as_ref() }.poll(context.waker()),
            Stage::InLine { place, .. } => place.poll(context.waker()),
            Stage::Decided(_) => {
                let decided = std::mem::replace(&mut this.stage, Stage::Done);
                let Stage::Decided(decided) = decided else { unreachable!("just seen") };
                return Poll::Ready(decided);
            }
            Stage::New | Stage::Done => unreachable!("polled after it was ready"),
        };
        let Poll::Ready(verdict) = verdict else { return Poll::Pending };
        // A permit before the place goes, whose waker's destructor may panic.
        let decided = this.decided(verdict);
        if let Stage::Alone(waiter) = std::mem::replace(&mut this.stage, Stage::Done) {
            // SAFETY: our share in it.
            unsafe { Waiter::done_alone(waiter) };
        }
        Poll::Ready(decided)
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::New => "new",
            Stage::Alone(_) | Stage::InLine { .. } => "in line",
            Stage::Decided(_) => "decided",
            Stage::Done => "done",
        };
        let mut shown = f.debug_struct("Acquire");
        shown.field("permits", &self.permits).field("stage", &stage).finish_non_exhaustive()
    }
}
