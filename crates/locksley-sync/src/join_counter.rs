//! Waiting for so many signals.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::line::{Place, Verdict, Waiters};
use locksley_sys::countdown::Countdown;
use locksley_sys::primitive::{Ordering, const_unless_loom, fence};

/// Waits until so many signals have come. Once they have, it is complete for good.
///
/// Hood's join counter (Blumofe and Papadopoulos 1998, section 2): a thread waits for n signals,
/// and each of the n that it waits for sends it one when it is done. Any number of tasks may wait
/// here.
///
/// - **Non-blocking.** A signal is one atomic step, and the last one lets all go who wait.
/// - **Cancellation.** A wait that is dropped takes no signal with it.
///
/// What was done before the signals is seen by who has waited for them.
///
/// # Examples
/// ```
/// use locksley_sync::JoinCounter;
///
/// let three = JoinCounter::new(3);
/// std::thread::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| three.signal());
///     }
///     pollster::block_on(three.wait());
/// });
/// assert!(three.is_complete());
/// ```
#[derive(Debug)]
pub struct JoinCounter {
    missing: Countdown,
    line: Waiters,
}

impl JoinCounter {
    const_unless_loom! {
        /// Waits for so many signals. For 0 it is complete.
        ///
        /// # Examples
        /// See [`JoinCounter`].
        #[must_use]
        pub fn new(signals: usize) -> Self {
            Self { missing: Countdown::new(signals), line: Waiters::new() }
        }
    }

    /// Has it wait for so many more.
    ///
    /// # Panics
    /// If it is complete: who is to be waited for says so before the last of those who are waited
    /// for has signalled. And if there would be more than `usize::MAX`.
    ///
    /// # Examples
    /// ```
    /// let tasks = locksley_sync::JoinCounter::new(1); // for who begins them
    /// for _ in 0..3 {
    ///     tasks.expect_more(1);
    /// }
    /// tasks.signal(); // all have begun
    /// assert_eq!(tasks.missing(), 3);
    /// ```
    pub fn expect_more(&self, signals: usize) {
        assert!(self.missing.try_add(signals), "it is complete, or its count would overflow");
    }

    /// One signal.
    ///
    /// # Panics
    /// If it is complete: then nobody waited for this signal.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub fn signal(&self) {
        let is_last = self.missing.try_end();
        if is_last.expect("more signals than it waits for") {
            // Pairs with the fence in `join`: either who joins sees that it is complete, or we see
            // it.
            fence(Ordering::SeqCst);
            self.dismiss();
        }
    }

    /// How many signals have not come.
    ///
    /// # Examples
    /// See [`expect_more`](Self::expect_more).
    pub fn missing(&self) -> usize {
        self.missing.left()
    }

    /// Whether all signals have come.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub fn is_complete(&self) -> bool {
        self.missing.left() == 0
    }

    /// Waits until all signals have come.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub async fn wait(&self) {
        let mut wait = Wait { counter: self, place: None };
        poll_fn(|context| wait.poll(context)).await;
    }

    /// Lets all go, if it is complete.
    fn dismiss(&self) {
        if self.line.is_empty() {
            return;
        }
        self.line.serve(|_| self.is_complete().then_some(Verdict::Dismissed));
    }
}

/// One wait.
struct Wait<'c> {
    counter: &'c JoinCounter,
    place: Option<Place<'c>>,
}

impl Wait<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.counter.is_complete() {
            // Whoever came last may be held up.
            self.counter.dismiss();
            return Poll::Ready(());
        }
        match &mut self.place {
            Some(place) => place.poll(context.waker()).map(drop),
            None => {
                self.place = Some(self.counter.line.join(0, context.waker()));
                if self.counter.is_complete() { Poll::Ready(()) } else { Poll::Pending }
            }
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(place) = &mut self.place
            && place.leave().is_ok()
        {
            self.counter.dismiss();
        }
    }
}
