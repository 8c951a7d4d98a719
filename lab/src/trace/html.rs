//! A recording as one page, which needs no network.
//!
//! The page holds rows of slices. A row is one depth of one track, so its slices do not overlap and
//! are sorted: what is visible is found by bisection. Numbers are columns of 32 bits, in base 64:
//! a browser reads a million of them in some ten milliseconds.

use std::collections::HashMap;

use ::base64::engine::Engine;
use ::base64::engine::general_purpose::STANDARD;
use locksley_trace::{Slice, SliceKind, Timeline, Trace, Track};
use serde_json::{Value, json};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of a recording.
pub fn page(trace: &Trace, timeline: &Timeline) -> String {
    let columns = &mut Columns::new(timeline);
    let threads = timeline.tracks.iter().map(|track| (track, false));
    let all = threads.chain(timeline.processors.iter().map(|track| (track, true)));
    let mut tracks = Vec::new();
    for (track, is_processor) in all {
        let rows = columns.add_track(timeline, track);
        tracks.push(json!({ "name": track.name, "is_processor": is_processor, "rows": rows }));
    }
    let counters = timeline.counters.iter().map(|counter| {
        counter.values.iter().for_each(|&(at, value)| {
            let at = columns.time(at);
            columns.counters.extend([at, value]);
        });
        json!({ "name": counter.name, "values": counter.values.len() })
    });
    let counters: Vec<Value> = counters.collect();
    for flow in &timeline.flows {
        // The script has the same order.
        let kind = flow.kind as u32;
        let [from, to] = [flow.from, flow.to].map(|(track, at)| [track as u32, columns.time(at)]);
        columns.flows.extend([kind, from[0], from[1], to[0], to[1]]);
    }
    let path = timeline.critical_path().into_iter();
    let path = path.map(|(track, begin, end)| (track, columns.time(begin), columns.time(end)));
    let header = json!({
        "title": format!("{} (process {})", trace.program, trace.process),
        // How many nanoseconds a unit of time is.
        "unit": columns.unit as f64,
        "length": columns.time(timeline.end),
        // Track, begin and end of each piece of the critical path.
        "path": path.collect::<Vec<_>>(),
        "names": columns.names,
        "tracks": tracks,
        "counters": counters,
    });
    // `<` would end the script element.
    let header = header.to_string().replace('<', "\\u003c");
    let parts = [
        ("{style}", STYLE.to_owned()),
        ("{header}", header),
        ("{slices}", base64(&columns.slices)),
        ("{flows}", base64(&columns.flows)),
        ("{counters}", base64(&columns.counters)),
        ("{script}", SCRIPT.to_owned()),
    ];
    let mut page = String::new();
    let mut rest = PAGE;
    for (mark, text) in &parts {
        let (before, after) = rest.split_once(mark).expect("the page has each mark, in order");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page + rest
}

/// Columns of numbers, and the names that they refer to.
struct Columns {
    begin: u64,
    unit: u64,
    /// Begin, end, and name with the class in the low four bits; row by row.
    slices: Vec<u32>,
    /// Kind, from track and time, to track and time.
    flows: Vec<u32>,
    /// Time and value.
    counters: Vec<u32>,
    names: Vec<String>,
    known: HashMap<u64, u32>,
}

impl Columns {
    fn new(timeline: &Timeline) -> Self {
        let length = timeline.end - timeline.begin;
        Self {
            begin: timeline.begin,
            unit: length / u64::from(u32::MAX) + 1,
            slices: Vec::new(),
            flows: Vec::new(),
            counters: Vec::new(),
            names: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn time(&self, at: u64) -> u32 {
        (at.saturating_sub(self.begin) / self.unit) as u32
    }

    /// Adds the slices of a track, and returns how many there are of each depth.
    fn add_track(&mut self, timeline: &Timeline, track: &Track) -> Vec<usize> {
        let mut rows: Vec<Vec<&Slice>> = Vec::new();
        for slice in &track.slices {
            let depth = usize::from(slice.depth);
            rows.resize_with(rows.len().max(depth + 1), Vec::new);
            rows[depth].push(slice);
        }
        for slice in rows.iter().flatten() {
            let name = self.name(timeline, slice);
            let (begin, end) = (self.time(slice.begin), self.time(slice.end));
            self.slices.extend([begin, end, name << 4 | class(slice.kind)]);
        }
        rows.iter().map(Vec::len).collect()
    }

    fn name(&mut self, timeline: &Timeline, slice: &Slice) -> u32 {
        let number = match slice.kind {
            SliceKind::Stolen(number) | SliceKind::Span(number) => number.into(),
            SliceKind::Runs(track) => track as u64,
            _ => 0,
        };
        let key = number << 8 | u64::from(class(slice.kind));
        *self.known.entry(key).or_insert_with(|| {
            self.names.push(timeline.name_of(slice));
            self.names.len() as u32 - 1
        })
    }
}

/// What a slice is, which decides its colour.
fn class(kind: SliceKind) -> u32 {
    match kind {
        SliceKind::Sent => 0,
        SliceKind::Stolen(_) => 1,
        SliceKind::Span(_) => 2,
        SliceKind::Searches => 3,
        SliceKind::Sleeps => 4,
        SliceKind::IsOverLimit => 5,
        SliceKind::IsMonitor => 6,
        SliceKind::Waits => 7,
        SliceKind::Blocks => 8,
        SliceKind::IsPreempted => 9,
        SliceKind::Runs(_) => 10,
        _ => 11,
    }
}

/// Words, little-endian, in base 64 (RFC 4648).
fn base64(words: &[u32]) -> String {
    STANDARD.encode(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_specified() {
        assert_eq!(base64(&[]), "");
        assert_eq!(base64(&[0x6f6f_6266]), "ZmJvbw==");
        assert_eq!(
            base64(&[u32::from_le_bytes(*b"foob"), u32::from_le_bytes(*b"ar!?")]),
            "Zm9vYmFyIT8="
        );
    }

    #[test]
    fn a_page_holds_what_the_timeline_does_and_nothing_of_the_network() {
        let slice = |begin, end, depth| Slice { begin, end, depth, kind: SliceKind::Sent };
        let slices = vec![slice(5, 9, 0), slice(6, 7, 1), slice(10, 11, 0)];
        let track = Track { name: "</script>".into(), slices, ..Track::default() };
        let timeline = Timeline { begin: 5, end: 11, tracks: vec![track], ..Timeline::default() };
        let page = page(&Trace::default(), &timeline);
        let slices = base64(&[0, 4, 0, 5, 6, 0, 1, 2, 0]);
        assert!(page.contains(&slices) && page.contains("\"rows\":[2,1]"), "{page}");
        assert_eq!(page.matches("</script>").count(), 5, "the name is no end of a script");
        assert!(!page.contains("http") && !page.contains("src="));
    }
}
