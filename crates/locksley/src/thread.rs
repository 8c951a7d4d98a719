//! Hood's threads: tasks that wait for signals.
//!
//! A thread begins when so many signals have been sent to it, and may wait for more of them in the middle of its code. Signals
//! are sent directly to a thread, by whoever has a [`Signaller`] of it: other threads, tasks, any other code. A thread that
//! waits takes up no worker.
//!
//! This is how Hood's programs are made (Blumofe and Papadopoulos 1998, section 2). There, a thread blocks by `wait` with a number and is
//! unblocked by the last `signal`; in its first version a thread could not create threads and wait for them in the middle of
//! its own code, but had to name another to go on in its place.
//!
//! A signaller may be anywhere, so nobody knows that a thread waits for a signal which will never come. Threads of a
//! [`computation`](crate::computation::Computation::create) have signallers that do not leave it; there it is known.
//!
//! # Examples
//! A thread that creates two, and waits for both in the middle:
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use locksley::thread;
//!
//! fn fib(n: u64, sum: Arc<AtomicU64>, parent: thread::Signaller) {
//!     thread::create(0, async move |me| {
//!         if n < 2 {
//!             sum.fetch_add(n, Ordering::Relaxed);
//!         } else {
//!             fib(n - 1, Arc::clone(&sum), me.signaller());
//!             fib(n - 2, sum, me.signaller());
//!             me.wait(2).await;
//!         }
//!         parent.signal();
//!     });
//! }
//!
//! let sum = Arc::new(AtomicU64::new(0));
//! let result = Arc::clone(&sum);
//! // Begins after one signal: when all is done.
//! let last = thread::create(1, async move |_| result.load(Ordering::Relaxed));
//! fib(15, sum, last.signaller());
//! assert_eq!(last.join().unwrap(), 610);
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::pool::Shared;
use crate::strand::{SignalPaths, poll_told};
use crate::sync::{Acquire, Semaphore};
use crate::task::{self, Task, TaskError};

/// Creates a thread: `body` begins when `signals` signals have been sent to it, and is given its own [`Current`].
///
/// It runs as a task of the calling worker's pool, or of the global one, as [`task::spawn`] has it; its handle may be
/// dropped, and it goes on.
///
/// # Examples
/// ```
/// use locksley::thread;
///
/// let sum = thread::create(2, async |_| 6 * 7);
/// let other = sum.signaller();
/// thread::create(0, async move |_| other.signal());
/// sum.signal();
/// assert_eq!(sum.join().unwrap(), 42);
/// ```
///
/// A thread changes workers where it waits, so what it keeps there must be fit for that. This is,
/// ```
/// locksley::thread::create(0, async |me| {
///     let here = std::sync::Arc::new(1);
///     me.wait(1).await;
///     drop(here);
/// });
/// ```
/// and this, which differs in one word, is not (an error to which the compiler gives no number):
/// ```compile_fail
/// locksley::thread::create(0, async |me| {
///     let here = std::rc::Rc::new(1);
///     me.wait(1).await;
///     drop(here);
/// });
/// ```
/// and so must be what it returns:
/// ```compile_fail,E0277
/// locksley::thread::create(0, |_| std::future::ready(std::rc::Rc::new(1)));
/// ```
#[track_caller]
pub fn create<F, B>(signals: usize, body: F) -> Thread<B::Output>
where
    F: FnOnce(Current) -> B + Send + 'static,
    B: Future + Send + 'static,
    B::Output: Send + 'static,
{
    let received = Arc::new(Received::new(None));
    let current = Current { received: Arc::clone(&received) };
    let task = task::spawn(async move {
        current.wait(signals).await;
        body(current).await
    });
    Thread { task, signaller: Signaller { received } }
}

/// A thread that was created, and what it will return. A future; see [`create`].
///
/// Dropped, it lets the thread go on by itself.
#[derive(Debug)]
pub struct Thread<T> {
    task: Task<T>,
    signaller: Signaller,
}

impl<T> Thread<T> {
    /// Sends it a signal.
    ///
    /// # Examples
    /// See [`create`].
    pub fn signal(&self) {
        self.signaller.signal();
    }

    /// What others can send it signals with.
    ///
    /// # Examples
    /// See [`create`].
    #[must_use]
    pub fn signaller(&self) -> Signaller {
        self.signaller.clone()
    }

