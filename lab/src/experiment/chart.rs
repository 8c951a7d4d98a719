//! Charts as SVG, drawn by plotters.

use std::error::Error;
use std::ops::Range;

use itertools::Itertools;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Chart;
use super::html::escape;
use super::theme::{CARD, GRID, Ink, REFERENCES, TEXT, is_dashed, style_sheet};

const WIDTH: u32 = 372;
const HEIGHT: u32 = 270;
const FONT: &str = "sans-serif";
/// The height of a bar with the space to the next.
const ROW: u32 = 24;

type Drawn<'a> = Result<(), Box<dyn Error + 'a>>;

/// A chart with its caption, as an element of a page.
pub fn figure(chart: &Chart) -> String {
    let caption = format!("<b>{}</b> <span>{}</span>", escape(&chart.title), escape(&chart.unit));
    let (key, svg) = (key(chart), svg(chart));
    format!("<figure>\n<figcaption>{caption}</figcaption>\n{svg}{key}</figure>\n")
}

/// A chart as an SVG element.
pub fn svg(chart: &Chart) -> String {
    let mut drawing = String::new();
    let height = chart.bars.as_ref().map_or(HEIGHT, |bars| ROW * bars.len().max(1) as u32);
    let drawn = match &chart.bars {
        Some(bars) => draw_bars(&mut drawing, bars, height),
        None => draw_lines(&mut drawing, chart),
    };
    drawn.map_err(|error| error.to_string()).expect("drawing into a string does not fail");
    let opening = format!("<svg width=\"{WIDTH}\" height=\"{height}\"");
    let label = escape(&chart.title);
    let element = format!("<svg class=\"chart\" role=\"img\" aria-label=\"{label}\"");
    drawing.replacen(&opening, &element, 1)
}

/// Charts side by side as one SVG file, which needs no other one and follows the reader's choice of
/// light or dark.
pub fn picture(charts: &[Chart]) -> String {
    const HEAD: u32 = 46;
    const ENTRY: u32 = 150;
    let mut names: Vec<&String> = Vec::new();
    let mut parts = String::new();
    for (place, chart) in charts.iter().enumerate() {
        let left = 8 + place as u32 * (WIDTH + 8);
        parts += &format!(
            "<text x=\"{left}\" y=\"20\" font-weight=\"bold\">{}</text>\n\
             <text x=\"{left}\" y=\"37\" font-size=\"12\">{}</text>\n",
            escape(&chart.title),
            escape(&chart.unit)
        );
        let area = format!("<svg x=\"{left}\" y=\"{HEAD}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" ");
        let area = format!("{area}preserveAspectRatio=\"xMidYMin\" ");
        parts += &svg(chart).replacen("<svg ", &area, 1);
        names.extend(chart.lines.iter().map(|(name, _)| name));
    }
    let width = 8 + charts.len().max(1) as u32 * (WIDTH + 8);
    let per_row = (width / ENTRY) as usize;
    let names: Vec<&String> = names.into_iter().unique().collect();
    for (place, name) in names.iter().enumerate() {
        let (row, column) = (place / per_row, place % per_row);
        let (left, top) = (16 + ENTRY * column as u32, HEIGHT + HEAD + 20 + 20 * row as u32);
        let (colour, dashes) = (Ink::of(name).hex(), dashes(is_dashed(name)));
        let (right, middle, text, name) = (left + 22, top - 5, left + 28, escape(name));
        parts += &format!(
            "<path d=\"M{left} {middle}H{right}\" stroke=\"{colour}\" stroke-width=\"3\"{dashes}/>\
             <text x=\"{text}\" y=\"{top}\" font-size=\"12\">{name}</text>\n"
        );
    }
    let height = HEIGHT + HEAD + 12 + 20 * names.len().div_ceil(per_row) as u32;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"14\" \
         fill=\"{}\">\n<style>{}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{parts}</svg>\n",
        TEXT.hex(),
        style_sheet(),
        CARD.hex()
    )
}

