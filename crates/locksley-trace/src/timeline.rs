//! A timeline: what each thread did from when to when, and what led to what.

use std::collections::BTreeMap;

use crate::names::deque_name;
use crate::read::Trace;
use crate::record::{Kind, Record, role};

mod counters;
mod flows;
mod path;
mod slices;
mod stints;

/// What happened in a trace, in the form in which it is drawn. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The time of the first event.
    pub begin: u64,
    /// The time of the last one.
    pub end: u64,
    /// The threads, workers first, in the order of pools and slots.
    pub tracks: Vec<Track>,
    /// The processors that the threads ran on, as far as the kernel told. A slice there is a thread
    /// that ran.
    pub processors: Vec<Track>,
    /// What led to what, by the time of the effect.
    pub flows: Vec<Flow>,
    /// Numbers that change.
    pub counters: Vec<Counter>,
    /// The names of spans.
    pub labels: Vec<String>,
}

/// What one thread did, or what ran on one processor.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// The name of the thread or the processor.
    pub name: String,
    /// The pool and the slot, if it is a worker, or the last ones of a thread that calls pools.
    pub worker: Option<(u32, u32)>,
    /// The number of the thread in the system, or of the processor.
    pub number: u32,
    /// By their begin, and outer ones before inner ones.
    pub slices: Vec<Slice>,
    /// By their time.
    pub instants: Vec<Instant>,
    /// How many events were overwritten.
    pub lost: u64,
}

/// A time in which a thread did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it begins.
    pub begin: u64,
    /// When it ends.
    pub end: u64,
    /// How many other slices it lies in.
    pub depth: u16,
    /// What it is.
    pub kind: SliceKind,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceKind {
    /// It runs a task that was sent to it or its pool.
    Sent,
    /// It runs a task that it stole from this slot.
    Stolen(u32),
    /// It searches for work.
    Searches,
    /// It sleeps, since there is no work.
    Sleeps,
    /// It sleeps: as many others are active as may be.
    IsOverLimit,
    /// The same, and it looks from time to time whether active workers block while tasks wait.
    IsMonitor,
    /// A task waits for others.
    Waits,
    /// It blocks in a wait or in a blocking call.
    Blocks,
    /// A span of the program with this label.
    Span(u32),
    /// The kernel gave its processor to another thread.
    IsPreempted,
    /// On a processor: the thread of this track runs.
    Runs(usize),
}

/// Something that takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// When it happens.
    pub at: u64,
    /// What happens.
    pub kind: Kind,
    /// As in [`Record::arg`].
    pub arg: u32,
}

/// A cause and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// What kind of cause.
    pub kind: FlowKind,
    /// The track and the time of the cause.
    pub from: (usize, u64),
    /// The track and the time of the effect.
    pub to: (usize, u64),
}

/// Kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowKind {
    /// A worker had a task, and another one stole it.
    Steal,
    /// A thread woke a worker.
    Wake,
    /// A thread completed what a worker waited for.
    Signal,
    /// A thief gave its processor to a worker that was preempted.
    HandOver,
}

/// A number that changes.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// What it counts.
    pub name: String,
    /// When it changes, and to what.
    pub values: Vec<(u64, u32)>,
}

impl Timeline {
    /// The timeline of a trace, up to its last event.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        let times = trace.threads.iter().flat_map(|it| it.records.last());
        Self::until(trace, times.map(|record| record.at).max().unwrap_or(0))
    }

    /// The timeline of a trace up to a moment: what has not ended lasts until then. For a trace
    /// that was read while it was written: until [`Trace::read_at`].
    #[must_use]
    pub fn until(trace: &Trace, end: u64) -> Self {
        let mut threads: Vec<_> =
            trace.threads.iter().filter(|it| !it.records.is_empty()).collect();
        threads.sort_by_key(|it| (it.slot.is_none(), it.pool, it.slot, it.thread));
        let times = || threads.iter().flat_map(|it| it.records.iter().map(|record| record.at));
        let begin = times().min().unwrap_or(end).min(end);
        let records: Vec<&[Record]> = threads.iter().map(|it| &it.records[..]).collect();
        let tracks = threads.iter().map(|thread| Track {
            name: thread.name.clone(),
            worker: thread.slot.map(|slot| (thread.pool, slot)),
            number: thread.thread,
            slices: slices::of_thread(&thread.records, thread.slot, end),
            instants: instants(&thread.records),
            lost: thread.lost,
        });
        let tracks: Vec<Track> = tracks.collect();
        let stints = stints::all(&threads);
        Self {
            begin,
            end,
            processors: processors(&records),
            flows: flows::all(&records, &stints),
            counters: counters::all(&records, &stints, |it| label(&trace.labels, it).to_owned()),
            labels: trace.labels.clone(),
            tracks,
        }
    }

    /// What a slice is called.
    #[must_use]
    pub fn name_of(&self, slice: &Slice) -> String {
        match slice.kind {
            SliceKind::Sent => "task, sent".to_owned(),
            SliceKind::Stolen(from) => format!("task, stolen from {from}"),
            SliceKind::Searches => "search".to_owned(),
            SliceKind::Sleeps => "asleep".to_owned(),
            SliceKind::IsOverLimit => "asleep, over the limit".to_owned(),
            SliceKind::IsMonitor => "asleep, monitor".to_owned(),
            SliceKind::Waits => "wait".to_owned(),
            SliceKind::Blocks => "blocked".to_owned(),
            SliceKind::Span(label) => self.label(label).to_owned(),
            SliceKind::IsPreempted => "preempted".to_owned(),
            SliceKind::Runs(track) => self.tracks[track].name.clone(),
        }
    }

    /// The last known number of tasks in the deque of a worker.
    #[must_use]
    pub fn queued(&self, pool: u32, slot: u32) -> u32 {
        let name = deque_name(pool, slot);
        let counter = self.counters.iter().find(|it| it.name == name);
        counter.and_then(|it| it.values.last()).map_or(0, |&(_, value)| value)
    }

    /// What an instant is called.
    #[must_use]
    pub fn name_of_instant(&self, instant: &Instant) -> String {
        let arg = instant.arg;
        match instant.kind {
            Kind::Steals => format!("steals from {arg}"),
            Kind::Wakes => format!("wakes {arg}"),
            Kind::Signals => format!("signals {arg}"),
            Kind::HandsOver => format!("hands its processor to {arg}"),
            Kind::Allows => format!("allows {arg} workers"),
            Kind::Throttled => format!("throttled for {arg} µs"),
            Kind::LosesAssist => "an assist is lost".to_owned(),
            Kind::Mark => self.label(arg).to_owned(),
            Kind::Migrates => format!("moves to processor {arg}"),
            kind => format!("{kind:?}"),
        }
    }

    fn label(&self, number: u32) -> &str {
        label(&self.labels, number)
    }
}

