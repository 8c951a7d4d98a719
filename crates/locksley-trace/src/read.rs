//! Reads recordings.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::error::Error;
use crate::format::{
    self, EVENT_BYTES, HEADER_BYTES, LABELS_BYTES, MAGIC, NO_SLOT, RING_HEADER_BYTES, RINGS_OFFSET,
    VERSION, WORD, header, ring,
};
use crate::record::{Kind, Record, unpack_sync};
use crate::ring::{Ends, kept};

/// The contents of a recording.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The name of the program.
    pub program: String,
    /// Its process ID.
    pub process: u32,
    /// True if the recording was ended. Otherwise it is active, or the program has crashed.
    pub is_stopped: bool,
    /// The time of reading, on the clock of [`Record::at`].
    pub read_at: u64,
    /// The start time, in nanoseconds since 1970.
    pub began: u64,
    /// The names of spans and marks. [`Record::arg`] is an index into this.
    pub labels: Vec<String>,
    /// The recorded threads. A thread may have reused the ring of an ended one.
    pub threads: Vec<ThreadTrace>,
    /// The number of threads without a record, for example because the disk was full or the file
    /// is cut short.
    pub threads_without: u64,
    /// The number of this trace in its process, if a [`Command`](crate::Command) began it.
    pub command_trace: Option<u64>,
    /// In a live recording, the number and the size of each pool.
    pub sizes: Vec<(u32, u32)>,
}

/// The events of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadTrace {
    /// The name of the thread.
    pub name: String,
    /// Its thread ID.
    pub thread: u32,
    /// The number of its pool, if it was a worker.
    pub pool: u32,
    /// Its last slot in the pool. `None` if it never was a worker.
    pub slot: Option<u32>,
    /// The place of that worker.
    pub place: u8,
    /// The number of overwritten events.
    pub lost: u64,
    /// The remaining events, ordered by time.
    pub records: Vec<Record>,
}

impl Trace {
    /// Reads a recording: an ended one, an active one, or one of a program that crashed.
    ///
    /// # Errors
    /// If the file cannot be read, is not a recording, or has another version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = File::open(path).and_then(|file| snapshot(&file)).map_err(Error::file(path))?;
        let word = |word: usize| word_at(&bytes, word * WORD);
        if bytes.len() < RINGS_OFFSET || word(header::MAGIC) != Some(MAGIC) {
            return Err(Error::NotATrace(path.to_owned()));
        }
        if let Some(found) = word(header::VERSION).filter(|&it| it != VERSION) {
            return Err(Error::Version { path: path.to_owned(), found });
        }
        let read_at = crate::clock::now();
        let trace = Self::parse(&bytes).ok_or_else(|| Error::NotATrace(path.to_owned()))?;
        Ok(Self { read_at, ..trace })
    }

    /// Reads bytes of the right version. `None` if the header is invalid.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |word: usize| word_at(bytes, word * WORD);
        let used = (word(header::LABEL_BYTES)? as usize).min(LABELS_BYTES);
        let rings: Vec<&[u8]> = places_of_rings(bytes)?.map(|place| &bytes[place]).collect();
        let cut_off = word(header::RINGS)?.saturating_sub(rings.len() as u64);
        let clocks = Clocks::new(bytes, rings.iter().flat_map(|bytes| events(bytes)))?;
        let since = word(header::SINCE)?;
        let pools = (0..header::MOST_POOLS).map_while(|it| word(header::POOLS + it));
        let pools = pools.take_while(|&it| it != 0);
        let sizes = pools.map(|it| (((it >> 32) as u32).wrapping_sub(1), it as u32));
        let threads = rings.iter().filter_map(|bytes| ThreadTrace::parse(bytes, &clocks, since));
        Some(Self {
            program: text_at(bytes, header::NAME, header::NAME_BYTES),
            process: word(header::PROCESS)? as u32,
            is_stopped: word(header::IS_STOPPED)? != 0,
            began: word(header::REAL)?,
            labels: crate::names::names(&bytes[HEADER_BYTES..HEADER_BYTES + used]),
            threads: threads.collect(),
            threads_without: word(header::THREADS_WITHOUT)?.saturating_add(cut_off),
            sizes: sizes.collect(),
            command_trace: Some(word(header::TRACE)?).filter(|&it| it != 0),
            read_at: 0,
        })
    }
}

impl ThreadTrace {
    fn parse(bytes: &[u8], clocks: &Clocks, since: u64) -> Option<Self> {
        let word = |word: usize| word_at(bytes, word * WORD);
        let slot = word(ring::SLOT)?;
        let records = events(bytes).filter_map(|(time, word)| {
            let record = Record::unpack(time, word)?;
            let at = if record.kind.is_of_kernel() { time } else { clocks.nanos(time) };
            (record.kind != Kind::ClockSync && at >= since).then_some(Record { at, ..record })
        });
        let mut records: Vec<Record> = records.collect();
        // Context switches are written to the ring later than they happen.
        records.sort_by_key(|record| record.at);
        Some(Self {
            name: text_at(bytes, ring::NAME, ring::NAME_BYTES),
            thread: word(ring::THREAD)? as u32,
            pool: word(ring::POOL)? as u32,
            slot: (slot != NO_SLOT).then_some(slot as u32),
            place: word(ring::PLACE)? as u8,
            lost: word(ring::LOST)?,
            records,
        })
    }
}

