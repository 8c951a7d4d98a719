//! Recordings of real pools.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use locksley::extend::{Queues, Tracer};
use locksley::{Pool, Worker};
use locksley_trace::{
    Error, FlowKind, Kind, Recorder, Slice, SliceKind, ThreadTrace, Timeline, Trace, Track,
    perfetto, span, tracer,
};
use tempfile::TempDir;

/// A process has one recording at a time, and so one test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.trace");
    (folder, file)
}

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).tracer(tracer()).build().unwrap()
}

/// Returns on its own worker only after the other half, which another worker has to steal, has run.
fn steal_one(worker: &Worker) {
    let is_set = AtomicBool::new(false);
    let wait = |_: &Worker| {
        while !is_set.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    let set = |_: &Worker| {
        let _span = span("stolen");
        is_set.store(true, Ordering::Release);
        // So that the other worker waits.
        std::thread::sleep(Duration::from_millis(1));
    };
    worker.join(wait, set);
}

fn record_steals(file: &Path) -> Trace {
    let recording = Recorder::new().events(1 << 12).record_to(file).unwrap();
    let pool = pool(2);
    pool.install(|worker| (0..10).for_each(|_| steal_one(worker)));
    drop(pool);
    drop(recording);
    Trace::read(file).unwrap()
}

#[test]
fn a_file_tells_which_tasks_were_stolen() {
    let _alone = alone();
    let (_folder, file) = folder();
    let trace = record_steals(&file);
    assert!(trace.is_stopped && trace.process == std::process::id());
    assert!(trace.program.starts_with("recording"), "{}", trace.program);
    assert!(trace.threads.iter().all(|it| it.records.is_sorted_by_key(|record| record.at)));

    let timeline = Timeline::new(&trace);
    let workers: Vec<_> = timeline.tracks.iter().filter(|it| it.worker.is_some()).collect();
    assert!(workers.len() >= 2, "there may be replacements: {}", workers.len());
    assert_eq!(workers[0].name, "locksley-0");
    let slices = || workers.iter().flat_map(|it| &it.slices);
    let stolen = slices().filter(|it| matches!(it.kind, SliceKind::Stolen(_))).count();
    assert_eq!(stolen, 10);
    let spans = slices().filter(|it| timeline.name_of(it) == "stolen");
    assert_eq!(spans.count(), 10);
    let flows = |kind| timeline.flows.iter().filter(move |it| it.kind == kind);
    assert_eq!(flows(FlowKind::Steal).count(), 10);
    assert!(flows(FlowKind::Steal).all(|it| it.from.0 != it.to.0 && it.from.1 <= it.to.1));
    assert!(
        timeline.counters.iter().any(|it| it.name == "pool 0: workers awake")
            || timeline.counters.iter().any(|it| it.name.ends_with("workers awake"))
    );
    // The path ends where the last task ends, and each part begins where an earlier one led to.
    let path = timeline.critical_path();
    assert!(path.len() > 1 && path.iter().all(|(_, begin, end)| begin <= end), "{path:?}");
    assert!(path.windows(2).all(|pair| pair[1].2 <= pair[0].1), "{path:?}");
}

#[test]
fn the_kernel_tells_which_thread_ran_where() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().record_to(&file).unwrap();
    pool(1).install(|_| {
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(1));
            let _span = span("awake");
        }
    });
    drop(recording);
    let timeline = Timeline::new(&Trace::read(&file).unwrap());
    if let Err(why) = locksley_sys::os::SwitchLog::of_this_thread() {
        return locksley_sys::skip_test(why);
    }
    let runs = timeline.processors.iter().flat_map(|it| &it.slices);
    let is_span = |slice: &Slice| matches!(slice.kind, SliceKind::Span(_));
    let worker = timeline.tracks.iter().position(|it| it.slices.iter().any(is_span)).unwrap();
    let (count, time) = runs
        .filter(|it| it.kind == SliceKind::Runs(worker))
        .fold((0, 0), |(count, time), it| (count + 1, time + (it.end - it.begin)));
    assert!(count >= 5, "{count}");
    assert!(time < timeline.end - timeline.begin, "it slept for 5 ms at least");
}

