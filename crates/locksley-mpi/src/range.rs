//! A loop over a range as a bag.

use std::marker::PhantomData;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bag::Bag;

/// The bag of [`Ranks::par_map_reduce`](crate::Ranks::par_map_reduce).
pub(crate) struct MapReduce<F, G, R> {
    pub(crate) map: F,
    pub(crate) reduce: G,
    pub(crate) result: PhantomData<fn() -> R>,
}

impl<F, G, R> Bag for MapReduce<F, G, R>
where
    F: Fn(u64) -> R + Send + Sync + 'static,
    G: Fn(R, R) -> R + Send + Sync + 'static,
    R: Serialize + DeserializeOwned + Send + 'static,
{
    type Tasks = Range<u64>;
    type Output = Option<R>;

    fn process(&self, tasks: &mut Range<u64>, items: usize, output: &mut Option<R>) -> bool {
        for index in tasks.by_ref().take(items) {
            self.merge(output, Some((self.map)(index)));
        }
        !tasks.is_empty()
    }

    fn split(&self, tasks: &mut Range<u64>) -> Option<Range<u64>> {
        let length = tasks.end.saturating_sub(tasks.start);
        if length < 2 {
            return None;
        }
        let middle = tasks.start + length / 2;
        let upper = middle..tasks.end;
        tasks.end = middle;
        Some(upper)
    }

    fn merge(&self, output: &mut Option<R>, other: Option<R>) {
        *output = match (output.take(), other) {
            (Some(one), Some(two)) => Some((self.reduce)(one, two)),
            (one, two) => one.or(two),
        };
    }
}

/// The part of a range with which a rank begins.
pub(crate) fn block(range: &Range<u64>, rank: usize, size: usize) -> Range<u64> {
    let length = u128::from(range.end.saturating_sub(range.start));
    let bound = |rank: usize| range.start + (length * rank as u128 / size as u128) as u64;
    bound(rank)..bound(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_range_in_order() {
        for range in [0..0, 3..4, 0..7, 5..1000, 0..u64::MAX] {
            for size in [1, 2, 3, 8, 1000] {
                let mut at = range.start;
                for rank in 0..size {
                    let block = block(&range, rank, size);
                    assert_eq!(block.start, at);
                    at = block.end;
                }
                assert_eq!(at, range.end);
            }
        }
    }
}
