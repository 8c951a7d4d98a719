//! Loops that stop once a token is cancelled.

use super::among::Anywhere;
use super::form::Form;
use super::{Called, Parts, on_a_worker};
use crate::cancellation::{Cancellation, Cancelled};
use crate::worker::Worker;

/// [`for_each`](super::for_each) that begins no leaf, and divides no more, once `token` is cancelled. Leaves that have begun are
/// run to their ends: as many items as took five microseconds before, or one that takes longer.
///
/// # Errors
/// [`Cancelled`] if some items were not visited, or the token was cancelled before this began, though there were none.
///
/// # Panics
/// As [`for_each`](super::for_each); a panic comes before the error.
///
/// # Examples
/// See [`Cancellation`].
#[track_caller]
pub fn for_each_until<P: Parts>(
    token: &Cancellation,
    parts: P,
    body: impl Fn(P::Item) + Sync,
) -> Result<(), Cancelled> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.for_each_until(token, parts, body))
}

/// [`map`](super::map) that stops as [`for_each_until`] does. What was returned before is dropped then.
///
/// # Errors
/// [`Cancelled`] if results are missing, or the token was cancelled before this began, though there were no items.
///
/// # Panics
/// As [`map`](super::map); a panic comes before the error.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled, loops::map_until};
///
/// let token = Cancellation::new();
/// assert_eq!(map_until(&token, 0..4_u32, |n| n * n), Ok(vec![0, 1, 4, 9]));
/// token.cancel();
/// assert_eq!(map_until(&token, 0..4_u32, |n| n * n), Err(Cancelled));
/// ```
#[track_caller]
pub fn map_until<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    body: impl Fn(P::Item) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.map_until(token, parts, body))
}

/// [`reduce`](super::reduce) that stops as [`for_each_until`] does.
///
/// # Errors
/// [`Cancelled`] if some items were left out, or the token was cancelled before this began, though there were none.
///
/// # Panics
/// As [`reduce`](super::reduce); a panic comes before the error.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, loops::reduce_until};
///
/// let token = Cancellation::new();
/// let sum = reduce_until(&token, 0..1_000_u64, || 0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(sum, Ok(499_500));
/// ```
#[track_caller]
pub fn reduce_until<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Result<R, Cancelled> {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| {
        worker.reduce_until(token, parts, identity, fold, combine)
    })
}

/// [`reduce_in_shape`](super::reduce_in_shape) that stops as [`for_each_until`] does; a result that is there is the same as
/// without a token, bit for bit.
///
/// # Errors
/// [`Cancelled`] if some items were left out, or the token was cancelled before this began, though there were none.
///
/// # Panics
/// As [`reduce_in_shape`](super::reduce_in_shape); a panic comes before the error.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, loops::reduce_in_shape_until};
///
/// let token = Cancellation::new();
/// let sum = reduce_in_shape_until(&token, 0..999_u16, 64, || 0, |a, n| a + n % 2, |a, b| a + b);
/// assert_eq!(sum, Ok(499));
/// ```
#[track_caller]
pub fn reduce_in_shape_until<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    leaf: usize,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Result<R, Cancelled> {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |w| {
        w.reduce_in_shape_until(token, parts, leaf, identity, fold, combine)
    })
}

impl Worker {
    /// [`for_each_until`] on a known worker.
    ///
    /// # Errors
    /// [`Cancelled`] if some items were not visited, or the token was cancelled before this began, though there were none.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let token = locksley::Cancellation::new();
    /// let mut items = vec![1; 100];
    /// locksley::Pool::new(2)?
    ///     .run(|worker| worker.for_each_until(&token, &mut items[..], |item| *item += 1))?;
    /// assert_eq!(items, [2; 100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn for_each_until<P: Parts>(
        &self,
        token: &Cancellation,
        parts: P,
        body: impl Fn(P::Item) + Sync,
    ) -> Result<(), Cancelled> {
        Form::of(self, Called::here(), token, Anywhere).for_each(parts, body)
    }

    /// [`map_until`] on a known worker.
    ///
    /// # Errors
    /// [`Cancelled`] if results are missing, or the token was cancelled before this began, though there were no items.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let (pool, token) = (locksley::Pool::new(2)?, locksley::Cancellation::new());
    /// assert_eq!(pool.run(|w| w.map_until(&token, 0..4_u32, |n| n * n)), Ok(vec![0, 1, 4, 9]));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn map_until<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        body: impl Fn(P::Item) -> R + Sync,
    ) -> Result<Vec<R>, Cancelled> {
        Form::of(self, Called::here(), token, Anywhere).map(parts, body)
    }

    /// [`reduce_until`] on a known worker.
    ///
    /// # Errors
    /// [`Cancelled`] if some items were left out, or the token was cancelled before this began, though there were none.
    ///
    /// # Panics
    /// If one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let (pool, token) = (locksley::Pool::new(2)?, locksley::Cancellation::new());
    /// let most = pool
    ///     .run(|w| w.reduce_until(&token, &[3, 9, 4][..], || 0, |a, &b| a.max(b), |a, b| a.max(b)));
    /// assert_eq!(most, Ok(9));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_until<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, Cancelled> {
        Form::of(self, Called::here(), token, Anywhere).reduce(parts, identity, fold, combine)
    }

    /// [`reduce_in_shape_until`] on a known worker.
    ///
    /// # Errors
    /// [`Cancelled`] if some items were left out, or the token was cancelled before this began, though there were none.
    ///
    /// # Panics
    /// If `leaf` is 0, or one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let (pool, token) = (locksley::Pool::new(2)?, locksley::Cancellation::new());
    /// let sum = pool.run(|w| {
    ///     w.reduce_in_shape_until(&token, 0..100_u64, 8, || 0, |a, n| a + n, |a, b| a + b)
    /// });
    /// assert_eq!(sum, Ok(4950));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_in_shape_until<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        leaf: usize,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, Cancelled> {
        Form::of(self, Called::here(), token, Anywhere)
            .reduce_in_shape(parts, leaf, identity, fold, combine)
    }
}
