//! Causes and effects: each effect on a thread gets the last cause that another thread recorded.

use std::collections::HashMap;

use super::{Flow, FlowKind, Track};
use crate::record::{Kind, Record};

/// The causes that are addressed to one worker, by time: when, and on which track.
#[derive(Default)]
struct Causes {
    wakes: Vec<(u64, usize)>,
    signals: Vec<(u64, usize)>,
    hand_overs: Vec<(u64, usize)>,
}

/// All flows, by the time of the effect.
pub(super) fn all(threads: &[&[Record]], tracks: &[Track]) -> Vec<Flow> {
    let mut causes: HashMap<(u8, u32), Causes> = HashMap::new();
    for (track, records) in threads.iter().enumerate() {
        for record in *records {
            if let Kind::Wakes | Kind::Signals | Kind::HandsOver = record.kind {
                let causes = causes.entry((record.detail, record.arg)).or_default();
                let list = match record.kind {
                    Kind::Wakes => &mut causes.wakes,
                    Kind::Signals => &mut causes.signals,
                    _ => &mut causes.hand_overs,
                };
                list.push((record.at, track));
            }
        }
    }
    let mut slots = HashMap::new();
    for (track, worker) in tracks.iter().enumerate().filter_map(|(n, it)| Some((n, it.worker?))) {
        slots.insert(worker, track);
    }
    let mut flows = Vec::new();
    for (track, records) in threads.iter().enumerate() {
        let Some((pool, slot)) = tracks[track].worker else { continue };
        steals(records, track, |victim| slots.get(&(pool, victim)).copied(), &mut flows);
        if let Some(causes) = causes.get_mut(&(pool, slot)) {
            let mut add = |kind, causes: &mut Vec<(u64, usize)>, effect| {
                causes.sort_unstable();
                match_causes(records, track, kind, causes, effect, &mut flows);
            };
            add(FlowKind::Wake, &mut causes.wakes, Kind::Unparks);
            add(FlowKind::Signal, &mut causes.signals, Kind::Resumes);
            add(FlowKind::HandOver, &mut causes.hand_overs, Kind::SwitchedIn);
        }
    }
    flows.sort_by_key(|flow| flow.to.1);
    flows
}

/// From the victim, at the moment of the steal, to the begin of the task.
fn steals(
    records: &[Record],
    track: usize,
    track_of: impl Fn(u32) -> Option<usize>,
    flows: &mut Vec<Flow>,
) {
    let mut last = None;
    for record in records {
        match record.kind {
            Kind::Steals => last = Some(record),
            Kind::TaskBegins => {
                if let Some(steal) = last.take().filter(|steal| steal.arg == record.arg)
                    && let Some(victim) = track_of(steal.arg)
                {
                    let (from, to) = ((victim, steal.at), (track, record.at));
                    flows.push(Flow { kind: FlowKind::Steal, from, to });
                }
            }
            _ => {}
        }
    }
}

/// From the last cause to each effect, if the cause came after the effect before.
fn match_causes(
    records: &[Record],
    track: usize,
    kind: FlowKind,
    causes: &[(u64, usize)],
    effect: Kind,
    flows: &mut Vec<Flow>,
) {
    let mut used = 0;
    for record in records.iter().filter(|record| record.kind == effect) {
        let before = causes.partition_point(|&(at, _)| at <= record.at);
        if before > used {
            let (at, from) = causes[before - 1];
            flows.push(Flow { kind, from: (from, at), to: (track, record.at) });
        }
        used = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record((at, kind, detail, arg): (u64, Kind, u8, u32)) -> Record {
        Record { at, kind, detail, processor: None, arg }
    }

    #[test]
    fn an_effect_has_the_last_cause_before_it() {
        let waker = [
            (1, Kind::Wakes, 0, 1),
            (3, Kind::Wakes, 0, 1),
            (4, Kind::Wakes, 9, 1), // of another pool
            (30, Kind::Signals, 0, 1),
        ]
        .map(record);
        let sleeper = [
            (2, Kind::Parks, 0, 0),
            (5, Kind::Unparks, 0, 0),
            (6, Kind::Steals, 0, 0),
            (7, Kind::TaskBegins, 0, 0),
            (8, Kind::Unparks, 0, 0), // spurious
            (31, Kind::Resumes, 0, 0),
        ]
        .map(record);
        let track = |slot| Track { worker: Some((0, slot)), ..Track::default() };
        let flows = all(&[&waker, &sleeper], &[track(0), track(1)]);
        let flow = |kind, from, to| Flow { kind, from: (0, from), to: (1, to) };
        let expected = [
            flow(FlowKind::Wake, 3, 5),
            flow(FlowKind::Steal, 6, 7),
            flow(FlowKind::Signal, 30, 31),
        ];
        assert_eq!(flows, expected);
    }
}
