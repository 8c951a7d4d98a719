//! A graph of intervals: a block of rows takes a step when it and its two neighbours have taken the
//! one before, and waits for no other. So some blocks may be steps ahead of others, and no step
//! ends for all.

use std::ops::Range;

use locksley_intervals::{Context, Guarded, Handle, Root};

use super::kernel::{leaf_rows, relax_strip};
use super::{Grids, Plate};

/// The most intervals of one root, if a step has no more: their memory comes back when all of them
/// have ended. A step that has more is a root: its intervals take less than a hundredth of the
/// memory of its grids.
pub(super) const MOST: usize = 1 << 16;

/// The rows of each block, from top to bottom: in a step those of one grid are read and those of
/// the other are written.
type Blocks<'a> = Vec<Guarded<&'a mut [f64]>>;

/// All steps, under as many roots as it takes, with at most so many intervals of one root, if a
/// step has no more.
pub(super) fn spread<'r>(
    most: usize,
    root: impl Fn() -> Root<'r>,
    grids: &mut Grids,
    plate: &Plate,
) {
    let points = leaf_rows(plate) * plate.columns;
    let blocks = [divided(&mut grids.now, points), divided(&mut grids.next, points)];
    let most = (most / blocks[0].len()).max(1);
    for first in (0..plate.steps).step_by(most) {
        let steps = first..plate.steps.min(first + most);
        let ended = root().run(|root| make(root, &blocks, steps, plate.columns));
        ended.expect("it is not cancelled");
    }
    drop(blocks);
    if plate.steps % 2 == 1 {
        grids.swap();
    }
}

fn divided(grid: &mut [f64], points: usize) -> Blocks<'_> {
    grid.chunks_mut(points).map(Guarded::new).collect()
}

/// Makes the intervals of some steps, all of which may begin before the last is made.
fn make<'env>(
    root: &Context<'_, 'env>,
    blocks: &'env [Blocks<'_>; 2],
    steps: Range<usize>,
    columns: usize,
) {
    let mut last: Vec<Handle<'_, ()>> = Vec::new();
    for step in steps {
        let (now, next) = (&blocks[step % 2], &blocks[(step + 1) % 2]);
        let make = |block: usize| {
            let rows = root.interval("rows");
            let rows = match last.get(block) {
                None => rows,
                Some(&same) => {
                    let above = block.checked_sub(1).map(|above| last[above]);
                    let below = last.get(block + 1).copied();
                    rows.follow(same).after_all(above).after_all(below)
                }
            };
            rows.spawn(move |cx| {
                let above = block.checked_sub(1).map(|above| now[above].read(cx));
                let below = now.get(block + 1).map(|below| below.read(cx));
                let above = above.as_ref().map(|rows| &rows[rows.len() - columns..]);
                let below = below.as_ref().map(|rows| &rows[..columns]);
                relax_strip(
                    &now[block].read(cx),
                    &mut next[block].write(cx),
                    above,
                    below,
                    columns,
                );
            })
        };
        last = (0..now.len()).map(make).collect();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use locksley::Pool;

    use super::*;
    use crate::fork::Serial;

    #[test]
    fn edges_order_all_that_two_blocks_do_to_the_same_rows() {
        let plate = Plate { rows: 37, columns: 2500, steps: 5 };
        let input: Vec<f64> = (0..37 * 2500).map(|n| f64::from(n * 31 % 101)).collect();
        let mut grids = Grids { now: input.clone(), next: input.clone() };
        let mut expected = grids.clone();
        super::super::spread(&Serial, &mut expected, &plate);
        let pool = Pool::new(3).unwrap();
        // A checked root panics where nothing orders them, whenever they have happened to run.
        spread(MOST, || Root::new("checked").on(&pool).checked(true), &mut grids, &plate);
        assert_eq!(grids.now, expected.now);
        // However many roots it takes: from one for each step, which has 13 intervals, to one for
        // all.
        for (most, roots) in [(1, 5), (12, 5), (13, 5), (26, 3), (64, 2), (65, 1)] {
            let mut grids = Grids { now: input.clone(), next: input.clone() };
            let times = Cell::new(0);
            let root = || {
                times.set(times.get() + 1);
                Root::new("part").on(&pool)
            };
            spread(most, root, &mut grids, &plate);
            assert_eq!((grids.now == expected.now, times.get()), (true, roots), "{most}");
        }
    }
}