#[test]
fn the_last_events_stay_when_a_ring_is_full() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    for _ in 0..10_000 {
        let _span = span("many");
    }
    let _last = span("last");
    let live = Trace::read(&file).unwrap();
    drop(recording);
    for trace in [live, Trace::read(&file).unwrap()] {
        let thread = own(&trace);
        assert!(thread.lost > 19_000, "{}", thread.lost);
        assert!((250..=256).contains(&thread.records.len()), "{}", thread.records.len());
        let last = thread.records.iter().rfind(|it| it.kind == Kind::SpanBegins).unwrap();
        assert_eq!(trace.labels[last.arg as usize], "last");
    }
}

/// A reader that copies while the ring wraps around keeps no event that is half overwritten.
#[test]
fn a_file_is_read_while_it_is_written() {
    let _alone = alone();
    let (_folder, file) = folder();
    let _recording = Recorder::new().events(256).record_to(&file).unwrap();
    let (is_over, has_begun) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(span("one"));
                has_begun.store(true, Ordering::Release);
            }
        });
        while !has_begun.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let traces: Vec<_> = (0..300).map(|_| Trace::read(&file)).collect();
        is_over.store(true, Ordering::Relaxed);
        for trace in traces {
            let threads = trace.unwrap().threads;
            let kinds = threads.iter().flat_map(|it| &it.records).map(|it| it.kind);
            let kinds: Vec<Kind> = kinds.filter(|it| is_of_span(*it)).collect();
            let is_pair = |pair: &[Kind]| pair[0] != pair[1];
            assert!(kinds.windows(2).all(is_pair), "begins and ends take turns: {kinds:?}");
        }
    });
}

fn is_of_span(kind: Kind) -> bool {
    matches!(kind, Kind::SpanBegins | Kind::SpanEnds)
}

/// Libraries name what they do by the tracer; their names may end before the recording.
#[test]
fn a_name_of_a_library_is_copied() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().record_to(&file).unwrap();
    let tracer = tracer();
    for n in 0..3 {
        let name = format!("process {}", n % 2);
        tracer.begin_span(&name);
        tracer.mark("channel");
        tracer.end_span();
    }
    drop(recording);
    let timeline = Timeline::new(&Trace::read(&file).unwrap());
    // The kernel may have preempted the thread, too.
    let spans = |track: &Track| -> Vec<String> {
        let spans = track.slices.iter().filter(|it| matches!(it.kind, SliceKind::Span(_)));
        spans.map(|it| timeline.name_of(it).to_string()).collect()
    };
    let track = timeline.tracks.iter().find(|track| !spans(track).is_empty()).unwrap();
    assert_eq!(spans(track), ["process 0", "process 1", "process 0"]);
    let marks = track.instants.iter().filter(|it| it.kind == Kind::Mark);
    assert!(marks.clone().all(|it| timeline.name_of_instant(it) == "channel"));
    assert_eq!(marks.count(), 3);
}

/// The slot of a guest has one thread after the other.
#[test]
fn a_thread_that_calls_pools_is_the_worker_that_it_was_before() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().record_to(&file).unwrap();
    let pools = [pool(2), pool(2)];
    for _ in 0..50 {
        pools[0].install(|_| pools[1].install(|_| std::thread::yield_now()));
        std::thread::yield_now();
    }
    drop(pools);
    drop(recording);
    for thread in Trace::read(&file).unwrap().threads {
        let mut stack = Vec::new();
        for record in thread.records {
            match record.kind {
                Kind::Attached
                    if stack.iter().nth_back(1) == Some(&(record.detail, record.arg)) =>
                {
                    stack.pop();
                }
                Kind::Attached => stack.push((record.detail, record.arg)),
                Kind::Detached => stack.clear(),
                _ => {}
            }
            assert!(stack.len() <= 2, "{stack:?}");
        }
    }
}

/// What is left of two queues, last first.
#[derive(Debug)]
struct Two(Mutex<Vec<[usize; 2]>>);

