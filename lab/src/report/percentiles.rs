//! A chart of percentiles: how late, over how often. Its vertical axis is logarithmic: the median and the worst case lie
//! far apart.

use std::error::Error;

use plotters::prelude::*;

use super::axis::Axis;
use super::marks::{self, FONT, SIZE};
use super::theme::Ink;

/// The places of the horizontal axis.
pub(super) const PLACES: [&str; 5] = ["50 %", "90 %", "99 %", "99.9 %", "most"];

/// What a chart shows.
pub(super) struct Percentiles {
    /// What a screen reader says of it.
    pub(super) title: String,
    /// Times in seconds at each of [`PLACES`], by runtime.
    pub(super) lines: Vec<(String, [Option<f64>; 5])>,
}

impl Percentiles {
    /// The chart as an SVG element for the page.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::new();
        self.draw(&mut svg).expect("drawing into a string does not fail");
        marks::accessible(&svg, SIZE, &self.title)
    }

    fn draw<'a>(&self, svg: &'a mut String) -> Result<(), Box<dyn Error + 'a>> {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let times = || self.lines.iter().flat_map(|(_, times)| times).flatten().copied();
        let low = position(times().fold(f64::INFINITY, f64::min).min(1e-4)).floor();
        let high = position(times().fold(0.0, f64::max).max(1e-3)).ceil();
        let horizontal =
            Axis { range: -0.2..4.2, ticks: (0..PLACES.len()).map(|place| place as f64).collect() };
        let decades = (low as i32..=high as i32).map(f64::from);
        let vertical = Axis { range: low..high, ticks: decades.collect() };
        let mut area = ChartBuilder::on(&root)
            .margin(6)
            .margin_right(10)
            .x_label_area_size(38)
            .y_label_area_size(58)
            .build_cartesian_2d(horizontal, vertical)?;
        area.configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(Ink::Grid.colour())
            .axis_style(Ink::Grid.colour())
            .label_style((FONT, 13).into_font().color(&Ink::Text.colour()))
            .axis_desc_style((FONT, 13).into_font().color(&Ink::Text.colour()))
            .x_labels(PLACES.len())
            .x_label_formatter(&|x| PLACES.get(*x as usize).copied().unwrap_or("").to_owned())
            .y_label_formatter(&|y| decade(*y))
            .x_desc("share of the wake-ups")
            .y_desc("late by at most")
            .draw()?;
        for (runtime, times) in &self.lines {
            let points = times.iter().enumerate();
            let points =
                points.filter_map(|(place, time)| Some((place as f64, position((*time)?))));
            marks::draw(&mut area, runtime, points.collect())?;
        }
        root.present()?;
        drop(area);
        Ok(())
    }
}

/// The power of ten of a time; times below a tenth of a microsecond are none.
fn position(time: f64) -> f64 {
    time.max(1e-7).log10()
}

fn decade(power: f64) -> String {
    match power.round() as i32 {
        power @ ..=-7 => format!("{} ns", 10_u64.pow((power + 9).max(0) as u32)),
        power @ -6..=-4 => format!("{} µs", 10_u64.pow((power + 6) as u32)),
        power @ -3..=-1 => format!("{} ms", 10_u64.pow((power + 3) as u32)),
        power => format!("{} s", 10_u64.pow(power as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_have_their_names() {
        let names = [-7.0, -6.0, -4.0, -3.0, -1.0, 0.0, 1.0].map(decade);
        assert_eq!(names, ["100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s", "10 s"]);
    }
}
