//! Hood's threads in a computation.

use std::future::Future;

use super::{Computation, Own};
use crate::thread::Received;

impl<'c> Computation<'c, '_> {
    /// Creates a thread, as [`thread::create`](crate::thread::create) does: `body` begins when `signals` signals have been sent to
    /// it, and may wait for more. It is one of the computation's tasks, and its signals come from the computation alone.
    ///
    /// # Examples
    /// A thread that counts on one signal more than there are:
    /// ```
    /// use locksley::computation::{self, Incomplete};
    ///
    /// let error = computation::run(|all| {
    ///     let sum = all.create("sum", 0, async |me| me.wait(3).await);
    ///     for n in 0..2 {
    ///         let sum = sum.clone();
    ///         all.create(&format!("part {n}"), 0, async move |_| sum.signal());
    ///     }
    /// });
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "no task of the computation can go on: 'sum' waits for 'signals'"
    /// );
    /// ```
    #[track_caller]
    pub fn create<B, F>(&'c self, name: &str, signals: usize, body: B) -> Signaller<'c>
    where
        B: FnOnce(Current<'c>) -> F + Send + 'c,
        F: Future<Output = ()> + Send + 'c,
    {
        let received = self.own("signals", Received::new(Some(&self.home)));
        let current = Current { received: received.clone() };
        self.spawn(name, async move {
            current.wait(signals).await;
            body(current).await;
        });
        Signaller { received }
    }
}

/// Sends signals to one thread of a computation. See [`Computation::create`] for an example.
#[derive(Clone, Debug)]
pub struct Signaller<'c> {
    received: Own<'c, Received>,
}

impl Signaller<'_> {
    /// Sends a signal: see [`thread::Signaller::signal`](crate::thread::Signaller::signal).
    pub fn signal(&self) {
        self.received.give();
    }
}

/// A thread of a computation as it sees itself. See [`Computation::create`] for an example.
#[derive(Debug)]
pub struct Current<'c> {
    received: Own<'c, Received>,
}

impl<'c> Current<'c> {
    /// Waits for so many signals more: see [`thread::Current::wait`](crate::thread::Current::wait).
    pub async fn wait(&self, signals: usize) {
        self.received.wait(signals).await;
    }

    /// What others can send it signals with.
    #[must_use]
    pub fn signaller(&self) -> Signaller<'c> {
        Signaller { received: self.received.clone() }
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        self.received.is_waited_for_no_more();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::Pool;

    /// Where signals come from that nobody can wait for is not kept.
    #[test]
    fn nothing_is_kept_for_who_is_over() {
        let pool = Pool::builder().workers(1).metered_virtually().build().unwrap();
        let ended = pool.computation(|all| {
            all.create("over", 0, async |me| {
                let to = me.signaller();
                (0..3).for_each(|_| to.signal());
                assert_eq!(to.received.kept(), Some(3), "it may wait for them");
                drop(me);
                assert_eq!(to.received.kept(), Some(0));
                to.signal();
                assert_eq!(to.received.kept(), Some(0));
            });
        });
        ended.unwrap();
    }
}
