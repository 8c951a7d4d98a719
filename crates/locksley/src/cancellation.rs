//! Cancellation: a token that keeps tasks from beginning.
//!
//! [`scope_until`](crate::scope_until) and loops with a token
//! ([`Par::cancel`](crate::loops::Par::cancel)) begin no task once the token is cancelled. A task
//! that has begun runs to its end. A long one calls [`check`](Cancellation::check) regularly.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::primitive::{AtomicBool, Ordering};

/// A token that keeps tasks from beginning. A clone is the same token.
///
/// Use it with [`scope_until`](crate::scope_until) and [`Par::cancel`](crate::loops::Par::cancel).
/// Cancelling is one store. A check is one load for this token and for each of its ancestors. There
/// are no locks, and no thread is woken. A scope or loop without a token pays nothing.
///
/// # Examples
/// The first to find something stops the others:
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
}

/// The error of a scope or loop that was cancelled: some of its tasks or items did not begin.
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
        let (is_cancelled, parent) = (AtomicBool::new(false), Some(self.clone()));
        Self(Arc::new(Node { is_cancelled, parent }))
    }

    /// Cancels the token and its descendants: its children, their children, and so on. That cannot
    /// be undone.
    ///
    /// The cancellation happens-before a check that finds the token or a descendant of it
    /// cancelled: the checking thread sees all writes that the caller made before.
    pub fn cancel(&self) {
        // Release pairs with the acquire in `is_cancelled`.
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// True if this token or one of its ancestors was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let mut path = std::iter::successors(Some(self), |token| token.0.parent.as_ref());
        // Acquire pairs with the release in `cancel`.
        path.any(|token| token.0.is_cancelled.load(Ordering::Acquire))
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
