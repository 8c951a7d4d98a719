//! Parallel loops that need no tuning: [`for_each`], [`map`], [`reduce`], [`reduce_in_shape`].
//!
//! A loop divides its items by halves, and forks for each half, down to leaves which it makes as long as a fork is
//! cheap beside: it times some of them and changes their size accordingly. So a body may take a nanosecond or a second, and
//! whatever a worker is doing, what it has not begun is within reach of the others, except for the rest of
//! one leaf: as many items as took five microseconds before.
//!
//! Each has a form that stops once a [`Cancellation`](crate::Cancellation) is cancelled: [`for_each_until`] and so on; one that gives
//! each [place](crate::PoolBuilder::places) the same items every time: [`for_each_by_place`] and so on; and one that does both.
//!
//! This is a small set, for programs that need no more. Chains of adaptors are what iterator libraries are for.

mod among;
mod by_place;
mod divide;
mod filled;
mod form;
mod grain;
mod parts;
mod until;
mod until_by_place;

pub use by_place::{for_each_by_place, map_by_place, reduce_by_place, reduce_in_shape_by_place};
pub use parts::{ChunksMut, Parts, chunks_mut};
pub use until::{for_each_until, map_until, reduce_in_shape_until, reduce_until};
pub use until_by_place::{
    for_each_until_by_place, map_until_by_place, reduce_in_shape_until_by_place,
    reduce_until_by_place,
};

use crate::held::{self, Place, Wait};
use crate::meter::Site;
use crate::pool::Pool;
use crate::worker::Worker;
use among::Anywhere;
use divide::Never;
use form::{Form, always};

/// Calls `body` with each item, in no particular order, on all workers.
///
/// # Panics
/// If the body panics, with its payload, after the rest of the loop: a panic ends only its own leaf, whose other items are
/// not visited.
///
/// # Examples
/// ```
/// let mut squares = vec![0; 1000];
/// let numbered = &mut squares[..];
/// locksley::loops::for_each(numbered, |square| *square += 1);
/// assert_eq!(squares.iter().sum::<i32>(), 1000);
/// ```
#[track_caller]
pub fn for_each<P: Parts>(parts: P, body: impl Fn(P::Item) + Sync) {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.for_each(parts, body));
}

/// What `body` returns for each item, in the order of the items.
///
/// # Panics
/// If the body panics, with its payload; what was returned for other items is dropped.
///
/// # Examples
/// ```
/// let lengths = locksley::loops::map(&["robin", "of", "locksley"][..], |word| word.len());
/// assert_eq!(lengths, [5, 2, 8]);
/// ```
#[track_caller]
pub fn map<P: Parts, R: Send>(parts: P, body: impl Fn(P::Item) -> R + Sync) -> Vec<R> {
    let body = &body;
    on_a_worker(Called::here(), move |worker| worker.map(parts, body))
}

/// Folds all items into one value: each leaf begins with `identity` and folds its items in order, and
/// neighbours are combined.
///
/// If `combine` is associative and `identity` is neutral, the result is that of the serial loop. Where it is only nearly
/// associative, as the addition of floats is, the result depends on how the loop was divided, which is different each
/// time: see [`reduce_in_shape`].
///
/// # Panics
/// If one of the functions panics, with its payload.
///
/// # Examples
/// ```
/// let sum = locksley::loops::reduce(0..1_000_000_u64, || 0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(sum, 499_999_500_000);
/// ```
#[track_caller]
pub fn reduce<P: Parts, R: Send>(
    parts: P,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> R {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| worker.reduce(parts, identity, fold, combine))
}

