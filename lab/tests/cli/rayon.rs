//! Programs written for rayon, with scripts in their place. What they compute and say is tested in
//! `crates/rayon-core/workloads`.

#![cfg(unix)]

use std::path::Path;

use serde_json::Value;

use crate::support::{command, script, stdout_of};

/// A workload: as many computations as a quick run wants, and then none until told to stop.
const WORKLOAD: &str = r#"#!/bin/sh
    if [ "$1" = version ]; then
        echo '{"version":"v1","core":"CORE","workloads":[{"name":"life","size":9,"about":"cells"}]}'
        exit
    fi
    test -z "$RAYON_NUM_THREADS" || { echo "it has the settings of another" >&2; exit 2; }
    echo ready; read go
    for n in 1 2 3; do echo "{\"computation\":{\"begun\":${n}000,\"ended\":$((n + 1))000}}"; done
    read stop
    echo '{"end":{"begun":1000,"ended":4000}}'
    read stop; true
"#;

/// Both programs in `folder`.
fn programs(folder: &Path) {
    for core in ["rayon", "locksley"] {
        script(&folder.join(core), &WORKLOAD.replace("CORE", core));
    }
}

/// Any time is long enough for the scripts.
const OPTIONS: [&str; 6] =
    ["rayon", "--quick", "--settings", "alone,oversubscribed", "--secs", "0.000001"];

#[test]
fn rayon_measures_and_reports_and_does_not_measure_again() {
    let folder = tempfile::tempdir().unwrap();
    programs(&folder.path().join("built"));
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (built, out, again, json) = (path("built"), path("out"), path("again"), path("rayon.json"));
    let to = ["--programs", &built, "--out", &out, "--json", &json];
    let arguments = [&OPTIONS[..], &to].concat();
    let output = command(&arguments).env("RAYON_NUM_THREADS", "7").output().unwrap();
    let (text, news) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{news}");
    assert!(!news.contains('\u{1b}'), "progress is for terminals: {news}");
    for word in ["life 9", "time on Locksley over that on rayon", "geometric mean", "1.000"] {
        assert!(text.contains(word), "{text}");
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(record["experiment"], "rayon");
    let samples = record["samples"].as_array().unwrap();
    let times = samples.iter().filter(|sample| sample["metric"] == "ms");
    // Three rotations, two settings, two cores.
    assert_eq!(times.count(), 3 * 2 * 2);

    let output = command(&arguments).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("measured already"));
    stdout_of(&["report", "--json", &json, "--out", &again]);
    let page =
        |folder: &str| std::fs::read_to_string(Path::new(folder).join("index.html")).unwrap();
    assert_eq!(page(&out), page(&again));
}

#[test]
fn a_wrong_answer_ends_it_with_a_fault_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    programs(folder.path());
    let wrong = WORKLOAD.replace("CORE", "locksley");
    let wrong = wrong.replace("echo ready;", "echo 'the answer is wrong' >&2; exit 1;");
    script(&folder.path().join("locksley"), &wrong);
    let here = folder.path().to_str().unwrap();
    let arguments = [&OPTIONS[..], &["--programs", here, "--out", here]].concat();
    let output = command(&arguments).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.contains("life 9, alone on locksley")
            && complaint.contains("the answer is wrong")
    );
}

#[test]
fn the_programs_are_built_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let run = || {
        let arguments = [&OPTIONS[..], &["--repeats", "1"]].concat();
        let output = command(&arguments).current_dir(root).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, complaint) = run();
    assert_eq!(code, Some(2), "{complaint}");
    assert!(complaint.contains("build is not there") && complaint.contains("--programs"));

    let build = root.join("crates/rayon-core/workloads/build");
    script(&build, "#!/bin/sh\necho no cargo here >&2\nexit 7\n");
    let (code, complaint) = run();
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains("build failed") && complaint.contains("no cargo here"));

    programs(&root.join("made"));
    script(
        &build,
        "#!/bin/sh\nbin=crates/rayon-core/workloads/bin\nmkdir -p $bin && cp made/* $bin/\n",
    );
    let (code, news) = run();
    assert_eq!(code, Some(0), "{news}");
    assert!(root.join("out/rayon-quick/index.html").is_file(), "{news}");
}
