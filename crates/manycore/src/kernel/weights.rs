//! The weights of nice levels and policies.

use super::Policy;
use crate::ids::Nanos;

/// The weight of nice 0.
pub(super) const NICE_0: u64 = 1024;
/// The weight of `SCHED_IDLE`.
const IDLE: u64 = 3;

/// Each level has 1.25 times the weight of the next one, rounded as in `sched_prio_to_weight`.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a thread.
pub(super) fn weight(policy: Policy, nice: i8) -> u64 {
    match policy {
        Policy::Idle => IDLE,
        Policy::Other | Policy::Batch => {
            WEIGHTS[usize::try_from(nice.clamp(-20, 19) + 20).expect("not negative")]
        }
    }
}

/// The virtual time of `real` nanoseconds for a thread of this weight.
pub(super) fn virtual_time(real: Nanos, weight: u64) -> i64 {
    let scaled = if weight == NICE_0 { real } else { real.saturating_mul(NICE_0) / weight };
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

/// The real time in which a thread of this weight has `virtual_time`.
pub(super) fn real_time(virtual_time: i64, weight: u64) -> Nanos {
    let scaled = u64::try_from(virtual_time).unwrap_or(0).saturating_mul(weight);
    scaled.div_ceil(NICE_0)
}