fn label(labels: &[String], number: u32) -> &str {
    labels.get(number as usize).map_or("(unknown)", |it| it)
}

fn instants(records: &[Record]) -> Vec<Instant> {
    let is_instant = |kind| {
        matches!(
            kind,
            Kind::Steals
                | Kind::Wakes
                | Kind::Signals
                | Kind::HandsOver
                | Kind::Allows
                | Kind::Throttled
                | Kind::Mark
                | Kind::LosesAssist
        )
    };
    let (mut instants, mut last) = (Vec::new(), None);
    for &Record { at, kind, arg, processor, .. } in records {
        if let Some(processor) = processor {
            if last.replace(processor).is_some_and(|before| before != processor) {
                instants.push(Instant { at, kind: Kind::Migrates, arg: processor.into() });
            }
        }
        instants.extend(is_instant(kind).then_some(Instant { at, kind, arg }));
    }
    instants
}

/// Which threads ran on which processors.
fn processors(threads: &[&[Record]]) -> Vec<Track> {
    let mut processors: BTreeMap<u16, Vec<Slice>> = BTreeMap::new();
    for (track, records) in threads.iter().enumerate() {
        let mut running: Option<(u64, u16)> = None;
        let mut stop = |running: Option<(u64, u16)>, end| {
            if let Some((begin, processor)) = running {
                let slice = Slice { begin, end, depth: 0, kind: SliceKind::Runs(track) };
                processors.entry(processor).or_default().push(slice);
            }
        };
        for record in *records {
            match record.kind {
                Kind::SwitchedIn => running = record.processor.map(|it| (record.at, it)),
                Kind::Preempted | Kind::Blocked => stop(running.take(), record.at),
                _ => {}
            }
        }
        // What came after the last event of the thread is not known.
        stop(running, records.last().map_or(0, |record| record.at));
    }
    let track = |(number, mut slices): (u16, Vec<Slice>)| {
        slices.sort_by_key(|slice| slice.begin);
        for next in 1..slices.len() {
            let begin = slices[next].begin;
            slices[next - 1].end = slices[next - 1].end.min(begin);
        }
        let number = u32::from(number);
        Track { name: format!("processor {number}"), number, slices, ..Track::default() }
    };
    processors.into_iter().map(track).collect()
}

fn slept(detail: u32) -> SliceKind {
    match detail {
        role::OVER_LIMIT => SliceKind::IsOverLimit,
        role::MONITOR => SliceKind::IsMonitor,
        _ => SliceKind::Sleeps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_runs_one_thread_at_a_time() {
        let record = |(at, kind)| Record { at, kind, detail: 0, processor: Some(3), arg: 0 };
        // The kernel's record of the end of the first one is missing.
        let one = [(1, Kind::SwitchedIn), (9, Kind::Waits)].map(record);
        let other = [(5, Kind::SwitchedIn), (7, Kind::Blocked)].map(record);
        let processors = processors(&[&one, &other]);
        let [processor] = &processors[..] else { panic!("{processors:?}") };
        let slices: Vec<_> =
            processor.slices.iter().map(|it| (it.begin, it.end, it.kind)).collect();
        assert_eq!(slices, [(1, 5, SliceKind::Runs(0)), (5, 7, SliceKind::Runs(1))]);
    }
}
