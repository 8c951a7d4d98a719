//! Figures of a made-up record, and measurements with scripts for programs.

use super::*;
use crate::experiment::record::{OTHERS, Sample};

/// Rates of a workload on rayon and on Locksley in three rotations, and of `loop` beside it.
fn record() -> Record {
    let mut record = Record::new("rayon", Plan::default());
    let mut add = |subject: &str, runtime: &str, workers: usize, metric: &str, values: [f64; 3]| {
        let name = |text: &str| text.to_owned();
        record.samples.extend(values.into_iter().enumerate().map(|(repeat, value)| Sample {
            experiment: name("rayon"),
            subject: name(subject),
            runtime: name(runtime),
            workers,
            repeat,
            metric: name(metric),
            value,
        }));
    };
    // Locksley takes 0.5, 1.0 and 0.8 times as long; the machine gets faster meanwhile.
    add("life 9, alone", UPSTREAM, 2, MS, [2.5, 10.0, 10.0].map(f64::recip));
    add("life 9, alone", OURS, 2, MS, [5.0, 10.0, 12.5].map(f64::recip));
    add("life 9, oversubscribed", UPSTREAM, 8, MS, [0.5; 3]);
    add("life 9, oversubscribed", OURS, 8, MS, [0.25; 3]);
    // Both lose half each time; on rayon, the program loses three quarters the last time.
    for (runtime, last) in [(UPSTREAM, 2.5), (OURS, 5.0)] {
        add("life 9, beside", runtime, 2, MS, [5.0, 5.0, last].map(f64::recip));
        add("life 9, beside", runtime, 2, OTHERS, [0.25; 3]);
    }
    record
}

