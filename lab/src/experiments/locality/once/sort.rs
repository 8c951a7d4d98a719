//! Merge sort, as LASSI's study has it: who merges two halves finds them in the cache if they were sorted there.

use locksley::Worker;

use super::shared_deques::Task;
use super::{Case, Timed, touch};
use crate::random::{Random, mix};

/// Integers that are sorted by one task.
const LEAF: usize = 1 << 15;

/// Of `size` integers.
pub(super) fn measure(worker: &Worker, case: &Case<'_>, size: u64) -> Result<Timed, String> {
    let length = usize::try_from(size).map_err(|_| "nobody has so many integers")?;
    let (mut data, mut scratch) = (vec![0; length], vec![0; length]);
    let root = Node { places: (0, case.places), depth: 0, index: 0 };
    let mut parts = Vec::new();
    leaves(case, &mut data, &mut scratch, 0, root, &mut parts);
    touch::touch(worker, case, parts.into_iter());
    let mut random = Random::new(case.seed);
    let expected = (0..length)
        .fold(0, |sum: u64, _| sum.wrapping_add(part_of_content(random.next_u64() as u32)));
    let (tasks, time) = case.time(|| sort(worker, case, &mut data, &mut scratch, root));
    if !data.is_sorted() {
        return Err("the integers are not in order".to_owned());
    }
    if content(&data) != expected {
        return Err("the integers are in order but not those of the input".to_owned());
    }
    Ok(Timed { tasks, ..time })
}

/// A sum that does not depend on the order.
fn content(data: &[u32]) -> u64 {
    data.iter().fold(0, |sum: u64, &value| sum.wrapping_add(part_of_content(value)))
}

fn part_of_content(value: u32) -> u64 {
    mix(u64::from(value) + 1)
}

/// Both arrays in the parts that are sorted by one task each, to be filled where that is placed; `first` is the number of their first element.
fn leaves<'t>(
    case: &'t Case<'_>,
    data: &'t mut [u32],
    scratch: &'t mut [u32],
    first: usize,
    node: Node,
    parts: &mut Vec<((usize, usize), Task<'t>)>,
) {
    if data.len() <= LEAF {
        let fill = move || {
            touch::with_random(data, case.seed, first, |number| number as u32);
            scratch.fill(0);
        };
        parts.push((node.turn(case.places), Box::new(fill)));
        return;
    }
    let (left, right, middle) = node.halves(data.len());
    let (low, high) = data.split_at_mut(middle);
    let (low_scratch, high_scratch) = scratch.split_at_mut(middle);
    leaves(case, low, low_scratch, first, left, parts);
    leaves(case, high, high_scratch, first + middle, right, parts);
}

/// A part of the data.
#[derive(Clone, Copy)]
struct Node {
    /// It is that of the places from the first one on and before the second one.
    places: (usize, usize),
    depth: usize,
    /// Which of its depth.
    index: usize,
}

impl Node {
    /// Both halves; and how much of so much the first one is.
    fn halves(self, length: usize) -> (Node, Node, usize) {
        let (first, end) = self.places;
        let child = |places, index| Node { places, depth: self.depth + 1, index };
        let (left, right) = (2 * self.index, 2 * self.index + 1);
        if end - first == 1 {
            return (child(self.places, left), child(self.places, right), length / 2);
        }
        let middle = first + (end - first) / 2;
        let share = (length as u128 * (middle - first) as u128 / (end - first) as u128) as usize;
        (child((first, middle), left), child((middle, end), right), share)
    }

    /// The place where it is best, of so many; and by how much the worst is behind that one, which takes siblings apart.
    fn turn(self, places: usize) -> (usize, usize) {
        let best = self.places.0;
        (best, self.depth + self.index + places - best)
    }
}

/// Returns how many tasks there were.
fn sort(
    worker: &Worker,
    case: &Case<'_>,
    data: &mut [u32],
    scratch: &mut [u32],
    node: Node,
) -> u64 {
    if data.len() <= LEAF {
        data.sort_unstable();
        return 0;
    }
    let (left, right, middle) = node.halves(data.len());
    let mut tasks = (0, 0);
    {
        let (low, high) = data.split_at_mut(middle);
        let (low_scratch, high_scratch) = scratch.split_at_mut(middle);
        let (of_left, of_right) = (&mut tasks.0, &mut tasks.1);
        worker.scope(|worker, scope| {
            case.spawn(worker, scope, right.turn(case.places), move |worker, _| {
                *of_right = sort(worker, case, high, high_scratch, right);
            });
            case.spawn(worker, scope, left.turn(case.places), move |worker, _| {
                *of_left = sort(worker, case, low, low_scratch, left);
            });
        });
    }
    merge(&data[..middle], &data[middle..], scratch);
    data.copy_from_slice(scratch);
    tasks.0 + tasks.1 + 2
}

fn merge<'a>(mut left: &'a [u32], mut right: &'a [u32], out: &mut [u32]) {
    for slot in out {
        let from_left = match (left.first(), right.first()) {
            (Some(a), Some(b)) => a <= b,
            (first, _) => first.is_some(),
        };
        let run = if from_left { left } else { right };
        *slot = run[0];
        *(if from_left { &mut left } else { &mut right }) = &run[1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_loses_nothing() {
        for (left, right) in [(&[][..], &[][..]), (&[1, 4, 4], &[]), (&[2, 9], &[0, 2, 10, 11])] {
            let mut out = vec![0; left.len() + right.len()];
            merge(left, right, &mut out);
            let mut expected = [left, right].concat();
            expected.sort_unstable();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn each_place_has_its_part_and_the_worst_is_elsewhere() {
        let root = Node { places: (0, 3), depth: 0, index: 0 };
        let (left, right, middle) = root.halves(300);
        assert_eq!((left.places, right.places, middle), ((0, 1), (1, 3), 100));
        let (a, b, half) = right.halves(200);
        assert_eq!((a.places, b.places, half), ((1, 2), (2, 3), 100));
        let (c, d, half) = left.halves(101);
        assert_eq!((c.places, d.places, half), ((0, 1), (0, 1), 50));
        for (one, other) in [(left, right), (a, b), (c, d)] {
            let worst = |node: Node| {
                let (best, turn) = node.turn(3);
                (best + turn) % 3
            };
            assert_ne!(worst(one), worst(other), "siblings are apart");
        }
    }
}
