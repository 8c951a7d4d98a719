//! Beginning and ending a recording, and copying what it holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use locksley_sys::os;

use crate::clock;
use crate::error::Error;
use crate::live;
use crate::session::{Session, current, replace};
use crate::watch::{LIVE_EVENTS, Live, TRACE_EVENTS, Watch};

/// A ring fills whole pages.
const FEWEST_EVENTS: usize = 256;
const MOST_EVENTS: usize = 1 << 28;

/// Options of a recording.
///
/// # Examples
/// Keep the last events of each thread in memory, and write them where a request was slow:
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

    /// Keeps so many events of each thread, rounded up to a power of two. Each takes 16 bytes.
    /// Default: 262,144.
    #[must_use]
    pub fn events(self, events: usize) -> Self {
        let events = events.clamp(FEWEST_EVENTS, MOST_EVENTS).next_power_of_two();
        Self { events }
    }

    /// Records into a file, which can be read at any time, also after the program has died. An
    /// existing file is replaced. Other users cannot read it.
    ///
    /// No process may truncate the file while it is written: that would end the program.
    ///
    /// # Errors
    /// If there is a recording already, or the file cannot be made, for example since the disk is
    /// full.
    pub fn record_to(&self, path: impl AsRef<Path>) -> Result<Recording, Error> {
        let path = path.as_ref();
        begin(path, || Session::at(path, self.events))?;
        Ok(Recording::new(None))
    }

    /// Records into memory that ends with the program: for [`Recording::dump`].
    ///
    /// # Errors
    /// If there is a recording already, or the system gives no memory.
    pub fn record_in_memory(&self) -> Result<Recording, Error> {
        begin(Path::new("memory"), || Session::in_memory(self.events))?;
        Ok(Recording::new(None))
    }

    /// Records few events into [`live_file`](crate::live_file), to be looked at while the program
    /// runs, and obeys the commands of processes that may write the file: see
    /// [`Command`](crate::Command). The file is removed when the recording ends.
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

/// A recording that goes on until this is dropped.
#[derive(Debug)]
pub struct Recording {
    /// To be removed at the end.
    live_file: Option<PathBuf>,
    /// Of a forked child, which has no part in the recording.
    generation: u32,
    watch: Option<Watch>,
}

impl Recording {
    fn new(live_file: Option<PathBuf>) -> Self {
        let watch = Watch::start(live_file.clone().map(Live::new));
        Self { live_file, generation: os::generation(), watch }
    }

    /// Writes what happened in the `last` time into a file of its own. The recording goes on.
    ///
    /// # Errors
    /// If the file cannot be written. Then there is none.
    pub fn dump(&self, path: impl AsRef<Path>, last: Duration) -> Result<(), Error> {
        let path = path.as_ref();
        let since = clock::now().saturating_sub(last.as_nanos() as u64);
        let session = current().clone();
        let written = session.map_or(Ok(()), |session| session.copy(path, since));
        let is_file = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
        written
            .inspect_err(|_| _ = is_file.then(|| fs::remove_file(path)))
            .map_err(Error::file(path))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.generation != os::generation() {
            // In a forked child: the file is the parent's, and the thread is not there.
            return std::mem::forget(self.watch.take());
        }
        // First: it may begin another recording.
        drop(self.watch.take());
        replace(&mut current(), None);
        if let Some(file) = &self.live_file {
            let _ = fs::remove_file(file);
        }
    }
}
