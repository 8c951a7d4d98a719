//! A recording as text: for each thread where its time went, and for each label what it took.

use std::collections::BTreeMap;
use std::fmt::Write;

use locksley_trace::{FlowKind, Instant, Kind, Slice, SliceKind, Timeline, Trace, Track};

/// The summary of a recording.
pub fn summary(trace: &Trace, timeline: &Timeline) -> String {
    let mut text = head(trace, timeline);
    let path = timeline.critical_path();
    let on_path = |track: usize| -> u64 {
        path.iter().filter(|&&(it, ..)| it == track).map(|(_, begin, end)| end - begin).sum()
    };
    let columns = "tasks,task ms,search,asleep,waits,preempted,moves,steals,woken,on path";
    row(&mut text, "thread", columns.split(','));
    for (number, track) in timeline.tracks.iter().enumerate() {
        let is_task = |kind| matches!(kind, SliceKind::Sent | SliceKind::Stolen(_));
        let is_sleep = |kind| {
            matches!(kind, SliceKind::Sleeps | SliceKind::IsOverLimit | SliceKind::IsMonitor)
        };
        let woken = timeline.flows.iter().filter(|it| it.kind == FlowKind::Wake);
        let cells = [
            track.slices.iter().filter(|it| is_task(it.kind)).count().to_string(),
            millis(outermost(track, is_task)),
            millis(outermost(track, |kind| kind == SliceKind::Searches)),
            millis(outermost(track, is_sleep)),
            millis(outermost(track, |kind| kind == SliceKind::Waits)),
            millis(outermost(track, |kind| kind == SliceKind::IsPreempted)),
            instants(track, Kind::Migrates).count().to_string(),
            instants(track, Kind::Steals).count().to_string(),
            woken.filter(|it| it.to.0 == number).count().to_string(),
            millis(on_path(number)),
        ];
        row(&mut text, &track.name, cells);
    }
    labels(&mut text, timeline);
    text.push_str(
        "times in ms; a search includes the sleep in it; moves: to another processor; on path: on \
         the critical path, the chain of steals and completions that led to the last end of a task",
    );
    text
}

fn head(trace: &Trace, timeline: &Timeline) -> String {
    let length = (timeline.end - timeline.begin) as f64 / 1e6;
    let events: usize = trace.threads.iter().map(|it| it.records.len()).sum();
    let lost: u64 = trace.threads.iter().map(|it| it.lost).sum();
    let mut text = format!(
        "{} (process {}): {length:.3} ms, {events} events of {} threads",
        trace.program,
        trace.process,
        trace.threads.len()
    );
    if lost > 0 {
        let _ = write!(text, ", {lost} older ones overwritten");
    }
    let throttled = timeline.tracks.iter().flat_map(|it| instants(it, Kind::Throttled));
    let throttled: u64 = throttled.map(|it| u64::from(it.arg)).sum();
    if throttled > 0 {
        let _ = write!(text, ", stopped by a quota for {} ms", millis(1000 * throttled));
    }
    if trace.threads_without > 0 {
        let _ = write!(text, ", {} threads not recorded", trace.threads_without);
    }
    if !trace.is_stopped {
        text.push_str("; it goes on, or the program was killed");
    }
    text.push('\n');
    text
}

fn instants(track: &Track, kind: Kind) -> impl Iterator<Item = &Instant> {
    track.instants.iter().filter(move |it| it.kind == kind)
}

/// The time in slices of a kind, without those that lie in another one of the kind.
fn outermost(track: &Track, is_kind: impl Fn(SliceKind) -> bool) -> u64 {
    let (mut sum, mut end) = (0, 0);
    for slice in track.slices.iter().filter(|it| is_kind(it.kind)) {
        if slice.end > end {
            sum += slice.end - slice.begin.max(end);
            end = slice.end;
        }
    }
    sum
}

fn labels(text: &mut String, timeline: &Timeline) {
    let mut labels: BTreeMap<u32, Vec<&Slice>> = BTreeMap::new();
    for slice in timeline.tracks.iter().flat_map(|track| &track.slices) {
        if let SliceKind::Span(label) = slice.kind {
            labels.entry(label).or_default().push(slice);
        }
    }
    if !labels.is_empty() {
        row(text, "label", ["spans", "total ms", "mean", "longest"]);
    }
    for slices in labels.values() {
        let times = || slices.iter().map(|it| it.end - it.begin);
        let (total, count) = (times().sum::<u64>(), slices.len() as u64);
        let longest = millis(times().max().unwrap_or(0));
        let cells = [count.to_string(), millis(total), millis(total / count), longest];
        row(text, &timeline.name_of(slices[0]), cells);
    }
    let mut marks: BTreeMap<String, u64> = BTreeMap::new();
    for mark in timeline.tracks.iter().flat_map(|it| instants(it, Kind::Mark)) {
        *marks.entry(timeline.name_of_instant(mark)).or_default() += 1;
    }
    for (name, times) in marks {
        row(text, &name, [format!("{times} times")]);
    }
}

fn row<S: AsRef<str>>(text: &mut String, name: &str, cells: impl IntoIterator<Item = S>) {
    let _ = write!(text, "{name:<20}");
    for cell in cells {
        let _ = write!(text, " {:>9}", cell.as_ref());
    }
    text.push('\n');
}

fn millis(nanos: u64) -> String {
    format!("{:.3}", nanos as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_nested_slices_counts_once() {
        let slice = |begin, end, kind| Slice { begin, end, depth: 0, kind };
        let slices = vec![
            slice(0, 10, SliceKind::Sent),
            slice(2, 3, SliceKind::Waits),
            slice(4, 5, SliceKind::Sent),
            slice(20, 25, SliceKind::Sent),
        ];
        let track = Track { slices, ..Track::default() };
        assert_eq!(outermost(&track, |kind| kind == SliceKind::Sent), 15);
        assert_eq!(outermost(&track, |kind| kind == SliceKind::Waits), 1);
    }

    #[test]
    fn each_label_has_a_line() {
        let kind = SliceKind::Span(1);
        let slices = [(0, 1_000_000), (2_000_000, 5_000_000)].map(|(begin, end)| Slice {
            begin,
            end,
            depth: 0,
            kind,
        });
        let track = Track { name: "one".into(), slices: slices.to_vec(), ..Track::default() };
        let labels = vec!["other".to_owned(), "sort".to_owned()];
        let timeline = Timeline { tracks: vec![track], labels, ..Timeline::default() };
        let text = summary(&Trace::default(), &timeline);
        let line = text.lines().find(|line| line.starts_with("sort")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["sort", "2", "4.000", "2.000", "3.000"]);
    }
}
