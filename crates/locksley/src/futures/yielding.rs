//! `yield_now`.

use std::future::poll_fn;
use std::task::Poll;

/// Lets other tasks run: those in the worker's queues, and some from the pool's.
///
/// Use it in a task that computes for long without an `await`. On any other executor it is a future
/// that wakes itself and is pending once.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// let count = task::spawn(async {
///     for _ in 0..10 {
///         task::yield_now().await;
///     }
/// });
/// assert!(count.join().is_ok());
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
