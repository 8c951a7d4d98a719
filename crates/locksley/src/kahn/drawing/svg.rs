//! A picture.

use std::fmt::Write;
use std::time::Duration;

use super::{channel_lines, layers, process_lines};
use crate::drawing::{escaped, svg_head};
use crate::kahn::report::{ChannelReport, Report};

/// In pixels.
const WIDTH: f64 = 130.0;
const HEIGHT: f64 = 44.0;
const ACROSS: f64 = 320.0;
const DOWN: f64 = 100.0;
const MARGIN: f64 = 60.0;
const LINE: f64 = 13.0;

pub(super) fn of(report: &Report) -> String {
    let ends = |channel: &ChannelReport| Some((channel.from?, channel.to?));
    let edges: Vec<_> = report.channels().iter().filter_map(ends).collect();
    let places = layers::places(report.processes().len(), &edges);
    let last =
        |which: fn(&(usize, usize)) -> usize| places.iter().map(which).max().unwrap_or(0) as f64;
    let (width, height) = (
        last(|place| place.0) * ACROSS + WIDTH + 2.0 * MARGIN,
        last(|place| place.1) * DOWN + HEIGHT + 2.0 * MARGIN + 40.0,
    );
    let mut text = svg_head(width, height, 11);
    let corner = |process: usize| {
        let (layer, place) = places[process];
        (MARGIN + layer as f64 * ACROSS, MARGIN + place as f64 * DOWN)
    };
    let most = report.channels().iter().map(|channel| channel.sent).max().unwrap_or(0);
    for channel in report.channels() {
        if let Some((from, to)) = ends(channel) {
            draw_channel(&mut text, report, channel, most, corner(from), corner(to));
        }
    }
    for (number, process) in report.processes().iter().enumerate() {
        let (x, y) = corner(number);
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"#eef2f7\" stroke=\"#345\"/>"
        );
        draw_lines(&mut text, &process_lines(process), x + WIDTH / 2.0, y + 18.0);
    }
    text.push_str("</svg>\n");
    text
}

fn draw_channel(
    text: &mut String,
    report: &Report,
    channel: &ChannelReport,
    most: u64,
    from: (f64, f64),
    to: (f64, f64),
) {
    let (x1, y1, x2, y2) = (from.0 + WIDTH, from.1 + HEIGHT / 2.0, to.0, to.1 + HEIGHT / 2.0);
    // What leads back goes round below.
    let (bend, drop) = if x2 > x1 { ((x2 - x1) / 2.0, 0.0) } else { (60.0, 70.0) };
    let (cx1, cy1, cx2, cy2) = (x1 + bend, y1 + drop, x2 - bend, y2 + drop);
    let width = 1.0 + 4.0 * channel.sent as f64 / most.max(1) as f64;
    let color = color(channel, report.time());
    let _ = writeln!(
        text,
        "<path d=\"M {x1} {y1} C {cx1} {cy1}, {cx2} {cy2}, {x2} {y2}\" fill=\"none\" stroke=\"{color}\" \
         stroke-width=\"{width:.2}\"/>\n<circle cx=\"{x2}\" cy=\"{y2}\" r=\"4\" fill=\"{color}\"/>"
    );
    // The middle of the curve.
    let middle = |a: f64, b: f64, c: f64, d: f64| (a + 3.0 * b + 3.0 * c + d) / 8.0;
    let (x, y) = (middle(x1, cx1, cx2, x2), middle(y1, cy1, cy2, y2));
    draw_lines(text, &channel_lines(channel), x, y - LINE);
}

/// From grey to red: how long one of the two waited, of the whole time.
fn color(channel: &ChannelReport, whole: Duration) -> String {
    let waited = channel.sender_waited.max(channel.receiver_waited).unwrap_or_default();
    let share = (waited.as_secs_f64() / whole.as_secs_f64().max(1e-9)).clamp(0.0, 1.0);
    let between = |from: f64, to: f64| (from + (to - from) * share) as u8;
    format!(
        "#{:02x}{:02x}{:02x}",
        between(136.0, 200.0),
        between(146.0, 30.0),
        between(156.0, 30.0)
    )
}

fn draw_lines(text: &mut String, lines: &[String], x: f64, y: f64) {
    for (n, line) in lines.iter().enumerate() {
        let y = y + n as f64 * LINE;
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            escaped(line)
        );
    }
}
