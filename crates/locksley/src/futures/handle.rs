//! The handle of a task: to await, join or cancel it.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use super::error::JoinError;
use super::header::{self, Header};
use super::state::Finished;
use crate::job::latch::Latch;
use crate::unwind;
use crate::worker::Worker;

/// The handle of a task, made by [`task::spawn`](crate::task::spawn).
///
/// It is a future. Its output is the value of the task, or a [`JoinError`]. A poll after it was
/// ready panics.
///
/// Dropping the handle detaches the task, which continues. Its value is then dropped. If the task
/// panics, or has panicked, the payload goes to the pool's
/// [`panic_handler`](crate::PoolBuilder::panic_handler); without a handler, it is dropped. Neither
/// ends the process. A panic of the value's destructor is discarded.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// let product = task::spawn(async {
///     let (a, b) = (task::spawn(async { 6 }), task::spawn(async { 7 }));
///     a.await.unwrap() * b.await.unwrap()
/// });
/// assert_eq!(product.join().unwrap(), 42);
/// ```
pub struct JoinHandle<T> {
    /// `None` when the outcome has been taken.
    task: Option<NonNull<Header>>,
    output: PhantomData<T>,
}

// SAFETY: a reference to a task, which any thread may use. The outcome moves to the thread of the
// handle, so `T` is `Send`.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared reference reaches the state, which is atomic, and nothing of `T`.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
// As for threads: a panic of the task is an outcome, and leaves no broken state behind.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The caller has the handle's reference to a task that returns a `T`.
    pub(crate) unsafe fn new(task: NonNull<Header>) -> Self {
        Self { task: Some(task), output: PhantomData }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn word(&self) -> NonNull<Header> {
        self.task.expect(TAKEN)
    }

    fn header(&self) -> Option<&Header> {
        // SAFETY: the handle has a reference.
        let header = self.task.map(|task| unsafe { &*task.as_ptr() })?;
        header.life.assert_alive();
        Some(header)
    }

    /// True if the task has finished: it returned, panicked or was cancelled, and its future has
    /// been dropped.
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

    /// Cancels the task: it is not polled any more, and a worker drops its future.
    ///
    /// Then the output of the handle is an error that [is a cancellation](JoinError::is_cancelled).
    /// A task that returns a value during this call is not cancelled.
    ///
    /// # Examples
    /// ```
    /// use locksley::task;
    ///
    /// let endless = task::spawn(std::future::pending::<()>());
    /// endless.abort();
    /// assert!(endless.join().unwrap_err().is_cancelled());
    /// ```
    pub fn abort(&self) {
        if let Some(task) = self.task {
            // SAFETY: the handle has a reference.
            unsafe { header::cancel(task) };
        }
    }

    /// Waits for the task, from code that is not `async`.
    ///
    /// If the task is the newest in the deque of the calling worker, the worker runs it. Otherwise,
    /// or if the task then waits, the thread blocks, and a replacement works under the worker's
    /// index. The thread still runs tasks that no other worker may run. See the guide,
    /// `docs/guide/waits.md`, for the limit of replacements. A thread that is no worker blocks. A
    /// task that joins itself, or a task that waits for the calling one, waits for ever.
    ///
    /// # Errors
    /// [`JoinError`], if the task panicked or was cancelled.
    ///
    /// # Panics
    /// If a poll of the handle was ready before. In a child process made by `fork(2)`, if the task
    /// belongs to the parent and had not finished there.
    ///
    /// # Examples
    /// ```
    /// let task = locksley::task::spawn(async { "done" });
    /// assert_eq!(task.join().unwrap(), "done");
    /// ```
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        let task = self.task.expect(TAKEN);
        if !self.is_finished() {
            Worker::with_current(|current| self.wait(task, current));
        }
        self.take()
    }

    fn wait(&self, task: NonNull<Header>, current: Option<&Worker>) {
        self.header().expect(TAKEN).assert_same_process();
        let latch = Latch::new(current);
        latch.increment();
        // SAFETY: a registered waker is woken once, by value, by the run that finishes the task.
        // The wait below returns only after that, and then the waker is gone. A waker that is not
        // registered is dropped before the latch. Neither is cloned.
        let waker = unsafe { waker_of(&latch) };
        if self.register_waker(waker).is_ok() {
            latch.end_and_wait(current, |worker, event| worker.wait_for_task(event, task.cast()));
        }
    }

    /// Registers a waker, which the run that finishes the task wakes, instead of the one that was
    /// registered before.
    fn register_waker(&self, waker: Waker) -> Result<(), Finished> {
        let header = self.header().expect(TAKEN);
        drop(self.take_waker()?);
        // SAFETY: this is the handle, and no awaiter is set.
        let place = unsafe { header.awaiter() };
        // SAFETY: the place is the handle's, and holds no waker that would have to be dropped.
        unsafe { place.write(waker) };
        header.state.set_awaiter().inspect_err(|_| {
            // SAFETY: just written, and not handed over.
            drop(unsafe { place.read() });
        })
    }

    /// Takes back the waker that is registered.
    fn take_waker(&self) -> Result<Option<Waker>, Finished> {
        let header = self.header().expect(TAKEN);
        let has_waker = header.state.unset_awaiter()?;
        // SAFETY: this is the handle, and no awaiter is set.
        let place = unsafe { header.awaiter() };
        // SAFETY: one was set, so it is there; it is read once.
        Ok(has_waker.then(|| unsafe { place.read() }))
    }

    /// The outcome of a task that has finished.
    fn take_outcome(&mut self) -> Result<T, JoinError> {
        let task = self.task.take().expect(TAKEN);
        // SAFETY: the handle has a reference.
        let table = unsafe { task.as_ref() }.table;
        // SAFETY: as above.
        let place: NonNull<Result<T, JoinError>> = unsafe { (table.outcome)(task) }.cast();
        // SAFETY: the task has finished, and its outcome is the handle's; it is taken once.
        let outcome = unsafe { place.read() };
        // SAFETY: the handle's reference, which is not used any more.
        unsafe { header::drop_reference(task) };
        outcome
    }

    /// What a task that has finished returned.
    pub(crate) fn take(&mut self) -> Result<T, JoinError> {
        // For an observer: what the caller does next comes after the end of the task.
        self.header().expect(TAKEN).follow_causes();
        self.take_outcome().map_err(JoinError::seen)
    }
}

