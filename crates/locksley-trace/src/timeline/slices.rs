//! The slices of a thread.

use super::{Slice, SliceKind, slept};
use crate::record::{Kind, Record};

/// What an event begins, and which of its kind it ends.
enum Change {
    Begin(SliceKind),
    End(fn(SliceKind) -> bool),
    None,
}

/// The slices of a thread, which is the worker of `slot` at first, from its events. What has not
/// ended lasts until `end`. An event that ends what began before the first event is left out.
pub(super) fn of_thread(records: &[Record], mut slot: Option<u32>, end: u64) -> Vec<Slice> {
    let (mut slices, mut open): (Vec<Slice>, Vec<usize>) = (Vec::new(), Vec::new());
    for record in records {
        if record.kind == Kind::Attached {
            slot = Some(record.arg);
        }
        match change(record, slot) {
            Change::Begin(kind) => {
                open.push(slices.len());
                let depth = u16::try_from(open.len() - 1).unwrap_or(u16::MAX);
                slices.push(Slice { begin: record.at, end, depth, kind });
            }
            Change::End(is_kind) => {
                let found = open.iter().rposition(|&slice| is_kind(slices[slice].kind));
                // What is inside ends, too: its end was lost.
                for slice in open.drain(found.unwrap_or(open.len())..) {
                    slices[slice].end = record.at;
                }
            }
            Change::None => {}
        }
    }
    slices
}

fn change(record: &Record, slot: Option<u32>) -> Change {
    let is_task = |kind| matches!(kind, SliceKind::Sent | SliceKind::Stolen(_));
    let is_sleep = |kind| {
        matches!(
            kind,
            SliceKind::Sleeps | SliceKind::IsOverLimit | SliceKind::IsMonitor | SliceKind::Blocks
        )
    };
    match record.kind {
        Kind::TaskBegins if slot == Some(record.arg) => Change::Begin(SliceKind::Sent),
        Kind::TaskBegins => Change::Begin(SliceKind::Stolen(record.arg)),
        Kind::TaskEnds => Change::End(is_task),
        Kind::SearchBegins => Change::Begin(SliceKind::Searches),
        Kind::SearchEnds => Change::End(|kind| kind == SliceKind::Searches),
        Kind::Parks => Change::Begin(slept(record.detail)),
        Kind::Blocks => Change::Begin(SliceKind::Blocks),
        Kind::Unparks => Change::End(is_sleep),
        Kind::Waits => Change::Begin(SliceKind::Waits),
        Kind::Resumes => Change::End(|kind| kind == SliceKind::Waits),
        Kind::SpanBegins => Change::Begin(SliceKind::Span(record.arg)),
        Kind::SpanEnds => Change::End(|kind| matches!(kind, SliceKind::Span(_))),
        Kind::Preempted => Change::Begin(SliceKind::IsPreempted),
        Kind::SwitchedIn => Change::End(|kind| kind == SliceKind::IsPreempted),
        _ => Change::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(events: &[(u64, Kind, u32)]) -> Vec<(u64, u64, u16, SliceKind)> {
        let record = |&(at, kind, arg)| Record { at, kind, detail: 0, processor: None, arg };
        let records: Vec<Record> = events.iter().map(record).collect();
        let slices = of_thread(&records, Some(1), 100);
        slices.iter().map(|it| (it.begin, it.end, it.depth, it.kind)).collect()
    }

    #[test]
    fn slices_nest() {
        let found = slices(&[
            (1, Kind::SearchBegins, 0),
            (2, Kind::Parks, 0),
            (3, Kind::Unparks, 0),
            (4, Kind::SearchEnds, 0),
            (5, Kind::TaskBegins, 0),
            (6, Kind::SpanBegins, 7),
            (7, Kind::Preempted, 0),
            (8, Kind::SwitchedIn, 0),
            (9, Kind::SpanEnds, 0),
            (10, Kind::TaskEnds, 0),
            (11, Kind::TaskBegins, 1),
        ]);
        let expected = [
            (1, 4, 0, SliceKind::Searches),
            (2, 3, 1, SliceKind::Sleeps),
            (5, 10, 0, SliceKind::Stolen(0)),
            (6, 9, 1, SliceKind::Span(7)),
            (7, 8, 2, SliceKind::IsPreempted),
            (11, 100, 0, SliceKind::Sent),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lost_events_do_no_harm() {
        // An end without its begin, and a begin without its end.
        let found = slices(&[
            (1, Kind::TaskEnds, 0),
            (2, Kind::SearchBegins, 0),
            (3, Kind::Parks, 0),
            (4, Kind::SearchEnds, 0),
        ]);
        assert_eq!(found, [(2, 4, 0, SliceKind::Searches), (3, 4, 1, SliceKind::Sleeps)]);
        assert_eq!(slices(&[]), []);
    }
}
