//! How much of something takes a given time on this machine.

use std::hint::black_box;
use std::time::Instant;

/// How many times takes so many nanoseconds what `repeat` does so many times in a row, by the
/// shortest of some trials; at least once.
pub(super) fn times_within(nanos: u64, repeat: impl Fn(u64) -> u64) -> u64 {
    const TRIALS: usize = 40;
    const TIMES: u64 = 20_000;
    let trial = |_| {
        let begun = Instant::now();
        black_box(repeat(black_box(TIMES)));
        begun.elapsed().as_secs_f64() * 1e9 / TIMES as f64
    };
    let each = (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min);
    ((nanos as f64 / each).round() as u64).max(1)
}