const TAKEN: &str = "the outcome of a task can be taken once";

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let header = self.header().expect(TAKEN);
        if header.state.is_finished() {
            return Poll::Ready(self.take());
        }
        header.assert_same_process();
        match self.register_waker(context.waker().clone()) {
            Ok(()) => Poll::Pending,
            Err(Finished) => Poll::Ready(self.take()),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let Some(header) = self.header() else { return };
        let waker = self.take_waker();
        match waker.and_then(|waker| header.state.drop_handle().map(|()| waker)) {
            Ok(waker) => {
                self.task = None;
                drop(waker);
            }
            Err(Finished) => unwind::drop_quietly(self.take_outcome()),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

/// A waker that sets a latch.
///
/// # Safety
/// The latch lives as long as the waker, which is woken at most once, by value, and not cloned.
unsafe fn waker_of(latch: &Latch<'_>) -> Waker {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |_| unreachable!("a join's waker is not cloned"),
        set,
        |_| unreachable!("a join's waker is woken by value"),
        |_| {},
    );
    unsafe fn set(latch: *const ()) {
        let latch: *mut Latch<'_> = latch.cast_mut().cast();
        let latch = NonNull::new(latch).expect("made from a reference");
        // SAFETY: alive until it is set, as the maker of the waker promises.
        unsafe { Latch::end(latch, None) }
    }
    let data: *const Latch<'_> = latch;
    // SAFETY: as the caller promises; any thread may set a latch.
    unsafe { Waker::from_raw(RawWaker::new(data.cast(), &TABLE)) }
}
