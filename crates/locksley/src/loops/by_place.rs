//! Loops that give the same items to the same place every time.

use super::among::ByPlace;
use super::divide::Never;
use super::form::{Form, always};
use super::{Called, Parts, on_a_worker};
use crate::worker::Worker;

/// [`for_each`](super::for_each), which gives each [place](crate::PoolBuilder::places) the same items every time: as many of them, one after
/// the other, as it has of the workers. So a loop finds in the caches of a place what an earlier one over as many items has left there,
/// and the first of them, if it writes what was never touched, brings it into the memory next to the place.
///
/// Within a place the items are divided as ever. Workers of other places help when they have nothing to do, and leave each
/// place what it can be expected to do itself. Where there is one place this is [`for_each`](super::for_each); and in a pool whose workers
/// run [only what lies below](crate::Waiting::Below) while they wait, the places do not count.
///
/// # Panics
/// As [`for_each`](super::for_each).
///
/// # Examples
/// ```
/// use locksley::loops::for_each_by_place;
///
/// let mut heights = vec![0; 100_000];
/// for round in 1..=3 {
///     for_each_by_place(&mut heights[..], |height| *height += round);
/// }
/// assert!(heights.iter().all(|&height| height == 6));
/// ```
#[track_caller]
pub fn for_each_by_place<P: Parts>(parts: P, body: impl Fn(P::Item) + Sync) {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.for_each_by_place(parts, body));
}

/// [`map`](super::map), divided among the places as [`for_each_by_place`] divides.
///
/// # Panics
/// As [`map`](super::map).
///
/// # Examples
/// ```
/// use locksley::loops::map_by_place;
///
/// assert_eq!(map_by_place(0..4_u32, |n| n * n), [0, 1, 4, 9]);
/// ```
#[track_caller]
pub fn map_by_place<P: Parts, R: Send>(parts: P, body: impl Fn(P::Item) -> R + Sync) -> Vec<R> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.map_by_place(parts, body))
}

/// [`reduce`](super::reduce), divided among the places as [`for_each_by_place`] divides.
///
/// # Panics
/// As [`reduce`](super::reduce).
///
/// # Examples
/// ```
/// use locksley::loops::reduce_by_place;
///
/// let sum = reduce_by_place(0..1_000_u64, || 0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(sum, 499_500);
/// ```
#[track_caller]
pub fn reduce_by_place<P: Parts, R: Send>(
    parts: P,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> R {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| {
        worker.reduce_by_place(parts, identity, fold, combine)
    })
}

/// [`reduce_in_shape`](super::reduce_in_shape), whose leaves are given to the places as [`for_each_by_place`] gives its items: each to the place
/// that would have its first item. The result is the same as with one place, bit for bit.
///
/// # Panics
/// As [`reduce_in_shape`](super::reduce_in_shape).
///
/// # Examples
/// ```
/// use locksley::loops::{reduce_in_shape, reduce_in_shape_by_place};
///
/// let numbers: Vec<f32> = (1..10_000).map(|n| 1.0 / n as f32).collect();
/// let by_place =
///     reduce_in_shape_by_place(&numbers[..], 256, || 0.0, |sum, n| sum + n, |a, b| a + b);
/// let anywhere = reduce_in_shape(&numbers[..], 256, || 0.0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(by_place.to_bits(), anywhere.to_bits());
/// ```
#[track_caller]
pub fn reduce_in_shape_by_place<P: Parts, R: Send>(
    parts: P,
    leaf: usize,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> R {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| {
        worker.reduce_in_shape_by_place(parts, leaf, identity, fold, combine)
    })
}

impl Worker {
    /// [`for_each_by_place`] on a known worker.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut items = vec![1; 100];
    /// pool.run(|worker| worker.for_each_by_place(&mut items[..], |item| *item += 1));
    /// assert_eq!(items, [2; 100]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn for_each_by_place<P: Parts>(&self, parts: P, body: impl Fn(P::Item) + Sync) {
        always(Form::of(self, Called::here(), Never, ByPlace).for_each(parts, body));
    }

    /// [`map_by_place`] on a known worker.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// assert_eq!(pool.run(|worker| worker.map_by_place(0..4_u32, |n| n * n)), [0, 1, 4, 9]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn map_by_place<P: Parts, R: Send>(
        &self,
        parts: P,
        body: impl Fn(P::Item) -> R + Sync,
    ) -> Vec<R> {
        always(Form::of(self, Called::here(), Never, ByPlace).map(parts, body))
    }

    /// [`reduce_by_place`] on a known worker.
    ///
    /// # Panics
    /// If one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let most =
    ///     pool.run(|w| w.reduce_by_place(&[3, 9, 4][..], || 0, |a, &b| a.max(b), |a, b| a.max(b)));
    /// assert_eq!(most, 9);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_by_place<P: Parts, R: Send>(
        &self,
        parts: P,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> R {
        always(
            Form::of(self, Called::here(), Never, ByPlace).reduce(parts, identity, fold, combine),
        )
    }

    /// [`reduce_in_shape_by_place`] on a known worker.
    ///
    /// # Panics
    /// If `leaf` is 0, or one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let sum =
    ///     pool.run(|w| w.reduce_in_shape_by_place(0..100_u64, 8, || 0, |a, n| a + n, |a, b| a + b));
    /// assert_eq!(sum, 4950);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_in_shape_by_place<P: Parts, R: Send>(
        &self,
        parts: P,
        leaf: usize,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> R {
        always(
            Form::of(self, Called::here(), Never, ByPlace)
                .reduce_in_shape(parts, leaf, identity, fold, combine),
        )
    }
}
