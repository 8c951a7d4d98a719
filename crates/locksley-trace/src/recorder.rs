//! Beginning and ending a recording, and copying what it holds.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use locksley_sys::os;
use rustix::fs::MemfdFlags;

use crate::clock::{self, Clock};
use crate::error::Error;
use crate::file::Mapping;
use crate::format::{self, RINGS_OFFSET, WORD, header, ring};
use crate::labels::Labels;
use crate::live;

/// Which recording goes on: its number in the high half, 0 for none, and in the low half the
/// generation of the process, so that a forked child does not write to its parent's file.
pub(crate) static ACTIVE: AtomicU64 = AtomicU64::new(0);

/// The recording that goes on.
static SESSION: Mutex<Option<Arc<Session>>> = Mutex::new(None);

/// So many events of a thread are kept by default: 4 MiB of each.
const DEFAULT_EVENTS: usize = 1 << 18;
/// The same for a recording that is looked at while the program runs.
const LIVE_EVENTS: usize = 1 << 12;
/// A ring fills whole pages.
const FEWEST_EVENTS: usize = 256;
const MOST_EVENTS: usize = 1 << 28;

/// From so many rings on, a thread gets that of a thread that has ended, if there is one.
const MANY_RINGS: usize = 64;
/// There are at most so many rings.
const MOST_RINGS: usize = 4096;

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
        Self { events: DEFAULT_EVENTS }
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
        // Not truncated: another process may have mapped the old one.
        let unlinked = match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let opened = unlinked.and_then(|()| options.open(path)).map_err(Error::file(path));
        self.record(opened?, path).inspect_err(|_| _ = fs::remove_file(path))
    }

    /// Records into memory that ends with the program: for [`Recording::dump`].
    ///
    /// # Errors
    /// If there is a recording already, or the system gives no memory.
    pub fn record_in_memory(&self) -> Result<Recording, Error> {
        let path = PathBuf::from("memory");
        let memory = rustix::fs::memfd_create("locksley-trace", MemfdFlags::CLOEXEC);
        let file = memory.map_err(io::Error::from).map_err(Error::file(&path))?;
        self.record(file.into(), &path)
    }

    /// Records few events into [`live_file`](crate::live_file), to be looked at while the program
    /// runs. The file is removed when the recording ends.
    ///
    /// # Errors
    /// Those of [`record_to`](Self::record_to).
    pub fn record_live(&self) -> Result<Recording, Error> {
        let path = live::prepare()?;
        let mut recording = self.clone().events(LIVE_EVENTS).record_to(&path)?;
        recording.live_file = Some(path);
        Ok(recording)
    }

    fn record(&self, file: File, path: &Path) -> Result<Recording, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let mut current = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_some() {
            return Err(Error::AlreadyRecording);
        }
        let session = Session::new(file, self.events).map_err(Error::file(path))?;
        let session = Arc::new(session);
        *current = Some(Arc::clone(&session));
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed) << 32;
        // Release pairs with the acquire in `current`: a thread that sees the number finds it.
        ACTIVE.store(number | u64::from(os::generation()), Ordering::Release);
        Ok(Recording { session, live_file: None })
    }
}

/// A recording that goes on until this is dropped.
#[derive(Debug)]
pub struct Recording {
    session: Arc<Session>,
    /// To be removed at the end.
    live_file: Option<PathBuf>,
}

impl Recording {
    /// Writes what happened in the `last` time into a file of its own. The recording goes on.
    ///
    /// # Errors
    /// If the file cannot be written. Then there is none.
    pub fn dump(&self, path: impl AsRef<Path>, last: Duration) -> Result<(), Error> {
        let path = path.as_ref();
        let since = clock::now().saturating_sub(last.as_nanos() as u64);
        let written = self.session.copy(path, since);
        written.inspect_err(|_| _ = fs::remove_file(path)).map_err(Error::file(path))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        ACTIVE.store(0, Ordering::Release);
        self.session.header.words()[header::IS_STOPPED].store(1, Ordering::Release);
        *SESSION.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(file) = &self.live_file {
            let _ = fs::remove_file(file);
        }
    }
}

/// What the threads of a recording share.
#[derive(Debug)]
pub(crate) struct Session {
    file: File,
    header: Mapping,
    labels: Labels,
    capacity: usize,
    pub(crate) clock: Clock,
    rings: Mutex<Rings>,
}

#[derive(Debug, Default)]
struct Rings {
    made: usize,
    /// Rings of threads that have ended, the oldest first.
    ended: std::collections::VecDeque<usize>,
}

impl Session {
    /// The recording that goes on. `None` if another thread begins or ends one at this moment: an
    /// event is not worth to wait for.
    pub(crate) fn current() -> Option<Arc<Self>> {
        SESSION.try_lock().ok()?.clone()
    }

