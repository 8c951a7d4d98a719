//! Charts as SVG.

use std::fmt::Display;

use itertools::Itertools;

use super::Chart;
use super::html::escape;
use super::theme::{CARD, GRID, Ink, REFERENCES, TEXT, is_dashed, style_sheet};

const WIDTH: u32 = 372;
const HEIGHT: u32 = 270;
/// The height of a bar with the space to the next.
const ROW: u32 = 24;

/// The edges of the area of a chart of lines.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 362.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 226.0;

/// A chart with its caption, as an element of a page.
pub fn figure(chart: &Chart) -> String {
    let caption = format!("<b>{}</b> <span>{}</span>", escape(&chart.title), escape(&chart.unit));
    let (key, svg) = (key(chart), svg(chart));
    format!("<figure>\n<figcaption>{caption}</figcaption>\n{svg}{key}</figure>\n")
}

/// A chart as an SVG element.
pub fn svg(chart: &Chart) -> String {
    let drawing = chart.bars.as_ref().map_or_else(|| lines_of(chart), |bars| bars_of(bars));
    let (label, height) = (escape(&chart.title), height(chart));
    format!(
        "<svg class=\"chart\" role=\"img\" aria-label=\"{label}\" \
         viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
         font-family=\"sans-serif\" font-size=\"13\">\n{drawing}</svg>\n"
    )
}

fn height(chart: &Chart) -> u32 {
    chart.bars.as_ref().map_or(HEIGHT, |bars| ROW * bars.len().max(1) as u32)
}

