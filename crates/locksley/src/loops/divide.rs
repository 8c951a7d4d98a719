//! The division of a loop: among places, and then by halves, with a fork for each, down to leaves.

use std::marker::PhantomData;
use std::ops::Range;

use super::grain::Grain;
use super::parts::Parts;
use super::token::Token;
use crate::pool::Pool;
use crate::primitive::Ordering;
use crate::primitive::plain::AtomicBool;
use crate::unwind;
use crate::worker::Worker;

/// The options of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<T> {
    pub(super) token: T,
    /// The most items of a leaf, if the caller has fixed it.
    pub(super) grain: Option<usize>,
    pub(super) target: Target,
}

/// The workers to which the items are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Anywhere,
    Place(usize),
    EachPlace,
}

impl<T: Token> Plan<T> {
    /// Runs a loop over `parts` by the calling worker, or else in the global pool. `None` if the
    /// token has stopped it.
    pub(super) fn run<P: Parts, R: Send>(
        self,
        parts: P,
        leaf: &(impl Fn(P) -> R + Sync),
        combine: &(impl Fn(R, R) -> R + Sync),
    ) -> Option<R> {
        let has_panicked = AtomicBool::new(false);
        let division = Division { plan: self, leaf, combine, has_panicked, types: PhantomData };
        let task = |worker: &Worker| division.start(worker, parts);
        Worker::with_current(|current| match current {
            Some(worker) => task(worker),
            None => Pool::global().install(task),
        })
    }
}

/// The state that all parts of one loop share.
struct Division<'f, P, R, T, L, C> {
    plan: Plan<T>,
    leaf: &'f L,
    combine: &'f C,
    /// True once a part has panicked: other parts do not begin.
    has_panicked: AtomicBool,
    types: PhantomData<fn(P) -> R>,
}

/// The result of a part is `None` if the token or a panic of another part has stopped it.
impl<P, R, T, L, C> Division<'_, P, R, T, L, C>
where
    P: Parts,
    R: Send,
    T: Token,
    L: Fn(P) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    fn start(&self, worker: &Worker, parts: P) -> Option<R> {
        match self.plan.target {
            Target::Place(place) => {
                worker.join_near(place, |_| (), |worker| self.start_here(worker, parts)).1
            }
            // A pool with one place has no list of places.
            Target::EachPlace if !worker.shared().place_states().is_empty() => {
                let workers =
                    worker.shared().place_states().iter().map(|it| it.workers.clone().count());
                let ends = shares(parts.len(), workers);
                self.spread(worker, parts, 0, &ends)
            }
            _ => self.start_here(worker, parts),
        }
    }

    fn start_here(&self, worker: &Worker, parts: P) -> Option<R> {
        self.divide(worker, parts, &Grain::new(worker, self.plan.grain))
    }

    /// Called before a division and before each leaf.
    #[inline(always)]
    fn is_stopped(&self) -> bool {
        // Relaxed: the result of the loop is the panic, which the join hands over.
        self.has_panicked.load(Ordering::Relaxed) || self.plan.token.is_cancelled()
    }

    /// Calls a function of the program, and records if it panics.
    #[inline(always)]
    fn call<X>(&self, function: impl FnOnce() -> X) -> X {
        unwind::catch(function).unwrap_or_else(|payload| {
            self.has_panicked.store(true, Ordering::Relaxed);
            unwind::resume(payload)
        })
    }

    fn divide(&self, worker: &Worker, parts: P, grain: &Grain) -> Option<R> {
        if self.is_stopped() {
            return None;
        }
        let items = parts.len();
        if items <= grain.items() {
            return Some(self.call(|| grain.run(items, || (self.leaf)(parts))));
        }
        let (left, right) = parts.split_at(items / 2);
        self.combine(worker.join(
            |worker| self.divide(worker, left, grain),
            |worker| {
                let own = grain.for_worker(worker);
                self.divide(worker, right, own.as_ref().unwrap_or(grain))
            },
        ))
    }

    /// Combines the results of two halves. The result of one half is dropped if the other half was
    /// stopped.
    #[inline(always)]
    fn combine(&self, halves: (Option<R>, Option<R>)) -> Option<R> {
        let (left, right) = (halves.0?, halves.1?);
        Some(self.call(|| (self.combine)(left, right)))
    }

    /// Divides the part that begins with item `start` among the places. `ends` are the ends of
    /// their shares. The worker keeps the half that is nearer to its own place, and sends the other
    /// one to where it belongs.
    fn spread(&self, worker: &Worker, parts: P, start: usize, ends: &[usize]) -> Option<R> {
        let grain = self.plan.grain;
        let end = start + parts.len();
        let (first, last) = places_of(start..end, ends, grain);
        if first == last {
            return self.start_here(worker, parts);
        }
        if self.is_stopped() {
            return None;
        }
        let middle = match grain {
            // As `divide` does, so that the leaves are the same.
            Some(_) => start + (end - start) / 2,
            None => ends[(first + last) / 2],
        };
        let (left, right) = parts.split_at(middle - start);
        let left = |worker: &Worker| self.spread(worker, left, start, ends);
        let right = |worker: &Worker| self.spread(worker, right, middle, ends);
        let (place_of_right, _) = places_of(middle..end, ends, grain);
        self.combine(if worker.place() < place_of_right {
            worker.join_near(place_of_right, left, right)
        } else {
            let (right, left) = worker.join_near(first, right, left);
            (left, right)
        })
    }
}

