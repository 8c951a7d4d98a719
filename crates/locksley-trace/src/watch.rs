//! The thread of a recording that polls for what causes no events: throttling by quotas, lengths of
//! queues, and commands of other processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::Duration;

use locksley_sys::os::{Quota, QuotaWatch};

use crate::format::header;
use crate::lengths::{self, Lengths};
use crate::live::{self, Command};
use crate::record::Kind;
use crate::session::{self, Session};
use crate::thread;

/// The polling period: a quarter of a quota's usual period. Polling costs about 100 µs a second.
const PERIOD: Duration = Duration::from_millis(25);
/// A quota is looked for in one of so many polls: it may be set or changed while the program runs.
const QUOTA_POLLS: u32 = 40;

/// The handle of the thread. Dropping it stops and joins the thread.
#[derive(Debug)]
pub(crate) struct Watch {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl Watch {
    /// Starts the thread. `None` if no thread can be created.
    pub(crate) fn start(mut live: Option<Live>) -> Option<Self> {
        let mut throttling = Throttling::new(QuotaWatch::of_this_process());
        let ends = Arc::new(AtomicBool::new(false));
        let ends_too = Arc::clone(&ends);
        let look = move || {
            let mut lengths = Lengths::default();
            while !ends_too.load(Ordering::Relaxed) {
                live.iter_mut().for_each(Live::obey);
                lengths.record();
                throttling.record();
                park_timeout(PERIOD);
            }
            throttling.record();
        };
        let thread = Builder::new().name("locksley-trace".to_owned()).spawn(look).ok()?;
        Some(Self { thread: Some(thread), ends })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // An error is a panic of the thread: nothing depends on it any more.
            let _ = thread.join();
        }
    }
}

/// The default number of events that are kept of each thread: 4 MiB.
pub(crate) const TRACE_EVENTS: usize = 1 << 18;
/// The number in a live recording.
pub(crate) const LIVE_EVENTS: usize = 1 << 12;

/// The live recording of this process. Executes commands.
#[derive(Debug)]
pub(crate) struct Live {
    path: PathBuf,
    /// The number of traces that commands have begun.
    traces: u64,
}

impl Live {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, traces: 0 }
    }

    /// Writes the sizes of the pools, and executes a pending command. Failures are ignored: readers
    /// see that the file has not changed.
    pub(crate) fn obey(&mut self) {
        let session = session::current().clone();
        let Some(session) = session else { return };
        let pools = lengths::pools();
        let known = pools.iter().filter_map(|(&number, pool)| Some((number, pool.size()?)));
        let words = known.map(|(number, size)| u64::from(number + 1) << 32 | size as u64);
        let words = words.take(header::MOST_POOLS - 1).chain([0]);
        for (word, to) in words.zip(&session.header()[header::POOLS..]) {
            to.store(word, Ordering::Relaxed);
        }
        let [command, trace] = [header::COMMAND, header::TRACE].map(|it| &session.header()[it]);
        let is_traced = trace.load(Ordering::Relaxed) != 0;
        match Command::of(command.swap(0, Ordering::Relaxed)) {
            Some(Command::Resize { pool, size }) => {
                if let Some(pool) = pools.get(&pool) {
                    pool.resize(size.into());
                }
            }
            Some(Command::BeginTrace) if !is_traced => {
                let begun = self.replace(TRACE_EVENTS, self.traces + 1, None);
                self.traces += u64::from(begun.is_ok());
            }
            Some(Command::EndTrace) if is_traced => {
                let kept = live::trace_file(std::process::id(), self.traces);
                let _ = self.replace(LIVE_EVENTS, 0, Some(&kept));
            }
            _ => {}
        }
    }

    /// Continues in a new file of the same name. The old one is kept as `kept`, if that is given.
    fn replace(&self, events: usize, trace: u64, kept: Option<&Path>) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let session = Session::at(&new, events)?;
        session.header()[header::TRACE].store(trace, Ordering::Relaxed);
        if let Some(kept) = kept {
            // An earlier process with the same ID may have left a file.
            let _ = fs::remove_file(kept);
            fs::hard_link(&self.path, kept).inspect_err(|_| _ = fs::remove_file(&new))?;
        }
        session::replace(&mut session::current(), Some(session));
        // Last, and atomically: a reader finds the old file or the new one.
        fs::rename(&new, &self.path)
    }
}

/// Measures for how long the process's CPU quota has throttled it.
struct Throttling {
    groups: QuotaWatch,
    /// The smallest quota, and for how long it had throttled the process at the last poll. `None`
    /// if there is no quota, or the kernel does not report throttling.
    known: Option<(Quota, Duration)>,
    polls: u32,
}

impl Throttling {
    fn new(groups: QuotaWatch) -> Self {
        Self { groups, known: None, polls: 0 }
    }

    fn record(&mut self) {
        let micros = self.micros_since_last_poll();
        if micros > 0 {
            thread::record(Kind::Throttled, 0, u32::try_from(micros).unwrap_or(u32::MAX));
        }
    }

    fn micros_since_last_poll(&mut self) -> u128 {
        if self.polls % QUOTA_POLLS == 0 {
            let quota = self.groups.quota().0;
            let file = |quota: &Quota| quota.file.clone();
            if quota.as_ref().map(file) != self.known.as_ref().map(|(quota, _)| file(quota)) {
                let throttled = |quota| Some((self.groups.throttled(&quota)?, quota));
                self.known = quota.and_then(throttled).map(|(before, quota)| (quota, before));
            }
        }
        self.polls = self.polls.wrapping_add(1);
        let Some((quota, before)) = &mut self.known else { return 0 };
        let now = self.groups.throttled(quota).unwrap_or(*before);
        now.saturating_sub(std::mem::replace(before, now)).as_micros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a made-up machine.
    #[test]
    fn a_quota_that_is_set_later_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let mount = "30 22 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
        write("proc/self/mountinfo", mount);
        write("proc/self/cgroup", "0::/job\n");
        write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
        write("sys/fs/cgroup/job/cpu.stat", "throttled_usec 900\n");
        let mut throttling = Throttling::new(QuotaWatch::below(root.path()));
        let mut polls =
            |number| -> u128 { (0..number).map(|_| throttling.micros_since_last_poll()).sum() };
        assert_eq!(polls(QUOTA_POLLS), 0);
        write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
        // What came before is another program's.
        assert_eq!(polls(QUOTA_POLLS), 0);
        write("sys/fs/cgroup/job/cpu.stat", "throttled_usec 1500\n");
        assert_eq!((polls(1), polls(1)), (600, 0));
        // And a group that sets less.
        write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
        assert_eq!(polls(QUOTA_POLLS), 0);
        write("sys/fs/cgroup/job/cpu.stat", "throttled_usec 1600\n");
        assert_eq!(polls(1), 0);
    }
}
