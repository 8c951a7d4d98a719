//! A graph of intervals: each merger comes after its two neighbours, and their runs flow along the
//! edges. Each is at its place.

use std::mem;
use std::ops::Range;

use locksley_intervals::{Builder, Context, Guarded, Handle, Root};

use super::{Division, halves, merged, sorted};

/// What a sorter or a merger has made. The next merger takes it, so that it is freed.
type Run = Guarded<Vec<u32>>;

/// All sorted, by a pool of so many places.
pub(super) fn sort(root: Root<'_>, division: &Division, input: &[u32], places: usize) -> Vec<u32> {
    let mut answer = Vec::new();
    let ended = root.run(|root| {
        let graph = Graph { root, division, input, places };
        let (last, _) = graph.make(division.all());
        let answer = &mut answer;
        root.interval("keep").after(last).spawn(move |cx| *answer = taken(&last, cx));
    });
    ended.expect("it is not cancelled");
    answer
}

/// The graph while it is made.
struct Graph<'c, 'g, 'env: 'g> {
    root: &'c Context<'g, 'env>,
    division: &'env Division,
    input: &'env [u32],
    places: usize,
}

impl<'c, 'g, 'env: 'g> Graph<'c, 'g, 'env> {
    /// The interval with what these sorters have, sorted; and its place.
    fn make(&self, sorters: Range<usize>) -> (Handle<'g, Run>, usize) {
        let Some([left, right]) = halves(&sorters) else {
            let place = self.division.of_sorter(sorters.start, self.places);
            let part = self.division.part(self.input, sorters.start);
            let sorter = self.interval("sort", place).spawn(move |_| Guarded::new(sorted(part)));
            return (sorter, place);
        };
        let ((left, place), (right, _)) = (self.make(left), self.make(right));
        let place = self.division.of_merger(place, self.places);
        let merger = self.interval("merge", place).after(left).after(right);
        let merger =
            merger.spawn(move |cx| Guarded::new(merged(&taken(&left, cx), &taken(&right, cx))));
        (merger, place)
    }

    fn interval(&self, name: &'static str, place: usize) -> Builder<'c, 'g, 'env> {
        let interval = self.root.interval(name);
        if self.places > 1 { interval.near(place) } else { interval }
    }
}

fn taken<'g>(run: &Handle<'g, Run>, cx: &Context<'g, '_>) -> Vec<u32> {
    mem::take(&mut *run.get(cx).write(cx))
}

#[cfg(test)]
mod tests {
    use locksley::Pool;
    use locksley::places::Places;
    use locksley_intervals::{Recording, Side};

    use super::*;

    fn pool(places: usize) -> Pool {
        let sets = (0..places).map(|place| std::iter::once(place).collect());
        let places = Places::given(&(0..places).collect(), sets.collect::<Vec<_>>()).unwrap();
        Pool::builder().workers(places.count()).places(places).build().unwrap()
    }

    #[test]
    fn mergers_come_after_their_neighbours_at_the_place_of_the_left_one_or_beside_it() {
        let input: Vec<u32> = (0..4000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let mut expected = input.clone();
        expected.sort_unstable();
        for (is_worst, places) in [(false, 3), (true, 3), (false, 1)] {
            let division = Division { integers: input.len(), sorters: 37, is_worst };
            let (pool, mut recording) = (pool(places), Recording::default());
            // A checked root panics where nothing orders them, whenever they have happened to run.
            let root = Root::new("checked").on(&pool).checked(true).recorded(&mut recording);
            assert_eq!(sort(root, &division, &input, places), expected);
            let all = &recording.intervals;
            let named = |name: &str| all.iter().filter(|interval| interval.name == name).count();
            assert_eq!((named("sort"), named("merge"), named("keep")), (37, 36, 1));
            for (number, interval) in all.iter().enumerate().filter(|(_, it)| it.name == "merge") {
                let before: Vec<_> = (recording.edges.iter())
                    .filter(|[_, (to, _)]| *to == number)
                    .map(|&[(from, from_side), (_, to_side)]| (from, from_side, to_side))
                    .collect();
                let [(left, Side::End, Side::Start), (_, Side::End, Side::Start)] = before[..]
                else {
                    panic!("after two: {before:?}")
                };
                let place = all[left].near.map(|place| division.of_merger(place, places));
                assert_eq!((interval.near, interval.near.is_none()), (place, places == 1));
            }
            let sorters = all.iter().filter(|interval| interval.name == "sort");
            let at_first = sorters.filter(|sorter| sorter.near == Some(0)).count();
            let share = if places == 1 { 0 } else { 37_usize.div_ceil(places) };
            assert_eq!(at_first, share);
        }
    }
}
