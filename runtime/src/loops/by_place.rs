//! Loops that give the same items to the same place every time.

use super::filled::{Filled, Output};
use super::grain::Grain;
use super::{Called, Parts, divide, on_a_worker, told};
use crate::cancellation::{Cancellation, Cancelled};
use crate::meter::Site;
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

/// [`for_each_by_place`] that stops as [`for_each_until`](super::for_each_until) does.
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
        let leaf = |parts: P| parts.into_items().for_each(&body);
        let called = Called::here();
        told(self, called, || {
            divide_by_place(self, called.site, parts, &leaf, &|(), ()| ());
        });
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
        let count = parts.len();
        let mut results = Vec::with_capacity(count);
        let output = Output::new(parts, &mut results.spare_capacity_mut()[..count]);
        let leaf = |output| Output::fill(output, &body);
        let called = Called::here();
        let filled =
            told(self, called, || divide_by_place(self, called.site, output, &leaf, &Filled::join));
        let filled = filled.keep();
        // SAFETY: so many places from the first one on have been written: `Filled` begins there and has no gaps.
        unsafe { results.set_len(filled) };
        results
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
        let leaf = |parts: P| parts.into_items().fold(identity(), &fold);
        let called = Called::here();
        told(self, called, || divide_by_place(self, called.site, parts, &leaf, &combine))
    }

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
        let body = &body;
        let part = |worker: &Self, parts: P| worker.for_each_until(token, parts, body);
        let called = Called::here();
        told(self, called, || {
            by_place(self, called.site, parts, &part, &|first, second| first.and(second))
        })
    }
}

/// A loop, each place's part of which is divided as ever.
fn divide_by_place<P: Parts, R: Send>(
    worker: &Worker,
    site: Site,
    parts: P,
    leaf: &(impl Fn(P) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let part =
        |worker: &Worker, parts| divide(worker, parts, &Grain::unknown(worker), leaf, combine);
    by_place(worker, site, parts, &part, combine)
}

/// Gives each place its part, and combines what comes of them in the order of the items.
fn by_place<P: Parts, R: Send>(
    worker: &Worker,
    site: Site,
    parts: P,
    part: &(impl Fn(&Worker, P) -> R + Sync),
    combine: &impl Fn(R, R) -> R,
) -> R {
    let quarters = worker.shared().quarters();
    if quarters.is_empty() {
        return part(worker, parts);
    }
    let here = worker.place();
    let is_empty = parts.len() == 0;
    let lengths = shares(parts.len(), quarters.iter().map(|quarter| quarter.workers().len()));
    let mut results: Vec<Option<R>> = quarters.iter().map(|_| None).collect();
    worker.scope(|worker, scope| {
        let (mut rest, mut own) = (parts, None);
        for ((place, length), result) in lengths.clone().enumerate().zip(&mut results) {
            let (items, others) = rest.split_at(length);
            rest = others;
            // A part of nothing might say that it was cancelled, though nothing is missing.
            if place == here && (length > 0 || is_empty) {
                own = Some((items, result));
            } else if length > 0 {
                let each = move |worker: &Worker, _: &_| *result = Some(part(worker, items));
                scope.spawn_near_from(worker, site, place, each);
            }
        }
        if let Some((items, result)) = own {
            *result = Some(part(worker, items));
        }
    });
    let all_there = lengths.zip(&results).all(|(length, result)| length == 0 || result.is_some());
    // `map_by_place` relies on it.
    assert!(all_there, "a scope waits for all parts");
    let all = results.into_iter().flatten().reduce(combine);
    all.expect("somebody has an item, or the caller a part with nothing in it")
}

/// How many of so many items each gets who has so many of the workers. All together get all.
fn shares(
    items: usize,
    workers: impl Iterator<Item = usize> + Clone,
) -> impl Iterator<Item = usize> + Clone {
    let all: usize = workers.clone().sum();
    let (mut before, mut given) = (0, 0);
    workers.map(move |workers| {
        before += workers;
        let until = (items as u128 * before as u128 / all as u128) as usize;
        until - std::mem::replace(&mut given, until)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::Range;

    use super::{by_place, shares};
    use crate::places::Places;
    use crate::pool::Pool;
    use crate::worker::Worker;

    /// Of a token that is cancelled with the last item it would say that something is missing.
    #[test]
    fn there_is_no_part_with_nothing_in_it_but_of_nothing() {
        let sets = ["0", "1", "2-3"].map(|set| set.parse().unwrap());
        let places = Places::given(&(0..4).collect(), sets).unwrap();
        let pool = Pool::builder().workers(4).places(places).build().unwrap();
        for items in 0..6_usize {
            let wanted = shares(items, [1, 1, 2].into_iter()).filter(|&it| it > 0).count();
            let parts = pool.broadcast(|w| {
                let part = |_: &Worker, part: Range<usize>| vec![part];
                by_place(w, crate::meter::Site::here(), 0..items, &part, &|a, b| [a, b].concat())
            });
            for parts in parts {
                assert_eq!(parts.len(), wanted.max(1), "{parts:?}");
                assert!(items == 0 || parts.iter().all(|part| !part.is_empty()), "{parts:?}");
                assert!(parts.into_iter().flatten().eq(0..items));
            }
        }
    }

    #[test]
    fn each_place_gets_its_share() {
        let of = |items, workers: &[usize]| -> Vec<usize> {
            shares(items, workers.iter().copied()).collect()
        };
        assert_eq!(of(10, &[1, 1]), [5, 5]);
        assert_eq!(of(9, &[1, 2]), [3, 6]);
        assert_eq!(of(1, &[1, 1]), [0, 1]);
        assert_eq!(of(0, &[3, 0, 4]), [0, 0, 0]);
        assert_eq!(of(14, &[3, 0, 4]), [6, 0, 8]);
        let large = of(usize::MAX, &[1, 3, 4]);
        assert_eq!(large.iter().sum::<usize>(), usize::MAX);
        assert!(large[0] < large[1] && large[1] < large[2]);
    }
}
