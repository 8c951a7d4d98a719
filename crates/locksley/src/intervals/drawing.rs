//! A recorded graph as a picture: who ran what and when, and what came after what.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::interval::Side;
use super::record::{Recorded, RecordedPoint, Recording};
use crate::drawing::{escaped, svg_head, time};

/// In pixels.
const LEFT: f64 = 90.0;
const WIDTH: f64 = 1000.0;
const RIGHT: f64 = 40.0;
const HEAD: f64 = 30.0;
const ROW: f64 = 24.0;
const BAR: f64 = 18.0;
/// Between the rows of one worker and those of the next.
const GAP: f64 = 10.0;
/// What a bar has at least, and a letter of its name about.
const LEAST: f64 = 1.5;
const LETTER: f64 = 6.0;

/// Pale, so that names are legible on them, and apart for whoever sees no red or no green: blue, orange, yellow, violet, and so on in turn.
/// Places beyond have the colours of the first again.
const COLORS: [&str; 6] = ["#bcd4ee", "#f6cfa0", "#f5efa6", "#d8c3e6", "#bfe6e6", "#d9cbb8"];
const NO_PLACE: &str = "#cfe3d8";
const FAILED: [&str; 2] = ["#f7dcdc", "#c03030"];
/// The height of a line of the legend, the width of an entry, and how many there are in a line.
const LEGEND: f64 = 24.0;
const ENTRY: f64 = 100.0;
const ENTRIES: usize = 10;

/// What has to do with that place is drawn in this colour.
pub(super) fn color_of_place(place: usize) -> &'static str {
    COLORS[place % COLORS.len()]
}

/// The rows of one worker.
struct Lane {
    worker: Option<usize>,
    /// Where it belongs, if there are several places.
    place: Option<usize>,
    top: f64,
    rows: usize,
}

/// Where an interval is drawn.
#[derive(Clone, Copy, Default)]
struct Bar {
    /// When its start occurred.
    start: f64,
    /// From the beginning of its body to its end.
    from: f64,
    to: f64,
    top: f64,
}

/// Where everything is drawn.
struct Layout {
    whole: Duration,
    lanes: Vec<Lane>,
    bars: Vec<Bar>,
    bottom: f64,
}

impl Recording {
    /// The graph as a picture (SVG). Time goes from left to right. Each worker has as many rows as it has had intervals at a
    /// time, and each interval is a bar from the beginning of its body to its end, which may come after that of its body: after its
    /// children's ends, and others that it waits for. Its start occurs before its body begins: from there a line leads to the bar, at its
    /// lower edge, while the interval waits for its locks, and for a worker. A line for each edge leads from point to point. What has failed is
    /// red; what did not run has rows of its own.
    ///
    /// Of a pool that has several places, each has a colour: the rows of its workers have a stripe of it at their left, and what the place was
    /// [named](super::Builder::near) for is filled with it, wherever it ran. What ran elsewhere has a thick frame.
    ///
    /// # Examples
    /// ```
    /// use locksley::intervals::{Recording, Root};
    ///
    /// let mut recording = Recording::default();
    /// Root::new("root").recorded(&mut recording).run(|root| {
    ///     let first = root.interval("first").spawn(|_| ());
    ///     root.interval("second").after(first).spawn(|_| ());
    /// })?;
    /// let svg = recording.to_svg();
    /// assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    /// assert!(svg.contains("<title>second, worker"));
    /// # Ok::<(), locksley::intervals::Cancelled>(())
    /// ```
    #[must_use]
    pub fn to_svg(&self) -> String {
        let layout = Layout::of(self);
        let bottom = layout.bottom + GAP;
        let mut svg = svg_head(LEFT + WIDTH + RIGHT, bottom + legend_height(self.places), 11);
        layout.draw_axis(&mut svg);
        layout.lanes.iter().for_each(|lane| lane.draw_name(&mut svg));
        for (interval, &bar) in self.intervals().iter().zip(&layout.bars) {
            draw_bar(&mut svg, self, interval, bar);
        }
        for edge in self.edges() {
            let (from, to) = (layout.place(edge.from), layout.place(edge.to));
            draw_edge(&mut svg, from, to);
        }
        draw_legend(&mut svg, self.places, bottom);
        svg.push_str("</svg>\n");
        svg
    }
}

