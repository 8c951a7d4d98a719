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
        let last = i128::from(end) - if step > 0 { 1 } else { -1 };
        let included = Self::included(start.into(), last, step);
        Self { end: end.cast_unsigned(), ..included }
    }

    /// Those from `first` to `last`, which is included.
    pub(crate) fn included(first: i128, last: i128, step: i64) -> Self {
        let distance = if step > 0 { last - first } else { first - last };
        let size = step.unsigned_abs().max(1);
        let total = if distance < 0 { 0 } else { (distance as u64 / size).wrapping_add(1) };
        Self::new(first as u64, total, step.cast_unsigned())
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
    fn new(start: u64, total: u64, step: u64) -> Self {
        Self { start, end: start.wrapping_add(total.wrapping_mul(step)), step, total }
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// How many there are.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The value with which iteration `number` begins.
    pub(crate) fn value(&self, number: u64) -> u64 {
        self.start.wrapping_add(number.wrapping_mul(self.step))
    }

    /// The values at which iterations `from` to `to`, which is excluded, begin and end.
    pub(crate) fn values(&self, (from, to): (u64, u64)) -> (u64, u64) {
        // A value behind the last iteration might overflow.
        (self.value(from), if to >= self.total { self.end } else { self.value(to) })
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
    fn included_bounds_are_counted_in_both_directions() {
        let count = |first, last, step| Iterations::included(first, last, step).total();
        assert_eq!(count(0, 9, 3), 4);
        assert_eq!(count(9, 0, -3), 4);
        assert_eq!((count(5, 5, 1), count(5, 4, 1)), (1, 0));
        assert_eq!(count(i128::from(i64::MIN), i128::from(i64::MAX), 2), 1 << 63);
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
