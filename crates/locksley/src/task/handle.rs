//! The handle of a task: to await it, to join it, to cancel it, or to let it go.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use super::error::TaskError;
use super::header::{self, Header};
use super::outcome::Outcome;
use super::state::Finished;
use crate::held::{self, Place, Wait};
use crate::latch::{AnyLatch, Latch};
use crate::strand::Followed;
use crate::worker::Worker;

/// A future that runs on the workers of a pool, and what it will return: made by [`task::spawn`](super::spawn).
///
/// It is a future itself, which gives what the task returned, or why it returned nothing; it panics if it is polled once more after that,
/// or where [`join`](Self::join) would. Dropping it lets the task go on by
/// itself, as [`detach`](Self::detach) does.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// let sum = task::spawn(async {
///     let (a, b) = (task::spawn(async { 6 }), task::spawn(async { 7 }));
///     a.await.unwrap() * b.await.unwrap()
/// });
/// assert_eq!(sum.join().unwrap(), 42);
/// ```
pub struct Task<T> {
    /// Until the outcome is taken.
    task: Option<NonNull<Header>>,
    output: PhantomData<T>,
}

// SAFETY: a reference to a task whose other parts are made for any thread; its value changes threads, and so is `Send`.
unsafe impl<T: Send> Send for Task<T> {}
// SAFETY: by shared reference one can look at the state and change it, which are atomic, and nothing of `T` is reached.
unsafe impl<T: Send> Sync for Task<T> {}

impl<T> Unpin for Task<T> {}
// As those of threads: a panic of the task is an outcome, and leaves nothing behind that is half done.
impl<T> UnwindSafe for Task<T> {}
impl<T> RefUnwindSafe for Task<T> {}

impl<T> Task<T> {
    /// # Safety
    /// The caller has the handle's reference to a task that returns a `T`.
    pub(super) unsafe fn new(task: NonNull<Header>) -> Self {
        Self { task: Some(task), output: PhantomData }
    }

    #[cfg(all(test, loom))]
    pub(super) fn word(&self) -> NonNull<Header> {
        self.task.expect(TAKEN)
    }

    fn header(&self) -> Option<&Header> {
        // SAFETY: the handle has a reference.
        let header = self.task.map(|task| unsafe { &*task.as_ptr() })?;
        header.must_be_alive();
        Some(header)
    }