    fn new(file: File, capacity: usize) -> io::Result<Self> {
        let mapping = Mapping::reserve(&file, 0, RINGS_OFFSET)?;
        let clock = Clock::best();
        let rate = clock.rate();
        let (ticks, monotonic) = clock.sync();
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let set = |word: usize, value: u64| mapping.words()[word].store(value, Ordering::Relaxed);
        set(header::PROCESS, std::process::id().into());
        set(header::CAPACITY, capacity as u64);
        set(header::RATE, rate.to_bits());
        set(header::TICKS, ticks);
        set(header::MONOTONIC, monotonic);
        set(header::REAL, real.as_nanos() as u64);
        let program = std::env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_name).unwrap_or_default();
        write_text(&mapping, header::NAME, header::NAME_BYTES, &name.to_string_lossy());
        let labels = Labels::new(&mapping);
        set(header::VERSION, format::VERSION);
        // Last: a file without it is no recording.
        mapping.words()[header::MAGIC].store(format::MAGIC, Ordering::Release);
        Ok(Self { file, header: mapping, labels, capacity, clock, rings: Mutex::default() })
    }

    /// The label of a name.
    pub(crate) fn intern(&self, name: &'static str) -> u32 {
        self.labels.intern(&self.header, name)
    }

    /// A ring for the calling thread, and its number. `None` if there is no room.
    pub(crate) fn take_ring(&self) -> Option<(Mapping, usize)> {
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = if rings.made < MANY_RINGS { None } else { rings.ended.pop_front() };
        let number = reused.or_else(|| (rings.made < MOST_RINGS).then_some(rings.made));
        let bytes = format::ring_bytes(self.capacity);
        let mapped = number.and_then(|number| {
            let offset = format::ring_offset(number, self.capacity);
            Some((Mapping::reserve(&self.file, offset, bytes).ok()?, number))
        });
        match &mapped {
            Some((mapping, _)) if reused.is_some() => {
                mapping.words()[ring::HEAD].store(0, Ordering::Release);
            }
            Some(_) => {
                rings.made += 1;
                self.header.words()[header::RINGS].store(rings.made as u64, Ordering::Release);
            }
            None => {
                _ = self.header.words()[header::THREADS_WITHOUT].fetch_add(1, Ordering::Relaxed)
            }
        }
        mapped
    }

    /// Notes that the thread of a ring has ended.
    pub(crate) fn leave_ring(&self, number: usize) {
        // In a forked child, a thread of the parent may hold the lock for ever.
        if let Ok(mut rings) = self.rings.try_lock() {
            rings.ended.push_back(number);
        }
    }

    /// Copies the file. Threads write their rings meanwhile.
    fn copy(&self, path: &Path, since: u64) -> io::Result<()> {
        let copy =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut bytes = vec![0; RINGS_OFFSET];
        let rings = self.header.words()[header::RINGS].load(Ordering::Acquire);
        self.file.read_exact_at(&mut bytes, 0)?;
        set_word(&mut bytes, header::RINGS, rings);
        set_word(&mut bytes, header::SINCE, since);
        set_word(&mut bytes, header::IS_STOPPED, 1);
        copy.write_all_at(&bytes, 0)?;
        bytes.resize(format::ring_bytes(self.capacity), 0);
        for number in 0..rings as usize {
            let offset = format::ring_offset(number, self.capacity) as u64;
            let head_at = offset + (ring::HEAD * WORD) as u64;
            let head = self.word_at(head_at)?;
            self.file.read_exact_at(&mut bytes, offset)?;
            // The thread may have overwritten the oldest events, and be writing one more.
            let overwritten = self.word_at(head_at)? + 1;
            set_word(&mut bytes, ring::HEAD, head);
            set_word(&mut bytes, ring::FIRST, overwritten.saturating_sub(self.capacity as u64));
            copy.write_all_at(&bytes, offset)?;
        }
        Ok(())
    }

    fn word_at(&self, offset: u64) -> io::Result<u64> {
        let mut word = [0; WORD];
        self.file.read_exact_at(&mut word, offset)?;
        Ok(u64::from_le_bytes(word))
    }
}

fn set_word(bytes: &mut [u8], word: usize, value: u64) {
    bytes[word * WORD..][..WORD].copy_from_slice(&value.to_le_bytes());
}

/// Writes a text, and a zero if there is room, to words that no other thread writes.
pub(crate) fn write_text(mapping: &Mapping, first: usize, bytes: usize, text: &str) {
    let mut padded = vec![0; bytes];
    let length = text.len().min(bytes);
    padded[..length].copy_from_slice(&text.as_bytes()[..length]);
    for (word, chunk) in (first..).zip(padded.chunks_exact(WORD)) {
        let value = u64::from_le_bytes(chunk.try_into().expect("chunks have this size"));
        mapping.words()[word].store(value, Ordering::Relaxed);
    }
}