/// The geometric mean of the ratios of each setting.
fn means(record: &Record) -> Vec<String> {
    let tables = Rayon::report(record).sections.into_iter().map(|mut it| it.tables.remove(0));
    tables.filter_map(|table| Some(table.rows.last()?[1].clone())).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn ratios_are_of_processes_that_ran_one_after_the_other() {
    let record = record();
    // The medians of the times are of different rotations; their ratio would be 1.
    let (table, medians) = ratios(&record, &subjects(&record, ALONE));
    assert_eq!(table.rows, [["life 9", "0.800", "0.500", "1.000"]]);
    assert!(close(medians[0], 0.8));
    assert_eq!(means(&record), ["0.800", "0.500", "1.000"]);
    let Report { headline, .. } = Rayon::report(&record);
    let means = "0.80 alone, 2 workers; 0.50 oversubscribed, 8 workers; 1.00 beside loop";
    assert!(headline.contains(means), "{headline}");
    assert!(record.disturbance().unwrap().contains("0.25 processors"));
}

#[test]
fn means_of_ratios_are_geometric() {
    let mut record = record();
    let mut slow = record.samples.clone();
    slow.retain(|sample| sample.subject == "life 9, alone");
    for sample in &mut slow {
        sample.subject = "tsp 9, alone".to_owned();
        // Ratios of 1.25.
        sample.value = if sample.runtime == OURS { 1.25 } else { 1.0 };
    }
    record.samples.extend(slow);
    // Of 0.8 and 1.25.
    assert_eq!(means(&record), ["1.000", "0.500", "1.000"]);
}

#[test]
fn one_runtime_has_times_but_no_ratios() {
    let mut record = record();
    record.samples.retain(|sample| sample.runtime != UPSTREAM);
    let report = Rayon::report(&record);
    assert_eq!(report.headline, "Programs written for rayon");
    assert!(report.sections.iter().all(|section| section.tables[0].rows.is_empty()));
    assert!(crate::experiment::text::tables(&record, &report).contains("life 9"));
}

/// Measurements with shell scripts for programs, with clocks that say what they are to say.
#[cfg(unix)]
mod scripts {
    use std::io::Write;
    use std::path::Path;
    use std::process::Stdio;

    use super::*;
    use crate::experiment::Readings;

    /// A workload: computations of a second each, on two processors, until told to stop.
    const WORKLOAD: &str = r#"
        if [ "$1" = version ]; then
            echo '{"version":"v1","core":"CORE","workloads":[
                {"name":"life","size":9,"about":"cells"},
                {"name":"sieve","size":7,"about":"primes"}]}'
            exit
        fi
        test "$*" = "life 9 $3 5" || { echo "arguments: $*" >&2; exit 2; }
        echo ready; read go
        for n in 1 2 3; do
            echo "{\"computation\":{\"begun\":${n}000000000,\"ended\":$((n + 1))000000000}}"
        done
        read stop
        echo '{"end":{"begun":1000000000,"ended":4000000000,"processor_seconds":6.0}}'
        read stop; true"#;

    /// `loop`, which begins in the middle of the first computation and ends with the second.
    const BUSY: &str = r#"
        test "$1 $4" = "rounds loop" || { echo "arguments: $*" >&2; exit 2; }
        echo ready; read go
        echo '{"runtime":"loop","P":2,"rounds_per_s":50.0,"rounds":100,'\
            '"begun":1500000000,"ended":3000000000,"processor_seconds":3.0}'"#;

    /// Writes an executable file. Another process does: a file that is open for writing in this
    /// one, for a process that another test starts at that time as well, could not be run.
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
        for runtime in RUNTIMES {
            let text = WORKLOAD.replace("CORE", runtime);
            script(&folder.path().join(runtime), &change(runtime, text));
        }
        script(&folder.path().join(LOOP), &change(LOOP, BUSY.to_owned()));
        folder
    }

    fn unchanged(_: &str, text: String) -> String {
        text
    }

    fn course(quick: bool) -> Course {
        Course { quick, seed: 5, ..Course::default() }
    }

    fn on(folder: &Path) -> Rayon {
        let (programs, looping) = (Some(folder.to_owned()), Some(folder.join(LOOP)));
        let secs = Some(Duration::ZERO);
        Rayon { workloads: vec!["life".into()], programs, looping, secs, ..Rayon::default() }
    }

    /// One rotation.
    fn measured(mut rayon: Rayon) -> Outcome<Vec<(Cell, Readings)>> {
        let plan = rayon.plan(&course(true))?;
        let measure = |cell: &Cell| Ok((cell.clone(), rayon.measure(&plan, cell, 0)?));
        plan.cells.iter().map(measure).collect()
    }

    #[test]
    fn only_computations_beside_loop_count_beside_loop() {
        let folder = folder(unchanged);
        let found = measured(on(folder.path())).unwrap();
        // Two programs in three settings.
        assert_eq!(found.len(), 2 * 3);
        assert!(found.iter().all(|(_, readings)| readings[MS] == 1e3), "{found:?}");
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
            (UPSTREAM, "\"begun\\\"", "\"started\\\"", "a process printed"),
            (LOOP, "echo '{", "echo 'pigs{", "pigs"),
            (LOOP, "\"ended\":3000000000", "\"ended\":2500000000", "--secs"),
        ] {
            let folder = folder(|name, text| match name == of {
                true => {
                    assert!(text.contains(from), "{from} in {text}");
                    text.replace(from, to)
                }
                false => text,
            });
            match measured(on(folder.path())) {
                Err(Fault::Run(why)) => assert!(why.contains(expected), "{expected}: {why}"),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }

    #[test]
    fn programs_must_be_there_and_what_they_are_called() {
        let missing = tempfile::tempdir().unwrap();
        let find = |folder: &Path| program::find(folder, &RUNTIMES);
        let found = |change: fn(&str, String) -> String| find(folder(change).path());
        for (outcome, expected) in [
            (find(missing.path()), "crates/rayon-core/workloads/build makes it"),
            (
                found(|_, text| text.replace("\"core\":\"locksley\"", "\"core\":\"rayon\"")),
                "core of rayon",
            ),
            (found(|_, text| text.replace("\"version\":", "\"edition\":")), "it printed"),
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
        // A program that is not asked for need not be there.
        let folder = folder(unchanged);
        std::fs::remove_file(folder.path().join(UPSTREAM)).unwrap();
        assert_eq!(program::find(folder.path(), &[OURS]).unwrap()[0].workloads[0].name, "life");
    }

    #[test]
    fn a_plan_has_what_is_asked_for() {
        let folder = folder(unchanged);
        let (full, quick) = (course(false), course(true));
        let all = Rayon { workloads: Vec::new(), ..on(folder.path()) };
        let plan = all.plan(&full).unwrap();
        // Two workloads in three settings on two cores, which take turns.
        assert_eq!(plan.cells.len(), 2 * 3 * 2);
        for pair in plan.cells.chunks(2) {
            let [theirs, ours] = pair else { panic!("pairs") };
            assert_eq!([&theirs.runtime, &ours.runtime], RUNTIMES);
            assert_eq!((&theirs.subject, theirs.workers), (&ours.subject, ours.workers));
        }
        assert!(plan.runtimes[0].version.starts_with("v1 ("), "{plan:?}");
        let plan = all.plan(&quick).unwrap();
        assert!(plan.notes[0].contains("life only") && plan.budget_seconds < 55.0);
        // A workload that is named is measured, quick or not.
        let settings = vec![BESIDE.to_owned()];
        let named = Rayon { workloads: vec!["sieve".into()], settings, ..on(folder.path()) };
        let subjects = named.plan(&quick).unwrap().cells;
        let subjects: Vec<&str> = subjects.iter().map(|cell| cell.subject.as_str()).collect();
        assert_eq!(subjects, ["sieve 7, beside"; 2]);
    }

    #[test]
    fn plans_keep_to_what_is_known() {
        let folder = folder(|_, text| text.replace("life", "cells"));
        let of = |change: fn(&mut Rayon)| {
            let mut rayon = Rayon { workloads: Vec::new(), ..on(folder.path()) };
            change(&mut rayon);
            rayon
        };
        for (wrong, expected) in [
            (of(|it| it.workloads = vec!["pigs".into()]), "cells, sieve"),
            (of(|it| it.settings = vec!["above".into()]), "alone, oversubscribed, beside"),
            (of(|it| it.runtimes = vec!["tbb".into()]), "rayon, locksley"),
            (of(|_| ()), "none of the workloads of a quick run"),
        ] {
            let fault = wrong.plan(&course(true)).unwrap_err();
            assert!(matches!(&fault, Fault::Input(why) if why.contains(expected)), "{fault}");
        }
    }
}
