//! One chart: lines over the number of workers, or of something else, whose axis is logarithmic.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::marks::{self, FONT, SIZE};
use super::theme::Ink;

/// What a chart shows.
pub(super) struct Chart {
    /// What a screen reader says of it.
    pub(super) title: String,
    /// What the vertical axis counts.
    pub(super) unit: &'static str,
    /// What the horizontal axis counts.
    pub(super) across: &'static str,
    /// The ticks of the horizontal axis.
    pub(super) workers: Vec<usize>,
    /// The processors of the machine: a line marks where the cliff begins.
    pub(super) processors: f64,
    /// The best that could be.
    pub(super) ideal: Vec<(usize, f64)>,
    /// The best that this machine allows; empty where that is the same.
    pub(super) ceiling: Vec<(usize, f64)>,
    /// What was measured, by runtime.
    pub(super) lines: Vec<(String, Vec<(usize, f64)>)>,
}

impl Chart {
    /// The chart as an SVG element for the page.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::new();
        self.draw(&mut svg).expect("drawing into a string does not fail");
        marks::accessible(&svg, SIZE, &self.title)
    }

    fn draw<'a>(&self, svg: &'a mut String) -> Result<(), Box<dyn Error + 'a>> {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let most =
            self.lines.iter().flat_map(|(_, line)| line).chain(&self.ideal).map(|point| point.1);
        let top = most.fold(0.0, f64::max) * 1.08;
        let (first, last) =
            (position(self.workers[0]), position(self.workers[self.workers.len() - 1]));
        let margin = (last - first).max(1.0) * 0.03;
        let horizontal = Axis {
            range: first - margin..last + margin,
            ticks: self.workers.iter().map(|&workers| position(workers)).collect(),
        };
        let vertical = Axis { range: 0.0..top, ticks: ticks(top) };
        let mut area = ChartBuilder::on(&root)
            .margin(6)
            .margin_right(10)
            .x_label_area_size(38)
            .y_label_area_size(48)
            .build_cartesian_2d(horizontal, vertical)?;
        area.configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(Ink::Grid.colour())
            .axis_style(Ink::Grid.colour())
            .label_style((FONT, 13).into_font().color(&Ink::Text.colour()))
            .axis_desc_style((FONT, 13).into_font().color(&Ink::Text.colour()))
            .x_labels(self.workers.len())
            .x_label_formatter(&|x| format!("{:.0}", x.exp2()))
            .y_label_formatter(&|y| number(*y))
            .x_desc(self.across)
            .y_desc(self.unit)
            .draw()?;

        let at = |&(workers, value): &(usize, f64)| (position(workers), value);
        if self.processors > 1.0 {
            let edge = self.processors.log2();
            area.draw_series(DashedLineSeries::new(
                [(edge, 0.0), (edge, top)],
                2,
                3,
                Ink::Grid.colour().stroke_width(2),
            ))?;
            let centred = (FONT, 12)
                .into_font()
                .color(&Ink::Text.colour())
                .pos(Pos::new(HPos::Left, VPos::Bottom));
            let note = format!(" {} processors", number(self.processors));
            area.draw_series([Text::new(note, (edge, 0.02 * top), centred)])?;
        }
        area.draw_series(DashedLineSeries::new(
            self.ideal.iter().map(at),
            5,
            4,
            Ink::Ideal.colour().stroke_width(1),
        ))?;
        if !self.ceiling.is_empty() {
            let style = Ink::Ceiling.colour().stroke_width(2);
            area.draw_series(DashedLineSeries::new(self.ceiling.iter().map(at), 2, 3, style))?;
        }
        for (runtime, line) in &self.lines {
            marks::draw(&mut area, runtime, line.iter().map(at).collect())?;
        }
        root.present()?;
        drop(area);
        Ok(())
    }
}

fn position(workers: usize) -> f64 {
    (workers as f64).log2()
}

/// Round numbers from 0 up to `top`, about four of them.
fn ticks(top: f64) -> Vec<f64> {
    let magnitude = 10f64.powf((top / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .iter()
        .map(|step| step * magnitude)
        .find(|step| top / step <= 4.6);
    let step = step.unwrap_or(magnitude * 10.0);
    (0..=(top / step) as usize).map(|tick| tick as f64 * step).collect()
}

/// A number with no more digits than it needs.
fn number(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What the horizontal axis mostly counts.
pub(super) const WORKERS: &str = "P, workers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(1.1), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(ticks(2.2), [0.0, 0.5, 1.0, 1.5, 2.0]);
        for top in [0.003, 0.9, 7.0, 33.0, 1234.0] {
            assert!((3..=5).contains(&ticks(top).len()), "{top}: {:?}", ticks(top));
        }
        assert_eq!([number(0.25), number(32.0), number(0.0)], ["0.25", "32", "0"]);
    }
}