/// [`reduce`], divided always in the same way: by halves, down to leaves of at most `leaf` items. So the result is the same in
/// every run, on every machine and for any number of workers, bit for bit, whatever `combine` is.
///
/// Large leaves cost less, small ones share better: a leaf should take some microseconds.
///
/// # Panics
/// If `leaf` is 0, or one of the functions panics, with its payload.
///
/// # Examples
/// ```
/// use locksley::loops::reduce_in_shape;
///
/// let numbers: Vec<f32> = (1..10_000).map(|n| 1.0 / n as f32).collect();
/// let sum = || reduce_in_shape(&numbers[..], 256, || 0.0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!(sum().to_bits(), sum().to_bits());
/// ```
#[track_caller]
pub fn reduce_in_shape<P: Parts, R: Send>(
    parts: P,
    leaf: usize,
    identity: impl Fn() -> R + Sync,
    fold: impl Fn(R, P::Item) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> R {
    let (identity, fold, combine) = (&identity, &fold, &combine);
    on_a_worker(Called::here(), move |worker| {
        worker.reduce_in_shape(parts, leaf, identity, fold, combine)
    })
}

fn on_a_worker<R: Send>(called: Called, task: impl FnOnce(&Worker) -> R + Send) -> R {
    Worker::with_current(|current| match current {
        Some(worker) => told(worker, called, || task(worker)),
        None => Pool::global().run_from((called.place, called.site), task),
    })
}

/// Where a loop was called: for who looks for locks, and for the meter.
#[derive(Clone, Copy)]
struct Called {
    place: Place,
    site: Site,
}

impl Called {
    #[inline(always)]
    #[track_caller]
    fn here() -> Self {
        Self { place: Place::here(), site: Site::here() }
    }
}

/// Says what the caller holds, and runs the loop as a task of its own, whose joins are no business of the caller's.
#[inline(always)]
fn told<R>(worker: &Worker, called: Called, all: impl FnOnce() -> R) -> R {
    held::tell(Some(worker), Wait::Loop, called.place);
    // What is called here is called in the name of who has called that.
    worker.in_name_of(called.site, || called.site.is_beside(file!()), || held::apart(all))
}

impl Worker {
    /// [`for_each`] on a known worker.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut items = vec![1; 100];
    /// pool.run(|worker| worker.for_each(&mut items[..], |item| *item += 1));
    /// assert_eq!(items, [2; 100]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn for_each<P: Parts>(&self, parts: P, body: impl Fn(P::Item) + Sync) {
        always(Form::of(self, Called::here(), Never, Anywhere).for_each(parts, body));
    }

    /// [`map`] on a known worker.
    ///
    /// # Panics
    /// If the body panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// assert_eq!(pool.run(|worker| worker.map(0..4_u32, |n| n * n)), [0, 1, 4, 9]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn map<P: Parts, R: Send>(&self, parts: P, body: impl Fn(P::Item) -> R + Sync) -> Vec<R> {
        always(Form::of(self, Called::here(), Never, Anywhere).map(parts, body))
    }

    /// [`reduce`] on a known worker.
    ///
    /// # Panics
    /// If one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let most = pool.run(|w| w.reduce(&[3, 9, 4][..], || 0, |a, &b| a.max(b), |a, b| a.max(b)));
    /// assert_eq!(most, 9);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce<P: Parts, R: Send>(
        &self,
        parts: P,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> R {
        always(
            Form::of(self, Called::here(), Never, Anywhere).reduce(parts, identity, fold, combine),
        )
    }

    /// [`reduce_in_shape`] on a known worker.
    ///
    /// # Panics
    /// If `leaf` is 0, or one of the functions panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let sum = |w: &locksley::Worker| {
    ///     w.reduce_in_shape(0..1000_u16, 64, || 0.0, |a, n| a + f32::from(n).sqrt(), |a, b| a + b)
    /// };
    /// assert_eq!(pool.run(sum), pool.run(sum));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn reduce_in_shape<P: Parts, R: Send>(
        &self,
        parts: P,
        leaf: usize,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> R {
        always(
            Form::of(self, Called::here(), Never, Anywhere)
                .reduce_in_shape(parts, leaf, identity, fold, combine),
        )
    }
}