/// Charts side by side as one SVG file, which needs no other one and follows the reader's choice of
/// light or dark.
pub fn picture(charts: &[Chart]) -> String {
    const HEAD: u32 = 46;
    const ENTRY: u32 = 150;
    const PER_LINE: usize = 3;
    let line = HEAD + charts.iter().map(height).max().unwrap_or(HEIGHT);
    let mut names: Vec<&String> = Vec::new();
    let mut parts = String::new();
    for (place, chart) in charts.iter().enumerate() {
        let left = 8 + (place % PER_LINE) as u32 * (WIDTH + 8);
        let top = (place / PER_LINE) as u32 * line;
        let (title, unit, area, high) = (top + 20, top + 37, top + HEAD, height(chart));
        parts += &format!(
            "<text x=\"{left}\" y=\"{title}\" font-weight=\"bold\">{}</text>\n\
             <text x=\"{left}\" y=\"{unit}\" font-size=\"12\">{}</text>\n",
            escape(&chart.title),
            escape(&chart.unit)
        );
        let area = format!("<svg x=\"{left}\" y=\"{area}\" width=\"{WIDTH}\" height=\"{high}\" ");
        parts += &svg(chart).replacen("<svg ", &area, 1);
        names.extend(chart.lines.iter().map(|(name, _)| name));
    }
    let width = 8 + charts.len().clamp(1, PER_LINE) as u32 * (WIDTH + 8);
    let below = charts.len().div_ceil(PER_LINE) as u32 * line;
    let per_row = (width / ENTRY) as usize;
    let names: Vec<&String> = names.into_iter().unique().collect();
    for (place, name) in names.iter().enumerate() {
        let (row, column) = (place / per_row, place % per_row);
        let (left, top) = (16 + ENTRY * column as u32, below + 20 + 20 * row as u32);
        let (colour, dashes) = (Ink::of(name).hex(), dashes(is_dashed(name)));
        let (right, middle, text, name) = (left + 22, top - 5, left + 28, escape(name));
        parts += &format!(
            "<path d=\"M{left} {middle}H{right}\" stroke=\"{colour}\" stroke-width=\"3\"{dashes}/>\
             <text x=\"{text}\" y=\"{top}\" font-size=\"12\">{name}</text>\n"
        );
    }
    let height = below + 12 + 20 * names.len().div_ceil(per_row) as u32;
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

/// Text in the middle of a line at the height `y`. The anchor is `start`, `middle` or `end`.
fn text(x: impl Display, y: impl Display, anchor: &str, text: &str) -> String {
    let (colour, text) = (TEXT.hex(), escape(text));
    format!(
        "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" text-anchor=\"{anchor}\" \
         fill=\"{colour}\">{text}</text>\n"
    )
}

/// A line through points, whose places are those on the drawing.
fn path(
    points: impl IntoIterator<Item = (f64, f64)>,
    ink: Ink,
    width: u32,
    dashes: &str,
) -> String {
    let points = points.into_iter().map(|(x, y)| format!("{x:.1} {y:.1}")).join("L");
    if points.is_empty() {
        return points;
    }
    let colour = ink.hex();
    format!(
        "<path d=\"M{points}\" fill=\"none\" stroke=\"{colour}\" \
         stroke-width=\"{width}\"{dashes}/>\n"
    )
}

fn bars_of(bars: &[(String, f64)]) -> String {
    // The names stand before the bars, the numbers after them.
    const NAMES: u32 = 130;
    const NUMBERS: u32 = 60;
    let most = bars.iter().map(|bar| bar.1).fold(f64::MIN_POSITIVE, f64::max);
    let mut drawing = String::new();
    for (row, (name, value)) in bars.iter().enumerate() {
        let top = row as u32 * ROW;
        let (top, middle, high) = (top + 4, top + ROW / 2, ROW - 8);
        let length = (f64::from(WIDTH - NAMES - NUMBERS) * value.max(0.0) / most) as u32;
        let (length, colour) = (length.max(1), Ink::of(name).hex());
        drawing += &text(NAMES - 6, middle, "end", name);
        drawing += &format!(
            "<rect x=\"{NAMES}\" y=\"{top}\" width=\"{length}\" height=\"{high}\" \
             fill=\"{colour}\"/>\n"
        );
        drawing += &text(NAMES + length + 5, middle, "start", &super::text::number(*value));
    }
    drawing
}

fn lines_of(chart: &Chart) -> String {
    let position = |x: f64| if chart.is_logarithmic { x.max(f64::MIN_POSITIVE).log2() } else { x };
    let all = || chart.lines.iter().chain(&chart.references).flat_map(|(_, line)| line);
    let xs = all().map(|point| point.0).sorted_by(f64::total_cmp).dedup();
    let xs: Vec<f64> = xs.collect();
    let (Some(&first), Some(&last)) = (xs.first(), xs.last()) else { return String::new() };
    let (first, last) = (position(first), position(last));
    let margin = (last - first).max(1e-9) * 0.03;
    // An infinite scale would have no end, and one of no length no marks.
    let highest = all().map(|point| point.1).fold(0.0, f64::max);
    let top = highest.clamp(f64::MIN_POSITIVE, f64::MAX / 2.0) * 1.08;

    let across = |x: f64| {
        LEFT + (RIGHT - LEFT) * (position(x) - first + margin) / (last - first + 2.0 * margin)
    };
    // Far outside, a place would overflow.
    let up = |y: f64| BOTTOM - (BOTTOM - TOP) * (y / top).clamp(-1.0, 1.0);
    let at = |&(x, y): &(f64, f64)| (across(x), up(y));

    let mut drawing = String::new();
    let step = step(top);
    for y in (0_u32..).map(|number| f64::from(number) * step).take_while(|y| *y <= top) {
        drawing += &path([(LEFT, up(y)), (RIGHT, up(y))], GRID, 1, "");
        drawing += &text(LEFT - 6.0, up(y), "end", &shortest(y));
    }
    for x in spread(&xs) {
        drawing += &text(format!("{:.1}", across(x)), BOTTOM + 12.0, "middle", &shortest(x));
    }
    let (middle, centre) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
    drawing += &text(middle, HEIGHT - 12, "middle", &chart.across);
    let unit = text(-centre, 10, "middle", &chart.unit);
    drawing += &unit.replacen("<text ", "<text transform=\"rotate(-90)\" ", 1);

    let is_inside = |(x, _): &&(f64, String)| (first..=last).contains(&position(*x));
    if let Some((x, what)) = chart.mark.as_ref().filter(is_inside) {
        let x = across(*x);
        drawing += &path([(x, BOTTOM), (x, TOP)], GRID, 2, " stroke-dasharray=\"2 3\"");
        drawing += &text(format!("{:.1}", x + 4.0), BOTTOM - 8.0, "start", what);
    }
    for ((_, line), ink) in chart.references.iter().zip(REFERENCES) {
        drawing += &path(line.iter().map(at), ink, 2, " stroke-dasharray=\"3 4\"");
    }
    // The last lies on top.
    for (name, line) in chart.lines.iter().rev() {
        let ink = Ink::of(name);
        if !chart.is_dotted {
            drawing += &path(line.iter().map(at), ink, 2, dashes(is_dashed(name)));
        }
        let colour = ink.hex();
        for (x, y) in line.iter().map(at) {
            let point = format!("cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"");
            drawing += &format!("<circle {point}/>\n");
        }
    }
    drawing
}

/// The distance of at most six marks from 0 to `top`: 1, 2 or 5 times a power of ten.
fn step(top: f64) -> f64 {
    let least = top / 6.0;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|times| times * power);
    steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_more_digits_than_they_need() {
        assert_eq!([0.25, 32.0, 0.0].map(shortest), ["0.25", "32", "0"]);
    }

    #[test]
    fn marks_are_round_and_few() {
        for (top, expected) in [(1.08, 0.2), (5.0, 1.0), (37.0, 10.0), (0.02, 0.005)] {
            assert!((step(top) / expected - 1.0).abs() < 1e-9, "{top}: {}", step(top));
        }
        for top in [f64::MIN_POSITIVE, 1e-3, 7.0, f64::MAX / 2.0] {
            assert!((2..=6).contains(&((top / step(top)) as u32)), "{top}");
        }
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
