//! A condition variable for tasks.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::line::{Place, Verdict, Waiters};
use super::mutex::MutexGuard;
use locksley_sys::primitive::{AtomicUsize, Ordering, const_unless_loom, fence};

/// Where tasks wait for a change of what a [`Mutex`](super::Mutex) guards.
///
/// A task that waits unlocks the mutex when it already stands in line: a notification that comes
/// after is for it. It has the lock again when it goes on, and then must look for itself whether
/// what it waits for is so ([`wait_while`](Self::wait_while) does): others may have come between.
///
/// - **Fair.** [`notify_one`](Self::notify_one) reaches the one who has waited longest.
/// - **Non-blocking.** A thread that is suspended in the middle of a notification keeps back no
///   other.
/// - **Cancellation.** A wait that is dropped before it was ready takes no notification with it: if
///   it had been notified by `notify_one`, the next waiter is, and also if it only waited for the
///   lock any more.
/// - **No spurious wake-ups:** a wait ends because of a notification, and each `notify_one` ends
///   one at the most.
///
/// One condition variable may serve several mutexes, though seldom for good.
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
    /// How often all were notified. Each waiter notes the round in which it came; it ends with the
    /// next.
    round: AtomicUsize,
    line: Waiters,
}

impl Condvar {
    const_unless_loom! {
        /// A condition variable for which nobody waits.
        ///
        /// # Examples
        /// ```
        /// static CHANGED: locksley_sync::Condvar = locksley_sync::Condvar::new();
        /// CHANGED.notify_all(); // nobody waits: nothing happens, and nothing is kept for later
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self { round: AtomicUsize::new(0), line: Waiters::new() }
        }
    }

    /// Unlocks, waits for a notification, and locks again.
    ///
    /// # Examples
    /// See [`Condvar`], and [`notify_all`](Self::notify_all).
    pub async fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        let mutex = guard.mutex();
        let mut wait = Wait { condvar: self, stage: Stage::New };
        let mut guard = Some(guard);
        poll_fn(|context| wait.poll(context, || drop(guard.take()))).await;
        let guard = mutex.lock().await;
        wait.stage = Stage::Over;
        guard
    }

    /// Waits, again and again, while `condition` holds for the value.
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

    /// Notifies the one who has waited longest, if anybody waits.
    ///
    /// # Examples
    /// See [`Condvar`].
    pub fn notify_one(&self) {
        let mut hazards = self.line.hold();
        while let Some(oldest) = self.line.oldest(&mut hazards) {
            let is_of_old_round = oldest.amount() != self.round();
            let verdict = if is_of_old_round { Verdict::Dismissed } else { Verdict::Granted };
            if oldest.decide(verdict) && !is_of_old_round {
                return;
            }
        }
    }

    /// Notifies all who wait.
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
        // Release pairs with the acquire in `round`. (No model fails without these two: what is
        // waited for is under the mutex, which orders it.)
        self.round.fetch_add(1, Ordering::Release);
        // Pairs with the fence in `join`: either who joins sees that its round is over, or we see
        // it. (No model fails without this one: each look at the line begins with a fence.)
        fence(Ordering::SeqCst);
        self.dismiss();
    }

    fn round(&self) -> usize {
        // Acquire pairs with the release in `notify_all`.
        self.round.load(Ordering::Acquire)
    }

    /// Lets all go whose round is over.
    fn dismiss(&self) {
        self.line.dismiss_older(|| self.round());
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

/// One wait. Dropped before it is over, it passes on what it was given.
struct Wait<'c> {
    condvar: &'c Condvar,
    stage: Stage<'c>,
}

enum Stage<'c> {
    New,
    InLine(Place<'c>),
    /// Notified, without the lock yet.
    Notified(Verdict),
    Over,
}

impl<'c> Wait<'c> {
    /// Ready when it is notified. `unlock` is called when it stands in line.
    fn poll(&mut self, context: &mut Context<'_>, unlock: impl FnOnce()) -> Poll<()> {
        let verdict = match &mut self.stage {
            Stage::New => self.begin(context, unlock),
            Stage::InLine(place) => place.poll(context.waker()),
            Stage::Notified(_) | Stage::Over => unreachable!("polled after it was ready"),
        };
        verdict.map(|verdict| self.stage = Stage::Notified(verdict))
    }

    fn begin(&mut self, context: &mut Context<'_>, unlock: impl FnOnce()) -> Poll<Verdict> {
        let condvar = self.condvar;
        let round = condvar.round();
        let mut place = condvar.line.join(round, context.waker());
        let verdict = if condvar.round() == round {
            place.verdict()
        } else {
            // All were notified, and we began before that. What came besides is the next one's.
            if place.leave() == Err(Verdict::Granted) {
                condvar.notify_one();
            }
            Poll::Ready(Verdict::Dismissed)
        };
        // Before others are let go, whose wakers may panic.
        self.stage = Stage::InLine(place);
        // Whoever notified all may be held up.
        condvar.dismiss();
        unlock();
        verdict
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let notified = match &mut self.stage {
            Stage::New | Stage::Over => return,
            Stage::InLine(place) => place.leave().err(),
            Stage::Notified(verdict) => Some(*verdict),
        };
        match notified {
            Some(Verdict::Granted) => self.condvar.notify_one(),
            Some(Verdict::Dismissed) => {}
            // Nobody waits for who stands first; but they are passed by.
            None => self.condvar.dismiss(),
        }
    }
}
