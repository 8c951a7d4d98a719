//! A made-up record, and runs with scripts for programs. Runs with this program's own binary are tested from outside.

use super::contestant::Contestant;
use super::earlier::{self, Earlier};
use super::once::{Ground, PHASES, Setting, Subject};
use super::plan::{Choice, plan, subset};
use super::record::{Measurement, Phase, Reading, Throttling, Turn};
use super::summary::AppSummary;
use super::*;
use crate::experiments::estimate::{Estimate, Verdict};
use crate::experiments::trial;
use crate::fault::Fault;
use crate::record::{Cell, Document, files};

/// Enough for an interval.
const ROTATIONS: usize = 8;

fn tiny_plan() -> Plan {
    let input = |kind: &str, size: &str| (kind.to_owned(), size.to_owned());
    Plan {
        experiment: "turnkey".to_owned(),
        quick: true,
        seed: 3,
        repeats: ROTATIONS,
        fewer: 3,
        budget_seconds: 60.0,
        limit_seconds: 60.0,
        seconds: vec![0.1, 0.2, 0.3],
        workers: vec![1, 2],
        rivals: vec![rayon()],
        inputs: vec![
            input("msort", "10K"),
            input("knary", "3,2,1"),
            input("msort", "10K beside cycler"),
            input("msort", "10K under 150"),
            input("phases", "1, 4, 64"),
            input("quota", "150"),
            input("moved", "1"),
        ],
        groups: Ok(2),
    }
}

fn rayon() -> Contestant {
    Contestant::on("rayon", 2)
}

/// What a computation takes: with the pool to which nobody says a number, with one worker, with two, and with whoever else there is.
fn turns(seconds: &[f64], throttling: Option<Throttling>) -> Reading {
    let all = [Contestant::turnkey(), Contestant::fixed(1), Contestant::fixed(2), rayon()];
    let turn = |(contestant, &seconds): (Contestant, &f64)| Turn {
        contestant,
        seconds,
        computations: 9,
        throttling,
    };
    Reading::Turns { turns: all.into_iter().zip(seconds).map(turn).collect() }
}

fn kept(share_of_periods: f64) -> Throttling {
    let used_up_per_s = share_of_periods * 10.0;
    Throttling { used_up_per_s, share_of_periods, stopped: 0.125, worked: 1.25 }
}

/// Made-up figures. Alone the second number of workers is the best one, by 2 % with `msort` and by 5 % with `knary`, but in one rotation that was disturbed;
/// beside the cycler they are equal, and nothing is certain; under the quota rayon takes twice as long.
pub(crate) fn record() -> Record {
    let mut header = Header::here(tiny_plan());
    (header.machine.processors, header.machine.quota) = (2, None);
    let mut measurements = Vec::new();
    let mut read = |app: &str, size: &str, of: Contestant, readings: &[Reading]| {
        for (repeat, reading) in readings.iter().cloned().enumerate() {
            let (app, size) = (app.to_owned(), size.to_owned());
            let Contestant { runtime, workers } = of.clone();
            let cell = Cell { app, size, runtime, workers };
            measurements.push(Measurement { cell, repeat, reading });
        }
    };
    let of_rotation = |seconds: &dyn Fn(usize) -> [f64; 3]| -> Vec<Reading> {
        (0..ROTATIONS).map(|rotation| turns(&seconds(rotation), None)).collect()
    };
    let alone = |over: f64| {
        move |rotation| match rotation {
            3 => [0.090, 0.040, 0.030],
            _ => [0.020 * over, 0.040, 0.020].map(|seconds| seconds * (1 + rotation) as f64),
        }
    };
    read("msort", "10K", Contestant::turnkey(), &of_rotation(&alone(1.02)));
    read("knary", "3,2,1", Contestant::turnkey(), &of_rotation(&alone(1.05)));
    let beside = |rotation| [0.050, 0.050, [0.040, 0.045, 0.055, 0.060][rotation % 4]];
    read("msort", "10K beside cycler", Contestant::turnkey(), &of_rotation(&beside));
    let under = turns(&[0.030, 0.060, 0.030, 0.060], Some(kept(0.25)));
    read("msort", "10K under 150", Contestant::turnkey(), &vec![under; ROTATIONS]);
    let phases = |awake: f64| Reading::Phases {
        phases: PHASES
            .map(|parallelism| Phase { parallelism, working: 1.0, awake, rounds_per_s: 1234.0 })
            .to_vec(),
        workers: 2,
    };
    let awake = [1.25, 1.5, 9.0].map(phases);
    read("phases", "1, 4, 64", Contestant::turnkey(), &awake);
    let quota = |rounds_per_s, worst_late_ms: f64, throttled_per_s| Reading::Quota {
        rounds_per_s,
        median_late_ms: 0.1,
        p99_late_ms: 2.0,
        worst_late_ms,
        throttled_per_s,
        throttling: Some(kept(throttled_per_s / 10.0)),
        round_ms: Some([0.2, 0.5, worst_late_ms + 1.0]),
    };
    let turnkey = [(3.0, 0.5), (7.0, 0.25), (2.0, 0.75)];
    let turnkey = turnkey.map(|(late, used_up)| quota(6000.0, late, used_up));
    read("quota", "150", Contestant::turnkey(), &turnkey);
    read(
        "quota",
        "150",
        Contestant::fixed(2),
        &[quota(5000.0, 27.0, 10.0), quota(5000.0, 1.0, 10.0)],
    );
    read("quota", "150", rayon(), &[quota(3000.0, 40.0, 10.0)]);
    let moved = |lowered_after_s, raised_after_s| Reading::Moved {
        workers: 2,
        lowered_after_s,
        raised_after_s,
        free_rounds_per_s: 6000.0,
        tight_rounds_per_s: 3000.0,
    };
    read("moved", "1", Contestant::turnkey(), &[moved(0.25, 0.0625), moved(0.125, 0.5)]);
    Record::of(header, "then".to_owned(), measurements, Vec::new())
}

