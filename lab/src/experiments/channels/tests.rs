//! Sizes and answers; every kind on every runtime; plans; and what is derived from a record.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::networks::Notes;
use super::*;
use crate::experiment::Table;
use crate::experiment::record::Sample;

fn subject(name: &str) -> Subject {
    Subject::find(name).unwrap()
}

#[test]
fn kinds_are_in_the_order_of_their_names() {
    for (place, kind) in Kind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, place);
    }
    assert_eq!((Kind::FanIn.name(), KINDS[Kind::Waiting as usize].1), ("fan-in", "bytes a task"));
    let networks = Kind::ALL.into_iter().filter(|kind| kind.is_network());
    assert!(networks.eq(Kind::ALL[..6].iter().copied()));
}

#[test]
fn sizes_are_read() {
    for (name, width, number) in [
        ("stream 7", 1, 7),
        ("ring 1x1", 1, 1),
        ("ring 1000x300", 1000, 300),
        ("pipeline 2x9", 2, 9),
        ("fan-out 20", 100, 20),
        ("fan-in 20", 100, 20),
        ("idle 1000000", 1, 1_000_000),
        ("spawn 7", 1, 7),
    ] {
        assert_eq!((subject(name).width, subject(name).number), (width, number));
    }
    for wrong in [
        "stream 0",
        "stream 7x2",
        "stream -1",
        "stream 6000000000",
        "stream",
        "ring 1000",
        "ring 0x5",
        "ring 5x0",
        "ring 5x",
        "ring 1000000000000x1000000000000",
        "ring 20000000x1",
        "pipeline 1x5",
        "pipeline 2x3x4",
        "fan-out 0",
        "idle 10000001",
        "waiting 100000001",
        "sleep 1",
    ] {
        assert!(matches!(Subject::find(wrong), Err(Fault::Input(_))), "{wrong}");
    }
}

#[test]
fn answers_are_those_of_counting_on_paper() {
    let answer = |name, seed| subject(name).answer(seed);
    // 1·5 + 2·6 + 3·7, and the same with one more each. In another order it is another sum.
    assert_eq!((answer("stream 3", 5), answer("pipeline 3x3", 5)), (38, 38 + 6));
    assert_ne!(answer("stream 3", 5), 6 + 2 * 5 + 3 * 7);
    // Three turns, each of 1 + 2 + 3.
    assert_eq!((answer("ring 4x2", 5), answer("ring 1x9", 5)), (5 + 18, 5));
    // Each gets one: 5 to 104. Then a second one, which counts twice.
    assert_eq!(answer("fan-out 1", 5), (5..105).sum::<u64>());
    let second: u64 = (105..205).map(|number| 2 * number).sum();
    assert_eq!(answer("fan-out 2", 5), (5..105).sum::<u64>() + second);
    assert_eq!(answer("fan-in 1", 0), (0..100).map(|from| from * (from + 1)).sum::<u64>());
    // Two from each: 0, 2, 4 ... at the first positions, and 1, 3, 5 ... after those.
    let two: u64 = (0..100).map(|from| 2 * from * (from + 1) + (2 * from + 1) * (from + 101)).sum();
    assert_eq!(answer("fan-in 2", 0), two);
    assert_eq!((answer("idle 10", 5), answer("stream 1", u64::MAX)), (10, u64::MAX));
    let first = u64::MAX - 3;
    let sum = (0..10).fold(0u64, |sum, index| sum.wrapping_add(first.wrapping_add(index)));
    assert_eq!((answer("spawn 10", first), answer("ping-pong 10", 1)), (sum, 20));
    assert_eq!(answer("waiting 10", 1), 10);
}

#[test]
fn time_is_from_the_first_beginning_to_the_last_end() {
    let notes = Notes::new(subject("ring 2x2"), 0);
    assert!(notes.finding().is_err());
    let now = Instant::now();
    let at = |seconds| now + Duration::from_secs(seconds);
    notes.begin(at(3));
    assert!(notes.finding().is_err());
    notes.begin(at(2));
    notes.end(at(9), u64::MAX);
    notes.end(at(7), 5);
    assert_eq!(notes.finding().unwrap(), Finding::timed(4, 7.0));
}

