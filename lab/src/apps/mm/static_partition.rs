//! Static partitioning: each thread computes an equal number of consecutive blocks of C. There is
//! one phase, and the end of the team is its barrier.

use std::time::Duration;

use crate::apps::blocks::Block;
use crate::apps::blocks::layout::{index, place};
use crate::apps::blocks::product::multiply_add;
use crate::team::Team;

/// c += a·b; says how long it took.
pub(super) fn multiply(team: &Team, c: &mut [Block], a: &[Block], b: &[Block]) -> Duration {
    let blocks = c.len().isqrt();
    let mut shares = Vec::with_capacity(team.workers());
    let (total, mut rest) = (c.len(), c);
    for rank in 0..team.workers() {
        let range = team.share(total, rank);
        let (share, after) = rest.split_at_mut(range.len());
        rest = after;
        shares.push((range.start, share));
    }
    team.run(shares, |_, (start, share), _| {
        for (at, c) in (start..).zip(share) {
            let (row, column) = place(at);
            for k in 0..blocks {
                multiply_add(c, &a[index(row, k)], &b[index(k, column)]);
            }
        }
    })
}