/// One of the kind before: by turns alone, with a process for each number under a quota.
pub(crate) fn earlier() -> Earlier {
    let mut record = record();
    record.format = Earlier::FORMAT.to_owned();
    let plan = &mut record.header.plan;
    (plan.fewer, plan.rivals, plan.seconds) = (0, Vec::new(), vec![0.1, 0.2]);
    record.measurements.retain(|found| found.cell.runtime != "rayon");
    let is_under = |found: &Measurement| found.cell.size == "10K under 150";
    record.measurements.retain(|found| !is_under(found));
    for (workers, seconds) in [(0, 0.030), (1, 0.060), (2, 0.040)] {
        let (app, size) = ("msort".to_owned(), "10K under 150".to_owned());
        let cell = Cell { app, size, runtime: "locksley".to_owned(), workers };
        let reading = Reading::Time { seconds, throttling: kept(0.5) };
        record.measurements.push(Measurement { cell, repeat: 0, reading });
    }
    Earlier(record)
}

#[track_caller]
fn is_about(found: Estimate, [figure, low, high]: [f64; 3]) {
    for (found, expected) in [(found.figure, figure), (found.low, low), (found.high, high)] {
        assert!((found - expected).abs() < 1e-9, "{found:?}, not {expected}");
    }
}

#[test]
fn what_nobody_chose_is_compared_with_the_best_that_somebody_could_have() {
    let summary = Summary::of(&record());
    let [msort, knary, beside, under] = &summary.apps[..] else { panic!("{summary:?}") };
    let all = [Setting::Alone, Setting::Beside, Setting::Under(150)];
    assert_eq!(summary.settings(), all);
    // The rotation that was disturbed is the outermost of eight.
    is_about(msort.ratio().unwrap(), [1.02, 1.02, 3.0]);
    is_about(knary.ratio().unwrap(), [1.05, 1.05, 3.0]);
    is_about(msort.contest.ratio(&Contestant::fixed(1)).unwrap(), [0.51, 0.51, 2.25]);
    assert_eq!(msort.contest.best.as_ref().unwrap().chosen, [2, 2]);
    assert_eq!(msort.time(&Contestant::turnkey()).unwrap().number, ROTATIONS);
    let [ratio, over] = [under.ratio(), under.contest.ratio(&rayon())].map(Option::unwrap);
    is_about(ratio, [1.0; 3]);
    is_about(over, [0.5; 3]);
    let shares = under.throttling.iter().map(|(one, it)| (one.words(), it.share_of_periods));
    let names = ["turnkey", "P = 1", "P = 2", "rayon 2"].map(|name| (name.to_owned(), 0.25));
    assert_eq!(shares.collect::<Vec<_>>(), names);
    assert!(msort.throttling.is_empty());
    let verdicts = [msort, knary, beside, under].map(AppSummary::verdict);
    use Verdict::{Met, Missed, Undecided};
    assert_eq!(verdicts, [Some(Undecided), Some(Missed), Some(Undecided), Some(Met)]);
    assert_eq!(summary.verdicts(Setting::Alone), [0, 1, 1]);
    let (number, mean) = summary.mean(Setting::Alone).unwrap();
    let expected = (1.02_f64 * 1.05).sqrt();
    assert_eq!(number, 2);
    is_about(mean, [expected, expected, 3.0]);
    assert_eq!(summary.readings, (1, ROTATIONS));
}