#[test]
fn senders_wait_for_the_last_arrival() {
    let notes = Notes::new(subject("stream 1"), 2);
    let mut context = Context::from_waker(Waker::noop());
    let mut early = pin!(notes.pass());
    notes.arrive();
    assert_eq!(early.as_mut().poll(&mut context), Poll::Pending);
    notes.arrive();
    assert_eq!(early.as_mut().poll(&mut context), Poll::Ready(()));
    assert_eq!(pin!(notes.pass()).poll(&mut context), Poll::Ready(()));
}

#[test]
fn every_runtime_comes_to_the_answer() {
    let mut names = vec!["stream 1", "stream 3000", "ring 1x7", "ring 30x20", "pipeline 10x700"];
    names.extend(["fan-out 9", "fan-in 9", "spawn 300", "ping-pong 200"]);
    if memory::can_be_told() {
        // More than a batch, and no whole number of them.
        names.extend(["idle 1234", "waiting 2345"]);
    }
    for (runtime, ..) in LOCAL {
        for workers in [1, 2, 3] {
            for name in &names {
                let it = subject(name);
                let Ok(finding) = measure(runtime, workers, it, 5) else {
                    assert!(suits(runtime, it.kind, workers).is_err(), "{name} on {runtime}");
                    continue;
                };
                assert_eq!(finding.answer, it.answer(5), "{name} on {runtime}, P = {workers}");
                assert_eq!(finding.seconds.is_some(), !it.kind.is_memory());
                assert!(finding.seconds.is_none_or(|seconds| seconds > 0.0), "{name} {runtime}");
                assert!(finding.future.is_none_or(|bytes| bytes >= size_of::<usize>() as f64));
                let is_of_two = [Kind::Stream, Kind::PingPong].contains(&it.kind);
                assert_eq!(finding.apart.is_some(), is_of_two, "{name} on {runtime}");
                assert!(workers > 1 || finding.apart.is_none_or(|share| share == 0.0));
            }
        }
    }
    assert!(suits("tokio-current", Kind::Spawn, 2).unwrap_err().contains("one worker"));
    assert!(suits(GO, Kind::Spawn, 1).is_err());
}

#[test]
fn a_finding_is_recorded_if_it_is_right_and_of_its_kind() {
    let (stream, idle) = (subject("stream 2"), subject("idle 4"));
    // 1·3 + 2·4.
    let timed = Finding { apart: Some(0.5), ..Finding::timed(11, 4e-9) };
    let readings = timed.readings(stream, 3).unwrap();
    assert_eq!(readings, [("ns".to_owned(), 2.0), ("apart".to_owned(), 0.5)].into());
    let Err(Fault::Run(why)) = timed.readings(stream, 4) else { panic!("another is right") };
    assert_eq!(why, "the answer is wrong: 11, and not 14");
    let readings = Finding::memory(4, 100, 4196, 96).readings(idle, 3).unwrap();
    let expected = [(BYTES, 1024.0), (FUTURE, 96.0), (BEYOND, 920.0)];
    assert_eq!(readings, expected.map(|(name, value)| (name.to_owned(), value)).into());
    let is_missing = |found| matches!(found, Err(Fault::Missing(_)));
    assert!(is_missing(Finding::timed(4, 1.0).readings(idle, 3)));
    assert!(is_missing(Finding::memory(11, 0, 1, 1).readings(stream, 3)));
}

fn channels() -> Channels {
    Channels {
        kinds: Vec::new(),
        runtimes: Vec::new(),
        peers: "no such folder".into(),
        messages: None,
        tasks: None,
    }
}