    /// Whether the task is over: it has returned, panicked or been cancelled, and its future has been dropped.
    ///
    /// # Examples
    /// ```
    /// let task = locksley::task::spawn(async { 1 });
    /// while !task.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(task.join().unwrap(), 1);
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().is_none_or(|header| header.state.is_finished())
    }

    /// Asks for the task to be given up: it will not be polled any more, and a worker drops its future.
    ///
    /// When that is done, awaiting or joining the handle gives an error that
    /// [is a cancellation](TaskError::is_cancelled). A task that is just being polled, and returns, has returned.
    ///
    /// # Examples
    /// ```
    /// use locksley::task;
    ///
    /// let endless = task::spawn(std::future::pending::<()>());
    /// endless.cancel();
    /// assert!(endless.join().unwrap_err().is_cancelled());
    /// ```
    pub fn cancel(&self) {
        if let Some(task) = self.task {
            // SAFETY: the handle has a reference.
            unsafe { header::cancel(task) };
        }
    }

    /// Lets the task go on by itself.
    ///
    /// If it panics, the payload goes to the pool's [`panic_handler`](crate::PoolBuilder::panic_handler), even if it did so just
    /// before this call. What it returns is dropped.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// locksley::task::spawn(async move { sender.send("done").unwrap() }).detach();
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// ```
    pub fn detach(self) {}

    /// Waits until the task is over, from code that is not `async`.
    ///
    /// A worker, of whatever pool, runs other tasks meanwhile; any other thread blocks. Do not join a task from inside of
    /// itself, nor one that waits for the calling one: neither would ever end. Values that are set in
    /// [thread-locals](crate::PoolBuilder::waiting_stacks) for the time of a call must not be relied on across this.
    ///
    /// # Errors
    /// [`TaskError`], if the task panicked or was cancelled.
    ///
    /// # Panics
    /// If the outcome was taken before, by polling the handle; and in a child process that was made by `fork`, if the task is one of
    /// the parent's that has not ended there.
    ///
    /// # Examples
    /// ```
    /// let task = locksley::task::spawn(async { "done" });
    /// assert_eq!(task.join().unwrap(), "done");
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn join(mut self) -> Result<T, TaskError> {
        let place = Place::here();
        Worker::with_current(|current| {
            held::tell(current, Wait::Task, place);
            if let Some(worker) = current.filter(|worker| worker.is_metered())
                && self.header().is_some_and(|header| header.followed().is_none())
            {
                worker.has_uncarried();
            }
        });
        let header = self.header().expect(TAKEN);
        if !header.state.is_finished() {
            header.must_be_of_this_process();
            Worker::with_current(|current| {
                let is_home =
                    |worker: &Worker| header::is_home(header, Arc::as_ptr(worker.shared()).cast());
                let latch = AnyLatch::at_home(current, current.is_some_and(is_home));
                // SAFETY: the latch outlives the wait, and is set by whoever finishes the task, who wakes the waker once and
                // does nothing else with it. If it is not left there, it is only dropped.
                let waker = unsafe { waker_of(&latch) };
                if self.leave_waker(|_| waker).is_ok() {
                    match current {
                        Some(worker) => worker.while_aside(|| latch.wait(current)),
                        None => latch.wait(current),
                    }
                }
            });
        }
        self.take()
    }

    /// Leaves a waker for whoever finishes the task: one that `waker` makes, which is given what was left before.
    fn leave_waker(&self, waker: impl FnOnce(Option<Waker>) -> Waker) -> Result<(), Finished> {
        let header = self.header().expect(TAKEN);
        let had_one = header.state.unset_awaiter()?;
        // SAFETY: this is the handle, and no awaiter is set.
        let place = unsafe { header.awaiter() };
        // SAFETY: one was set, so it is there; it is read once.
        let before = had_one.then(|| unsafe { place.read() });
        let waker = waker(before);
        // SAFETY: ours, and nothing that would have to be dropped is there.
        unsafe { place.write(waker) };
        header.state.set_awaiter().inspect_err(|_| {
            // SAFETY: just written, and not handed over.
            drop(unsafe { place.read() });
        })
    }

    /// The outcome of a task that has finished.
    fn take_outcome(&mut self) -> Outcome<T> {
        let task = self.task.take().expect(TAKEN);
        // SAFETY: the handle has a reference.
        let place: NonNull<Outcome<T>> = unsafe { header::outcome(task) }.cast();
        // SAFETY: the task has finished, and its outcome is the handle's; it is taken once.
        let outcome = unsafe { place.read() };
        // SAFETY: the handle's reference, which goes with it.
        unsafe { header::drop_reference(task) };
        outcome
    }

    fn take(&mut self) -> Result<T, TaskError> {
        if let Some(path) = self.header().and_then(Header::followed) {
            Worker::with_current(|current| path.is_awaited_by(current));
        }
        self.take_outcome().into_result()
    }
}

const TAKEN: &str = "the outcome of a task can be had once";

impl<T> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let header = self.header().expect(TAKEN);
        if header.state.is_finished() {
            return Poll::Ready(self.take());
        }
        header.must_be_of_this_process();
        let left = self.leave_waker(|before| match before {
            Some(before) if before.will_wake(context.waker()) => before,
            _ => context.waker().clone(),
        });
        match left {
            Ok(()) => {
                let followed = self.header().and_then(Header::followed);
                followed.into_iter().for_each(Followed::is_about_to_be_awaited);
                Poll::Pending
            }
            Err(Finished) => Poll::Ready(self.take()),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        let Some(header) = self.header() else { return };
        let state = &header.state;
        let waker = state.unset_awaiter().map(|had_one| {
            // SAFETY: this is the handle, and no awaiter is set.
            let place = unsafe { header.awaiter() };
            // SAFETY: one was set, so it is there; it is read once.
            had_one.then(|| unsafe { place.read() })
        });
        match waker.and_then(|waker| state.drop_handle().map(|()| waker)) {
            Ok(waker) => {
                self.task = None;
                drop(waker);
            }
            Err(Finished) => drop(self.take_outcome()),
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("is_finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// A waker that sets a latch.
///
/// # Safety
/// The latch is there as long as the waker. It is woken at most once, by value, and not cloned.
unsafe fn waker_of(latch: &AnyLatch<'_>) -> Waker {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |_| unreachable!("a join's waker is not cloned"),
        set,
        |_| unreachable!("a join's waker is woken by value"),
        |_| {},
    );
    unsafe fn set(latch: *const ()) {
        let latch: *mut AnyLatch<'_> = latch.cast_mut().cast();
        let latch = NonNull::new(latch).expect("made from a reference");
        // SAFETY: alive until it is set, as whoever made the waker promises.
        unsafe { AnyLatch::set(latch) }
    }
    let data: *const AnyLatch<'_> = latch;
    // SAFETY: as the caller promises; a latch may be set by any thread.
    unsafe { Waker::from_raw(RawWaker::new(data.cast(), &TABLE)) }
}