#[test]
fn medians_and_the_worst() {
    let summary = Summary::of(&record());
    let (one, phases) = &summary.phases[0];
    assert_eq!((one, phases.len(), phases[0].awake), (&Contestant::turnkey(), 3, 1.5));
    let [turnkey, two, other] = &summary.quotas[..] else { panic!("{summary:?}") };
    assert_eq!((turnkey.worst_late_ms, turnkey.throttled_per_s), (7.0, 0.5));
    assert_eq!(two.worst_late_ms, 27.0);
    assert_eq!(turnkey.round_ms, Some([0.2, 0.5, 8.0]));
    assert_eq!(turnkey.throttling.unwrap().share_of_periods, 0.05);
    // What it takes for a round: 1/6000 s over 1/5000 s.
    let over = |quota| summary.over(quota).map(|found| (found.figure, found.is_bounded()));
    assert!((over(two).unwrap().0 - 5.0 / 6.0).abs() < 1e-9);
    assert_eq!((over(turnkey), over(other)), (None, Some((0.5, false))));
    let (150, rounds) = &summary.rounds[0] else { panic!("{summary:?}") };
    assert_eq!(rounds.best.as_ref().unwrap().chosen, [2, 2]);
    let moved = summary.moved.unwrap();
    assert_eq!((moved.lowered_after_s, moved.raised_after_s), (0.25, 0.5));
}

#[test]
fn an_empty_record_has_an_empty_summary() {
    let mut record = record();
    record.measurements.clear();
    let summary = Summary::of(&record);
    assert!(summary.apps.is_empty() && summary.phases.is_empty() && summary.quotas.is_empty());
    assert!(summary.moved.is_none() && summary.mean(Setting::Alone).is_none());
    assert_eq!((summary.readings, summary.verdicts(Setting::Alone)), ((0, 0), [0; 3]));
    assert!(table::text(&record, &summary).contains("control groups of version 2"));
}

#[test]
fn the_table_has_all() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for word in [
        "Quick subset",
        "applications alone",
        "applications beside a cycler",
        "over best",
        "1.050          (1.050 to 3.000)      2  missed",
        "1.000          (1.000 to 1.000)      2  met",
        "over P = 1 0.510 (0.510 to 2.250), P = 2 1.020",
        "rayon 2 0.500 (0.500 to 0.500)",
        "geometric mean of 2",
        "parallelism 64",
        "1.50 (1.00), 1234",
        "applications under a quota of 1.50",
        "each figure is of 1 to 8 readings",
        "used up (stopped): turnkey 25% (0.125), P = 1 25% (0.125)",
        "1.50, turnkey              6000        -",
        "1.50, P = 2                5000    0.833  (fewer than 6 rotations)",
        "1.50, rayon 2",
        "1.50, over the best",
        "not decided",
        "after 0.250 s",
        "after 0.500 s",
    ] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    assert!(!text.contains(earlier::NOTE));
}

