//! What each worker did in the last moments.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use locksley_trace::{Kind, Record, Slice, SliceKind, Timeline, Trace, Track};
use serde::Serialize;

use crate::fault::{Fault, Outcome};

/// What the workers of a process did in an interval.
#[derive(Debug, Serialize)]
pub struct Sample {
    /// The name of the program.
    pub program: String,
    /// Its process.
    pub process: u32,
    /// The length of the interval.
    pub seconds: f64,
    /// The number of the trace that goes on, if a key has begun one.
    pub trace: Option<u64>,
    /// How many workers of each pool may be active.
    pub sizes: BTreeMap<u32, u32>,
    /// The workers, in the order of pools and slots.
    pub workers: Vec<WorkerSample>,
    /// The number of messages in each channel of a network.
    pub channels: BTreeMap<String, u32>,
}

/// What a worker did. Shares are parts of the interval, from 0 to 1.
#[derive(Debug, Serialize)]
pub struct WorkerSample {
    /// The name of its thread.
    pub name: String,
    /// Its pool.
    pub pool: u32,
    /// Its slot.
    pub slot: u32,
    /// What it does now.
    pub state: &'static str,
    /// The innermost span of the program in which it is.
    pub label: Option<String>,
    /// The processor on which it was last seen.
    pub processor: Option<u16>,
    /// The share of none of the following.
    pub busy: f64,
    /// The share of searches.
    pub searching: f64,
    /// The share in which it slept without work.
    pub asleep: f64,
    /// The share of waits and blocking calls.
    pub waiting: f64,
    /// The share in which it was preempted.
    pub preempted: f64,
    /// The share of the time in which it had a processor, of that in which it wanted one.
    pub granted: f64,
    /// The number of tasks in its deque, sampled.
    pub queued: u32,
    /// The number of tasks that it stole.
    pub steals: usize,
    /// How often it parked.
    pub parks: usize,
    /// How often it was preempted.
    pub preemptions: usize,
}

impl Sample {
    /// Reads a live recording, which ends now.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if it cannot be read.
    pub fn read(file: &Path, interval: Duration) -> Outcome<Sample> {
        let trace = Trace::read(file).map_err(Fault::input)?;
        Ok(Sample::of(&trace, interval))
    }

    fn of(trace: &Trace, interval: Duration) -> Sample {
        let timeline = Timeline::until(trace, trace.read_at);
        let begin = trace.read_at.saturating_sub(interval.as_nanos() as u64);
        let workers = timeline.tracks.iter().filter_map(|track| {
            let thread = trace.threads.iter().find(|it| it.thread == track.number)?;
            worker(&timeline, track, &thread.records, begin)
        });
        let channels = timeline.counters.iter().filter_map(|counter| {
            let name = counter.name.strip_prefix("channel ")?;
            Some((name.to_owned(), counter.values.last()?.1))
        });
        Sample {
            channels: channels.collect(),
            trace: trace.command_trace,
            sizes: trace.sizes.iter().copied().collect(),
            program: trace.program.clone(),
            process: trace.process,
            seconds: interval.as_secs_f64(),
            workers: workers.collect(),
        }
    }
}

fn worker(
    timeline: &Timeline,
    track: &Track,
    records: &[Record],
    begin: u64,
) -> Option<WorkerSample> {
    let (pool, slot) = track.worker?;
    let end = timeline.end;
    let open = || track.slices.iter().filter(|slice| slice.end == end);
    let share = |is_kind: fn(SliceKind) -> bool| {
        let inside = |slice: &Slice| slice.end.saturating_sub(slice.begin.max(begin));
        let time: u64 = track.slices.iter().filter(|it| is_kind(it.kind)).map(inside).sum();
        (time as f64 / (end - begin).max(1) as f64).min(1.0)
    };
    let [searches, asleep, waits, preempted] = [
        share(|kind| kind == SliceKind::Searches),
        share(is_asleep),
        // A wait blocks in the end, so that it lies around the block. A blocking call has no wait.
        share(|kind| kind == SliceKind::Waits),
        share(|kind| kind == SliceKind::IsPreempted),
    ];
    // A worker sleeps in a search.
    let searching = (searches - asleep).max(0.0);
    let recent = || records.iter().filter(|record| record.at >= begin);
    let count = |kinds: &[Kind]| recent().filter(|it| kinds.contains(&it.kind)).count();
    let label = open().rfind(|it| matches!(it.kind, SliceKind::Span(_)));
    let busy = (1.0 - searching - asleep - waits - preempted).max(0.0);
    let wanted = busy + searching + preempted;
    Some(WorkerSample {
        granted: if wanted > 0.0 { (busy + searching) / wanted } else { 1.0 },
        queued: timeline.queued(pool, slot),
        name: track.name.clone(),
        pool,
        slot,
        state: state(open().next_back()),
        label: label.map(|slice| timeline.name_of(slice)),
        processor: records.iter().rev().find_map(|record| record.processor),
        busy,
        searching,
        asleep,
        waiting: waits,
        preempted,
        steals: count(&[Kind::Steals]),
        parks: count(&[Kind::Parks, Kind::Blocks]),
        preemptions: count(&[Kind::Preempted]),
    })
}

