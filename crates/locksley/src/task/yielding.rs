//! Giving way to other tasks.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets other tasks of the worker run first: what it has, and some of what was sent to it and to the pool.
///
/// For a task that computes for long without waiting. In any other runtime it does what waking oneself and waiting does there.
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
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// What [`yield_now`] returns: pending once.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