#[test]
fn a_plan_without_control_groups_says_why() {
    let choice = Choice { quick: true, seed: 1, ..Choice::default() };
    let plan = plan(&choice, Err("not ours".to_owned())).unwrap();
    assert!(plan.subjects().unwrap().iter().all(|subject| !subject.needs_group()));
    let cells = plan.cells().unwrap();
    let is_first = |cell: &&Cell| cell.workers == Contestant::turnkey().workers;
    assert_eq!(cells.iter().filter(is_first).count(), plan.inputs.len());
    assert!(subset(&plan).contains("msort"));
    let mut record = record();
    record.header.plan = plan;
    record.measurements.clear();
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("no control groups can be made: not ours"), "{text}");
    for quick in [false, true] {
        let none = Choice { quick, repeats: Some(0), ..Choice::default() };
        assert!(matches!(super::plan::plan(&none, Err(String::new())), Err(Fault::Input(_))));
        let plan = super::plan::plan(&Choice { quick, ..Choice::default() }, Err(String::new()));
        assert!(plan.is_ok(), "{plan:?}");
    }
}

#[test]
fn kinds_are_chosen() {
    let ground = || Ground::of_version(2);
    let of = |kinds: &[&str], ground| {
        let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let plan = super::plan::plan(&Choice { kinds, ..Choice::default() }, ground)?;
        plan.subjects()
    };
    let all = of(&[], Ok(ground())).unwrap();
    let each = ["apps", "under", "phases", "quota", "moved"].map(|kind| of(&[kind], Ok(ground())));
    let each: Vec<Vec<_>> = each.into_iter().map(|subjects| subjects.unwrap()).collect();
    assert_eq!(each.iter().map(Vec::len).sum::<usize>(), all.len());
    assert!(each.iter().flatten().all(|subject| all.contains(subject)));
    assert_eq!(each[1].len(), each[0].len(), "two settings each");
    assert!(each[1].iter().all(super::once::Subject::needs_group));
    let refused = |found| matches!(found, Err(Fault::Input(_)));
    assert!(refused(of(&["rest"], Ok(ground()))));
    assert!(refused(of(&["under", "moved"], Err("not ours".to_owned()))));
}

#[test]
fn who_has_turns_in_one_process_is_one_cell() {
    let plan = plan(&Choice::default(), Ok(Ground::of_version(2))).unwrap();
    for subject in plan.subjects().unwrap() {
        let (app, size) = subject.names();
        let of_it = |cell: &Cell| (&cell.app, &cell.size) == (&app, &size);
        let cells: Vec<Cell> = plan.cells().unwrap().into_iter().filter(of_it).collect();
        let contestants = plan.contestants(&subject);
        assert_eq!(contestants[0], Contestant::turnkey());
        let is_alone = subject.is_measured_in_turn();
        assert_eq!(cells.len(), if is_alone { 1 } else { contestants.len() }, "{app} {size}");
        // Who never sleeps is there where nobody else is at the time.
        let others = contestants.iter().filter(|one| one.runtime != "locksley").count();
        assert_eq!(others > 0, subject.is_under(), "{app} {size}");
        let is_seldom = matches!(subject, Subject::Phases | Subject::Moved);
        assert_eq!(plan.repeats_of(&cells[0]), if is_seldom { plan.fewer } else { plan.repeats });
    }
}

/// How long a rotation of what is chosen takes, by the plan, and all that is measured less often once.
fn seconds(plan: &Plan) -> [f64; 2] {
    let mut seconds = [0.0; 2];
    for cell in plan.cells().unwrap() {
        let subject = Subject::find(&cell.app, &cell.size).unwrap();
        let its = plan.seconds_of(&subject);
        // Each phase twice; rounds begin before anything is measured; a move, there and back, and rounds in both groups; a rest, a warm-up and the rest of a
        // period before each long turn, and what is left of a period or a computation after it.
        let all = match subject {
            Subject::Phases => its * 2.0 * PHASES.len() as f64,
            Subject::Quota { .. } => its + 0.25,
            Subject::Moved => its * 3.0,
            Subject::App { setting: Setting::Under(_), .. } => {
                (its + 0.45) * plan.contestants(&subject).len() as f64
            }
            // The last turns, the input, and the cycler's head start.
            Subject::App { .. } => its + 0.2,
        };
        let is_seldom = matches!(subject, Subject::Phases | Subject::Moved);
        // And each program is started.
        seconds[usize::from(is_seldom)] += all + 0.05;
    }
    seconds
}