impl Layout {
    fn of(recording: &Recording) -> Self {
        let intervals = recording.intervals();
        let last = intervals.iter().map(|interval| interval.ended).max();
        let whole = last.unwrap_or_default().max(Duration::from_nanos(1));
        let mut by_worker: BTreeMap<(bool, Option<usize>), Vec<usize>> = BTreeMap::new();
        for (number, interval) in intervals.iter().enumerate() {
            // Those that did not run come last.
            let worker = interval.worker;
            by_worker.entry((worker.is_none(), worker)).or_default().push(number);
        }
        let mut layout = Self {
            whole,
            lanes: Vec::new(),
            bars: vec![Bar::default(); intervals.len()],
            bottom: HEAD,
        };
        for ((_, worker), members) in by_worker {
            let place = members.first().and_then(|&number| intervals[number].place);
            layout.add_lane(worker, members, intervals);
            if let Some(lane) = layout.lanes.last_mut() {
                lane.place = place.filter(|_| recording.places > 1);
            }
        }
        layout
    }

    /// Each in the first row that is free when it begins: so whatever begins inside of another is below it.
    fn add_lane(&mut self, worker: Option<usize>, mut members: Vec<usize>, intervals: &[Recorded]) {
        members.sort_by_key(|&number| (began(&intervals[number]), number));
        let top = self.bottom;
        // When what is in each row ends.
        let mut rows: Vec<Duration> = Vec::new();
        for number in members {
            let interval = &intervals[number];
            let free = rows.iter().position(|&ended| ended <= began(interval));
            let row = free.unwrap_or(rows.len());
            rows.resize(rows.len().max(row + 1), Duration::ZERO);
            rows[row] = interval.ended;
            let (from, to) = (self.across(began(interval)), self.across(interval.ended));
            let (start, to) = (self.across(interval.started), to.max(from + LEAST));
            self.bars[number] = Bar { start, from, to, top: top + row as f64 * ROW };
        }
        self.bottom = top + rows.len() as f64 * ROW + GAP;
        self.lanes.push(Lane { worker, place: None, top, rows: rows.len() });
    }

    fn across(&self, at: Duration) -> f64 {
        LEFT + WIDTH * at.as_secs_f64() / self.whole.as_secs_f64()
    }

    fn place(&self, point: RecordedPoint) -> (f64, f64) {
        let bar = self.bars[point.interval];
        match point.side {
            Side::Start => (bar.start, bar.top + BAR),
            Side::End => (bar.to, bar.top + BAR / 2.0),
        }
    }

    fn draw_axis(&self, svg: &mut String) {
        const TICKS: u32 = 4;
        for tick in 0..=TICKS {
            let at = self.whole * tick / TICKS;
            let (x, bottom) = (self.across(at), self.bottom);
            let _ = writeln!(
                svg,
                "<path d=\"M {x:.1} {:.1} V {bottom:.1}\" stroke=\"#ccd\"/>\
                 <text x=\"{x:.1}\" y=\"16\" text-anchor=\"middle\">{}</text>",
                HEAD - 8.0,
                time(at)
            );
        }
        for lane in &self.lanes {
            let (top, height) = (lane.top, lane.height());
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\" fill=\"#f4f6fa\"/>"
            );
        }
    }
}

impl Lane {
    fn height(&self) -> f64 {
        self.rows as f64 * ROW - (ROW - BAR)
    }

    fn draw_name(&self, svg: &mut String) {
        let worker = self.worker.map_or("did not run".into(), |worker| format!("worker {worker}"));
        let _ = writeln!(svg, "<text x=\"4\" y=\"{:.1}\">{worker}</text>", self.top + 13.0);
        if let Some(place) = self.place {
            let (x, top, height) = (LEFT - 8.0, self.top, self.height());
            let color = color_of_place(place);
            let _ = writeln!(
                svg,
                "<g><title>place {place}</title><rect x=\"{x}\" y=\"{top:.1}\" width=\"6\" height=\"{height:.1}\" fill=\"{color}\" \
                 stroke=\"#345\" stroke-width=\"0.4\"/></g>"
            );
        }
    }
}

/// What the colours and frames say: text, fill and the width of the frame.
fn legend(places: usize) -> Vec<(String, &'static str, f64)> {
    let entry = |place| (format!("for place {place}"), color_of_place(place), 0.6);
    let others = [
        ("for no place", NO_PLACE, 0.6),
        ("failed", FAILED[0], 0.6),
        ("ran elsewhere", "none", 2.4),
    ];
    let others = others.map(|(text, fill, frame)| (text.to_owned(), fill, frame));
    if places > 1 { (0..places).map(entry).chain(others).collect() } else { Vec::new() }
}

/// How many lines it takes.
fn legend_height(places: usize) -> f64 {
    legend(places).len().div_ceil(ENTRIES) as f64 * LEGEND
}

