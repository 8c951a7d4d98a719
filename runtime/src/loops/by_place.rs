//! A loop that gives the same items to the same place every time.

use super::{Called, Parts, on_a_worker, told};
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
        let quarters = self.shared().quarters();
        if quarters.is_empty() {
            return self.for_each(parts, body);
        }
        let (body, here) = (&body, self.place());
        let lengths = shares(parts.len(), quarters.iter().map(|quarter| quarter.workers().len()));
        let called = Called::here();
        told(self, called, || {
            self.scope(|worker, scope| {
                let (mut rest, mut own) = (parts, None);
                for (place, length) in lengths.enumerate() {
                    let (part, others) = rest.split_at(length);
                    rest = others;
                    if place == here {
                        own = Some(part);
                    } else if length > 0 {
                        let each = move |worker: &Self, _: &_| worker.for_each(part, body);
                        scope.spawn_near_from(worker, called.site, place, each);
                    }
                }
                if let Some(own) = own {
                    worker.for_each(own, body);
                }
            });
        });
    }
}

/// How many of so many items each gets who has so many of the workers. All together get all.
fn shares(
    items: usize,
    workers: impl Iterator<Item = usize> + Clone,
) -> impl Iterator<Item = usize> {
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
    use super::shares;

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
