//! Numbers in tables and on pages.

/// A number with three digits, or all those before the point.
pub fn number(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A ratio as what it is more than 1, in percent.
pub fn percent_more(ratio: f64) -> f64 {
    let percent = (ratio - 1.0) * 100.0;
    // No negative zero.
    if percent.abs() < 0.005 { 0.0 } else { percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let text = [0.0, 1.234, 23.45, 345.6, 4567.8, -30.0, 99.97].map(number);
        assert_eq!(text, ["0.00", "1.23", "23.4", "346", "4568", "-30.0", "100"]);
        assert_eq!(percent(0.256), "26 %");
        assert_eq!([1.5, 0.75, 1.0, 0.99999].map(percent_more), [50.0, -25.0, 0.0, 0.0]);
    }
}
