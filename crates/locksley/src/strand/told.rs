//! Polls of what carries the paths of those who signal.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::meter::{self, Meeting, Path, Region, Told};
use crate::task;
use crate::worker::Worker;

/// A strand of a region whose report is to come, on the worker that runs it.
#[derive(Clone, Copy)]
pub(crate) struct Strand<'w> {
    worker: &'w Worker,
    region: &'w Arc<Region>,
}

impl<'w> Strand<'w> {
    fn of(worker: &'w Worker) -> Option<Self> {
        let region = worker.region().filter(|region| !region.is_over())?;
        Some(Self { worker, region })
    }

    /// That of the calling thread, if it runs one.
    pub(crate) fn with_current<R>(use_it: impl FnOnce(Option<Strand<'_>>) -> R) -> R {
        Worker::with_current(|current| use_it(current.and_then(Strand::of)))
    }

    pub(crate) fn region(self) -> &'w Arc<Region> {
        self.region
    }

    /// The path to who goes on elsewhere after what this strand does now.
    pub(crate) fn path_from_here(self) -> Path {
        self.worker.settles(self.region).along(self.region.burden())
    }

    /// It comes after the end of that path, too.
    pub(crate) fn goes_on_after(self, path: Path) {
        self.worker.goes_on_after(&path);
    }

    /// It comes after all that have arrived there.
    pub(crate) fn comes_after(self, meeting: &Meeting) {
        self.worker.comes_after(meeting);
    }

    /// It goes on after something of which no path is known.
    pub(crate) fn has_uncarried(self) {
        self.region.has_uncarried();
    }

    pub(crate) fn tells(self, told: Told) {
        told.tell(self.worker.running().told());
    }
}

/// The calling thread is about to let somebody know of what its strand has done, if it runs one: that is in the accounts from now on.
#[inline]
pub(crate) fn settle_here() {
    if meter::is_on() {
        Strand::with_current(|strand| {
            strand.into_iter().for_each(|it| _ = it.worker.settles(it.region));
        });
    }
}

/// Polls something that says by itself after what it comes: if it is ready, `passes` has the strand come after that, if there is one. So the
/// wake-up says nothing of its path, whoever it comes from: a waiter that another one lets go does not come after that one.
#[inline]
pub(crate) fn poll_told<T>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    passes: impl FnOnce(Option<Strand<'_>>, &T),
) -> Poll<T> {
    if meter::is_on() { poll_and_tell(context, poll, passes) } else { poll(context) }
}

#[cold]
fn poll_and_tell<T>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    passes: impl FnOnce(Option<Strand<'_>>, &T),
) -> Poll<T> {
    let waker = Strand::with_current(|strand| {
        strand.and_then(|_| task::followed_without_path(context.waker()))
    });
    let polled = match &waker {
        Some(waker) => poll(&mut Context::from_waker(waker)),
        None => poll(context),
    };
    // Looked for again: what was polled may have called anything.
    Strand::with_current(|strand| {
        let told = match &polled {
            Poll::Ready(found) => {
                passes(strand, found);
                Told::Found
            }
            Poll::Pending => Told::Waits,
        };
        strand.into_iter().for_each(|strand| strand.tells(told));
    });
    polled
}
