//! Causes and effects: each effect on a thread gets the last cause that another thread recorded.

use std::collections::HashMap;

use super::stints::{Holders, Stint, WorkerId};
use super::{Flow, FlowKind};
use crate::record::{Kind, Record};

/// The causes that are addressed to one worker, by time: when, and on which track.
#[derive(Default)]
struct Causes {
    wakes: Vec<(u64, usize)>,
    signals: Vec<(u64, usize)>,
    hand_overs: Vec<(u64, usize)>,
}

/// All flows, by the time of the effect.
pub(super) fn all(threads: &[&[Record]], stints: &[Stint<'_>]) -> Vec<Flow> {
    let mut causes: HashMap<WorkerId, Causes> = HashMap::new();
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
    for causes in causes.values_mut() {
        causes.wakes.sort_unstable();
        causes.signals.sort_unstable();
        causes.hand_overs.sort_unstable();
    }
    let holders = Holders::new(stints);
    let mut flows = Vec::new();
    for stint in stints {
        steals(stint, &holders, &mut flows);
        if let Some(causes) = causes.get(&stint.worker) {
            let mut add = |kind, causes: &[(u64, usize)], effect| {
                match_causes(stint, kind, causes, effect, &mut flows);
            };
            add(FlowKind::Wake, &causes.wakes, Kind::Unparks);
            add(FlowKind::Signal, &causes.signals, Kind::Resumes);
            add(FlowKind::HandOver, &causes.hand_overs, Kind::SwitchedIn);
        }
    }
    flows.sort_by_key(|flow| flow.to.1);
    flows
}

/// From the victim, at the moment of the steal, to the begin of the task.
fn steals(stint: &Stint<'_>, holders: &Holders, flows: &mut Vec<Flow>) {
    let mut last: Option<&Record> = None;
    for record in stint.records {
        match record.kind {
            Kind::Steals => last = Some(record),
            Kind::TaskBegins => {
                let steal = last.take().filter(|steal| steal.arg == record.arg);
                let Some(steal) = steal else { continue };
                if let Some(victim) = holders.at((stint.worker.0, steal.arg), steal.at) {
                    let (from, to) = ((victim, steal.at), (stint.track, record.at));
                    flows.push(Flow { kind: FlowKind::Steal, from, to });
                }
            }
            _ => {}
        }
    }
}

/// From the last cause to each effect, if the cause came after the effect before, and after the
/// thread became this worker.
fn match_causes(
    stint: &Stint<'_>,
    kind: FlowKind,
    causes: &[(u64, usize)],
    effect: Kind,
    flows: &mut Vec<Flow>,
) {
    let mut used = causes.partition_point(|&(at, _)| at < stint.begin);
    for record in stint.records.iter().filter(|record| record.kind == effect) {
        let before = causes.partition_point(|&(at, _)| at <= record.at);
        if before > used {
            let (at, from) = causes[before - 1];
            flows.push(Flow { kind, from: (from, at), to: (stint.track, record.at) });
        }
        used = before;
    }
}

#[cfg(test)]
mod tests {
    use super::super::stints;
    use super::*;
    use crate::read::ThreadTrace;

    fn record((at, kind, detail, arg): (u64, Kind, u32, u32)) -> Record {
        Record { at, kind, detail, processor: None, arg }
    }

    /// The flows of threads with these slots of pool 0.
    fn flows(threads: &[(Option<u32>, &[Record])]) -> Vec<Flow> {
        let thread = |&(slot, records): &(Option<u32>, &[Record])| ThreadTrace {
            slot,
            records: records.to_vec(),
            ..ThreadTrace::default()
        };
        let threads: Vec<ThreadTrace> = threads.iter().map(thread).collect();
        let records: Vec<&[Record]> = threads.iter().map(|it| &it.records[..]).collect();
        all(&records, &stints::all(&threads.iter().collect::<Vec<_>>()))
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
        let flows = flows(&[(Some(0), &waker), (Some(1), &sleeper)]);
        let flow = |kind, from, to| Flow { kind, from: (0, from), to: (1, to) };
        let expected = [
            flow(FlowKind::Wake, 3, 5),
            flow(FlowKind::Steal, 6, 7),
            flow(FlowKind::Signal, 30, 31),
        ];
        assert_eq!(flows, expected);
    }

    #[test]
    fn a_slot_is_of_one_thread_after_the_other() {
        let attached = |at| (at, Kind::Attached, 0, 7);
        let first = [attached(1), (5, Kind::Waits, 0, 0), (9, Kind::Detached, 0, 0)].map(record);
        let second = [attached(20), (29, Kind::Resumes, 0, 0), (35, Kind::Resumes, 0, 0)];
        let second = second.map(record);
        let thief = [
            (3, Kind::Steals, 0, 7),
            (4, Kind::TaskBegins, 0, 7),
            (6, Kind::Signals, 0, 7), // for the first thread, which did not sleep yet
            (25, Kind::Steals, 0, 7),
            (26, Kind::TaskBegins, 0, 7),
            (30, Kind::Signals, 0, 7),
        ]
        .map(record);
        let flows = flows(&[(None, &first), (None, &second), (Some(0), &thief)]);
        let flow = |kind, from, to| Flow { kind, from, to };
        let expected = [
            flow(FlowKind::Steal, (0, 3), (2, 4)),
            flow(FlowKind::Steal, (1, 25), (2, 26)),
            flow(FlowKind::Signal, (2, 30), (1, 35)),
        ];
        assert_eq!(flows, expected);
    }
}
