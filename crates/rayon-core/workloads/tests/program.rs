//! The program from outside, as the laboratory runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayon-workloads"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = program(arguments).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn line(stdout: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    line
}

/// The number behind `"name":`.
fn number(line: &str, name: &str) -> f64 {
    let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{line}"));
    rest.split([',', '}']).next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"))
}

fn names() -> Vec<String> {
    let output = program(&[]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn each_workload_is_computed_until_told_to_stop() {
    for name in names() {
        let (mut child, mut stdout) = started(&[&name, "9", "2", "7"]);
        assert_eq!(line(&mut stdout), "ready\n", "{name}");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"\n").unwrap();
        let mut computations = vec![line(&mut stdout), line(&mut stdout)];
        stdin.write_all(b"\n").unwrap();
        let end = loop {
            let line = line(&mut stdout);
            if line.starts_with("{\"end\":") {
                break line;
            }
            computations.push(line);
        };
        assert_eq!(child.try_wait().unwrap(), None, "others may still be measured");
        drop(stdin);
        assert!(child.wait().unwrap().success());
        let mut earlier = number(&end, "begun");
        for line in &computations {
            assert!(line.starts_with("{\"computation\":"), "{line}");
            let (begun, ended) = (number(line, "begun"), number(line, "ended"));
            assert!(earlier <= begun && begun <= ended, "{computations:?} {end}");
            earlier = ended;
        }
        assert!(earlier <= number(&end, "ended"), "{computations:?} {end}");
        #[cfg(target_os = "linux")]
        assert!(number(&end, "processor_seconds") > 0.0, "{end}");
    }
}

#[test]
fn a_gate_that_stays_closed_is_a_fault() {
    let (mut child, mut stdout) = started(&["life", "9", "1", "7"]);
    assert_eq!(line(&mut stdout), "ready\n");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(complaint.contains("gate"), "{complaint}");
}

#[test]
fn it_introduces_itself() {
    let output = program(&["version"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.lines().count() == 1, "{text}");
    // Without a patch.
    assert!(
        text.contains("\"core\":\"rayon\",") && text.contains("\"version\":\"rayon "),
        "{text}"
    );
    for name in names() {
        assert!(text.contains(&format!("{{\"name\":\"{name}\",\"size\":")), "{text}");
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let cases: [(&[&str], &str); 8] = [
        (&["pigs", "-", "1", "0"], "pigs"),
        (&["life"], "seed"),
        (&["life", "-", "1", "0", "0"], "seed"),
        (&["life", "0", "1", "0"], "at least 1"),
        (&["life", "9", "0", "0"], "at least 1"),
        (&["life", "9", "many", "0"], "many"),
        (&["life", "9", "1", "-1"], "-1"),
        (&["life", "99999999", "1", "0"], "8192"),
    ];
    for (wrong, expected) in cases {
        let output = program(wrong).output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(complaint.contains(expected) && complaint.lines().count() == 1, "{complaint}");
        assert!(output.stdout.is_empty(), "{wrong:?}");
    }
}
