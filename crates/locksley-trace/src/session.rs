//! What the threads of a recording share: the file and its labels; and the current recording.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use locksley_sys::os;
use rustix::fs::MemfdFlags;

use crate::clock::Clock;
use crate::file::{KeptFile, Mapping};
use crate::format::{self, HEADER_BYTES, RINGS_OFFSET, WORD, header, ring};
use crate::labels::Labels;
use crate::read;
use crate::ring::begin;

/// The number of the current recording in the high half, 0 for none, and in the low half the
/// generation of the process, so that a forked child does not write to its parent's file.
pub(crate) static ACTIVE: AtomicU64 = AtomicU64::new(0);

/// The current recording.
static SESSION: Mutex<Option<Arc<Session>>> = Mutex::new(None);

/// If there are this many rings, a new thread reuses the ring of one that has ended, if possible.
const MANY_RINGS: usize = 64;
/// The largest number of rings.
const MOST_RINGS: usize = 4096;

/// The current recording. Threads that record only try this lock.
pub(crate) fn current() -> MutexGuard<'static, Option<Arc<Session>>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the current recording, and begins `session`, if there is one.
pub(crate) fn replace(current: &mut Option<Arc<Session>>, session: Option<Session>) {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    let number = session
        .as_ref()
        .map_or(0, |_| NUMBERS.fetch_add(1, Ordering::Relaxed) << 32 | u64::from(os::generation()));
    let old = std::mem::replace(current, session.map(Arc::new));
    // Release pairs with the acquire in `Thread::renew`: a thread that sees the number finds it.
    ACTIVE.store(number, Ordering::Release);
    if let Some(old) = old {
        old.mark_stopped();
    }
}

/// What the threads of a recording share.
#[derive(Debug)]
pub(crate) struct Session {
    file: KeptFile,
    header: Mapping,
    labels: Labels,
    capacity: usize,
    pub(crate) clock: Clock,
    rings: Mutex<Rings>,
}

#[derive(Debug, Default)]
struct Rings {
    made: usize,
    /// Rings of threads that have ended, the oldest first, and the numbers of their next events.
    ended: VecDeque<(usize, u64)>,
}

/// The other process that records to a file, if there is one. A process with the ID of this one has
/// ended: in a new container, IDs begin anew.
fn recorder_of(path: &Path) -> Option<u64> {
    let mut bytes = [0; HEADER_BYTES];
    File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    let word = |word: usize| read::word_at(&bytes, word * WORD);
    let is_recording = word(header::MAGIC)? == format::MAGIC && word(header::IS_STOPPED)? == 0;
    let process = word(header::PROCESS)?;
    let is_other = process != u64::from(std::process::id());
    let is_alive = || Path::new("/proc").join(process.to_string()).exists();
    (is_recording && is_other && is_alive()).then_some(process)
}

impl Session {
    /// The current recording. `None` if another thread begins or ends one at this moment: an event
    /// is not worth waiting for.
    pub(crate) fn try_current() -> Option<Arc<Self>> {
        SESSION.try_lock().ok()?.clone()
    }

    /// A recording in a new file, which replaces an existing one. If that fails, there is no file.
    pub(crate) fn at(path: &Path, events: usize) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is no ordinary file"));
        }
        if let Some(process) = recorder_of(path) {
            let why = format!("process {process} records to it; %p in a name is the process");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        // Not truncated: another process may have mapped the old one.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        Self::new(file, events).inspect_err(|_| _ = fs::remove_file(path))
    }

    /// A recording in memory, which ends with the program.
    pub(crate) fn in_memory(events: usize) -> io::Result<Self> {
        let memory = rustix::fs::memfd_create("locksley-trace", MemfdFlags::CLOEXEC)?;
        Self::new(memory.into(), events)
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
        // Last: a file without it is not a recording.
        mapping.words()[header::MAGIC].store(format::MAGIC, Ordering::Release);
        let file = KeptFile::new(file)?;
        Ok(Self { file, header: mapping, labels, capacity, clock, rings: Mutex::default() })
    }

    /// The words of the header.
    pub(crate) fn header(&self) -> &[AtomicU64] {
        self.header.words()
    }

    fn mark_stopped(&self) {
        self.header()[header::IS_STOPPED].store(1, Ordering::Release);
    }

    /// Ends this recording, which has that number, if the program has closed its file. It stays
    /// the current one, but no thread records. Does nothing in a forked child, since the file is
    /// the parent's.
    pub(crate) fn stop_if_closed(&self, number: u64) {
        if number as u32 == os::generation() && self.file.get().is_err() {
            self.mark_stopped();
            // Relaxed: nothing is published. It fails if there is another recording already.
            let _ = ACTIVE.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The label of a name.
    pub(crate) fn intern(&self, name: &str) -> u32 {
        self.labels.intern(&self.header, name)
    }

    /// A ring for the calling thread, its number, and that of the next event. `None` if there is no
    /// room, or the program has closed the file.
    pub(crate) fn take_ring(&self) -> Option<(Mapping, usize, u64)> {
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = if rings.made < MANY_RINGS { None } else { rings.ended.pop_front() };
        let taken = reused.or_else(|| (rings.made < MOST_RINGS).then_some((rings.made, 0)));
        let bytes = format::ring_bytes(self.capacity);
        let mapped = taken.and_then(|(number, head)| {
            let offset = format::ring_offset(number, self.capacity);
            Some((Mapping::reserve(self.file.get().ok()?, offset, bytes).ok()?, number, head))
        });
        match &mapped {
            Some((mapping, _, head)) if reused.is_some() => {
                begin(&mapping.words()[ring::FIRST], *head);
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

    /// Records that the thread of a ring has ended. `head` is the number of the next event.
    pub(crate) fn leave_ring(&self, number: usize, head: u64) {
        // In a forked child, a thread of the parent may hold the lock for ever.
        if let Ok(mut rings) = self.rings.try_lock() {
            rings.ended.push_back((number, head));
        }
    }

    /// Copies the file. Threads write their rings meanwhile.
    pub(crate) fn copy(&self, path: &Path, since: u64) -> io::Result<()> {
        let file = self.file.get()?;
        let mut copy =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // Not a device.
        let is_file = copy.metadata()?.is_file();
        let written = read::snapshot(file).and_then(|mut bytes| {
            read::set_word(&mut bytes, header::SINCE, since);
            read::set_word(&mut bytes, header::IS_STOPPED, 1);
            copy.write_all(&bytes)
        });
        written.inspect_err(|_| _ = is_file.then(|| fs::remove_file(path)))
    }
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
