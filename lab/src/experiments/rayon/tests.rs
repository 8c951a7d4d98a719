//! What becomes of measurements, what plans have, and runs with scripts for programs.

use super::plan::{Choice, OURS, Setting, UPSTREAM, Workload, plan, subset};
use super::*;
use crate::corunner::Stretch;
use crate::experiments::corun::record::{Peer, Run};
use crate::experiments::corun::unit::Unit;
use crate::fault::Fault;
use crate::record::files;

fn known() -> Vec<Workload> {
    let workload = |(name, size): (&str, u64)| Workload {
        name: name.to_owned(),
        size,
        about: format!("<{name}>"),
    };
    [("quicksort", 100), ("sieve", 200), ("life", 9)].map(workload).to_vec()
}

fn choice(workloads: &[&str], settings: &[&str]) -> Choice {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Choice { seed: 5, workloads: owned(workloads), settings: owned(settings), ..Choice::default() }
}

fn run_at(rate: f64) -> Run {
    let stretch = Stretch {
        begun: 1_000_000_000,
        ended: 3_000_000_000,
        processor_seconds: Some(1.0),
        voluntary: None,
        involuntary: None,
        to_hunter: None,
        external: None,
    };
    Run { rate, seconds: Vec::new(), stretch, completed: 4 }
}

/// Made-up rates: of the program, and of `loop` beside it.
fn rates(units: &[Unit], repeat: usize) -> Vec<f64> {
    let ours = units[0].runtime == OURS;
    match units {
        [busy] if busy.is_busy() => vec![1000.0],
        // Locksley takes 0.5, 1.0 and 0.8 times as long; the machine gets faster meanwhile.
        [alone] if alone.workers == 2 && ours => vec![[5.0, 10.0, 12.5][repeat]],
        [alone] if alone.workers == 2 => vec![[2.5, 10.0, 10.0][repeat]],
        [_] if ours => vec![4.0],
        [_] => vec![2.0],
        // Both lose half each time; on rayon, the program loses three quarters the last time.
        _ if ours => vec![5.0, 500.0],
        _ => vec![[5.0, 5.0, 2.5][repeat], 500.0],
    }
}

