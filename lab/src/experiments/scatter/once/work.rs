//! What a message is to be worked on: divisions of 64-bit integers, as in the study.

use std::hint::black_box;

use crate::experiments::calibration;

/// Divides so many times; what comes out depends on each of them. The compiler does not see what is divided.
#[inline(never)]
pub(in crate::experiments::scatter) fn divide(times: u64) -> u64 {
    let (mut number, mut sum) = (black_box(u64::MAX), 0u64);
    for step in 0..times {
        number = black_box(u64::MAX - step) / (number | 1);
        sum = sum.wrapping_mul(31).wrapping_add(number);
    }
    sum
}

/// How many divisions take so many nanoseconds on this machine, by the shortest of some trials.
pub(super) fn divisions(nanos: u64) -> u64 {
    calibration::times_within(nanos, divide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_division_counts() {
        // The quotients are MAX/MAX, (MAX-1)/1, (MAX-2)/MAX, since MAX-1 is even, (MAX-3)/1, that is 1, -2, 0 and -4.
        assert_eq!([0, 1, 2, 3, 4].map(divide), [0, 1, 29, 899, 27_865]);
        assert!(divisions(1) >= 1 && divisions(1_000_000) > 1000);
    }
}
