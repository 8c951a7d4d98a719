//! A graph of intervals on tiles of 4 by 4 blocks, the leaves of the fork-join versions: what is
//! done to a tile comes after what was done to it before, and after the tiles that it needs have
//! become final. It is the graph of the tiled algorithm (Buttari et al., "A class of parallel tiled
//! linear algebra algorithms for multicore architectures", 2009), without pivots.

use std::ops::Range;

use locksley_intervals::{Context, Guarded, Handle, Root};

use super::fork_join;
use crate::apps::blocks::Block;
use crate::apps::blocks::layout::index;
use crate::apps::blocks::product::LEAF_BLOCKS;
use crate::fork::Serial;

/// The most intervals of one root, unless one step has more: their memory comes back when all of
/// them have ended. A step that has more is a root: its intervals take about a hundredth of the
/// memory of its tiles.
pub(super) const MOST: usize = 1 << 16;

/// A tile: its blocks are next to each other along the Z curve, as a quarter's are.
type Tile<'a> = Guarded<&'a mut [Block]>;

/// Replaces `a` by its factors, under as many roots as it takes, with at most so many intervals of
/// one root, unless one step has more.
pub(super) fn factor<'r>(most: usize, root: impl Fn() -> Root<'r>, a: &mut [Block]) {
    let tiles: Vec<Tile<'_>> = a.chunks_mut(LEAF_BLOCKS).map(Guarded::new).collect();
    let side = tiles.len().isqrt();
    let mut first = 0;
    while first < side {
        let mut number = 0;
        let fit = (first..side).take_while(|k| {
            number += (side - k).pow(2);
            number <= most
        });
        let some = first..first + fit.count().max(1);
        first = some.end;
        root().run(|root| Graph::new(root, &tiles).make(some)).expect("it is not cancelled");
    }
}

/// The graph while it is made.
struct Graph<'c, 'g, 'env: 'g, 'a> {
    root: &'c Context<'g, 'env>,
    tiles: &'env [Tile<'a>],
    side: usize,
    /// Of each tile, what was done to it last, if anything.
    last: Vec<Option<Handle<'g, ()>>>,
}

impl<'c, 'g, 'env: 'g, 'a> Graph<'c, 'g, 'env, 'a> {
    fn new(root: &'c Context<'g, 'env>, tiles: &'env [Tile<'a>]) -> Self {
        Self { root, tiles, side: tiles.len().isqrt(), last: vec![None; tiles.len()] }
    }

    /// The intervals of some steps: a step makes a tile on the diagonal final, with those right of
    /// it and below it, and has all others know of it.
    fn make(mut self, steps: Range<usize>) {
        for k in steps {
            self.add("factor", (k, k), [], |a, []| fork_join::factor(&Serial, a));
            for other in k + 1..self.side {
                self.add("solve right", (k, other), [(k, k)], |a, [lu]| {
                    fork_join::solve_lower(&Serial, a, lu);
                });
                self.add("solve below", (other, k), [(k, k)], |a, [lu]| {
                    fork_join::solve_upper(&Serial, a, lu);
                });
            }
            for row in k + 1..self.side {
                for column in k + 1..self.side {
                    let factors = [(row, k), (k, column)];
                    self.add("subtract", (row, column), factors, |c, [a, b]| {
                        fork_join::subtract_product(&Serial, c, a, b);
                    });
                }
            }
        }
    }

    /// An interval that does something to a tile, after what was done to it before and to those
    /// that it reads.
    fn add<const N: usize>(
        &mut self,
        name: &'static str,
        target: (usize, usize),
        sources: [(usize, usize); N],
        does: fn(&mut [Block], [&[Block]; N]),
    ) {
        let at = |(row, column)| index(row, column);
        let (tiles, target, sources) = (self.tiles, at(target), sources.map(at));
        let before = sources.iter().chain([&target]).filter_map(|&at| self.last[at]);
        let interval = self.root.interval(name).after_all(before).spawn(move |cx| {
            let read = sources.map(|at| tiles[at].read(cx));
            does(&mut tiles[target].write(cx), std::array::from_fn(|n| &**read[n]));
        });
        self.last[target] = Some(interval);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use locksley::Pool;

    use super::super::{check, dominant};
    use super::*;

    #[test]
    fn edges_order_all_that_two_do_to_the_same_tile() {
        let matrix = dominant(16, 4);
        let mut factors = matrix.clone();
        let pool = Pool::new(3).unwrap();
        // A checked root panics where nothing orders them, whenever they have happened to run.
        factor(MOST, || Root::new("checked").on(&pool).checked(true), &mut factors);
        check::residual(&matrix, &factors, 1).unwrap();
        // However many roots it takes: 4 steps with 16, 9, 4 and 1 intervals.
        for (most, roots) in [(1, 4), (13, 3), (24, 2), (25, 2), (29, 2), (30, 1)] {
            let (mut by_parts, times) = (matrix.clone(), Cell::new(0));
            let root = || {
                times.set(times.get() + 1);
                Root::new("part").on(&pool)
            };
            factor(most, root, &mut by_parts);
            assert_eq!((by_parts == factors, times.get()), (true, roots), "{most}");
        }
    }
}