fn course(quick: bool) -> Course {
    Course { quick, seed: 3, ..Course::default() }
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn plans_have_each_kind_on_the_runtimes_that_have_it() {
    for quick in [true, false] {
        let plan = channels().plan(&course(quick)).unwrap();
        assert_eq!((plan.runtimes.len(), plan.left_out.contains_key(GO)), (4, true));
        assert!(plan.budget_seconds < if quick { 60.0 } else { 3600.0 });
        let count = |runtime| plan.cells.iter().filter(|cell| cell.runtime == runtime).count();
        // Five networks, spawn and ping-pong with one worker and with two. Memory with one.
        let memory = usize::from(memory::can_be_told());
        assert_eq!(count("locksley"), 2 * 5 + 2 * 2 + 2 * memory);
        assert_eq!(count("tokio-current"), 5 + 2 + 2 * memory);
        let has = |name: &str| plan.cells.iter().any(|cell| cell.subject == name);
        assert!(has(if quick { "ring 1000x300" } else { "ring 1000x2000" }));
    }
}

#[test]
fn plans_are_what_was_chosen() {
    let mut chosen = channels();
    chosen.runtimes = named(&["tokio", "locksley", "tokio"]);
    (chosen.messages, chosen.tasks) = (Some(500), Some(50));
    let plan = chosen.plan(&course(false)).unwrap();
    assert!(plan.runtimes.iter().map(|it| &it.name[..]).eq(["locksley", "tokio"]));
    for name in ["stream 500", "ring 1000x1", "pipeline 10x500", "fan-in 5", "spawn 50"] {
        let of_it = plan.cells.iter().filter(|cell| cell.subject == name && cell.workers == 2);
        assert_eq!(of_it.count(), 2, "{name}");
    }
    chosen.kinds = named(&["spawn"]);
    let plan = chosen.plan(&course(false)).unwrap();
    assert!(plan.cells.len() == 4 && plan.cells[0].subject == "spawn 50");
    for wrong in [
        Channels { messages: Some(0), ..channels() },
        Channels { messages: Some(1 << 40), ..channels() },
        Channels { tasks: Some(0), ..channels() },
        Channels { tasks: Some(1 << 40), ..channels() },
        Channels { kinds: named(&["sleep"]), ..channels() },
        Channels { kinds: named(&["spawn"]), runtimes: named(&["smol"]), ..channels() },
        Channels { runtimes: named(&["rayon"]), ..channels() },
        Channels { runtimes: named(&[""]), ..channels() },
        Channels { runtimes: named(&["go"]), ..channels() },
    ] {
        assert!(matches!(wrong.plan(&course(true)), Err(Fault::Input(_))), "{wrong:?}");
    }
}

/// Made-up figures.
fn record() -> Record {
    let mut plan = Plan::default();
    for name in [OURS, BASE] {
        plan.compare(name, "0", "");
    }
    let mut record = Record::new("channels", plan);
    let mut add = |subject: &str, runtime: &str, workers, metric: &str, values: &[f64]| {
        for (repeat, &value) in values.iter().enumerate() {
            record.samples.push(Sample {
                experiment: "channels".to_owned(),
                subject: subject.to_owned(),
                runtime: runtime.to_owned(),
                workers,
                repeat,
                metric: metric.to_owned(),
                value,
            });
        }
    };
    add("stream 10", OURS, 1, NS, &[8.0, 9.0, 9.5, 9.0, 8.0, 9.0]);
    add("stream 10", BASE, 1, NS, &[36.0]);
    add("stream 10", OURS, 2, NS, &[20.0; 6]);
    add("stream 10", OURS, 2, APART, &[0.25; 6]);
    add("ring 2x5", OURS, 1, NS, &[50.0]);
    add("idle 10", OURS, 1, BYTES, &[496.0, 480.0, 600.0]);
    add("idle 10", OURS, 1, FUTURE, &[96.0; 3]);
    add("idle 10", OURS, 1, BEYOND, &[392.0, 376.0, 496.0]);
    add("waiting 10", OURS, 1, BEYOND, &[160.0]);
    add("waiting 10", BASE, 1, BEYOND, &[288.0]);
    add("waiting 10", OURS, 1, BYTES, &[256.0]);
    add("waiting 10", OURS, 1, FUTURE, &[96.0]);
    add("waiting 10", BASE, 1, BYTES, &[400.0]);
    add("waiting 10", BASE, 1, FUTURE, &[112.0]);
    record
}

#[test]
fn memory_beyond_is_without_futures_and_messages() {
    for (name, beyond) in [("idle 10", 392.0), ("waiting 10", 400.0)] {
        let of = subject(name);
        let finding = Finding::memory(of.answer(0), 1000, 5960, 96);
        let found = finding.readings(of, 0).unwrap();
        assert_eq!([found[BYTES], found[FUTURE], found[BEYOND]], [496.0, 96.0, beyond]);
    }
}

#[test]
fn the_report_has_ratios_and_shares() {
    let record = record();
    let report = Channels::report(&record);
    let headline = "With one worker: stream 9.00 ns a message (tokio 36.0), ring 50.0 ns a hop, \
                    idle 392 bytes a process beyond its future, waiting 160 bytes a task beyond \
                    its future (tokio 288)";
    assert_eq!(report.headline, headline);
    let column = |table: &Table, column: usize| -> Vec<String> {
        table.rows.iter().map(|row| row[column].clone()).collect()
    };
    let stream = report.sections.iter().find(|section| section.title == "stream").unwrap();
    assert_eq!(column(&stream.tables[0], 5), ["0.25", "1.00", ""]);
    let apart = stream.tables.iter().find(|table| table.title == "share apart").unwrap();
    assert_eq!(column(apart, 2), ["0.25"]);
    let waiting = report.sections.iter().find(|section| section.title == "waiting").unwrap();
    let rows: Vec<_> = waiting.tables.iter().map(|table| column(table, 2)).collect();
    assert_eq!(rows[1..4], [vec!["160", "288"], vec!["256", "400"], vec!["96.0", "112"]]);
    let nothing = Channels::report(&Record::new("channels", Plan::default()));
    assert_eq!(nothing.headline, "What messages, processes and waiting tasks cost");
    assert!(nothing.sections.iter().all(Section::is_empty));
}

/// A shell script as Go's program.
#[cfg(unix)]
#[test]
fn a_wrong_answer_of_a_peer_ends_the_run_and_a_failure_leaves_a_gap() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("channels-go");
    let measured = |does: &str| {
        let introduction = r#"if [ "$1" = version ]; then echo '{"version":"1"}'; exit; fi"#;
        std::fs::write(&file, format!("#!/bin/sh\n{introduction}\n{does}\n")).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        let mut channels = Channels { runtimes: named(&[GO]), ..channels() };
        channels.peers = folder.path().to_owned();
        channels.messages = Some(200);
        let mut plan = channels.plan(&course(true)).unwrap();
        plan.limit_seconds = 2.0;
        assert!(plan.runtimes[0].version.starts_with("1 ("));
        let (subject, runtime) = ("stream 2".to_owned(), GO.to_owned());
        channels.measure(&plan, &Cell { subject, runtime, workers: 2, repeats: 1 }, 0)
    };
    // 1·3 + 2·4.
    let print =
        r#"[ "$*" = "stream 2 2 3" ] && echo '{"runtime":"go","seconds":4e-9,"answer":11}'"#;
    assert_eq!(measured(print).unwrap()[NS], 2.0);
    let Err(Fault::Run(why)) = measured(&print.replace("11", "10")) else { panic!("it is wrong") };
    assert_eq!(why, "the answer is wrong: 10, and not 11");
    for (does, expected) in [
        ("echo because >&2; exit 3", "because"),
        ("echo nonsense", "nonsense"),
        (r#"echo '{"bytes":1,"future":1,"answer":11}'"#, "something else"),
        ("exec sleep 1000", "did not end in 2 s"),
    ] {
        let Err(Fault::Missing(why)) = measured(does) else { panic!("{does}") };
        assert!(why.contains(expected), "{why}");
    }
}
