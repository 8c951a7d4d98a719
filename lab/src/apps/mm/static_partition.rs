//! Static partitioning: each thread computes an equal number of consecutive blocks of C. There is
//! one phase, and the end of the team is its barrier.

use std::time::Duration;

use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{index, place};
use crate::apps::blocks::product::multiply_add;
use crate::team::Team;

/// c += a·b with so many blocks along each side, the others being padding; says how long it took.
pub(super) fn multiply(
    team: &Team,
    c: &mut [Block],
    [a, b]: [&[Block]; 2],
    blocks: usize,
) -> Duration {
    let places = c.iter_mut().enumerate().map(|(at, c)| (place(at), c));
    let mut used = places.filter(|((row, column), _)| row.max(column) < &blocks);
    let share = |rank| used.by_ref().take(team.share(blocks * blocks, rank).len()).collect();
    let shares: Vec<Vec<_>> = (0..team.workers()).map(share).collect();
    team.run(shares, |_, share, _| {
        for ((row, column), c) in share {
            for k in 0..blocks {
                multiply_add(c, &a[index(row, k)], &b[index(k, column)]);
            }
        }
    })
}