/// Two processors, one workload in all settings, three rotations.
pub(crate) fn record() -> Record {
    let mut plan = plan(&choice(&["life"], &[]), &known(), 2).unwrap();
    plan.repeats = 3;
    let mut samples = Vec::new();
    for repeat in 0..3 {
        for turn in plan.turns() {
            let runs = rates(&turn.units, repeat).into_iter().map(run_at).collect();
            samples.push(Sample { units: turn.units, repeat, runs, disturbance: Some(0.25) });
        }
    }
    let mut common = HeaderOf::here(plan);
    (common.machine.processors, common.machine.quota) = (2, None);
    let program = |runtime: &str| Peer {
        runtime: runtime.to_owned(),
        version: "<1.12>".to_owned(),
        build: "abc".to_owned(),
    };
    let header = Header { common, programs: vec![program(UPSTREAM), program(OURS)] };
    record_of(header, "then".to_owned(), samples)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn ratios_are_of_processes_that_ran_one_after_the_other() {
    let summary = Summary::of(&record());
    let alone = summary.on(Setting::Alone).unwrap();
    let [life] = &alone.workloads[..] else { panic!("one workload") };
    let ratio = life.ratio.unwrap();
    assert!(close(ratio.median, 0.8) && close(ratio.least, 0.5) && close(ratio.most, 1.0));
    // The medians of the times are of different rotations; their ratio would be 1.
    assert!(close(life.on(OURS).unwrap().times.median, 0.1));
    assert!(close(life.on(UPSTREAM).unwrap().times.median, 0.1));
    assert!(close(alone.mean_ratio().unwrap(), 0.8));
    assert_eq!((alone.is_reached(), alone.unfairness(OURS)), (Some(true), None));
    let crowded = summary.on(Setting::Oversubscribed).unwrap();
    assert!(close(crowded.mean_ratio().unwrap(), 0.5));
}

#[test]
fn means_of_ratios_are_geometric_and_one_alone_may_be_too_slow() {
    let mut alone = Summary::of(&record()).settings.swap_remove(0);
    let mut slow = alone.workloads[0].clone();
    slow.ratio.as_mut().unwrap().median = 1.25;
    alone.workloads.push(slow);
    assert!(close(alone.mean_ratio().unwrap(), 1.0), "0.8 and 1.25");
    assert_eq!(alone.is_reached(), Some(false), "one of them takes more than 1.05");
    assert!(alone.is_too_slow(&alone.workloads[1]) && !alone.is_too_slow(&alone.workloads[0]));
    alone.setting = Setting::Oversubscribed;
    assert_eq!(alone.is_reached(), Some(true), "there only the mean counts");
    alone.workloads[0].ratio.as_mut().unwrap().median = 0.9;
    assert_eq!(alone.is_reached(), Some(false));
}

#[test]
fn beside_loop_both_have_slowdowns() {
    let summary = Summary::of(&record());
    let beside = summary.on(Setting::Beside).unwrap();
    let balance = |runtime| beside.workloads[0].on(runtime).unwrap().balance.clone().unwrap();
    // Alone 10 a second, beside 5; loop 1000 and 500.
    let ours = balance(OURS);
    assert!(close(ours.slowdowns[0], 1.0) && close(ours.slowdowns[1], 1.0), "{ours:?}");
    assert!(close(ours.unfairness, 0.0) && close(ours.throughput, 1.0));
    assert_eq!(ours.processors, [Some(0.5); 2]);
    // Slowdowns of 1, 1 and 3.
    let theirs = balance(UPSTREAM);
    assert!(close(theirs.slowdowns[0], 5.0 / 3.0) && close(theirs.slowdowns[1], 1.0));
    assert!(close(theirs.unfairness, 2.0 / 3.0) && close(theirs.worst, 2.0), "{theirs:?}");
    assert!(close(theirs.throughput, (0.5 + 0.5 + 0.25) / 3.0 + 0.5));
    assert_eq!(beside.is_fair(), Some(true));
    let (mean, worst) = beside.unfairness(UPSTREAM).unwrap();
    assert!(close(mean, 2.0 / 3.0) && close(worst, 2.0));
    let ratio = beside.workloads[0].ratio.unwrap();
    assert!(close(ratio.median, 1.0) && close(ratio.least, 0.5));
}

#[test]
fn one_runtime_has_times_but_no_ratios() {
    let mut record = record();
    record.header.common.plan.runtimes = vec![OURS.to_owned()];
    record.samples.retain(|sample| sample.units[0].runtime != UPSTREAM);
    let summary = Summary::of(&record);
    let alone = summary.on(Setting::Alone).unwrap();
    assert!(alone.workloads[0].on(OURS).is_some() && alone.workloads[0].ratio.is_none());
    assert_eq!((alone.mean_ratio(), alone.is_reached()), (None, None));
    assert!(table::text(&record, &summary).contains("life"));
    assert!(page_of(&record).contains("<h1>Programs written for rayon</h1>"));
}

fn page_of(record: &Record) -> String {
    let folder = tempfile::tempdir().unwrap();
    let page = report::prepare(folder.path()).unwrap();
    report::rayon::write(&page, record, &Summary::of(record)).unwrap();
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn table_and_page_speak_of_all_that_was_measured() {
    let record = record();
    let text = table::text(&record, &Summary::of(&record));
    for words in [
        "alone, 2 workers",
        "oversubscribed, 8 workers",
        "beside loop with 2 threads, 2 workers",
        "0.800 (0.50 to 1.00)",
        "0.800  wanted: at most 1.00, none above 1.05: reached",
        "0.500  wanted: at most 1.00: reached",
        "167%/100%",
        "wanted: at most 15: reached",
        "others used 0.25 processors",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let page = page_of(&record);
    // The times in three settings, and the slowdowns.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3 + 1);
    assert!(
        page.contains("0.80 alone, 0.50 with four workers for each processor, 1.00 beside busy")
    );
    assert!(page.contains("&lt;life&gt;") && page.contains("&lt;1.12&gt;"), "{page}");
    assert!(page.contains("<td>167 / 100</td><td>67</td><td>200</td>"), "{page}");
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for elsewhere in ["http:", "https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
}

#[test]
fn what_is_missed_is_marked() {
    let mut record = record();
    for sample in record.samples.iter_mut().filter(|sample| sample.units[0].runtime == OURS) {
        sample.runs[0].rate /= if sample.units.len() == 1 { 2.0 } else { 4.0 };
    }
    let text = table::text(&record, &Summary::of(&record));
    assert!(text.contains("1.600 (1.00 to 2.00)  missed"), "{text}");
    // A rate of 5 alone and of 1.25 beside loop: a slowdown of 300 %, where loop has 100 %.
    assert!(text.contains("wanted: at most 15: missed"), "{text}");
    let page = page_of(&record);
    assert!(page.contains("<td class=\"low\">1.600 (1.00 to 2.00)</td>"), "{page}");
    assert!(page.contains("<td class=\"low\">200</td>"), "{page}");
}

#[test]
fn a_record_with_nothing_measured_makes_a_page() {
    let mut record = record();
    record.samples.clear();
    assert!(page_of(&record).contains("<h1>Programs written for rayon</h1>"));
    assert!(!table::text(&record, &Summary::of(&record)).contains("life"));
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let record = record();
    files::write(&path, &record).unwrap();
    assert_eq!(files::read::<Record>(&path).unwrap(), record);
    let spoilt = |spoil: fn(&mut Record)| {
        let mut record = record.clone();
        spoil(&mut record);
        files::write(&path, &record).unwrap();
        assert!(files::read::<Record>(&path).is_err());
    };
    spoilt(|record| record.samples[0].runs[0].rate = 0.0);
    spoilt(|record| record.samples[0].runs.clear());
    spoilt(|record| record.header.common.plan.processors = 0);
}

#[test]
fn a_plan_has_what_is_asked_for() {
    let full = plan(&Choice::default(), &known(), 2).unwrap();
    assert_eq!((full.workloads.len(), full.repeats >= 5, full.computations >= 5), (3, true, true));
    // `loop` alone; three workloads in three settings on two cores, which take turns.
    let turns = full.turns();
    assert_eq!(turns.len(), 1 + 3 * 3 * 2);
    assert!(turns[0].units[0].is_busy());
    for pair in turns[1..].chunks(2) {
        let [theirs, ours] = pair else { panic!("pairs") };
        assert_eq!([&theirs.units[0].runtime, &ours.units[0].runtime], [UPSTREAM, OURS]);
        let (job, workers) = (&theirs.units[0].job, theirs.units[0].workers);
        assert_eq!((job, workers), (&ours.units[0].job, ours.units[0].workers));
        assert_eq!(theirs.units[1..], ours.units[1..]);
    }
    let quick = plan(&Choice { quick: true, ..Choice::default() }, &known(), 2).unwrap();
    let names: Vec<&str> = quick.workloads.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["quicksort", "life"]);
    assert!(subset(&quick).contains("quicksort, life only") && quick.budget_seconds < 55.0);
    // Who is named is measured, quick or not.
    let named = Choice { quick: true, ..choice(&["sieve"], &["beside"]) };
    let named = plan(&named, &known(), 3).unwrap();
    assert_eq!(named.settings, [Setting::Alone, Setting::Beside], "slowdowns are relative to that");
    assert_eq!(named.units(&known()[1], Setting::Oversubscribed, OURS)[0].workers, 12);
    let alone = plan(&choice(&[], &["alone"]), &known(), 2).unwrap();
    assert!(alone.turns().iter().all(|turn| turn.units.len() == 1 && !turn.units[0].is_busy()));
}

#[test]
fn plans_keep_to_what_is_known() {
    let runtimes = vec!["tbb".to_owned()];
    for (wrong, expected) in [
        (choice(&["pigs"], &[]), "quicksort, sieve, life"),
        (choice(&[], &["above"]), "alone, oversubscribed, beside"),
        (Choice { runtimes, ..Choice::default() }, "rayon, locksley"),
        (Choice { repeats: Some(0), ..Choice::default() }, "--repeats"),
    ] {
        let fault = plan(&wrong, &known(), 2).unwrap_err();
        assert!(matches!(&fault, Fault::Input(why) if why.contains(expected)), "{fault}");
    }
    let none_of_quick = Choice { quick: true, ..Choice::default() };
    assert!(plan(&none_of_quick, &known()[1..2], 2).is_err());
}

/// Runs with shell scripts for programs, whose clocks say what they are to say.
#[cfg(unix)]
mod scripts {
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    /// A workload: computations of a second each, on two processors, until told to stop.
    const WORKLOAD: &str = r#"
        if [ "$1" = version ]; then
            echo '{"version":"v1","core":"CORE","workloads":[{"name":"life","size":9,"about":"cells"}]}'
            exit
        fi
        test "$*" = "life 9 $3 5" || { echo "arguments: $*" >&2; exit 2; }
        echo ready; read go
        for n in 1 2 3; do echo "{\"computation\":{\"begun\":${n}000000000,\"ended\":$((n + 1))000000000}}"; done
        read stop
        echo '{"end":{"begun":1000000000,"ended":4000000000,"processor_seconds":6.0}}'
        read stop; true"#;

    /// `loop`, which begins in the middle of the first computation and ends with the second.
    const LOOP: &str = r#"
        test "$1 $4" = "rounds loop" || { echo "arguments: $*" >&2; exit 2; }
        echo ready; read go
        echo '{"runtime":"loop","P":2,"rounds_per_s":50.0,"rounds":100,"begun":1500000000,"ended":3000000000,"processor_seconds":3.0}'"#;

    /// Writes an executable file. Another process does: one that is open for writing here, for a process that another test
    /// starts just then as well, could not be run.
    fn script(path: &Path, text: &str) {
        let mut writer = Command::new("sh");
        writer.args(["-c", r#"cat >"$0" && chmod +x "$0""#]).arg(path).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{text}\n").unwrap();
        assert!(writer.wait().unwrap().success());
    }

    /// A folder with all three.
    fn folder(change: impl Fn(&str, String) -> String) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for runtime in [UPSTREAM, OURS] {
            let text = WORKLOAD.replace("CORE", runtime);
            script(&folder.path().join(runtime), &change(runtime, text));
        }
        script(&folder.path().join("loop"), &change("loop", LOOP.to_owned()));
        folder
    }

    fn unchanged(_: &str, text: String) -> String {
        text
    }

    fn programs(folder: &Path) -> crate::fault::Outcome<Programs> {
        Programs::find(&folder.join("loop"), folder, &[UPSTREAM, OURS])
    }

    fn options(folder: &Path) -> Options {
        let programs = programs(folder).unwrap();
        let mut plan = plan(&choice(&[], &[]), programs.workloads(), 2).unwrap();
        (plan.repeats, plan.seconds, plan.computations) = (2, 0.0, 3);
        let (json, out) = (folder.join("rayon.json"), folder.join("page"));
        Options { plan, programs, json, out, fresh: false }
    }

    #[test]
    fn only_what_ran_beside_loop_counts_beside_loop() {
        let folder = folder(unchanged);
        let record = run(&options(folder.path())).unwrap().record;
        // In each of two rotations: loop, and two programs in three settings.
        assert_eq!(record.samples.len(), 2 * (1 + 2 * 3));
        for Sample { units, runs, .. } in &record.samples {
            match &runs[..] {
                [busy] if units[0].is_busy() => assert_eq!(busy.rate, 50.0),
                [alone] => assert_eq!((alone.seconds.len(), alone.rate), (3, 1.0)),
                [workload, busy] => {
                    // The first had begun too early, the last ended too late.
                    assert_eq!((workload.seconds.len(), workload.completed), (1, 3));
                    assert_eq!((busy.rate, busy.completed), (50.0, 100));
                }
                other => panic!("{other:?}"),
            }
        }
        let summary = Summary::of(&record);
        let beside = summary.on(Setting::Beside).unwrap();
        let found = beside.workloads[0].on(OURS).unwrap().balance.as_ref().unwrap();
        assert_eq!((found.unfairness, found.processors), (0.0, [Some(2.0); 2]));
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_a_finished_one_is_not_redone() {
        let folder = folder(unchanged);
        let options = options(folder.path());
        let finished = run(&options).unwrap();
        assert!(!finished.is_old && run(&options).unwrap().is_old);
        let header = serde_json::to_string(&finished.record.header).unwrap();
        let kept = &finished.record.samples[..5];
        let lines: String =
            kept.iter().map(|one| serde_json::to_string(one).unwrap() + "\n").collect();
        fs::remove_file(&options.json).unwrap();
        let part = folder.path().join("rayon.json.part");
        fs::write(&part, format!("{header}\n{lines}{{\"uni")).unwrap();
        let resumed = run(&options).unwrap().record;
        assert_eq!((resumed.samples.len(), &resumed.samples[..5]), (14, kept));
        assert!(!part.exists());
        // Another build of a program is measured anew.
        script(&folder.path().join(OURS), &(WORKLOAD.replace("CORE", OURS) + "\n# newer"));
        let newer = Options { programs: programs(folder.path()).unwrap(), ..options };
        assert!(!run(&newer).unwrap().is_old);
    }

    #[test]
    fn a_wrong_answer_and_a_broken_program_are_faults_of_the_run() {
        let wrong = "echo 'the answer is wrong' >&2; exit 1 # and not: ";
        let stopped = r#"read go; echo '{"end":{"begun":1,"ended":2}}'; exit # and not: "#;
        for (of, from, to, expected) in [
            (OURS, "read stop\n", wrong, "the answer is wrong"),
            (OURS, "echo ready", wrong, "the answer is wrong"),
            (UPSTREAM, "read stop; true", "exit 3", "exit status: 3"),
            (UPSTREAM, "read go\n", stopped, "before it was told"),
            (UPSTREAM, "\"begun\\\"", "\"started\\\"", "nobody understands"),
            ("loop", "echo '{", "echo 'pigs{", "pigs"),
            ("loop", "\"ended\":3000000000", "\"ended\":2500000000", "--secs"),
        ] {
            let folder = folder(|name, text| match name == of {
                true => {
                    assert!(text.contains(from), "{from} in {text}");
                    text.replace(from, to)
                }
                false => text,
            });
            let options = options(folder.path());
            match run(&options) {
                Err(Fault::Run(why)) => assert!(why.contains(expected), "{expected}: {why}"),
                other => panic!("{expected}: {other:?}"),
            }
            assert!(!options.json.exists());
        }
    }

    #[test]
    fn programs_must_be_there_and_what_they_are_called() {
        let missing = tempfile::tempdir().unwrap();
        let found = |change: fn(&str, String) -> String| programs(folder(change).path());
        for (outcome, expected) in [
            (programs(missing.path()), "crates/rayon-core/workloads/build makes it"),
            (
                found(|_, text| text.replace("\"core\":\"locksley\"", "\"core\":\"rayon\"")),
                "core of rayon",
            ),
            (found(|_, text| text.replace("\"version\":", "\"edition\":")), "does not say"),
            (found(|_, text| format!("echo no luck >&2; exit 9\n{text}")), "no luck"),
            (
                found(|name, text| match name {
                    OURS => text.replace("\"size\":9", "\"size\":8"),
                    _ => text,
                }),
                "not those of the other",
            ),
        ] {
            match outcome {
                Err(Fault::Input(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{expected}: {other:?}"),
            }
        }
        // Who is not asked for need not be there.
        let folder = folder(unchanged);
        fs::remove_file(folder.path().join(UPSTREAM)).unwrap();
        let ours = Programs::find(Path::new("loop"), folder.path(), &[OURS]).unwrap();
        assert_eq!(ours.peers().len(), 1);
        assert_eq!(ours.workloads()[0].name, "life");
    }
}