    /// Whether the thread is over: see [`Task::is_finished`].
    ///
    /// # Examples
    /// ```
    /// let waits = locksley::thread::create(1, async |_| {});
    /// assert!(!waits.is_over());
    /// ```
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until the thread is over, from code that is not `async`: see [`Task::join`].
    ///
    /// # Errors
    /// [`TaskError`], if it panicked or was cancelled.
    ///
    /// # Examples
    /// See [`create`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn join(self) -> Result<T, TaskError> {
        self.task.join()
    }

    /// Asks for the thread to be given up: see [`Task::cancel`].
    ///
    /// # Examples
    /// ```
    /// let waits = locksley::thread::create(1, async |_| {});
    /// waits.cancel();
    /// assert!(waits.join().unwrap_err().is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.task.cancel();
    }
}

impl<T> Future for Thread<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.task).poll(context)
    }
}

/// Sends signals to one thread, from anywhere. They count when they come early, and go nowhere when the thread is over.
#[derive(Clone, Debug)]
pub struct Signaller {
    received: Arc<Received>,
}

impl Signaller {
    /// Sends a signal. Never waits.
    ///
    /// What was done before it is seen by the thread when it has waited for it.
    ///
    /// # Examples
    /// See [`create`].
    pub fn signal(&self) {
        self.received.give();
    }
}

/// A thread as it sees itself: given to its body.
#[derive(Debug)]
pub struct Current {
    received: Arc<Received>,
}

impl Current {
    /// Waits for so many signals more. Those that came before, and were not waited for, count.
    ///
    /// # Examples
    /// See [the module](self).
    pub async fn wait(&self, signals: usize) {
        self.received.wait(signals).await;
    }

    /// What others can send it signals with.
    ///
    /// # Examples
    /// See [the module](self).
    #[must_use]
    pub fn signaller(&self) -> Signaller {
        Signaller { received: Arc::clone(&self.received) }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.received.is_waited_for_no_more();
    }
}

/// The signals that a thread has got, and has not waited for.
#[derive(Debug)]
pub(crate) struct Received {
    signals: Semaphore,
    /// Where they come from, if the thread is created by who is metered.
    paths: Option<Box<SignalPaths>>,
}

impl Received {
    /// Those of a thread that the caller is about to create in that pool; or without a word of where.
    pub(crate) fn new(home: Option<&Shared>) -> Self {
        let paths =
            task::region_of_what_is_spawned(home, |region| Box::new(SignalPaths::new(region)));
        Self { signals: Semaphore::new(0), paths }
    }

    pub(crate) fn give(&self) {
        // Before the signal is there.
        self.paths.iter().for_each(|paths| paths.send());
        self.signals.add_permits(1);
    }

    /// Whoever could wait for them is gone: where they come from, nobody asks any more.
    pub(crate) fn is_waited_for_no_more(&self) {
        self.paths.iter().for_each(|paths| paths.close());
    }

    /// How many paths of signals it keeps, if it is metered.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn kept(&self) -> Option<usize> {
        self.paths.as_ref().map(|paths| paths.kept())
    }

    pub(crate) fn wait(&self, signals: usize) -> Wait<'_> {
        Wait { acquire: self.signals.acquire_many(signals), signals, paths: self.paths.as_deref() }
    }
}

/// A wait for so many signals.
pub(crate) struct Wait<'r> {
    acquire: Acquire<'r>,
    signals: usize,
    paths: Option<&'r SignalPaths>,
}

impl Future for Wait<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { acquire, signals, paths } = &mut *self;
        let received = match paths {
            None => Pin::new(acquire).poll(context),
            Some(paths) => {
                let poll = |context: &mut Context<'_>| Pin::new(acquire).poll(context);
                poll_told(context, poll, |strand, _| paths.receive(*signals, strand))
            }
        };
        received.map(|received| received.expect("a thread's signals have no end").forget())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Pool;

    /// Where signals come from that nobody can wait for is not kept: the thread has returned, was cancelled, or has not begun.
    #[test]
    fn nothing_is_kept_for_who_is_over() {
        let pool = Pool::builder().workers(1).metered_virtually().build().unwrap();
        for (signals, is_cancelled) in [(0, false), (1, false), (0, true), (1, true), (9, true)] {
            // All by the one worker: so nothing else of the pool runs meanwhile but in `join`.
            pool.run(|_| {
                let thread = create(signals, async move |me| {
                    if is_cancelled {
                        me.wait(9).await;
                    }
                });
                let to = thread.signaller();
                (0..3).for_each(|_| to.signal());
                assert_eq!(to.received.kept(), Some(3));
                if is_cancelled {
                    thread.cancel();
                }
                assert_eq!(thread.join().is_err(), is_cancelled);
                assert_eq!(to.received.kept(), Some(0));
                to.signal();
                assert_eq!(to.received.kept(), Some(0));
            });
        }
    }
}
