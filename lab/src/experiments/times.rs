//! What was read again and again, in three numbers.

/// Times of one measurement that was repeated, in seconds; or whatever else it reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// The one in the middle, or between the two in the middle.
    pub median: f64,
    /// The shortest.
    pub least: f64,
    /// The longest.
    pub most: f64,
    /// How many there are.
    pub number: usize,
}

impl Times {
    /// Summarizes the times of one measurement; `None` if there are none.
    pub(crate) fn of(mut seconds: Vec<f64>) -> Option<Times> {
        seconds.sort_by(f64::total_cmp);
        let number = seconds.len();
        let (&least, &most) = (seconds.first()?, seconds.last()?);
        let median = (seconds[(number - 1) / 2] + seconds[number / 2]) / 2.0;
        Some(Times { median, least, most, number })
    }
}
