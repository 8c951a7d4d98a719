//! Parallel loops: [`par`] and its options.
//!
//! A loop divides its items by halves and forks for each half, down to leaves. It times its leaves
//! and chooses their size accordingly, so a body may take a nanosecond or a second. Everything that
//! has not begun is within reach of other workers, except for the rest of one leaf: as many items
//! as took five microseconds before.
//!
//! Chains of adaptors are what iterator libraries are for.

mod divide;
mod filled;
mod grain;
mod parts;
mod token;

pub use parts::{Chunks, IntoParts, Parts};
pub use token::Token;

use crate::cancellation::Cancellation;
use crate::scheduler::Worker;
use divide::{Plan, Target};
use filled::{Filled, Output, collect};

/// Makes a parallel loop over `items`. It begins with a `for_each`, `map` or `reduce`.
///
/// Use it to do the same with many items that are known beforehand. [`join`](crate::join)
/// is for two different tasks, and [`scope`](crate::scope) for tasks that are found on the way.
///
/// The loop runs in the pool of the calling worker; on a thread that is no worker, in the
/// [global pool](crate::Pool::global).
///
/// | items | the body gets |
/// |---|---|
/// | `a..b`, `a..=b` of integers | an integer |
/// | `&vec`, `&array`, `&slice[..]` | `&T` |
/// | `&mut vec`, `&mut array`, `&mut slice[..]` | `&mut T` |
/// | what implements [`Parts`] or [`IntoParts`] | [`Parts::Item`] |
///
/// | option | what it does | without it |
/// |---|---|---|
/// | [`chunks(n)`](Par::chunks) | the body gets up to `n` neighbouring items at once | one item |
/// | [`grain(n)`](Par::grain) | leaves have at most `n` items | their size is found by timing |
/// | [`cancel(&token)`](Par::cancel) | stops when the token is cancelled | runs to its end |
/// | [`place(p)`](Par::place) | all items are for the workers of one place | for all workers |
/// | [`by_place()`](Par::by_place) | each place gets the same items every time | for all workers |
/// | [`on(worker)`](Par::on) | a known worker calls | looks up the calling worker |
///
/// # Panics
/// If a body panics, the loop panics with its payload, after all leaves have ended. A panic ends
/// only its own leaf, whose other items are not visited.
///
/// # Examples
/// ```
/// use locksley::loops::par;
///
/// let mut heights = vec![0; 1000];
/// par(&mut heights).for_each(|height| *height += 1);
/// let squares = par(0..1000_u64).map(|n| n * n);
/// let sum = par(&squares).reduce(|| 0, |sum, n| sum + n, |a, b| a + b);
/// assert_eq!((heights[999], sum), (1, 332_833_500));
/// ```
///
/// An iterator cannot be divided. The compiler says what to write instead:
/// ```compile_fail,E0277
/// locksley::loops::par(vec![1, 2].iter()).for_each(|_| ());
/// ```
pub fn par<'w, I: IntoParts>(items: I) -> Par<'w, I::Parts> {
    let plan = Plan { token: (), grain: None, target: Target::Anywhere };
    Par { parts: items.into_parts(), worker: None, plan }
}

/// A parallel loop that has not begun: see [`par`].
///
/// `P` is what it divides. `T` is `()`, or a reference to the [token](Par::cancel) that stops it.
#[must_use = "a loop begins with `for_each`, `map` or `reduce`"]
#[derive(Debug)]
pub struct Par<'w, P, T = ()> {
    parts: P,
    worker: Option<&'w Worker>,
    plan: Plan<T>,
}

