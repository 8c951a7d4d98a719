//! For how long the subject has made no progress: in processor time where it waits for processors.
//!
//! Other programs can keep the processors from the subject for any time. That is no hang.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;
use rustix::process::Pid;

/// At most this much of the time between two looks counts: this process may wait, too.
const LONGEST: Duration = Duration::from_secs(1);

/// The time without progress.
#[derive(Debug)]
pub(super) struct Standstill {
    time: Duration,
    looked: Instant,
    processor_time: Duration,
}

/// What the processes of the subject do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    /// The processor time that they have had.
    processor_time: Duration,
    /// True if one of their threads runs, or would if it had a processor.
    is_runnable: bool,
}

impl Standstill {
    pub(super) fn new() -> Standstill {
        Standstill { time: Duration::ZERO, looked: Instant::now(), processor_time: Duration::ZERO }
    }

    /// Notes progress.
    pub(super) fn end(&mut self) {
        self.time = Duration::ZERO;
    }

    /// Adds the time since the last look at the process group, and returns the time since the last
    /// progress.
    pub(super) fn look(&mut self, group: Pid) -> Duration {
        let since = self.looked.elapsed();
        self.looked = Instant::now();
        self.add(since, look(Path::new("/proc"), group.as_raw_nonzero().get()));
        self.time
    }

    fn add(&mut self, since: Duration, look: Look) {
        let granted = look.processor_time.saturating_sub(self.processor_time);
        self.processor_time = look.processor_time;
        let since = since.min(LONGEST);
        self.time += if look.is_runnable { granted.min(since) } else { since };
    }
}

fn look(proc: &Path, group: i32) -> Look {
    let mut look = Look { processor_time: Duration::ZERO, is_runnable: false };
    for (process, fields) in processes(proc, group) {
        // Its own time and that of the children that it has waited for, in user and kernel mode.
        let ticks = fields[11..15].iter().map(|ticks| ticks.parse().unwrap_or(0));
        let ticks: u64 = ticks.sum();
        look.processor_time += Duration::from_secs(ticks) / clock_ticks_per_second() as u32;
        let mut threads = folders(&process.join("task"));
        look.is_runnable |= threads.any(|it| stat(&it).is_some_and(|fields| fields[0] == "R"));
    }
    look
}

/// The folders of the processes of a group, and their fields.
pub(super) fn processes(
    proc: &Path,
    group: i32,
) -> impl Iterator<Item = (PathBuf, Vec<String>)> + use<> {
    let process = |folder: PathBuf| stat(&folder).map(|fields| (folder, fields));
    folders(proc).filter_map(process).filter(move |it| it.1[2] == group.to_string())
}

pub(super) fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The fields of a process or thread from its state on; none if it has ended.
pub(super) fn stat(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The name may contain blanks and parentheses.
    let fields: Vec<String> = text.rsplit(") ").next()?.split(' ').map(str::to_owned).collect();
    (fields.len() >= 15).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_unless_the_subject_waits_for_processors() {
        let mut standstill = Standstill::new();
        let mut add = |since, processor_time, is_runnable| {
            let [since, processor_time] = [since, processor_time].map(Duration::from_millis);
            standstill.add(since, Look { processor_time, is_runnable });
            standstill.time.as_millis()
        };
        assert_eq!(add(100, 0, false), 100, "all its threads are blocked");
        assert_eq!(add(100, 0, true), 100, "it gets no processor");
        assert_eq!(add(100, 30, true), 130, "it gets a part of a processor");
        assert_eq!(add(100, 230, true), 230, "it gets two processors");
        assert_eq!(add(60_000, 230, false), 1230, "this process gets no processor");
        standstill.end();
        assert_eq!(standstill.time, Duration::ZERO);
    }

    #[test]
    fn a_process_that_runs_is_seen() {
        let process = rustix::process::getpid();
        let group = rustix::process::getpgid(Some(process)).unwrap();
        let look_now = || look(Path::new("/proc"), group.as_raw_nonzero().get());
        let before = look_now();
        assert!(before.is_runnable);
        while look_now().processor_time <= before.processor_time {}
        assert!(!look(Path::new("/proc"), i32::MAX).is_runnable);
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let process = |id: &str, text: &str| {
            let main = folder.path().join(id).join("task").join(id);
            fs::create_dir_all(&main).unwrap();
            fs::write(folder.path().join(id).join("stat"), text).unwrap();
            fs::write(main.join("stat"), text).unwrap();
        };
        process("7", "7 (a ) R 8) S 1 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0\n");
        process("8", "8 (b) R 7 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0\n");
        process("9", "9 (c) R 7 9 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0\n");
        let ticks = clock_ticks_per_second() as u32;
        let processor_time = Duration::from_secs(129) / ticks;
        assert_eq!(look(folder.path(), 7), Look { processor_time, is_runnable: true });
    }
}
