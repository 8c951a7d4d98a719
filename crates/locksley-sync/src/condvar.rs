//! The condition variable.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::mutex::MutexGuard;
use super::wait_queue::{Outcome, Ticket, WaitQueue};
use locksley_sys::primitive::{AtomicUsize, Ordering, const_unless_loom, fence};

/// Lets tasks wait for a change of the value of a [`Mutex`](super::Mutex).
///
/// Use it as std's. A task enters the queue before it unlocks the mutex, so it gets each
/// notification that comes afterwards. After the wait it holds the lock again. Another task may
/// have changed the value in between, so it checks its condition again
/// ([`wait_while`](Self::wait_while) does).
///
/// - **Fair.** [`notify_one`](Self::notify_one) notifies the task that has waited longest.
/// - **Lock-free.** A thread that the kernel suspends in a notification delays no other.
/// - **Cancellable.** A dropped wait that was notified by `notify_one` notifies the next task, even
///   if it had only the lock to wait for.
/// - **No spurious wake-ups.** A wait ends by a notification, and `notify_one` ends at most one
///   wait.
///
/// A condition variable may serve several mutexes.
///
/// # Examples
/// ```
/// use locksley_sync::{Condvar, Mutex};
///
/// let (number, changed) = (Mutex::new(0), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         pollster::block_on(async {
///             *number.lock().await = 7;
///             changed.notify_one();
///         })
///     });
///     pollster::block_on(async {
///         let guard = number.lock().await;
///         let guard = changed.wait_while(guard, |number| *number == 0).await;
///         assert_eq!(*guard, 7);
///     });
/// });
/// ```
#[derive(Debug)]
pub struct Condvar {
    /// Number of calls of `notify_all`. A wait notes the generation in which it begins.
    generation: AtomicUsize,
    queue: WaitQueue,
}

impl Condvar {
    const_unless_loom! {
        /// Makes a condition variable.
        ///
        /// # Examples
        /// ```
        /// static CHANGED: locksley_sync::Condvar = locksley_sync::Condvar::new();
        /// CHANGED.notify_all(); // no task waits: this has no effect, now or later
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self { generation: AtomicUsize::new(0), queue: WaitQueue::new() }
        }
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    ///
    /// # Examples
    /// See [`Condvar`], and [`notify_all`](Self::notify_all).
    pub async fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        let mutex = guard.mutex;
        let mut wait = Wait { condvar: self, generation: self.generation(), ticket: None };
        let mut guard = Some(guard);
        poll_fn(|context| {
            let polled = wait.poll(context);
            // Now the wait is in the queue.
            drop(guard.take());
            polled
        })
        .await;
        let guard = mutex.lock().await;
        wait.ticket = None;
        guard
    }

    /// Waits repeatedly while `condition` holds for the value.
    ///
    /// # Examples
    /// See [`Condvar`].
    pub async fn wait_while<'m, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        while condition(&mut guard) {
            guard = self.wait(guard).await;
        }
        guard
    }

    /// Notifies the task that has waited longest, if a task waits.
    ///
    /// # Examples
    /// See [`Condvar`].
    pub fn notify_one(&self) {
        let mut hazards = self.queue.hazards();
        while let Some(oldest) = self.queue.oldest(&mut hazards) {
            let is_past = oldest.key() != self.generation();
            let outcome = if is_past { Outcome::Dismissed } else { Outcome::Granted };
            if oldest.complete(outcome) && !is_past {
                return;
            }
        }
    }

    /// Notifies all tasks that wait.
    ///
    /// # Examples
    /// ```
    /// use locksley_sync::{Condvar, Mutex};
    ///
    /// let (open, opened) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     for _ in 0..3 {
    ///         scope.spawn(|| {
    ///             pollster::block_on(async {
    ///                 let mut guard = open.lock().await;
    ///                 while !*guard {
    ///                     guard = opened.wait(guard).await;
    ///                 }
    ///             })
    ///         });
    ///     }
    ///     *pollster::block_on(open.lock()) = true;
    ///     opened.notify_all();
    /// });
    /// ```
    pub fn notify_all(&self) {
        // Release pairs with the acquire in `generation`. (The mutex orders what is waited for, so
        // no model fails without the two.)
        self.generation.fetch_add(1, Ordering::Release);
        // Pairs with the fence in `enqueue`: a wait that begins sees the new generation, or this
        // thread sees the wait. (Each look at the queue begins with a fence, so no model fails
        // without this one.)
        fence(Ordering::SeqCst);
        self.queue.dismiss_past(|| self.generation());
    }

    fn generation(&self) -> usize {
        // Acquire pairs with the release in `notify_all`.
        self.generation.load(Ordering::Acquire)
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

/// A wait that passes its notification on if it is dropped before it has the lock.
struct Wait<'c> {
    condvar: &'c Condvar,
    generation: usize,
    /// `None` before the first poll, and at the end.
    ticket: Option<Ticket>,
}

impl Wait<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        let Self { condvar, generation, ticket } = self;
        let current = || condvar.generation();
        condvar.queue.poll_generation(ticket, *generation, current, context.waker())
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            let current = || self.condvar.generation();
            if self.condvar.queue.cancel_generation(ticket, current) == Err(Outcome::Granted) {
                self.condvar.notify_one();
            }
        }
    }
}