impl Queues for Two {
    fn read(&self, read: &mut dyn FnMut(&str, usize)) -> bool {
        let lengths = self.0.lock().unwrap().pop();
        if let Some([first, second]) = lengths {
            read("first", first);
            read("second", second);
        }
        lengths.is_some()
    }
}

#[test]
fn lengths_of_queues_are_recorded_when_they_change() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    let two = Arc::new(Two(Mutex::new(vec![[9, 0], [9, 1 << 30], [5, 0], [5, 0], [0, 0]])));
    tracer().attach_queues(Arc::clone(&two) as Arc<dyn Queues>);
    while Arc::strong_count(&two) > 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(recording);
    let timeline = Timeline::new(&Trace::read(&file).unwrap());
    let values = |name: &str| -> Vec<u32> {
        let counter = timeline.counters.iter().find(|it| it.name == name).unwrap();
        let mut values: Vec<u32> = counter.values.iter().map(|&(_, value)| value).collect();
        values.dedup(); // now and then, all are recorded again
        values
    };
    assert_eq!(values("first"), [5, 9, 0], "it ends");
    assert_eq!(values("second"), [(1 << 24) - 1, 0], "the largest that is told");
}

#[test]
fn tasks_that_wait_in_a_deque_are_counted() {
    let _alone = alone();
    let (_folder, file) = folder();
    let _recording = Recorder::new().events(256).record_to(&file).unwrap();
    let builder = Pool::builder().workers(1).own_threads_only();
    let pool = builder.tracer(tracer()).build().unwrap();
    let is_counted = || {
        let timeline = Timeline::new(&Trace::read(&file).unwrap());
        let workers = timeline.tracks.iter().filter_map(|it| it.worker);
        workers.map(|(pool, slot)| timeline.queued(pool, slot)).sum::<u32>() == 3
    };
    pool.install(|_| {
        locksley::scope(|scope| {
            (0..3).for_each(|_| scope.spawn(|_| ()));
            while !is_counted() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    });
}

/// A reader that copies while threads get the rings of others mixes no events.
#[test]
fn threads_that_use_one_ring_are_not_mixed() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    const NAMES: [&str; 3] = ["one", "two", "three"];
    let run = |name: &'static str| {
        let body = move || (0..5).for_each(|_| drop(span(name)));
        std::thread::Builder::new().name(name.to_owned()).spawn(body).unwrap().join().unwrap();
    };
    let is_over = AtomicBool::new(false);
    let check = |trace: &Trace| {
        for thread in &trace.threads {
            for record in thread.records.iter().filter(|it| it.kind == Kind::SpanBegins) {
                assert_eq!(trace.labels[record.arg as usize], thread.name);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // From the 65th on, threads get rings of others.
            NAMES.iter().cycle().take(500).for_each(|&name| run(name));
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            check(&Trace::read(&file).unwrap());
        }
    });
    drop(recording);
    let trace = Trace::read(&file).unwrap();
    check(&trace);
    let named = |name: &str| trace.threads.iter().filter(|it| it.name == name).count();
    assert!(trace.threads.len() < 70 && NAMES.iter().all(|it| named(it) > 10));
    let spans = |it: &&ThreadTrace| {
        let kinds = it.records.iter().map(|it| it.kind);
        let spans = kinds.filter(|kind| matches!(kind, Kind::SpanBegins | Kind::SpanEnds));
        it.lost == 0 && spans.count() == 10
    };
    assert!(trace.threads.iter().filter(spans).count() >= 60);
}

fn own(trace: &Trace) -> &ThreadTrace {
    trace.threads.iter().find(|it| it.slot.is_none()).unwrap()
}

