//! What a message is to be worked on: divisions of 64-bit integers, as in the study.

use std::hint::black_box;
use std::time::Instant;

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
    const TRIALS: usize = 40;
    const TIMES: u64 = 20_000;
    let trial = |_| {
        let begun = Instant::now();
        black_box(divide(black_box(TIMES)));
        begun.elapsed().as_secs_f64() * 1e9 / TIMES as f64
    };
    let each = (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min);
    ((nanos as f64 / each).round() as u64).max(1)
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
