//! Counting instructions with valgrind, where it is installed: the same number each time, whoever else uses the machine.

use std::ffi::OsStr;
use std::process::Command;
use std::time::Duration;

use crate::experiments::child::{self, Ended};

/// Valgrind runs a program some fifty times slower.
const LIMIT: Duration = Duration::from_secs(120);

/// Whether valgrind can be run.
pub fn can_be_counted() -> bool {
    matches!(child::run(Command::new("valgrind").arg("--version"), LIMIT), Ended::Well(..))
}

/// The instructions that `command` executes in all its threads.
pub(super) fn count(command: &Command) -> Result<u64, String> {
    let mut under_valgrind = Command::new("valgrind");
    under_valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args([command.get_program()].into_iter().chain(command.get_args()));
    let changed: Vec<(&OsStr, Option<&OsStr>)> = command.get_envs().collect();
    for (name, _) in changed.into_iter().filter(|(_, value)| value.is_none()) {
        under_valgrind.env_remove(name);
    }
    match child::run(&mut under_valgrind, LIMIT) {
        Ended::Well(_, err) => {
            collected(&err).ok_or_else(|| "valgrind did not say how many".to_owned())
        }
        Ended::Badly(why) => Err(why),
        Ended::Never => Err("valgrind did not come to an end".to_owned()),
    }
}

/// The number in the line `==PID== Collected : NUMBER`.
fn collected(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn what_callgrind_reports() {
        let report = "==7== Events    : Ir\n==7== Collected : 1234567\n==7== \n";
        assert_eq!(collected(report), Some(1_234_567));
        assert_eq!(collected("==7== nothing"), None);
    }
}
