//! Parallel loops: [`par`] and its options.
//!
//! Use them to do the same with many items of a range or slice. A loop divides its items into
//! halves, each half again, and so on. Each division is a *fork*: one half goes on at once, and
//! another worker can steal the other. A part that is not divided further is a *leaf*, whose items
//! run one after the other on one worker.
//!
//! The loop measures the time of leaves, and chooses the size of later ones so that a leaf takes
//! about 5 µs. A leaf has at least one item, however long that takes. Other workers can steal all
//! items except those of leaves that have begun.
//!
//! For chains of adaptors (`filter`, `zip`, ...) use rayon's parallel iterators. A `[patch]` in
//! `Cargo.toml` makes them run on Locksley's workers: see the guide, `docs/guide/rayon.md`.
//!
//! # Examples
//! ```
//! let lengths = locksley::loops::par(&["robin", "hood"]).map(|word| word.len());
//! assert_eq!(lengths, [5, 4]);
//! ```

mod divide;
mod filled;
mod grain;
mod parts;
mod token;

pub use parts::Parts;

use crate::cancellation::Cancellation;
use divide::{Plan, Target};
use filled::{Filled, Output, collect};
use parts::{Chunks, IntoParts};
use token::Token;

/// Makes a parallel loop over `items`. The call of `for_each`, `map` or `reduce` runs it.
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
/// | a type with [`Parts`] | [`Parts::Item`] |
///
/// Neither owned collections nor iterators are accepted. For a `Vec`, pass a reference.
///
/// | option | effect | default |
/// |---|---|---|
/// | [`chunks(n)`](Par::chunks) | the body gets up to `n` adjacent items at once | one item |
/// | [`grain(n)`](Par::grain) | leaves have at most `n` items | about 5 µs a leaf |
/// | [`cancel(&token)`](Par::cancel) | stops when the token is cancelled | runs to its end |
/// | [`place(p)`](Par::place) | workers of place `p` are preferred | all workers are equal |
/// | [`by_place()`](Par::by_place) | each place gets the same items every time | no preference |
///
/// # Panics
/// The loop panics if a body panics, with the payload of that panic. The other items of that leaf
/// are skipped, and so are leaves that have not begun. Leaves that have begun run to their ends
/// before. If several of them panic, the payload is that of the leaf with the first items; with
/// [`by_place`](Par::by_place), it is that of any. The loop also panics if it needs the global pool
/// and that cannot be built.
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
/// There is no `find`. The first item that matches is searched by a body that skips the items
/// behind the best one so far. (For any match, [cancel](crate::Cancellation) the loop.)
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let words = ["robin", "hood", "marian", "tuck"];
/// let first = AtomicUsize::new(usize::MAX);
/// locksley::loops::par(0..words.len()).for_each(|i| {
///     if i < first.load(Ordering::Relaxed) && words[i].len() == 4 {
///         first.fetch_min(i, Ordering::Relaxed);
///     }
/// });
/// assert_eq!(words.get(first.into_inner()), Some(&"hood"));
/// ```
///
/// An iterator cannot be divided. The compiler's message names the alternatives:
/// ```compile_fail,E0277
/// locksley::loops::par(vec![1, 2].iter()).for_each(|_| ());
/// ```
pub fn par<I: IntoParts>(items: I) -> Par<I::Parts> {
    let plan = Plan { token: (), grain: None, target: Target::Anywhere };
    Par { parts: items.into_parts(), plan }
}

/// A parallel loop that has not begun. Made by [`par`].
///
/// `P` is the sequence that it divides: see [`Parts`]. `T` is `()`, or a reference to the
/// [token](Par::cancel) that stops it.
#[must_use = "`for_each`, `map` or `reduce` runs the loop"]
#[derive(Debug)]
pub struct Par<P, T = ()> {
    parts: P,
    plan: Plan<T>,
}

impl<P: Parts, T: Token> Par<P, T> {
    /// Gives the body up to `size` adjacent items at once: a range for a range, a slice for a
    /// slice. Only the last chunk may be shorter.
    ///
    /// An item of the loop is then a chunk. A [`grain`](Self::grain) is a number of chunks, whether
    /// it is set before this call or after it.
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
    ///
    /// A chunk does not know its number. To write rows that depend on their numbers, loop over a
    /// vector of numbered rows:
    /// ```
    /// let mut image = vec![0; 4 * 3];
    /// let mut rows: Vec<(usize, &mut [usize])> = image.chunks_mut(3).enumerate().collect();
    /// locksley::loops::par(&mut rows).for_each(|(y, row)| {
    ///     row.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = 10 * *y + x);
    /// });
    /// assert_eq!(image[3..9], [10, 11, 12, 20, 21, 22]);
    /// ```
    #[track_caller]
    pub fn chunks(self, size: usize) -> Par<impl Parts<Item = P>, T> {
        assert!(size > 0, "the size of a chunk is 0");
        Par { parts: Chunks { parts: self.parts, size }, plan: self.plan }
    }

