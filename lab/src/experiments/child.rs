//! Running a program that may never end: one that measures something, or a peer that is asked for its version.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Deserialize;

/// What a peer says of itself.
#[derive(Deserialize)]
struct Introduction {
    version: String,
}

/// Long enough for a program to say its version on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself and well, having printed this to stdout and this to stderr.
    Well(String, String),
    /// By itself, and not well: why.
    Badly(String),
    /// It did not end within the time, and was killed.
    Never,
}

/// Runs `command` for at most `limit`.
pub(super) fn run(command: &mut Command, limit: Duration) -> Ended {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match piped.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::Badly(format!("it cannot be started: {error}")),
    };
    // A program has ended when it has closed both; so nobody polls while something is measured.
    let (sender, receiver) = mpsc::channel();
    let out = thread::spawn(reader(child.stdout.take(), sender.clone()));
    let err = thread::spawn(reader(child.stderr.take(), sender));
    let deadline = std::time::Instant::now() + limit;
    let in_time = (0..2).all(|_| {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        receiver.recv_timeout(left).is_ok()
    });
    if !in_time {
        let _ = child.kill();
    }
    let status = child.wait();
    if !in_time {
        // Whatever it started may hold on to the pipes, so their readers are not waited for.
        return Ended::Never;
    }
    let text = |reader: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let (out, err) = (text(out), text(err));
    match status {
        Ok(status) if status.success() => Ended::Well(out, err),
        Ok(status) => {
            let said = err.lines().next().unwrap_or("it said nothing");
            Ended::Badly(format!("it ended with {status}: {said}"))
        }
        Err(error) => Ended::Badly(error.to_string()),
    }
}

/// Runtimes are compared as they are: takes nobody's settings for them along.
pub(super) fn settings_removed(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["OMP_", "GOMP_", "KMP_", "TBB_", "RAYON_", "LOCKSLEY_"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
}

/// The version that a peer's program says it has; else why it cannot be measured.
pub(super) fn version_of_peer(file: &Path) -> Result<String, String> {
    if !file.is_file() {
        return Err(format!("{} is not there: peers/build makes it", file.display()));
    }
    match run(Command::new(file).arg("version"), PATIENCE) {
        Ended::Well(out, _) => serde_json::from_str::<Introduction>(&out)
            .map(|introduction| introduction.version)
            .map_err(|error| format!("it does not say its version: {error}")),
        Ended::Badly(why) => Err(why),
        Ended::Never => Err("it does not say its version".to_owned()),
    }
}

fn reader(
    pipe: Option<impl Read + Send + 'static>,
    ended: mpsc::Sender<()>,
) -> impl FnOnce() -> Vec<u8> + Send + 'static {
    move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = ended.send(());
        bytes
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn endings() {
        let long = Duration::from_secs(60);
        assert_eq!(
            run(&mut shell("echo out; echo err >&2"), long),
            Ended::Well("out\n".into(), "err\n".into())
        );
        let Ended::Badly(why) = run(&mut shell("echo because >&2; exit 3"), long) else {
            panic!("it ends with 3")
        };
        assert!(why.contains('3') && why.contains("because"), "{why}");
        let missing = run(&mut Command::new("./no such program"), long);
        assert!(matches!(missing, Ended::Badly(_)));
    }

    #[test]
    fn what_hangs_is_killed() {
        let short = Duration::from_millis(50);
        assert_eq!(run(&mut shell("exec sleep 1000"), short), Ended::Never);
        assert_eq!(run(&mut shell("sleep 5 & wait"), short), Ended::Never);
    }
}