fn draw_legend(svg: &mut String, places: usize, top: f64) {
    for (number, (text, fill, frame)) in legend(places).into_iter().enumerate() {
        let (line, column) = (number / ENTRIES, number % ENTRIES);
        let (x, y) = (LEFT + column as f64 * ENTRY, top + line as f64 * LEGEND);
        let (after, foot) = (x + 19.0, y + 11.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"14\" height=\"14\" fill=\"{fill}\" stroke=\"#345\" stroke-width=\"{frame}\"/>\
             <text x=\"{after:.1}\" y=\"{foot:.1}\">{text}</text>"
        );
    }
}

/// When its body began; when it ended, if it did not run.
fn began(interval: &Recorded) -> Duration {
    interval.begun.unwrap_or(interval.ended)
}

fn draw_bar(svg: &mut String, recording: &Recording, interval: &Recorded, bar: Bar) {
    let Bar { start, from, to, top } = bar;
    let name = escaped(&interval.name);
    let near = interval.near.filter(|_| recording.places > 1);
    let mut about = match (interval.begun, interval.worker) {
        (Some(begun), Some(worker)) => format!(
            "{name}, worker {worker}{}, {} to {}, {}; started at {}",
            recording.at_place(interval),
            time(begun),
            time(interval.ended),
            time(interval.ended.saturating_sub(begun)),
            time(interval.started)
        ),
        _ => format!("{name} did not run"),
    };
    if let Some(near) = near {
        let _ = write!(about, "; made for place {near}");
    }
    let (fill, stroke) = match near {
        _ if interval.has_failed => (FAILED[0], FAILED[1]),
        Some(near) => (color_of_place(near), "#345"),
        None => (NO_PLACE, "#345"),
    };
    let frame = if interval.is_out_of_place() { 2.4 } else { 0.6 };
    let (width, foot) = (to - from, top + BAR);
    let _ = writeln!(
        svg,
        "<g><title>{about}</title><path d=\"M {start:.1} {foot:.1} H {from:.1}\" stroke=\"{stroke}\" stroke-width=\"1.4\"/><rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{fill}\" \
         stroke=\"{stroke}\" stroke-width=\"{frame}\"/>"
    );
    // A name that does not fit is in the title.
    if interval.name.chars().count() as f64 * LETTER < width {
        let (x, y) = (from + 3.0, top + 13.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>");
    }
    svg.push_str("</g>\n");
}

fn draw_edge(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let bend = ((x2 - x1).abs() / 2.0).clamp(8.0, 60.0);
    let (out, into) = (x1 + bend, x2 - bend);
    let _ = writeln!(
        svg,
        "<path d=\"M {x1:.1} {y1:.1} C {out:.1} {y1:.1}, {into:.1} {y2:.1}, {x2:.1} {y2:.1}\" fill=\"none\" stroke=\"#789\" \
         stroke-width=\"0.7\"/>"
    );
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::record::RecordedEdge;
    use super::*;

    fn interval(name: &str, run: Option<(usize, u64)>, ended: u64) -> Recorded {
        Recorded {
            name: name.into(),
            parent: None,
            started: Duration::from_micros(run.map_or(ended, |(_, begun)| begun / 2)),
            begun: run.map(|(_, begun)| Duration::from_micros(begun)),
            ended: Duration::from_micros(ended),
            worker: run.map(|(worker, _)| worker),
            place: run.map(|(worker, _)| worker),
            near: None,
            has_failed: run.is_none(),
        }
    }

    fn recording() -> Recording {
        let intervals = vec![
            interval("<root>", Some((0, 0)), 100),
            interval("inside", Some((0, 10)), 30),
            interval("next inside", Some((0, 30)), 60),
            interval("elsewhere", Some((1, 20)), 60),
            interval("never", None, 60),
        ];
        let point = |interval, side| RecordedPoint { interval, side };
        let edges = vec![
            RecordedEdge { from: point(3, Side::End), to: point(4, Side::Start) },
            RecordedEdge { from: point(1, Side::End), to: point(3, Side::Start) },
        ];
        Recording { intervals, edges, places: 1 }
    }

    #[test]
    fn what_overlaps_on_a_worker_has_rows_of_its_own_and_what_does_not_has_one() {
        let layout = Layout::of(&recording());
        let lanes: Vec<_> = layout.lanes.iter().map(|lane| (lane.worker, lane.rows)).collect();
        assert_eq!(lanes, [(Some(0), 2), (Some(1), 1), (None, 1)]);
        let [root, inside, next, elsewhere, never] = layout.bars[..] else { panic!("five") };
        assert_eq!((root.from, root.to, root.top), (LEFT, LEFT + WIDTH, HEAD));
        assert_eq!((inside.top, next.top), (HEAD + ROW, HEAD + ROW));
        assert!((inside.to - next.from).abs() < 1e-9, "the one ends where the next begins");
        assert!((elsewhere.from - (LEFT + WIDTH / 5.0)).abs() < 1e-9);
        assert!((elsewhere.start - (LEFT + WIDTH / 10.0)).abs() < 1e-9, "it waits for a worker");
        assert!(elsewhere.top > next.top + BAR && never.top > elsewhere.top + BAR);
        // No two bars of one row lie upon each other.
        assert!((never.to - never.from - LEAST).abs() < 1e-9);
    }

    #[test]
    fn all_is_drawn_and_names_are_escaped() {
        let svg = recording().to_svg();
        // Bars, and what lies behind the rows of two workers and of what did not run.
        assert_eq!(svg.matches("<rect").count(), 5 + 3);
        for words in [
            "<title>&lt;root&gt;, worker 0, 0.00 µs to 100 µs, 100 µs; started at 0.00 µs</title>",
            "<title>never did not run</title>",
            ">worker 1</text>",
            ">did not run</text>",
            ">75.0 µs</text>",
            ">&lt;root&gt;</text>",
        ] {
            assert!(svg.contains(words), "{words} is missing in\n{svg}");
        }
        assert_eq!(svg.matches("fill=\"#f7dcdc\"").count(), 1, "one has failed");
        let from = LEFT + WIDTH * 0.6;
        assert!(svg.contains(&format!("<path d=\"M {from:.1} ")), "the edge begins at an end");
        // Edges go to where a start occurred, and a line leads from there to the bar.
        let (start, begun) = (LEFT + WIDTH * 0.1, LEFT + WIDTH * 0.2);
        let layout = Layout::of(&recording());
        let foot = layout.bars[3].top + BAR;
        assert!(svg.contains(&format!(", {start:.1} {foot:.1}\" fill=\"none\"")), "{svg}");
        assert!(svg.contains(&format!("<path d=\"M {start:.1} {foot:.1} H {begun:.1}\"")), "{svg}");
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
    }

    /// Each worker is a place; one interval was made for each, and one of them ran elsewhere.
    fn placed() -> Recording {
        let mut recording = Recording { places: 2, ..recording() };
        recording.intervals[1..].iter_mut().for_each(|interval| interval.parent = Some(0));
        recording.intervals[1].near = Some(0);
        recording.intervals[3].near = Some(0);
        recording.intervals[4].near = Some(1);
        recording
    }

    #[test]
    fn places_are_drawn_where_there_are_several() {
        let svg = placed().to_svg();
        let color = |place| format!("fill=\"{}\"", color_of_place(place));
        // Two intervals, an entry of the legend, and the stripe of a worker. What failed is red.
        assert_eq!(svg.matches(&color(0)).count(), 2 + 1 + 1, "{svg}");
        assert_eq!(svg.matches(&color(1)).count(), 1 + 1, "{svg}");
        assert_eq!(svg.matches(&format!("fill=\"{}\"", FAILED[0])).count(), 1 + 1);
        assert_eq!(svg.matches("stroke-width=\"2.4\"").count(), 1 + 1, "one ran elsewhere: {svg}");
        for words in [
            "<title>elsewhere, worker 1 at place 1, 20.0 µs to 60.0 µs, 40.0 µs; started at 10.0 µs; made for place 0</title>",
            "<title>inside, worker 0 at place 0,",
            "<title>never did not run; made for place 1</title>",
            "<title>place 1</title>",
            ">for place 0</text>",
            ">for place 1</text>",
            ">ran elsewhere</text>",
        ] {
            assert!(svg.contains(words), "{words} is missing in\n{svg}");
        }
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
        // With one place there is nothing to tell, though somebody has named it.
        let one = Recording { places: 1, ..placed() };
        assert!(!one.to_svg().contains("place"), "{}", one.to_svg());
    }

    #[test]
    fn graphs_have_the_same_colours() {
        let dot = placed().to_dot();
        for words in [
            "worker 1 at place 1, 20.0µs to 60.0µs\\nfor place 0|",
            "cluster_legend",
            "p1 [label=\"place 1\"",
        ] {
            assert!(dot.contains(words), "{words} is missing in\n{dot}");
        }
        let color = |place| format!("fillcolor=\"{}\"", color_of_place(place));
        assert_eq!([0, 1].map(|place| dot.matches(&color(place)).count()), [2 + 1, 1 + 1], "{dot}");
        assert_eq!(dot.matches("penwidth=3").count(), 1 + 1, "{dot}");
        assert_eq!(dot.matches('{').count() - dot.matches("\\{").count(), dot.matches('}').count());
        assert!(!Recording { places: 1, ..placed() }.to_dot().contains("place"));
    }

    #[test]
    fn nothing_makes_a_picture_too() {
        let svg = Recording::default().to_svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
}
