//! Cancellation: a token that keeps tasks from beginning, and ends waits.
//!
//! [`scope_until`](crate::scope_until) and loops with a token
//! ([`Par::cancel`](crate::loops::Par::cancel)) begin no task once the token is cancelled. A task
//! that has begun runs to its end. A long one calls [`check`](Cancellation::check) regularly.
//! Futures end by [`run_until_cancelled`](Cancellation::run_until_cancelled), and everything else
//! by [`on_cancel`](Cancellation::on_cancel).

mod deadline;
mod hooks;

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

pub use hooks::OnCancel;

use crate::primitive::{AtomicBool, Ordering};
use hooks::Hooks;

/// A token that keeps tasks from beginning, and ends waits. A clone is the same token.
///
/// | to cancel | use |
/// |---|---|
/// | a scope | [`scope_until`](crate::scope_until) |
/// | a loop | [`Par::cancel`](crate::loops::Par::cancel) |
/// | a future, also on another executor | [`run_until_cancelled`](Self::run_until_cancelled) |
/// | code of your own that runs for long | [`check`](Self::check) |
/// | what has a handle: a network, a graph of intervals | [`on_cancel`](Self::on_cancel) |
///
/// [`cancel_after`](Self::cancel_after) sets a deadline.
///
/// A check is one load for this token and for each of its ancestors. A scope or loop without a
/// token pays nothing. `cancel` stores a flag, takes a lock and calls the hooks, so it must not be
/// called in a signal handler. To cancel by Ctrl-C, use a crate that receives signals on a
/// thread, such as `ctrlc`: `ctrlc::set_handler(move || token.cancel())`.
///
/// # Examples
/// The first iteration that finds a result cancels the loop:
/// ```
/// use locksley::Cancellation;
/// use locksley::loops::par;
/// use std::sync::OnceLock;
///
/// let (found, enough) = (OnceLock::new(), Cancellation::new());
/// let searched = par(0..1_000_000_u64).cancel(&enough).for_each(|n| {
///     if n * n % 1_000_003 == 4 {
///         let _ = found.set(n);
///         enough.cancel();
///     }
/// });
/// let n = found.get().unwrap();
/// assert_eq!(n * n % 1_000_003, 4);
/// assert!(searched.is_err(), "most numbers were left out");
/// ```
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Node>);

#[derive(Default)]
struct Node {
    is_cancelled: AtomicBool,
    parent: Option<Cancellation>,
    hooks: Hooks,
}

/// The error of a scope, loop or future that was cancelled: some of its tasks or items did not
/// begin, or the future did not end.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled};
///
/// fn long_task(token: &Cancellation) -> Result<u32, Cancelled> {
///     let mut sum = 0;
///     for step in 0..1000 {
///         token.check()?;
///         sum += step;
///     }
///     Ok(sum)
/// }
///
/// let token = Cancellation::new();
/// assert_eq!(long_task(&token), Ok(499_500));
/// token.cancel();
/// assert_eq!(long_task(&token), Err(Cancelled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cancelled;

impl Cancellation {
    /// Makes a token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a child: a token that can be cancelled alone, and that is cancelled with this one.
    ///
    /// # Examples
    /// ```
    /// use locksley::Cancellation;
    ///
    /// let all = Cancellation::new();
    /// let (some, others) = (all.child(), all.child());
    /// some.cancel();
    /// assert!(some.is_cancelled() && !others.is_cancelled() && !all.is_cancelled());
    /// all.cancel();
    /// assert!(others.is_cancelled());
    /// ```
    #[must_use]
    pub fn child(&self) -> Self {
        let mut node = Node::default();
        node.parent = Some(self.clone());
        Self(Arc::new(node))
    }

    /// Cancels the token and its descendants: its children, their children, and so on. That cannot
    /// be undone. Calls their [hooks](Self::on_cancel).
    ///
    /// The cancellation happens-before a check that finds the token or a descendant of it
    /// cancelled: the checking thread sees all writes that the caller made before.
    ///
    /// # Panics
    /// If a hook panics, with the first payload, after all hooks were called.
    pub fn cancel(&self) {
        // Release pairs with the acquire in `is_cancelled`.
        self.0.is_cancelled.store(true, Ordering::Release);
        self.0.hooks.call_all();
    }

    /// True if this token or one of its ancestors was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Acquire pairs with the release in `cancel`.
        self.path().any(|node| node.is_cancelled.load(Ordering::Acquire))
    }

    /// This token's node, and those of its ancestors.
    fn path(&self) -> impl Iterator<Item = &Node> {
        let path = std::iter::successors(Some(self), |token| token.0.parent.as_ref());
        path.map(|token| &*token.0)
    }

    /// Returns an error once the token [is cancelled](Self::is_cancelled). A long task calls it
    /// regularly.
    ///
    /// # Errors
    /// [`Cancelled`] if the token is cancelled.
    ///
    /// # Examples
    /// See [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Waits until the token is cancelled.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, task};
    ///
    /// let token = Cancellation::new();
    /// let waits = task::spawn({
    ///     let token = token.clone();
    ///     async move { token.cancelled().await }
    /// });
    /// token.cancel();
    /// assert!(waits.join().is_ok());
    /// ```
    pub async fn cancelled(&self) {
        let mut added: Option<(Waker, OnCancel)> = None;
        poll_fn(|context| {
            let waker = context.waker();
            // A hook takes locks, so a future that is polled often keeps its own.
            if added.as_ref().is_none_or(|(known, _)| !known.will_wake(waker)) {
                let own = waker.clone();
                added = Some((waker.clone(), self.on_cancel(move || own.wake())));
            }
            if self.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Polls a future until it completes or the token is cancelled, and then drops it. Works on any
    /// executor.
    ///
    /// # Errors
    /// [`Cancelled`] if the token is cancelled first.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, Cancelled, block_on};
    /// use std::time::Duration;
    ///
    /// let token = Cancellation::new();
    /// assert_eq!(block_on(token.run_until_cancelled(async { 1 })), Ok(1));
    /// token.cancel_after(Duration::from_millis(1))?;
    /// let endless = std::future::pending::<()>();
    /// assert_eq!(block_on(token.run_until_cancelled(endless)), Err(Cancelled));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Result<F::Output, Cancelled> {
        let (mut future, mut cancelled) = (pin!(future), pin!(self.cancelled()));
        poll_fn(|context| match cancelled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Cancelled)),
            Poll::Pending => future.as_mut().poll(context).map(Ok),
        })
        .await
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // In a loop: recursion would need a frame for each token of a long chain.
        let mut parent = self.parent.take();
        while let Some(token) = parent {
            parent = Arc::into_inner(token.0).and_then(|mut node| node.parent.take());
        }
    }
}

// Not derived: a long chain of tokens would overflow the stack.
impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_cancelled = self.is_cancelled();
        f.debug_struct("Cancellation").field("is_cancelled", &is_cancelled).finish_non_exhaustive()
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work was cancelled")
    }
}

impl Error for Cancelled {}

#[cfg(all(test, loom))]
mod models;
