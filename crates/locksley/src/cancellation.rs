//! Cancellation: a token that stops what has not begun.
//!
//! [`scope_until`](crate::scope_until), and loops with a token
//! ([`Par::cancel`](crate::loops::Par::cancel)), begin nothing more once the token is cancelled.
//! What has begun runs to its end; a long task calls [`check`](Cancellation::check) at times.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::primitive::{AtomicBool, Ordering};

/// A token that stops what has not begun. Clones are the same token.
///
/// Cancelling is one store. A check is one load for each token from this one up to the outermost.
/// There are no locks, and nothing is woken. A scope or loop without a token pays nothing.
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
#[derive(Clone, Debug)]
pub struct Cancellation(Arc<Node>);

#[derive(Debug)]
struct Node {
    is_cancelled: AtomicBool,
    parent: Option<Cancellation>,
}

/// The error of what a token stopped: some of it has not begun.
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
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::below(None)
    }

    /// A token that is cancelled when this one is, and can be cancelled by itself.
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
        Self::below(Some(self.clone()))
    }

    fn below(parent: Option<Self>) -> Self {
        Self(Arc::new(Node { is_cancelled: AtomicBool::new(false), parent }))
    }

    /// Cancels the token, for ever.
    ///
    /// A thread that finds it cancelled sees what the caller did before.
    pub fn cancel(&self) {
        // Release pairs with the acquire in `is_cancelled`.
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// Whether the token has been cancelled, or one that it is a child of.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let mut node = &self.0;
        loop {
            // Acquire pairs with the release in `cancel`, and with the one below.
            if node.is_cancelled.load(Ordering::Acquire) {
                break;
            }
            match &node.parent {
                Some(parent) => node = &parent.0,
                None => return false,
            }
        }
        if !Arc::ptr_eq(node, &self.0) {
            // The next check stops here. Release: a thread that reads it here sees what came
            // before the cancelling, too.
            self.0.is_cancelled.store(true, Ordering::Release);
        }
        true
    }

    /// Returns an error once the token [is cancelled](Self::is_cancelled). A long task calls it at
    /// times.
    ///
    /// # Errors
    /// [`Cancelled`] if it is.
    ///
    /// # Examples
    /// See [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

impl Default for Cancellation {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // In a loop: recursion would need a frame for each token of a long line of children.
        let mut parent = self.parent.take();
        while let Some(token) = parent {
            parent = Arc::into_inner(token.0).and_then(|mut node| node.parent.take());
        }
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled before all of it had begun")
    }
}

impl Error for Cancelled {}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::Cancellation;

    /// What was written before the outermost token was cancelled is seen by the thread that finds a
    /// child cancelled, and by those that find only what that thread has noted in the child.
    #[test]
    fn loom_cancellation_publishes_what_was_done_before() {
        loom::model(|| {
            let reason = Arc::new(UnsafeCell::new(0));
            let outer = Cancellation::new();
            let inner = outer.child();
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let (reason, inner) = (reason.clone(), inner.clone());
                    thread::spawn(move || {
                        if inner.is_cancelled() {
                            // SAFETY: loom checks that no thread writes at the same time.
                            reason.with(|reason| assert_eq!(unsafe { *reason }, 7));
                        }
                    })
                })
                .collect();
            // SAFETY: as above.
            reason.with_mut(|reason| unsafe { *reason = 7 });
            outer.cancel();
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}
