//! The iterations of a loop, numbered from 0.

/// A loop's values as a program counts them: `start`, `start + step`, ... up to `end`, which is
/// excluded. Signed and unsigned values share this form: sums wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iterations {
    start: u64,
    end: u64,
    step: u64,
    total: u64,
}

impl Iterations {
    /// Those of a loop over `long`.
    pub(crate) fn signed(start: i64, end: i64, step: i64) -> Self {
        let distance = if step > 0 {
            i128::from(end) - i128::from(start)
        } else {
            i128::from(start) - i128::from(end)
        };
        let total = distance.max(0).unsigned_abs().div_ceil(u128::from(step.unsigned_abs().max(1)));
        let [start, end, step] = [start, end, step].map(i64::cast_unsigned);
        Self { start, end, step, total: total as u64 }
    }

    /// Those of a loop over `unsigned long long` that counts up, or down by the negative of `step`.
    pub(crate) fn unsigned(is_up: bool, start: u64, end: u64, step: u64) -> Self {
        let (distance, size) = if is_up {
            (end.saturating_sub(start), step)
        } else {
            (start.saturating_sub(end), step.wrapping_neg())
        };
        Self { start, end, step, total: distance.div_ceil(size.max(1)) }
    }

    /// `count` values from 0.
    pub(crate) fn counted(count: u64) -> Self {
        Self::new(0, count, 1)
    }

    /// `total` values.
    pub(crate) fn new(start: u64, total: u64, step: u64) -> Self {
        Self { start, end: start.wrapping_add(total.wrapping_mul(step)), step, total }
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// How many there are.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The values at which iterations `from` to `to`, which is excluded, begin and end.
    pub(crate) fn values(&self, (from, to): (u64, u64)) -> (u64, u64) {
        let value = |number: u64| self.start.wrapping_add(number.wrapping_mul(self.step));
        // A value behind the last iteration might overflow.
        (value(from), if to >= self.total { self.end } else { value(to) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_in_both_directions() {
        assert_eq!(Iterations::signed(0, 10, 3).total(), 4);
        assert_eq!(Iterations::signed(10, 0, -3).total(), 4);
        assert_eq!(Iterations::signed(5, 5, 1).total(), 0);
        assert_eq!(Iterations::signed(6, 5, 1).total(), 0);
        assert_eq!(Iterations::signed(i64::MIN, i64::MAX, 1).total(), u64::MAX);
        assert_eq!(Iterations::unsigned(true, 0, u64::MAX, 2).total(), 1 << 63);
        assert_eq!(Iterations::unsigned(false, 10, 0, 3_u64.wrapping_neg()).total(), 4);
    }

    #[test]
    fn values_end_where_the_loop_ends() {
        let down = Iterations::signed(10, -1, -4);
        assert_eq!(down.values((0, 2)), (10, 2));
        assert_eq!(down.values((2, 3)), (2, (-1_i64).cast_unsigned()));
        let high = Iterations::signed(i64::MAX - 5, i64::MAX, 3);
        assert_eq!(high.values((1, 2)).1, i64::MAX.cast_unsigned());
    }
}
