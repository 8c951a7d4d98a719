//! A chart of points over a logarithmic axis, with curves that they are compared with.

use std::fmt::Write;

use super::page::escape;

const WIDTH: f64 = 660.0;
const HEIGHT: f64 = 330.0;
/// Room beside and below the plot.
const LEFT: f64 = 46.0;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
/// So many straight pieces make a curve.
const PIECES: usize = 60;

/// What a chart shows.
pub(super) struct Points {
    /// What a screen reader says of it.
    pub(super) title: String,
    /// What the axes count.
    pub(super) across: &'static str,
    pub(super) unit: &'static str,
    /// Curves, dashed.
    pub(super) dashed: Vec<Box<dyn Fn(f64) -> f64>>,
    /// One that is not.
    pub(super) full: Option<Box<dyn Fn(f64) -> f64>>,
    pub(super) groups: Vec<Group>,
}

/// Points that belong together.
pub(super) struct Group {
    /// Shown where the pointer rests on one.
    pub(super) title: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Points {
    /// The chart as an SVG element; nothing where there is nothing to be seen.
    pub(super) fn svg(&self) -> String {
        let points = || self.groups.iter().flat_map(|group| &group.points);
        let (Some(least), Some(most)) = (
            points().map(|point| point.0).reduce(f64::min),
            points().map(|point| point.0).reduce(f64::max),
        ) else {
            return String::new();
        };
        let decades = Decades { first: least.log10().floor(), last: most.log10().ceil() };
        let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.05;
        let scale = Scale { decades, top };
        let mut svg = format!(
            "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-size=\"12\">\n",
            escape(&self.title)
        );
        svg += &self.axes(&scale);
        for curve in &self.dashed {
            svg += &drawn(curve, &scale, "stroke=\"var(--ideal)\" stroke-dasharray=\"5 4\"");
        }
        if let Some(curve) = &self.full {
            svg += &drawn(curve, &scale, "stroke=\"var(--text)\"");
        }
        for group in &self.groups {
            for &(x, y) in &group.points {
                // Writing to a string does not fail, here and below.
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"var(--runtime-8)\" fill-opacity=\"0.6\"><title>{}: {y:.2} at {x:.3}</title></circle>",
                    scale.across(x),
                    scale.up(y),
                    escape(&group.title)
                );
            }
        }
        svg + "</svg>"
    }

    fn axes(&self, scale: &Scale) -> String {
        let mut svg = String::new();
        let bottom = HEIGHT - BOTTOM;
        let mut decade = scale.decades.first;
        while decade <= scale.decades.last {
            let (x, value) = (scale.across(10f64.powf(decade)), 10f64.powf(decade));
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"var(--grid)\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"var(--text)\">{value}</text>",
                bottom + 16.0
            );
            decade += 1.0;
        }
        for quarter in 0..=(scale.top * 4.0) as usize {
            let value = quarter as f64 / 4.0;
            let y = scale.up(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"var(--grid)\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"var(--text)\">{value}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"var(--text)\">{}</text>\
             <text x=\"12\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"var(--text)\" transform=\"rotate(-90 12 {:.1})\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 6.0,
            escape(self.across),
            f64::midpoint(TOP, bottom),
            f64::midpoint(TOP, bottom),
            escape(self.unit)
        );
        svg
    }
}

/// Powers of ten: the ends of the horizontal axis.
struct Decades {
    first: f64,
    last: f64,
}

struct Scale {
    decades: Decades,
    top: f64,
}

impl Scale {
    fn across(&self, value: f64) -> f64 {
        let Decades { first, last } = self.decades;
        LEFT + (WIDTH - LEFT - RIGHT) * (value.log10() - first) / (last - first).max(1.0)
    }

    fn up(&self, value: f64) -> f64 {
        let bottom = HEIGHT - BOTTOM;
        bottom - (bottom - TOP) * value / self.top
    }
}

fn drawn(curve: &dyn Fn(f64) -> f64, scale: &Scale, look: &str) -> String {
    let Decades { first, last } = scale.decades;
    let mut path = String::new();
    for piece in 0..=PIECES {
        let x = 10f64.powf(first + (last - first) * piece as f64 / PIECES as f64);
        let letter = if piece == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{:.1} {:.1}", scale.across(x), scale.up(curve(x)));
    }
    format!("<path d=\"{path}\" fill=\"none\" {look}/>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_curves_have_their_places() {
        let group = Group { title: "knary <1>".to_owned(), points: vec![(0.1, 1.0), (10.0, 0.5)] };
        let chart = Points {
            title: "a <title>".to_owned(),
            across: "x",
            unit: "y",
            dashed: vec![Box::new(|_| 1.0)],
            full: None,
            groups: vec![group],
        };
        let svg = chart.svg();
        assert!(svg.contains("aria-label=\"a &lt;title&gt;\"") && svg.contains("knary &lt;1&gt;"));
        assert_eq!((svg.matches("<circle").count(), svg.matches("dasharray").count()), (2, 1));
        // From the one end of the axis to the other.
        assert!(svg.contains("cx=\"46.0\"") && svg.contains("cx=\"648.0\""), "{svg}");
        assert_eq!(Points { groups: Vec::new(), ..chart }.svg(), "");
    }
}
