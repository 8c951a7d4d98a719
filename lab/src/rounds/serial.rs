//! All leaves one after the other.

use super::{Clock, Rate, Round, leaf};

pub(super) fn repeat(round: Round, clock: Clock) -> (u64, Rate) {
    clock.repeat(|| {
        leaf::in_a_row(round, round.serial).wrapping_add(leaf::in_a_row(round, round.chunks))
    })
}