fn is_asleep(kind: SliceKind) -> bool {
    matches!(kind, SliceKind::Sleeps | SliceKind::IsOverLimit | SliceKind::IsMonitor)
}

fn state(slice: Option<&Slice>) -> &'static str {
    match slice.map(|it| it.kind) {
        Some(SliceKind::Searches) => "searches",
        Some(SliceKind::Sleeps) => "sleeps",
        Some(SliceKind::IsOverLimit) => "over limit",
        Some(SliceKind::IsMonitor) => "monitor",
        Some(SliceKind::Waits) => "waits",
        Some(SliceKind::Blocks) => "blocks",
        Some(SliceKind::IsPreempted) => "preempted",
        _ => "works",
    }
}

#[cfg(test)]
mod tests {
    use locksley_trace::{Recorder, ThreadTrace, span, tracer};

    use super::*;

    #[test]
    fn a_sample_tells_what_workers_do_now() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.trace");
        let recording = Recorder::new().events(1 << 12).record_to(&file).unwrap();
        let pool = locksley::Pool::builder().workers(2).tracer(tracer()).build().unwrap();
        let sample = pool.install(|_| {
            let _outer = span("outer");
            let _inner = span("inner");
            std::thread::sleep(Duration::from_millis(20));
            Sample::read(&file, Duration::from_millis(5)).unwrap()
        });
        drop(recording);
        assert_eq!(sample.process, std::process::id());
        let by_state = |state| sample.workers.iter().find(|it| it.state == state);
        let busy = by_state("works").unwrap();
        assert_eq!(busy.label.as_deref(), Some("inner"));
        assert!(busy.busy > 0.99, "{busy:?}");
        let idle = sample.workers.iter().find(|it| it.slot != busy.slot).unwrap();
        assert!(idle.state != "works" && idle.busy < 0.01, "{idle:?}");
        for worker in &sample.workers {
            let shares = [worker.busy, worker.searching, worker.asleep, worker.waiting];
            let sum: f64 = shares.iter().sum::<f64>() + worker.preempted;
            assert!((sum - 1.0).abs() < 0.01, "{worker:?}");
        }
    }
    #[test]
    fn lengths_are_of_workers_and_channels() {
        let record = |(at, kind, detail, arg)| Record { at, kind, detail, processor: None, arg };
        let records = [
            (1, Kind::Attached, 300, 1),
            (2, Kind::Length, 9, 1),
            (3, Kind::Length, 7, 1),
            (4, Kind::Length, 2, 2),
            (5, Kind::Preempted, 0, 0),
            (9, Kind::SwitchedIn, 0, 0),
        ];
        let thread = ThreadTrace {
            pool: 300,
            slot: Some(1),
            records: records.map(record).to_vec(),
            ..ThreadTrace::default()
        };
        let labels = ["(other)", "channel numbers", "pool 300: tasks of 1"];
        let labels = labels.map(str::to_owned).to_vec();
        let trace = Trace { threads: vec![thread], labels, read_at: 11, ..Trace::default() };
        let sample = Sample::of(&trace, Duration::from_nanos(10));
        assert_eq!(sample.channels, [("numbers".to_owned(), 7)].into());
        let [worker] = &sample.workers[..] else { panic!("{sample:?}") };
        assert_eq!((worker.pool, worker.queued, worker.preemptions), (300, 2, 1));
        assert!((worker.granted - 0.6).abs() < 1e-9, "{worker:?}");
    }
}