/// What the lines mean, for charts that have several.
fn key(chart: &Chart) -> String {
    if chart.bars.is_some() {
        return String::new();
    }
    let entry = |name: &str, ink: Ink, dashes: &str| {
        let (colour, name) = (ink.hex(), escape(name));
        format!(
            "<span><svg width=\"24\" height=\"10\" aria-hidden=\"true\"><path d=\"M0 5h24\" \
             stroke=\"{colour}\" stroke-width=\"2\"{dashes}/></svg> {name}</span>\n"
        )
    };
    let shown =
        chart.lines.iter().map(|(name, _)| entry(name, Ink::of(name), dashes(is_dashed(name))));
    let references = chart.references.iter().zip(REFERENCES);
    let references = references.map(|((name, _), ink)| entry(name, ink, dashes(true)));
    format!("<p class=\"legend\">{}</p>\n", shown.chain(references).collect::<String>())
}

fn dashes(is_dashed: bool) -> &'static str {
    if is_dashed { " stroke-dasharray=\"6 4\"" } else { "" }
}

fn text_style<'a>(size: i32, horizontal: HPos) -> TextStyle<'a> {
    let style = (FONT, size).into_font().color(&TEXT.colour());
    style.pos(Pos::new(horizontal, VPos::Center))
}

fn draw_bars<'a>(svg: &'a mut String, bars: &[(String, f64)], height: u32) -> Drawn<'a> {
    // The names stand before the bars, the numbers after them.
    const NAMES: i32 = 130;
    const NUMBERS: i32 = 60;
    let root = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    let most = bars.iter().map(|bar| bar.1).fold(f64::MIN_POSITIVE, f64::max);
    for (row, (name, value)) in bars.iter().enumerate() {
        let (top, middle) = (row as i32 * ROW as i32, row as i32 * ROW as i32 + ROW as i32 / 2);
        let length = (f64::from(WIDTH as i32 - NAMES - NUMBERS) * value.max(0.0) / most) as i32;
        let end = NAMES + length.max(1);
        let name_style = text_style(13, HPos::Right);
        root.draw(&Text::new(name.clone(), (NAMES - 6, middle), name_style))?;
        let corners = [(NAMES, top + 4), (end, top + ROW as i32 - 4)];
        root.draw(&Rectangle::new(corners, Ink::of(name).colour().filled()))?;
        let value = super::text::number(*value);
        root.draw(&Text::new(value, (end + 5, middle), text_style(13, HPos::Left)))?;
    }
    root.present()?;
    Ok(())
}

fn draw_lines<'a>(svg: &'a mut String, chart: &Chart) -> Drawn<'a> {
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let position = |x: f64| if chart.is_logarithmic { x.log2() } else { x };
    let all = || chart.lines.iter().chain(&chart.references).flat_map(|(_, line)| line);
    let xs = all().map(|point| point.0).sorted_by(f64::total_cmp).dedup();
    let xs: Vec<f64> = xs.collect();
    let (Some(&first), Some(&last)) = (xs.first(), xs.last()) else {
        root.present()?;
        return Ok(());
    };
    let (first, last) = (position(first), position(last));
    let margin = (last - first).max(1e-9) * 0.03;
    let ticks = spread(&xs).into_iter().map(position).collect();
    // An infinite scale would have no end, and one of no length no marks.
    let highest = all().map(|point| point.1).fold(0.0, f64::max);
    let top = highest.clamp(f64::MIN_POSITIVE, f64::MAX / 2.0) * 1.08;
    let horizontal = Axis { range: first - margin..last + margin, ticks };
    let mut area = ChartBuilder::on(&root)
        .margin(6)
        .margin_right(10)
        .x_label_area_size(38)
        .y_label_area_size(48)
        .build_cartesian_2d(horizontal, 0.0..top)?;
    let label = (FONT, 13).into_font().color(&TEXT.colour());
    let value = |x: f64| if chart.is_logarithmic { x.exp2() } else { x };
    area.configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.colour())
        .axis_style(GRID.colour())
        .label_style(label.clone())
        .axis_desc_style(label)
        .x_labels(9)
        .y_labels(5)
        .x_label_formatter(&|x| shortest(value(*x)))
        .y_label_formatter(&|y| shortest(*y))
        .x_desc(&chart.across)
        .y_desc(&chart.unit)
        .draw()?;
    // Far outside, a place would overflow, and a dashed line to it would have no end.
    let at = |&(x, y): &(f64, f64)| (position(x), y.clamp(-top, top));
    let is_inside = |(x, _): &&(f64, String)| (first..=last).contains(&position(*x));
    if let Some((x, text)) = chart.mark.as_ref().filter(is_inside) {
        let ends = [(position(*x), 0.0), (position(*x), top)];
        let style = GRID.colour().stroke_width(2);
        area.draw_series(DashedLineSeries::new(ends, 2, 3, style))?;
        let place = (position(*x), 0.03 * top);
        area.draw_series([Text::new(format!(" {text}"), place, text_style(12, HPos::Left))])?;
    }
    for ((_, line), ink) in chart.references.iter().zip(REFERENCES) {
        let style = ink.colour().stroke_width(2);
        area.draw_series(DashedLineSeries::new(line.iter().map(at), 3, 4, style))?;
    }
    // The last lies on top.
    for (name, line) in chart.lines.iter().rev() {
        let style = Ink::of(name).colour().stroke_width(2);
        let points = || line.iter().map(at);
        if !chart.is_dotted && is_dashed(name) {
            area.draw_series(DashedLineSeries::new(points(), 6, 4, style))?;
        } else if !chart.is_dotted {
            area.draw_series(LineSeries::new(points(), style))?;
        }
        area.draw_series(points().map(|at| Circle::new(at, 4, style.filled())))?;
    }
    root.present()?;
    drop(area);
    Ok(())
}

