//! Cancelling a graph, and the error that says why.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use locksley_sys::primitive::plain::OnceLock;

/// Why a graph was cancelled: a text or an error.
pub(crate) type Reason = Arc<dyn Error + Send + Sync>;

/// Cancels a graph from any thread, also while another thread waits for the graph.
///
/// Give it to the root by [`Root::cancel`](crate::Root::cancel). After [`cancel`](Self::cancel), no
/// body begins. Bodies that run continue: a long one calls [`is_cancelled`](Self::is_cancelled)
/// regularly. If a body did not run for this reason, the root returns [`IntervalCancelled`].
///
/// A clone is the same handle, and several roots may have it.
///
/// # Examples
/// ```
/// use locksley_intervals::{CancelHandle, Root};
/// use std::thread;
///
/// let handle = CancelHandle::new();
/// let user = handle.clone();
/// let user = thread::spawn(move || user.cancel("interrupted by the user"));
/// let end = Root::new("build").cancel(&handle).run(|root| {
///     let long = root.interval("long").spawn(|_| {
///         while !handle.is_cancelled() {
///             thread::yield_now();
///         }
///     });
///     root.interval("next").after(long).spawn(|_| unreachable!());
/// });
/// assert_eq!(end.unwrap_err().to_string(), "`build` was cancelled: interrupted by the user");
/// user.join().unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(Arc<OnceLock<Reason>>);

impl CancelHandle {
    /// Makes a handle.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the roots that have this handle. Only the first reason counts.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    pub fn cancel(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) {
        let _ = self.0.set(Reason::from(reason.into()));
    }

    /// Returns true if the handle was cancelled.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.get().is_some()
    }

    pub(crate) fn reason(&self) -> Option<&Reason> {
        self.0.get()
    }
}

/// The error of a root in which an interval was [cancelled](crate::Context::cancel), or that was
/// [cancelled](CancelHandle::cancel) as a whole.
///
/// Two are equal if they name the same interval and their reasons have the same text. The
/// [source](Error::source) is that of the reason.
///
/// # Examples
/// ```
/// use locksley_intervals as intervals;
///
/// let end = intervals::run("root", |root| {
///     root.interval("check").spawn(|cx| {
///         if let Err(error) = "five".parse::<u32>() {
///             cx.cancel(error);
///         }
///     });
/// });
/// let cancelled = end.unwrap_err();
/// assert_eq!(cancelled.to_string(), "`check` was cancelled: invalid digit found in string");
/// assert_eq!(cancelled.interval, "check");
/// assert!(cancelled.reason.is::<std::num::ParseIntError>());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IntervalCancelled {
    /// The name of the first interval that was cancelled, or that of the root.
    pub interval: String,
    /// Why.
    pub reason: Arc<dyn Error + Send + Sync>,
}

impl PartialEq for IntervalCancelled {
    fn eq(&self, other: &Self) -> bool {
        self.interval == other.interval && self.reason.to_string() == other.reason.to_string()
    }
}

impl fmt::Display for IntervalCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was cancelled: {}", self.interval, self.reason)
    }
}

impl Error for IntervalCancelled {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason.source()
    }
}