    /// Sets the size of leaves: the loop divides by halves until a part has at most `items` items.
    ///
    /// Use it to make a [`reduce`](Self::reduce) of floats reproducible. How the items are divided
    /// then depends on their number only. So the result is the same, bit for bit, in every run, on
    /// every machine and for any number of workers. Large leaves have less overhead, and small ones
    /// divide the work more evenly: a leaf should take some microseconds.
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
    /// Leaves that have begun run to their ends. A leaf takes about 5 µs, or as long as one item;
    /// with [`grain(n)`](Self::grain), as long as up to `n` items. To stop earlier, the body
    /// [checks](Cancellation::check) the token.
    ///
    /// # Errors
    /// `for_each`, `map` and `reduce` then return a [`Result`]. It is an error,
    /// [`Cancelled`](crate::Cancelled), if some items were not visited, or if the token was
    /// cancelled before the loop began. The results of the other items are dropped: a cancelled
    /// `map` or `reduce` has no partial result. A panic takes precedence over the error.
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
    ///
    /// For a partial result, the loop gets no token, and the fold checks it. All items are visited,
    /// at the cost of a check each, and those after the cancellation are left out of the result:
    /// ```
    /// use locksley::Cancellation;
    /// use locksley::loops::par;
    ///
    /// let token = Cancellation::new();
    /// let fold = |(count, sum), n: u64| match token.is_cancelled() {
    ///     true => (count, sum),
    ///     false => {
    ///         if n == 500 {
    ///             token.cancel(); // for example by a deadline
    ///         }
    ///         (count + 1, sum + n)
    ///     }
    /// };
    /// let (count, sum) = par(0..1_000_000).reduce(|| (0, 0), fold, |a, b| (a.0 + b.0, a.1 + b.1));
    /// println!("the sum of {count} numbers is {sum}");
    /// assert!((1..=1_000_000).contains(&count) && sum >= 500);
    /// ```
    pub fn cancel(self, token: &Cancellation) -> Par<P, &Cancellation> {
        let Self { parts, plan: Plan { grain, target, .. } } = self;
        Par { parts, plan: Plan { token, grain, target } }
    }

    /// Prefers the workers of one [place](crate::PoolBuilder::places), given by its index. Idle
    /// workers of other places help.
    ///
    /// Use it if all items use data that lies in the cache or memory of that place.
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

    /// Divides the items among the [places](crate::PoolBuilder::places) of the pool, in the same
    /// way every time. A place gets a block of adjacent items, in proportion to its workers. Idle
    /// workers of other places help.
    ///
    /// Use it for repeated loops over the same data. If the number of items is the same, a place
    /// gets the same items as in the last loop, and may still have them in its cache. The kernel
    /// puts new memory on the NUMA node of the thread that writes it first. So write the data first
    /// in a loop by place, too.
    ///
    /// With a [`grain`](Self::grain) the leaves are the same as without places. If the items of a
    /// leaf belong to several places, the leaf prefers the place of its first item.
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

    /// Calls `body` with each item, in no particular order and for several items at a time.
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
        T::outcome(self.plan.run(self.parts, &leaf, &|(), ()| ()))
    }

    /// Returns what `body` returns for each item, in the order of the items.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled), only with a [token](Self::cancel).
    ///
    /// # Panics
    /// If `body` panics: see [`par`]. The results of other items are dropped.
    ///
    /// # Examples
    /// ```
    /// let lengths = locksley::loops::par(&["robin", "of", "locksley"]).map(|word| word.len());
    /// assert_eq!(lengths, [5, 2, 8]);
    /// ```
    pub fn map<R: Send>(self, body: impl Fn(P::Item) -> R + Sync) -> T::Outcome<Vec<R>> {
        T::outcome(collect(self.parts, |output, results| {
            let leaf = |output: Output<P>| output.fill(results, &body);
            self.plan.run(output, &leaf, &Filled::join)
        }))
    }

    /// Folds all items into one value. Each leaf begins with `identity()` and folds its items in
    /// order; `combine` combines the values of adjacent parts. Without items, the result is
    /// `identity()`.
    ///
    /// The result is that of the serial loop on three conditions: `combine` is associative;
    /// `identity()` is its neutral element; and `fold(a, x)` equals
    /// `combine(a, fold(identity(), x))`. The addition of floats is not associative: its result
    /// depends on how the loop was divided. Only with a [`grain`](Self::grain) is that the same
    /// every time.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled), only with a [token](Self::cancel).
    ///
    /// # Panics
    /// If one of the functions panics, as [`par`] describes for a body.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    ///
    /// let sum = par(0..1_000_000_u64).reduce(|| 0, |sum, n| sum + n, |a, b| a + b);
    /// assert_eq!(sum, 499_999_500_000);
    /// ```
    ///
    /// The value may be state that all items of a leaf share:
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
        T::outcome(self.plan.run(self.parts, &leaf, &combine))
    }
}
