//! Starts, dumps and ends recordings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use locksley_sys::os;

use crate::clock;
use crate::error::Error;
use crate::live;
use crate::session::{ACTIVE, Session, current, replace};
use crate::watch::{LIVE_EVENTS, Live, TRACE_EVENTS, Watch};

/// A ring fills whole pages.
const FEWEST_EVENTS: usize = 256;
const MOST_EVENTS: usize = 1 << 28;

/// Options of a recording.
///
/// # Examples
/// Keep the last events of each thread in memory, and write them after a slow request:
/// ```
/// use std::time::{Duration, Instant};
///
/// let recording = locksley_trace::Recorder::new().events(1 << 12).record_in_memory()?;
/// let folder = tempfile::tempdir()?;
/// let began = Instant::now();
/// // ... a request ...
/// if began.elapsed() >= Duration::ZERO {
///     recording.dump(folder.path().join("slow.trace"), Duration::from_millis(100))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    events: usize,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { events: TRACE_EVENTS }
    }
}

impl Recorder {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of events kept of each thread, 16 bytes each. Clamped to 256–2²⁸, and rounded up
    /// to a power of two. Default: 262,144. [`record_live`](Self::record_live) ignores it.
    #[must_use]
    pub fn events(self, events: usize) -> Self {
        let events = events.clamp(FEWEST_EVENTS, MOST_EVENTS).next_power_of_two();
        Self { events }
    }

    /// Records into a file, which can be read at any time, even after the program has crashed. An
    /// existing file is replaced. Other users cannot read it.
    ///
    /// No process may truncate the file during the recording: the program would die by SIGBUS.
    ///
    /// The recording keeps a descriptor of the file. If the program closes all descriptors, the
    /// recording ends when the next thread wants to record, and the file has what came before.
    ///
    /// # Errors
    /// If a recording is active, or another process records into the file, or the file cannot be
    /// created, for example because the disk is full.
    pub fn record_to(&self, path: impl AsRef<Path>) -> Result<Recording, Error> {
        let path = path.as_ref();
        begin(path, || Session::at(path, self.events))?;
        Ok(Recording::new(None))
    }

    /// Records into memory, for [`Recording::dump`]. The events are lost when the program ends.
    ///
    /// # Errors
    /// If a recording is active, or the memory cannot be allocated.
    pub fn record_in_memory(&self) -> Result<Recording, Error> {
        begin(Path::new("memory"), || Session::in_memory(self.events))?;
        Ok(Recording::new(None))
    }

    /// Records the last 4,096 events of each thread into [`live_file`](crate::live_file), to be
    /// watched while the program runs. Obeys [`Command`](crate::Command)s of processes that may
    /// write the file. It is removed when the recording ends.
    ///
    /// # Errors
    /// Those of [`record_to`](Self::record_to).
    pub fn record_live(&self) -> Result<Recording, Error> {
        let path = live::prepare()?;
        begin(&path, || Session::at(&path, LIVE_EVENTS))?;
        Ok(Recording::new(Some(path)))
    }
}

fn begin(path: &Path, make: impl FnOnce() -> io::Result<Session>) -> Result<(), Error> {
    let mut current = current();
    if current.is_some() {
        return Err(Error::AlreadyRecording);
    }
    replace(&mut current, Some(make().map_err(Error::file(path))?));
    Ok(())
}

/// An active recording. It ends when this is dropped.
#[derive(Debug)]
pub struct Recording {
    /// The file to remove at the end.
    live_file: Option<PathBuf>,
    /// The process generation at the start: a forked child does not record.
    generation: u32,
    watch: Option<Watch>,
}

impl Recording {
    fn new(live_file: Option<PathBuf>) -> Self {
        let watch = Watch::start(live_file.clone().map(Live::new));
        Self { live_file, generation: os::generation(), watch }
    }

    /// Writes the events of the last `last` into a new file. The recording continues.
    ///
    /// # Errors
    /// If the file cannot be written. Then it is removed, unless it could not even be opened. Or if
    /// the program has closed the descriptor of the recording, which then ends.
    pub fn dump(&self, path: impl AsRef<Path>, last: Duration) -> Result<(), Error> {
        let path = path.as_ref();
        let since = clock::now().saturating_sub(u64::try_from(last.as_nanos()).unwrap_or(u64::MAX));
        let (session, number) = {
            let current = current();
            // Relaxed: it changes only while the lock is held.
            (current.clone(), ACTIVE.load(Ordering::Relaxed))
        };
        let Some(session) = session else { return Ok(()) };
        session.stop_if_closed(number);
        session.copy(path, since).map_err(Error::file(path))
    }

    /// Ends when the program exits by itself.
    pub(crate) fn end_at_exit(self) {
        static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);
        extern "C" fn end() {
            // In a forked child, a thread of the parent may hold the lock for ever.
            if let Ok(mut recording) = RECORDING.try_lock() {
                drop(recording.take());
            }
        }
        *RECORDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
        // SAFETY: `end` may be called at any time, and does not unwind.
        let refused = unsafe { libc::atexit(end) };
        debug_assert_eq!(refused, 0);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.generation != os::generation() {
            // In a forked child: the file is the parent's, and the thread does not exist.
            return std::mem::forget(self.watch.take());
        }
        // First: its thread may replace the recording by another one.
        drop(self.watch.take());
        replace(&mut current(), None);
        if let Some(file) = &self.live_file {
            let _ = fs::remove_file(file);
        }
    }
}