/// The two words of each event in a ring, oldest first.
fn events(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let capacity = capacity(bytes);
    let head = word_at(bytes, ring::HEAD * WORD).unwrap_or(0);
    (oldest(bytes).unwrap_or(head)..head).filter_map(move |number| {
        let offset = RING_HEADER_BYTES + (number % capacity) as usize * EVENT_BYTES;
        Some((word_at(bytes, offset)?, word_at(bytes, offset + WORD)?))
    })
}

/// The number of the oldest event that can be read.
fn oldest(bytes: &[u8]) -> Option<u64> {
    let ends = ends(bytes)?;
    // The thread may have been overwriting the oldest event.
    Some(kept(ends, ends, capacity(bytes)).start)
}

fn ends(ring: &[u8]) -> Option<Ends> {
    let [head, first] = [ring::HEAD, ring::FIRST].map(|word| word_at(ring, word * WORD));
    Some(Ends { first: first?, head: head? })
}

/// Copies a file that a program may write meanwhile. Leaves out events that may be torn.
pub(crate) fn snapshot(file: &File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.resize(length, 0);
    let rings = RINGS_OFFSET.min(length);
    read_at(file, &mut bytes[..rings], 0)?;
    for place in places_of_rings(&bytes).into_iter().flatten() {
        let copy = &mut bytes[place.clone()];
        let mut copy_ring = || {
            let before = read_ends(file, place.start)?;
            read_at(file, copy, place.start)?;
            Ok::<_, io::Error>((before, read_ends(file, place.start)?))
        };
        let (mut before, mut after) = copy_ring()?;
        if before.first != after.first {
            // Once more: threads do not begin and end all the time.
            (before, after) = copy_ring()?;
        }
        let kept = kept(before, after, capacity(copy));
        set_word(copy, ring::HEAD, kept.end);
        set_word(copy, ring::FIRST, kept.start);
        set_word(copy, ring::LOST, kept.start.saturating_sub(after.first));
    }
    Ok(bytes)
}

fn read_ends(file: &File, ring: usize) -> io::Result<Ends> {
    let mut words = [0; 2 * WORD];
    read_at(file, &mut words, ring)?;
    Ok(ends(&words).expect("both are there"))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: usize) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset as u64)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], offset: usize) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset as u64))?;
    file.read_exact(bytes)
}

/// The ranges of all complete rings: the program may be adding another one. `None` if the header is
/// invalid.
fn places_of_rings(bytes: &[u8]) -> Option<impl Iterator<Item = Range<usize>> + use<>> {
    let word = |word: usize| usize::try_from(word_at(bytes, word * WORD)?).ok();
    let (capacity, rings) = (word(header::CAPACITY)?, word(header::RINGS)?);
    if !capacity.is_power_of_two() || capacity > 1 << 40 {
        return None;
    }
    let (size, length) = (format::ring_bytes(capacity), bytes.len());
    let places = (0..rings).map(move |number| {
        let begin = format::ring_offset(number, capacity);
        begin..begin + size
    });
    Some(places.take_while(move |place| place.end <= length))
}

/// The number of events that a ring has room for.
fn capacity(ring: &[u8]) -> u64 {
    ((ring.len() - RING_HEADER_BYTES) / EVENT_BYTES) as u64
}

pub(crate) fn set_word(bytes: &mut [u8], word: usize, value: u64) {
    bytes[word * WORD..][..WORD].copy_from_slice(&value.to_le_bytes());
}

/// Converts times of the recorder's clock to the monotonic clock.
struct Clocks {
    ticks: u64,
    nanos: u64,
    /// Ticks per nanosecond.
    rate: f64,
}

impl Clocks {
    fn new(bytes: &[u8], events: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let word = |word: usize| word_at(bytes, word * WORD);
        let (ticks, nanos) = (word(header::TICKS)?, word(header::MONOTONIC)?);
        let rate = f64::from_bits(word(header::RATE)?);
        let syncs = events.filter(|&(_, word)| Kind::of_word(word) == Some(Kind::ClockSync));
        let last = syncs.map(|(ticks, word)| (ticks, unpack_sync(word))).max();
        // The rate in the header was measured over a millisecond; this one is more exact.
        const LONG: u64 = 10_000_000;
        let rate = match last {
            Some((last_ticks, last_nanos))
                if last_nanos.saturating_sub(nanos) > LONG && last_ticks > ticks =>
            {
                (last_ticks - ticks) as f64 / (last_nanos - nanos) as f64
            }
            _ => rate,
        };
        (rate.is_finite() && rate > 0.0).then_some(Self { ticks, nanos, rate })
    }

    fn nanos(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.ticks) as i64 as f64 / self.rate;
        self.nanos.saturating_add_signed(since as i64)
    }
}

pub(crate) fn word_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

fn text_at(bytes: &[u8], word: usize, length: usize) -> String {
    let bytes = &bytes[word * WORD..][..length];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(length);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
