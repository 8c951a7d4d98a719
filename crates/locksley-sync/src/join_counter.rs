//! The join counter.

use super::Semaphore;
use locksley_sys::countdown::Countdown;
use locksley_sys::primitive::const_unless_loom;

/// Lets tasks wait for a fixed number of signals, once.
///
/// Use it to join tasks of known number, each of which signals when it is done. It follows the join
/// counter of Hood (Blumofe and Papadopoulos 1998, section 2), and is known elsewhere as a latch.
/// Any number of tasks may wait. What was done before the signals is visible after the wait.
///
/// - **Lock-free.** A signal is one atomic step. The last one also wakes the tasks that wait.
/// - **Cancellable.** A dropped wait has no effect on others.
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
    pub(super) missing: Countdown,
    /// No permits. It is closed when the counter is complete.
    gate: Semaphore,
}

impl JoinCounter {
    const_unless_loom! {
        /// Makes a counter that waits for `signals` signals. If that is 0, it is complete.
        ///
        /// # Examples
        /// See [`JoinCounter`].
        #[must_use]
        pub fn new(signals: usize) -> Self {
            Self { missing: Countdown::new(signals), gate: Semaphore::new(0) }
        }
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the counter is complete.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub fn signal(&self) {
        let is_last = self.missing.try_end();
        if is_last.expect("more signals than it waits for") {
            self.gate.close();
        }
    }

    /// True if all signals were sent.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub fn is_complete(&self) -> bool {
        self.missing.left() == 0
    }

    /// Waits until all signals were sent.
    ///
    /// # Examples
    /// See [`JoinCounter`].
    pub async fn wait(&self) {
        if self.is_complete() {
            // The thread that sent the last signal may be suspended before it closes the gate.
            self.gate.close();
        }
        let closed = self.gate.acquire().await;
        debug_assert!(closed.is_err(), "the gate has no permits");
    }
}
