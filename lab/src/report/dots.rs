//! A chart of dots in rows: what each of some runtimes makes of each of some subjects. A row with several values, one for
//! each program, is drawn with a line between them: the longer it is, the less alike they are.

use std::fmt::Write;

use super::page::escape;
use super::theme::{Ink, look};

const WIDTH: f64 = 660.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 20.0;
/// Room above the first row of a subject.
const GAP: f64 = 6.0;
/// Where the plot begins; subject and runtime stand before it.
const LABELS: f64 = 240.0;
/// Where the names of runtimes end.
const RUNTIMES: f64 = LABELS - 10.0;
/// What is left for the figures behind the plot.
const FIGURES: f64 = 110.0;

/// What a chart shows.
pub(super) struct Dots {
    /// What a screen reader says of it.
    pub(super) title: String,
    /// What the axis counts.
    pub(super) unit: &'static str,
    /// Each subject with its rows.
    pub(super) subjects: Vec<(String, Vec<Row>)>,
}

/// A runtime and what it makes of a subject.
pub(super) struct Row {
    pub(super) runtime: String,
    /// One value for each program.
    pub(super) values: Vec<f64>,
    /// The values in words.
    pub(super) figures: String,
}

impl Dots {
    /// The chart as an SVG element; nothing where there is nothing to be seen.
    pub(super) fn svg(&self) -> String {
        let rows: usize = self.subjects.iter().map(|(_, rows)| rows.len()).sum();
        if rows == 0 {
            return String::new();
        }
        let height = HEAD + GAP * self.subjects.len() as f64 + ROW * rows as f64 + GAP;
        let mut svg = format!(
            "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {height}\" font-size=\"12\">\n",
            escape(&self.title)
        );
        let scale = self.scale();
        svg += &self.axis(&scale, height);
        let mut top = HEAD;
        for (subject, rows) in &self.subjects {
            top += GAP;
            let text = top + ROW - 5.0;
            // Writing to a string does not fail, here and below.
            let _ = writeln!(
                svg,
                "<text x=\"0\" y=\"{text}\" font-weight=\"600\" fill=\"var(--text)\">{}</text>",
                escape(subject)
            );
            for row in rows {
                svg += &drawn(row, &scale, top);
                top += ROW;
            }
        }
        svg + "</svg>"
    }

    fn scale(&self) -> Scale {
        let values = || self.subjects.iter().flat_map(|(_, rows)| rows).flat_map(|row| &row.values);
        let (least, most) =
            (values().copied().fold(0.0, f64::min), values().copied().fold(0.0, f64::max));
        let step = step(most - least);
        let least = (least / step).floor() * step;
        Scale { least, most: most.max(least + step), step }
    }

    fn axis(&self, scale: &Scale, height: f64) -> String {
        let mut svg = String::new();
        let ticks = ((scale.most - scale.least) / scale.step + 1e-9).floor() as usize;
        for tick in 0..=ticks {
            let value = scale.least + tick as f64 * scale.step;
            let x = scale.place(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {HEAD}V{height}\" stroke=\"var(--grid)\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"var(--text)\">{}</text>",
                HEAD - 7.0,
                number(value)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{RUNTIMES}\" y=\"{}\" text-anchor=\"end\" fill=\"var(--text)\">{}</text>",
            HEAD - 7.0,
            escape(self.unit)
        );
        svg
    }
}

/// A linear axis.
struct Scale {
    least: f64,
    most: f64,
    step: f64,
}

impl Scale {
    fn place(&self, value: f64) -> f64 {
        let room = WIDTH - LABELS - FIGURES;
        LABELS + room * (value - self.least) / (self.most - self.least)
    }
}

fn drawn(row: &Row, scale: &Scale, top: f64) -> String {
    let mut svg = String::new();
    let (middle, text) = (top + ROW / 2.0, top + ROW - 5.0);
    let colour = match look(&row.runtime).1 {
        Ink::Runtime(place) => format!("var(--runtime-{place})"),
        _ => "var(--ideal)".to_owned(),
    };
    let ours = if row.runtime == "locksley" { " font-weight=\"600\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{RUNTIMES}\" y=\"{text}\" text-anchor=\"end\" fill=\"var(--text)\"{ours}>{}</text>",
        escape(&row.runtime)
    );
    let places: Vec<f64> = row.values.iter().map(|&value| scale.place(value)).collect();
    let (first, last) =
        (places.iter().copied().reduce(f64::min), places.iter().copied().reduce(f64::max));
    if let Some((first, last)) = first.zip(last) {
        let _ = writeln!(
            svg,
            "<path d=\"M{first:.1} {middle}H{last:.1}\" stroke=\"{colour}\" stroke-width=\"3\" opacity=\"0.5\"/>"
        );
    }
    for (number, x) in places.iter().enumerate() {
        // The first program's is full, the second one's is not, a third one's is small.
        let fill = if number == 1 { "var(--card)" } else { colour.as_str() };
        let radius = if number < 2 { 4.0 } else { 2.5 };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{middle}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{text}\" fill=\"var(--text)\">{}</text>",
        WIDTH - FIGURES + 10.0,
        escape(&row.figures)
    );
    svg
}

/// A round step of which three to six make the range.
fn step(range: f64) -> f64 {
    let range = range.max(1e-6);
    let magnitude = 10f64.powf((range / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * magnitude);
    steps.into_iter().find(|step| range / step <= 6.0).unwrap_or(magnitude * 10.0)
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> Dots {
        let row = Row {
            runtime: "locksley".to_owned(),
            values: values.to_vec(),
            figures: "358/7".to_owned(),
        };
        Dots {
            title: "a <title>".to_owned(),
            unit: "%",
            subjects: vec![("clip+mm".into(), vec![row])],
        }
    }

    #[test]
    fn each_value_has_its_place() {
        let svg = chart(&[0.0, 300.0]).svg();
        assert!(svg.contains("aria-label=\"a &lt;title&gt;\"") && svg.contains("358/7"));
        // From the beginning of the plot to its end.
        assert!(svg.contains("M240.0") && svg.contains("H550.0"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(chart(&[-20.0, 10.0]).scale().least <= -20.0);
        let empty = Dots { title: String::new(), unit: "", subjects: Vec::new() };
        assert_eq!(empty.svg(), "");
    }

    #[test]
    fn steps_are_round_and_few() {
        for range in [0.7, 3.0, 17.0, 358.0, 2000.0] {
            let steps = range / step(range);
            assert!((2.0..=6.0).contains(&steps), "{range}: {steps}");
        }
        assert_eq!([number(0.5), number(100.0), number(-0.0)], ["0.5", "100", "0"]);
    }
}