#[test]
fn a_dump_holds_the_last_time_only() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(1 << 10).record_in_memory().unwrap();
    drop(span("early"));
    // At the dump, the early span is older than what is kept; the late one is not, unless the dump
    // itself is delayed by a second.
    let second = Duration::from_secs(1);
    std::thread::sleep(second);
    let before = Instant::now();
    drop(span("late"));
    recording.dump(&file, before.elapsed() + second).unwrap();
    drop(span("after"));
    let trace = Trace::read(&file).unwrap();
    let spans = own(&trace).records.iter().filter(|it| it.kind == Kind::SpanBegins);
    let labels: Vec<_> = spans.map(|it| trace.labels[it.arg as usize].as_str()).collect();
    assert_eq!(labels, ["late"]);
    // A dump that fails leaves nothing, and the recording goes on.
    let nowhere = file.join("no/such/folder");
    assert!(matches!(recording.dump(&nowhere, Duration::MAX), Err(Error::File { .. })));
    let full = file.with_file_name("full");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    assert!(matches!(recording.dump(&full, Duration::MAX), Err(Error::File { .. })));
    assert!(full.is_symlink());
    recording.dump(&file, Duration::MAX).unwrap();
    let all = Trace::read(&file).unwrap();
    assert_eq!(own(&all).records.iter().filter(|it| it.kind == Kind::SpanBegins).count(), 3);
}

#[test]
fn there_is_one_recording_at_a_time() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().record_to(&file).unwrap();
    let other = file.with_extension("other");
    assert!(matches!(Recorder::new().record_to(&other), Err(Error::AlreadyRecording)));
    assert!(!other.exists(), "what cannot be recorded leaves no file");
    drop(recording);
    drop(span("of none"));
    drop(Recorder::new().record_to(&other).unwrap());
    assert!(Trace::read(&file).unwrap().threads.is_empty());
}

#[test]
fn only_ordinary_files_are_replaced() {
    let _alone = alone();
    let (_folder, file) = folder();
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let refused = Recorder::new().record_to(&file).unwrap_err().to_string();
    assert!(refused.ends_with("is no ordinary file"), "{refused}");
    assert!(file.is_symlink());
    let folder = file.with_file_name("folder");
    std::fs::create_dir(&folder).unwrap();
    assert!(Recorder::new().record_to(&folder).is_err() && folder.is_dir());
}

#[test]
fn a_file_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let _alone = alone();
    let (_folder, file) = folder();
    let _recording = Recorder::new().record_to(&file).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_recording_of_another_process_is_not_replaced() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    let active = std::fs::read(&file).unwrap();
    drop(recording);
    let begin_over = |process: u32| {
        let mut bytes = active.clone();
        bytes[2 * 8..][..8].copy_from_slice(&u64::from(process).to_le_bytes());
        std::fs::write(&file, bytes).unwrap();
        Recorder::new().events(256).record_to(&file).map(drop).map_err(|error| error.to_string())
    };
    let parent = std::os::unix::process::parent_id();
    let refused = begin_over(parent).unwrap_err();
    assert!(refused.contains(&format!("process {parent} records to it")), "{refused}");
    assert!(!Trace::read(&file).unwrap().is_stopped, "it is as it was");
    assert_eq!(begin_over(std::process::id()), Ok(()), "of an earlier one with this ID");
    assert_eq!(begin_over(u32::MAX), Ok(()), "it has crashed");
}

#[test]
fn what_is_no_recording_is_refused_in_one_line() {
    let _alone = alone();
    let (_folder, file) = folder();
    let refused = |expected: &str| {
        let error = Trace::read(&file).unwrap_err().to_string();
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    };
    refused("No such file");
    std::fs::write(&file, "text").unwrap();
    refused("is no recording");
    std::fs::write(&file, vec![0; 1 << 17]).unwrap();
    refused("is no recording");
    drop(Recorder::new().record_to(&file).unwrap());
    let good = std::fs::read(&file).unwrap();
    let with = |word: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[8 * word..][..8].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&file, bytes).unwrap();
    };
    with(1, 99);
    refused("has version 99 of the format");
    for capacity in [0, 3, u64::MAX] {
        with(3, capacity);
        refused("is no recording");
    }
}