fn chosen(quick: bool, kinds: &[&str]) -> Plan {
    let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
    plan(&Choice { quick, kinds, ..Choice::default() }, Ok(Ground::of_version(2))).unwrap()
}

/// Of fewer rotations there is no interval.
#[test]
fn a_run_has_time_for_rotations_enough() {
    use crate::experiments::estimate::FEWEST;
    let plan = chosen(true, &[]);
    let [rotation, rest] = seconds(&plan);
    let all = rotation * FEWEST as f64 + rest * plan.fewer as f64;
    assert!(all <= plan.budget_seconds && plan.repeats >= FEWEST, "{rotation} {rest}");
    let is_under =
        |subject: &Subject| matches!(subject, Subject::App { setting: Setting::Under(_), .. });
    assert!(!plan.subjects().unwrap().iter().any(is_under));
    let under = chosen(true, &["under"]);
    assert!(under.subjects().unwrap().iter().all(is_under), "if that is asked for");
    // The applications without quotas, all rotations, in a quarter of an hour; with quotas, and all else, as many as it takes in an hour.
    let apps = chosen(false, &["apps"]);
    let [rotation, _] = seconds(&apps);
    assert!(rotation * apps.repeats as f64 <= 900.0, "{rotation}");
    for kinds in [&["under"][..], &[]] {
        let plan = chosen(false, kinds);
        let [rotation, rest] = seconds(&plan);
        let all = rotation * 8.0 + rest * plan.fewer as f64;
        assert!(all <= plan.budget_seconds && plan.budget_seconds < 3600.0, "{rotation} {rest}");
    }
}

/// Of the very first kind of reading, which did not say how the quota was kept.
#[test]
fn an_earlier_reading_is_read() {
    let first = r#"{"quota":{"rounds_per_s":1800.5,"median_late_ms":0.1,"p99_late_ms":0.5,"worst_late_ms":4.5,"throttled_per_s":6.0}}"#;
    let reading: Reading = serde_json::from_str(first).unwrap();
    assert!(reading.is_of(&Subject::Quota { hundredths: 100 }, &[]));
    assert_eq!(serde_json::to_string(&reading).unwrap(), first);
    let mut record = record();
    let is_quota = |found: &&mut Measurement| found.cell.app == "quota";
    record.measurements.iter_mut().filter(is_quota).for_each(|it| it.reading = reading.clone());
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("1.50, turnkey              1800"), "{text}");
}

#[test]
fn a_record_of_the_kind_before_is_read_and_says_so() {
    let earlier = earlier();
    trial::is_kept(&earlier);
    assert_eq!(earlier.flaw(), None);
    let summary = Summary::of(&earlier.0);
    let under = summary.apps.last().unwrap();
    let ratio = under.contest.ratio(&Contestant::fixed(2)).unwrap();
    assert_eq!((ratio.figure, ratio.is_bounded()), (0.75, false));
    // There are no two halves of one rotation.
    assert!(under.ratio().is_none());
    assert_eq!(under.throttling.len(), 3);
    let text = table::text(&earlier.0, &summary);
    assert!(text.contains(earlier::NOTE), "{text}");
    // Neither is the other.
    trial::is_refused(&earlier, |it| it.0.format = Record::FORMAT.to_owned());
    trial::is_refused(&record(), |it| it.format = Earlier::FORMAT.to_owned());
    let last = |it: &mut Earlier, reading| it.0.measurements.last_mut().unwrap().reading = reading;
    trial::is_refused(&earlier, |it| {
        last(it, Reading::Time { seconds: -1.0, throttling: kept(0.5) });
    });
    trial::is_refused(&earlier, |it| last(it, turns(&[1.0, 1.0, 1.0], Some(kept(0.5)))));
    trial::is_refused(&record(), |it| {
        let under = it.measurements.iter_mut().find(|it| it.cell.size == "10K under 150");
        under.unwrap().reading = Reading::Time { seconds: 1.0, throttling: kept(0.5) };
    });
}