/// All of nine places at most; else the first and the last on a logarithmic axis, and of those
/// between as many as can be read: a ninth of the axis apart.
fn spread(places: &[f64]) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return Vec::new() };
    if places.len() <= 9 {
        return places.to_vec();
    }
    let apart = (last / first).powf(1.0 / 9.0);
    let mut ticks = vec![first];
    for &place in &places[1..] {
        let before = ticks[ticks.len() - 1];
        if place == last || place >= apart * before && last >= apart * place {
            ticks.push(place);
        }
    }
    ticks
}

/// A number with no more digits than it needs.
fn shortest(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A linear axis with ticks at given places: plotters chooses its own otherwise.
struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limits: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(value, limits)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_more_digits_than_they_need() {
        assert_eq!([0.25, 32.0, 0.0].map(shortest), ["0.25", "32", "0"]);
    }

    #[test]
    fn ticks_begin_and_end_with_the_places_and_leave_room() {
        assert!(spread(&[]).is_empty());
        assert_eq!(spread(&[16.0]), [16.0]);
        assert_eq!(spread(&[8.0, 16.0, 32.0]), [8.0, 16.0, 32.0]);
        let all: Vec<f64> = (16..=48).map(f64::from).collect();
        assert_eq!(spread(&all), [16.0, 19.0, 22.0, 25.0, 29.0, 33.0, 38.0, 48.0]);
        let fine = [1e2, 1e3, 3e4, 9e4, 9.1e4, 9.2e4, 9.3e4, 9.4e4, 9.5e4, 1e5];
        assert_eq!(spread(&fine), [1e2, 1e3, 3e4, 1e5]);
    }

    #[test]
    fn charts_have_a_label_a_mark_for_each_point_and_its_colour() {
        let lines = vec![("rayon".to_owned(), vec![(1.0, 1.0), (2.0, 0.5)])];
        let svg = svg(&Chart { title: "a <b>".into(), lines, ..Chart::default() });
        assert!(svg.contains("aria-label=\"a &lt;b&gt;\""), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("stroke=\"#009E73\""), "{svg}");
    }

    #[test]
    fn the_longest_bar_is_the_longest_and_none_is_negative() {
        let bars = vec![("a".to_owned(), 10.0), ("b".to_owned(), -1.0), ("c".to_owned(), 5.0)];
        let svg = svg(&Chart::bars("t", "ns", bars));
        let widths: Vec<&str> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .filter_map(|line| line.split(" width=\"").nth(1)?.split('"').next())
            .collect();
        let widths: Vec<i32> = widths.iter().map(|width| width.parse().unwrap()).collect();
        assert!(widths[0] > widths[2] && widths[2] > widths[1] && widths[1] > 0, "{widths:?}");
    }

    #[test]
    fn a_point_far_outside_is_drawn() {
        for far in [-1e12, f64::MAX] {
            let line = vec![(1.0, 1.0), (2.0, far)];
            let lines = vec![("rayon".to_owned(), line.clone())];
            let references = vec![("ideal".to_owned(), line)];
            let chart = Chart { lines, references, ..Chart::default() };
            assert_eq!(svg(&chart).matches("<circle").count(), 2);
        }
    }

    #[test]
    fn charts_of_nothing_are_drawn() {
        for chart in [Chart::bars("", "", Vec::new()), Chart::default()] {
            assert!(svg(&chart).contains("<svg"));
        }
    }
}