/// The end of each place's share of the items, in proportion to its workers.
fn shares(items: usize, workers: impl Iterator<Item = usize> + Clone) -> Vec<usize> {
    let all: usize = workers.clone().sum();
    let mut before = 0;
    let end = workers.map(|workers| {
        before += workers;
        (items as u128 * before as u128 / all as u128) as usize
    });
    end.collect()
}

/// The first and the last place of these items. A leaf in several shares belongs to the place of
/// its first item.
fn places_of(items: Range<usize>, ends: &[usize], grain: Option<usize>) -> (usize, usize) {
    let place_of = |item| ends.partition_point(|&end| end <= item);
    let (first, count) = (place_of(items.start), items.end - items.start);
    let is_leaf = count <= grain.unwrap_or(1);
    (first, if is_leaf { first } else { place_of(items.end - 1) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::Range;

    use super::{places_of, shares};
    use crate::cancellation::Cancellation;
    use crate::loops::par;
    use crate::pool::tests::divided;

    #[test]
    fn each_place_gets_its_share() {
        let of = |items, workers: &[usize]| shares(items, workers.iter().copied());
        assert_eq!(of(10, &[1, 1]), [5, 10]);
        assert_eq!(of(9, &[1, 2]), [3, 9]);
        assert_eq!(of(1, &[1, 1]), [0, 1]);
        assert_eq!(of(14, &[3, 0, 4]), [6, 6, 14]);
        let large = of(usize::MAX, &[1, 3, 4]);
        assert_eq!(large[2], usize::MAX);
        assert!(large[0] < large[1] - large[0] && large[1] - large[0] <= large[2] - large[1]);
    }

    #[test]
    fn a_part_belongs_to_the_places_of_its_items_and_a_leaf_to_the_first() {
        let ends = shares(14, [3, 0, 4].into_iter());
        for (items, places) in [(0..14, (0, 2)), (0..6, (0, 0)), (5..7, (0, 2)), (6..14, (2, 2))] {
            assert_eq!(places_of(items.clone(), &ends, None), places);
            assert_eq!(places_of(items, &ends, Some(14)), (places.0, places.0));
        }
    }

    /// How `divide` divides, as text.
    fn halves(items: Range<usize>, grain: usize) -> String {
        if items.end - items.start <= grain {
            return items.map(|n| format!("{n},")).collect();
        }
        let middle = items.start + (items.end - items.start) / 2;
        format!("({} {})", halves(items.start..middle, grain), halves(middle..items.end, grain))
    }

    #[test]
    fn with_a_grain_the_shape_is_the_same_as_without_places() {
        for workers in [&[1, 1][..], &[1, 2], &[2, 2, 1, 5]] {
            let pool = divided(workers).build().unwrap();
            for items in (1..20).chain([100]) {
                for grain in [1, 2, 3, 7, 64] {
                    let text = pool.install(|_| {
                        let append = |text: String, n| text + &format!("{n},");
                        let both = |a: String, b: String| format!("({a} {b})");
                        let all = par(0..items).by_place().grain(grain);
                        all.reduce(String::new, append, both)
                    });
                    assert_eq!(text, halves(0..items, grain));
                }
            }
        }
    }

    /// An empty part would report a cancellation although no item is missing.
    #[test]
    fn no_part_is_empty() {
        let pool = divided(&[1, 1, 2]).build().unwrap();
        for items in 1..6_usize {
            let (token, seen) = (Cancellation::new(), std::sync::Mutex::new(0));
            let body = |_| {
                let mut seen = seen.lock().unwrap();
                *seen += 1;
                if *seen == items {
                    token.cancel();
                }
            };
            let result = pool.install(|_| par(0..items).cancel(&token).by_place().for_each(body));
            assert_eq!(result, Ok(()));
        }
    }
}
