//! Loops that give the same items to the same place every time, and stop once a token is cancelled.

use super::among::ByPlace;
use super::form::Form;
use super::{Called, Parts, on_a_worker};
use crate::cancellation::{Cancellation, Cancelled};
use crate::worker::Worker;

/// [`for_each_by_place`](super::for_each_by_place) that stops as [`for_each_until`](super::for_each_until) does.
///
/// # Errors
/// As [`for_each_until`](super::for_each_until).
///
/// # Panics
/// As [`for_each_until`](super::for_each_until).
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled, loops::for_each_until_by_place};
///
/// let token = Cancellation::new();
/// let mut items = vec![0; 100];
/// assert_eq!(for_each_until_by_place(&token, &mut items[..], |item| *item += 1), Ok(()));
/// token.cancel();
/// assert_eq!(for_each_until_by_place(&token, &mut items[..], |item| *item += 1), Err(Cancelled));
/// assert_eq!(items, [1; 100]);
/// ```
#[track_caller]
pub fn for_each_until_by_place<P: Parts>(
    token: &Cancellation,
    parts: P,
    body: impl Fn(P::Item) + Sync,
) -> Result<(), Cancelled> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.for_each_until_by_place(token, parts, body))
}

/// [`map_by_place`](super::map_by_place) that stops as [`map_until`](super::map_until) does.
///
/// # Errors
/// As [`map_until`](super::map_until).
///
/// # Panics
/// As [`map_until`](super::map_until).
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled, loops::map_until_by_place};
///
/// let token = Cancellation::new();
/// assert_eq!(map_until_by_place(&token, 0..4_u32, |n| n * n), Ok(vec![0, 1, 4, 9]));
/// token.cancel();
/// assert_eq!(map_until_by_place(&token, 0..4_u32, |n| n * n), Err(Cancelled));
/// ```
#[track_caller]
pub fn map_until_by_place<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    body: impl Fn(P::Item) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.map_until_by_place(token, parts, body))
}

/// [`reduce_by_place`](super::reduce_by_place) that stops as [`reduce_until`](super::reduce_until) does.
///
/// # Errors
/// As [`reduce_until`](super::reduce_until).
///
/// # Panics
/// As [`reduce_until`](super::reduce_until).
///
/// # Examples
/// ```
/// use locksley::{Cancellation, loops::reduce_until_by_place};
///
/// let token = Cancellation::new();
/// let sum = reduce_until_by_place(&token, 0..1_000_u64, || 0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(sum, Ok(499_500));
/// ```
#[track_caller]
pub fn reduce_until_by_place<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Result<R, Cancelled> {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| {
        worker.reduce_until_by_place(token, parts, identity, fold, combine)
    })
}

/// [`reduce_in_shape_by_place`](super::reduce_in_shape_by_place) that stops as
/// [`reduce_in_shape_until`](super::reduce_in_shape_until) does.
///
/// # Errors
/// As [`reduce_in_shape_until`](super::reduce_in_shape_until).
///
/// # Panics
/// As [`reduce_in_shape_until`](super::reduce_in_shape_until).
///
/// # Examples
/// ```
/// use locksley::{Cancellation, loops::reduce_in_shape_until_by_place};
///
/// let token = Cancellation::new();
/// let odd = |count: u32, n: u16| count + u32::from(n % 2);
/// let sum = reduce_in_shape_until_by_place(&token, 0..999_u16, 64, || 0, odd, |a, b| a + b);
/// assert_eq!(sum, Ok(499));
/// ```
#[track_caller]
pub fn reduce_in_shape_until_by_place<P: Parts, R: Send>(
    token: &Cancellation,
    parts: P,
    leaf: usize,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Result<R, Cancelled> {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |w| {
        w.reduce_in_shape_until_by_place(token, parts, leaf, identity, fold, combine)
    })
}

impl Worker {
    /// [`for_each_until_by_place`] on a known worker.
    ///
    /// # Errors
    /// [`Cancelled`] if some items were not visited, or the token was cancelled before this began, though there were none.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let (pool, token) = (locksley::Pool::new(2)?, locksley::Cancellation::new());
    /// let mut items = vec![1; 100];
    /// pool.run(|w| w.for_each_until_by_place(&token, &mut items[..], |item| *item += 1))?;
    /// assert_eq!(items, [2; 100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn for_each_until_by_place<P: Parts>(
        &self,
        token: &Cancellation,
        parts: P,
        body: impl Fn(P::Item) + Sync,
    ) -> Result<(), Cancelled> {
        Form::of(self, Called::here(), token, ByPlace).for_each(parts, body)
    }

    /// [`map_until_by_place`] on a known worker.
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
    /// let squares = pool.run(|w| w.map_until_by_place(&token, 0..4_u32, |n| n * n));
    /// assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn map_until_by_place<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        body: impl Fn(P::Item) -> R + Sync,
    ) -> Result<Vec<R>, Cancelled> {
        Form::of(self, Called::here(), token, ByPlace).map(parts, body)
    }

    /// [`reduce_until_by_place`] on a known worker.
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
    /// let most = pool.run(|w| {
    ///     w.reduce_until_by_place(&token, &[3, 9, 4][..], || 0, |a, &b| a.max(b), |a, b| a.max(b))
    /// });
    /// assert_eq!(most, Ok(9));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_until_by_place<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, Cancelled> {
        Form::of(self, Called::here(), token, ByPlace).reduce(parts, identity, fold, combine)
    }

    /// [`reduce_in_shape_until_by_place`] on a known worker.
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
    ///     w.reduce_in_shape_until_by_place(&token, 0..100_u64, 8, || 0, |a, n| a + n, |a, b| a + b)
    /// });
    /// assert_eq!(sum, Ok(4950));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_in_shape_until_by_place<P: Parts, R: Send>(
        &self,
        token: &Cancellation,
        parts: P,
        leaf: usize,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, Cancelled> {
        let form = Form::of(self, Called::here(), token, ByPlace);
        form.reduce_in_shape(parts, leaf, identity, fold, combine)
    }
}