/// Each bit of a file may be wrong: then reading fails, or something is read.
#[test]
fn a_damaged_file_does_no_harm() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    (0..100).for_each(|_| drop(span("some")));
    drop(recording);
    let good = std::fs::read(&file).unwrap();
    let mut state = 1_u64;
    for _ in 0..300 {
        let mut bytes = good.clone();
        for _ in 0..20 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // In the headers more often than among events.
            let places = [256, 1 << 16, bytes.len()];
            let first = [0, 0, 1 << 16][(state % 3) as usize];
            let place = first + (state >> 8) as usize % (places[(state % 3) as usize] - first);
            bytes[place] ^= 1 << (state >> 40 & 7);
        }
        bytes.truncate(bytes.len() - (state >> 50) as usize % 2000);
        std::fs::write(&file, bytes).unwrap();
        if let Ok(trace) = Trace::read(&file) {
            let timeline = Timeline::new(&trace);
            perfetto::write(&timeline, &trace.program, trace.process, &mut Vec::new()).unwrap();
            let _ = timeline.critical_path();
        }
    }
}

#[test]
fn a_file_that_is_cut_short_says_so() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().events(256).record_to(&file).unwrap();
    drop(span("some"));
    drop(recording);
    assert_eq!(Trace::read(&file).unwrap().threads_without, 0);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 4096]).unwrap();
    assert_eq!(Trace::read(&file).unwrap().threads_without, 1);
}

#[test]
fn a_file_can_be_read_after_a_crash() {
    let (_folder, file) = folder();
    let mut program = Command::new(std::env::current_exe().unwrap());
    let program = program.args(["--exact", "crash", "--ignored"]).env("CRASH_FILE", &file);
    assert!(!program.output().unwrap().status.success());
    let trace = Trace::read(&file).unwrap();
    assert!(!trace.is_stopped);
    let timeline = Timeline::new(&trace);
    let slices = timeline.tracks.iter().flat_map(|it| &it.slices);
    assert_eq!(slices.filter(|it| timeline.name_of(it) == "before the crash").count(), 1);
}

#[test]
#[ignore = "the program that crashes"]
fn crash() {
    let _recording = Recorder::new().record_to(std::env::var_os("CRASH_FILE").unwrap()).unwrap();
    pool(1).install(|_| {
        let _span = span("before the crash");
        std::process::abort();
    });
}

#[test]
fn a_forked_child_does_not_write_to_the_file_of_its_parent() {
    let _alone = alone();
    let (_folder, file) = folder();
    let recording = Recorder::new().record_to(&file).unwrap();
    pool(1).install(|_| ());
    drop(span("parent"));
    // SAFETY: the child calls nothing but what is async-signal-safe, and the recorder.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(span("child"));
        drop(recording);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: waits for the child; no status is asked for.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert!(!Trace::read(&file).unwrap().is_stopped, "not by the child");
    drop(recording);
    let trace = Trace::read(&file).unwrap();
    assert!(trace.labels.contains(&"parent".to_owned()));
    assert!(!trace.labels.contains(&"child".to_owned()));
}

#[test]
fn a_file_for_perfetto_has_each_slice_twice() {
    let _alone = alone();
    let (_folder, file) = folder();
    let trace = record_steals(&file);
    let timeline = Timeline::new(&trace);
    let mut bytes = Vec::new();
    perfetto::write(&timeline, &trace.program, trace.process, &mut bytes).unwrap();
    let (mut rest, mut packets) = (&bytes[..], 0);
    // Packets are field 1 of the file, one after the other.
    while let Some((&tag, after)) = rest.split_first() {
        assert_eq!(tag, 1 << 3 | 2);
        let digits = after.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let length =
            after[..digits].iter().rev().fold(0, |sum, it| sum << 7 | usize::from(it & 127));
        rest = &after[digits + length..];
        packets += 1;
    }
    let all = || timeline.tracks.iter().chain(&timeline.processors);
    let slices: usize = all().map(|it| it.slices.len()).sum();
    let instants: usize = all().map(|it| it.instants.len()).sum();
    let values: usize = timeline.counters.iter().map(|it| it.values.len()).sum();
    let descriptors = 1 + all().count() + timeline.counters.len();
    assert_eq!(packets, 2 * slices + instants + values + descriptors + timeline.flows.len());
}
