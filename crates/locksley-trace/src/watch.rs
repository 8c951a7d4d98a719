//! The thread of a recording that polls for what causes no events: throttling by quotas, and
//! commands of other processes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::Duration;

use locksley::extend::PoolSize;
use locksley_sys::os::{Quota, QuotaWatch};

use crate::format::header;
use crate::live::{self, Command};
use crate::record::Kind;
use crate::session::{self, Session};
use crate::thread;

/// The polling period: a quarter of a quota's usual period. Polling costs about 100 µs a second.
const PERIOD: Duration = Duration::from_millis(25);

/// The handle of the thread. Dropping it stops and joins the thread.
#[derive(Debug)]
pub(crate) struct Watch {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl Watch {
    /// Starts the thread. `None` if there is nothing to poll, or no thread can be created.
    pub(crate) fn start(live: Option<Live>) -> Option<Self> {
        let throttling = Throttling::new();
        if live.is_none() && throttling.is_none() {
            return None;
        }
        let ends = Arc::new(AtomicBool::new(false));
        let ends_too = Arc::clone(&ends);
        let look = move || {
            let (mut live, mut throttling) = (live, throttling);
            while !ends_too.load(Ordering::Relaxed) {
                live.iter_mut().for_each(Live::obey);
                throttling.iter_mut().for_each(Throttling::record);
                park_timeout(PERIOD);
            }
            throttling.iter_mut().for_each(Throttling::record);
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

/// The traced pools of this process, by their numbers. Pools that have ended stay.
static POOLS: Mutex<BTreeMap<u8, Arc<dyn PoolSize>>> = Mutex::new(BTreeMap::new());

pub(crate) fn note_pool(number: u8, pool: Arc<dyn PoolSize>) {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner).insert(number, pool);
}

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
        let pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (&number, pool) in &pools {
            let size = pool.size().unwrap_or(0) as u64;
            let word = &session.header()[header::SIZES + usize::from(number)];
            word.store(size, Ordering::Relaxed);
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
            fs::hard_link(&self.path, kept)?;
        }
        session::replace(&mut session::current(), Some(session));
        // Last, and atomically: a reader finds the old file or the new one.
        fs::rename(&new, &self.path)
    }
}

/// Measures for how long the process's CPU quota has throttled it.
struct Throttling {
    groups: QuotaWatch,
    quota: Quota,
    before: Duration,
}

impl Throttling {
    /// `None` if there is no quota now, or the kernel does not report throttling.
    fn new() -> Option<Self> {
        let groups = QuotaWatch::of_this_process();
        let quota = groups.quota().0?;
        let before = groups.throttled(&quota)?;
        Some(Self { groups, quota, before })
    }

    fn record(&mut self) {
        let now = self.groups.throttled(&self.quota).unwrap_or(self.before);
        let micros = now.saturating_sub(self.before).as_micros();
        if micros > 0 {
            thread::record(Kind::Throttled, 0, u32::try_from(micros).unwrap_or(u32::MAX));
            self.before = now;
        }
    }
}
