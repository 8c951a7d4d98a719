//! What drawings have in common: those of process networks, and those of graphs of intervals.

use std::time::Duration;

/// A time with three digits.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {unit}")
}

/// A text as XML has it, between tags.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML has no other control characters.
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// The first line of a picture (SVG) of that size in pixels, with letters of that height.
pub(crate) fn svg_head(width: f64, height: f64, letters: u32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"{letters}\">\n"
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let cases = [
            (1_500, "1.50 µs"),
            (12_345_678, "12.3 ms"),
            (999_000_000, "999 ms"),
            (2_000_000_000, "2.00 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(time(Duration::from_nanos(nanos)), text);
        }
    }
}