impl<'w, P: Parts, T: Token> Par<'w, P, T> {
    /// Gives the body up to `size` neighbouring items at once: a range for a range, a slice for a
    /// slice. Only the last chunk may be shorter.
    ///
    /// From here on an item is a chunk: a [`grain`](Self::grain) is a number of chunks.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let mut rows = vec![3, 1, 2, 9, 8, 7];
    /// par(&mut rows).chunks(3).for_each(<[_]>::sort);
    /// assert_eq!(rows, [1, 2, 3, 7, 8, 9]);
    /// assert_eq!(par(0..10).chunks(4).map(|range| range.len()), [4, 4, 2]);
    /// ```
    #[track_caller]
    pub fn chunks(self, size: usize) -> Par<'w, Chunks<P>, T> {
        let Self { parts, worker, plan } = self;
        Par { parts: Chunks::new(parts, size), worker, plan }
    }

    /// Fixes how the loop divides: by halves, down to leaves of at most `items` items.
    ///
    /// So a [`reduce`](Self::reduce) has the same result in every run, on every machine and for any
    /// number of workers, bit for bit, whatever it combines. Large leaves cost less, small ones
    /// share better: a leaf should take some microseconds.
    ///
    /// # Panics
    /// If `items` is 0.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let numbers: Vec<f32> = (1..10_000).map(|n| 1.0 / n as f32).collect();
    /// let sum = || par(&numbers).grain(256).reduce(|| 0.0, |sum, n| sum + n, |a, b| a + b);
    /// assert_eq!(sum().to_bits(), sum().to_bits());
    /// ```
    #[track_caller]
    pub fn grain(mut self, items: usize) -> Self {
        assert!(items > 0, "leaves of no items");
        self.plan.grain = Some(items);
        self
    }

    /// Stops the loop once `token` is cancelled: it divides no more, and begins no leaf.
    ///
    /// Leaves that have begun run to their ends: as many items as took five microseconds before, or
    /// one that takes longer. What they return is dropped, and the loop returns
    /// [`Cancelled`](crate::Cancelled): if some items were not visited, or if the token was
    /// cancelled before the loop began. A panic comes before the error.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    /// use locksley::{Cancellation, Cancelled};
    ///
    /// let token = Cancellation::new();
    /// let squares = || par(0..4_u32).cancel(&token).map(|n| n * n);
    /// assert_eq!(squares(), Ok(vec![0, 1, 4, 9]));
    /// token.cancel();
    /// assert_eq!(squares(), Err(Cancelled));
    /// ```
    pub fn cancel<'t>(self, token: &'t Cancellation) -> Par<'w, P, &'t Cancellation> {
        let Self { parts, worker, plan: Plan { grain, target, .. } } = self;
        Par { parts, worker, plan: Plan { token, grain, target } }
    }

    /// Sends all items to the workers of one [place](crate::PoolBuilder::places), by number. Other
    /// workers help when they have nothing to do.
    ///
    /// # Panics
    /// The loop panics if its pool has no such place.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(locksley::loops::par(0..4_u32).place(0).map(|n| n * n), [0, 1, 4, 9]);
    /// ```
    pub fn place(mut self, place: usize) -> Self {
        self.plan.target = Target::Place(place);
        self
    }

    /// Gives each [place](crate::PoolBuilder::places) the same items every time: as large a share
    /// of them as it has of the workers, one after the other.
    ///
    /// So a loop finds in the caches of a place what an earlier loop over as many items has left
    /// there. And the first loop, if it writes memory that was never touched, brings it into the
    /// memory next to the place. Other workers help when they have nothing to do.
    ///
    /// With a [`grain`](Self::grain) the leaves are the same as without places. A leaf that lies in
    /// two shares is for the place that has its first item.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let mut heights = vec![0; 100_000];
    /// for round in 1..=3 {
    ///     par(&mut heights).by_place().for_each(|height| *height += round);
    /// }
    /// assert!(heights.iter().all(|&height| height == 6));
    /// ```
    pub fn by_place(mut self) -> Self {
        self.plan.target = Target::EachPlace;
        self
    }

    /// Names the calling worker, which then need not be looked up.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// assert_eq!(pool.install(|worker| par(0..4_u32).on(worker).map(|n| n * n)), [0, 1, 4, 9]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn on(mut self, worker: &'w Worker) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Calls `body` with each item, in no particular order.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled), only with a [token](Self::cancel).
    ///
    /// # Panics
    /// If `body` panics: see [`par`].
    ///
    /// # Examples
    /// ```
    /// let mut items = vec![1; 100];
    /// locksley::loops::par(&mut items).for_each(|item| *item += 1);
    /// assert_eq!(items, [2; 100]);
    /// ```
    pub fn for_each(self, body: impl Fn(P::Item) + Sync) -> T::Outcome<()> {
        let leaf = |parts: P| parts.into_items().for_each(&body);
        T::outcome(self.plan.run(self.worker, self.parts, &leaf, &|(), ()| ()))
    }

    /// Returns what `body` returns for each item, in the order of the items.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled), only with a [token](Self::cancel).
    ///
    /// # Panics
    /// If `body` panics: see [`par`]. What it returned for other items is dropped.
    ///
    /// # Examples
    /// ```
    /// let lengths = locksley::loops::par(&["robin", "of", "locksley"]).map(|word| word.len());
    /// assert_eq!(lengths, [5, 2, 8]);
    /// ```
    pub fn map<R: Send>(self, body: impl Fn(P::Item) -> R + Sync) -> T::Outcome<Vec<R>> {
        let results = collect(self.parts, |output| {
            self.plan.run(self.worker, output, &|output| Output::fill(output, &body), &Filled::join)
        });
        T::outcome(results)
    }

    /// Folds all items into one value. Each leaf begins with `identity` and folds its items in
    /// order; `combine` unites neighbouring leaves.
    ///
    /// If `combine` is associative and `identity` is neutral, the result is that of the serial
    /// loop. The addition of floats is not associative: its result depends on how the loop was
    /// divided, which is the same every time only with a [`grain`](Self::grain).
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled), only with a [token](Self::cancel).
    ///
    /// # Panics
    /// If one of the functions panics: see [`par`].
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let sum = par(0..1_000_000_u64).reduce(|| 0, |sum, n| sum + n, |a, b| a + b);
    /// assert_eq!(sum, 499_999_500_000);
    /// ```
    ///
    /// The value may be state that the items of a leaf have in common:
    /// ```
    /// use std::collections::HashMap;
    ///
    /// let words = ["robin", "hood", "robin"];
    /// let count = |mut counts: HashMap<_, _>, word| {
    ///     *counts.entry(word).or_insert(0) += 1;
    ///     counts
    /// };
    /// let unite = |mut left: HashMap<_, _>, right| {
    ///     for (word, count) in right {
    ///         *left.entry(word).or_insert(0) += count;
    ///     }
    ///     left
    /// };
    /// let counts = locksley::loops::par(&words).reduce(HashMap::new, count, unite);
    /// assert_eq!(counts[&"robin"], 2);
    /// ```
    pub fn reduce<R: Send>(
        self,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> T::Outcome<R> {
        let leaf = |parts: P| parts.into_items().fold(identity(), &fold);
        T::outcome(self.plan.run(self.worker, self.parts, &leaf, &combine))
    }
}
