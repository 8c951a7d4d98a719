//! A bar chart: one number for each runtime, its figure beside it.

use std::fmt::Write;

use super::page::escape;

const WIDTH: f64 = 560.0;
const ROW: f64 = 24.0;
/// Where the bars begin, and what is left for the figures behind the longest.
const LABELS: f64 = 120.0;
const FIGURES: f64 = 70.0;

/// The chart as an SVG element; `title` is what a screen reader says of it. Locksley's bars have its colour.
pub(super) fn svg(title: &str, bars: &[(String, f64)]) -> String {
    with_figures(title, bars, |value| format!("{value:.2}"))
}

/// The same, with figures that are written otherwise.
pub(super) fn with_figures(
    title: &str,
    bars: &[(String, f64)],
    figure: impl Fn(f64) -> String,
) -> String {
    let most = bars.iter().map(|bar| bar.1).fold(f64::MIN_POSITIVE, f64::max);
    let height = ROW * bars.len() as f64;
    let mut svg = format!(
        "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {height}\" font-size=\"14\">\n",
        escape(title)
    );
    for (row, (name, value)) in bars.iter().enumerate() {
        let top = ROW * row as f64;
        let (text, length) = (top + 17.0, (WIDTH - LABELS - FIGURES) * value.max(0.0) / most);
        let ours = name.starts_with("locksley");
        let colour = if ours { "var(--locksley)" } else { "var(--ideal)" };
        let bar = (top + 4.0, ROW - 8.0, length.max(1.0));
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\" fill=\"var(--text)\">{}</text>\
             <rect x=\"{LABELS}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{text}\" fill=\"var(--text)\">{}</text>",
            LABELS - 8.0,
            escape(name),
            bar.0,
            bar.2,
            bar.1,
            LABELS + bar.2 + 6.0,
            escape(&figure(*value))
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::svg;

    #[test]
    fn the_longest_bar_fills_the_width_and_none_is_negative() {
        let svg = svg("a <title>", &[("locksley".into(), 10.0), ("x".into(), -1.0)]);
        assert!(svg.contains("aria-label=\"a &lt;title&gt;\""));
        assert!(svg.contains("width=\"370.0\"") && svg.contains("width=\"1.0\""), "{svg}");
        assert!(svg.contains(">-1.00<"));
    }
}