#[test]
fn a_record_is_as_it_was_and_flaws_are_found() {
    let record = record();
    trial::is_kept(&record);
    assert_eq!(record.flaw(), None);
    let broken = |change: &dyn Fn(&mut Record)| {
        let mut record = record.clone();
        change(&mut record);
        record.flaw()
    };
    assert!(broken(&|it| it.header.machine.processors = 0).is_some());
    assert!(broken(&|it| it.header.plan.workers.push(0)).is_some());
    assert!(broken(&|it| it.header.plan.seconds.clear()).is_some());
    assert!(broken(&|it| it.header.plan.rivals[0].runtime = "nobody".to_owned()).is_some());
    assert!(broken(&|it| it.header.plan.inputs[0].0 = "nothing".to_owned()).is_some());
    assert!(broken(&|it| it.measurements[0].cell.app = "phases".to_owned()).is_some());
    assert!(broken(&|it| it.measurements[0].cell.runtime = "nobody".to_owned()).is_some());
    // Each contestant once, in order.
    let of = |reading: &Reading| broken(&|it| it.measurements[0].reading = reading.clone());
    assert_eq!(of(&turns(&[1.0; 3], None)), None);
    for seconds in [&[][..], &[1.0, 1.0], &[1.0; 4], &[1.0, 1.0, 0.0], &[1.0, f64::NAN, 1.0]] {
        assert!(of(&turns(seconds, None)).is_some(), "{seconds:?}");
    }
    assert!(of(&turns(&[1.0; 3], Some(kept(0.5)))).is_some(), "there is no quota");
    let Reading::Turns { turns: mut swapped } = turns(&[1.0; 3], None) else { unreachable!() };
    swapped.swap(1, 2);
    assert!(of(&Reading::Turns { turns: swapped }).is_some());
    let under = |throttling| {
        broken(&|it| {
            let found = it.measurements.iter_mut().find(|it| it.cell.size == "10K under 150");
            found.unwrap().reading = turns(&[1.0; 4], throttling);
        })
    };
    assert_eq!(under(Some(Throttling::default())), None);
    assert!(under(None).is_some());
    let not_a_number = Throttling { stopped: f64::NAN, ..Throttling::default() };
    assert!(under(Some(not_a_number)).is_some());
    assert!(
        broken(&|it| {
            let last = it.measurements.last_mut().unwrap();
            last.reading = Reading::Moved {
                workers: 0,
                lowered_after_s: 1.0,
                raised_after_s: 1.0,
                free_rounds_per_s: 1.0,
                tight_rounds_per_s: 1.0,
            };
        })
        .is_some()
    );
}

#[cfg(unix)]
#[test]
fn what_a_child_says_is_recorded_or_missing() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, script: &str| {
        let plan = Plan {
            inputs: vec![("msort".to_owned(), "10K".to_owned())],
            repeats: 2,
            ..tiny_plan()
        };
        let options = Options {
            plan,
            programs: Program::script(script),
            json: folder.path().join(format!("{name}.json")),
            out: folder.path().join(name),
            fresh: false,
        };
        run(&options)
    };
    let turns = [0, 1, 2].map(|p| format!(r#"{{\"workers\":{p},\"seconds\":0.5}}"#)).join(",");
    let script = format!(r#"echo "{{\"reading\":{{\"turns\":{{\"turns\":[{turns}]}}}}}}""#);
    let good = run("good", &script).unwrap();
    assert_eq!((good.record.measurements.len(), good.record.missing.len()), (2, 0));
    assert_eq!(good.summary.apps[0].ratio().unwrap().figure, 1.0);
    let read: Record = files::read(&folder.path().join("good.json")).unwrap();
    assert_eq!(read, good.record);
    for (name, script, why) in [
        (
            "other",
            r#"echo "{\"reading\":{\"phases\":{\"phases\":[],\"workers\":1}}}""#,
            "something else",
        ),
        ("nothing", r#"echo "{\"reading\":{\"turns\":{\"turns\":[]}}}""#, "something else"),
        ("noise", "echo noise", "it printed 'noise'"),
        ("bad", "echo sorry >&2; exit 3", "sorry"),
    ] {
        // Nothing is left.
        let Err(Fault::Run(said)) = run(name, script) else { panic!("{name} is recorded") };
        assert!(said.contains(why), "{said}");
    }
}
