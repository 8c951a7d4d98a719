//! The layout of a file: a header, the table of labels, and a ring for each thread. All numbers are
//! 64-bit words, little-endian.

/// What a file begins with.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"lkstrace");

/// The version of the layout. A reader knows only its own.
pub(crate) const VERSION: u64 = 3;

/// Words of the header, by their index.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const PROCESS: usize = 2;
    /// The number of events in a ring, a power of two.
    pub(crate) const CAPACITY: usize = 3;
    /// Ticks per nanosecond, the bits of an `f64`.
    pub(crate) const RATE: usize = 4;
    /// One moment on three clocks: the recorder's, the monotonic one, that of the day.
    pub(crate) const TICKS: usize = 5;
    pub(crate) const MONOTONIC: usize = 6;
    pub(crate) const REAL: usize = 7;
    /// The number of rings.
    pub(crate) const RINGS: usize = 8;
    /// Used bytes of the table of labels.
    pub(crate) const LABEL_BYTES: usize = 9;
    /// 1 if the recording was stopped; otherwise it goes on, or the program has died.
    pub(crate) const IS_STOPPED: usize = 10;
    /// Events before this time, in nanoseconds, are to be left out.
    pub(crate) const SINCE: usize = 11;
    /// Threads that got no ring.
    pub(crate) const THREADS_WITHOUT: usize = 12;
    /// What another process asks of this one: see [`Command`](crate::Command).
    pub(crate) const COMMAND: usize = 13;
    /// Which trace of the process this is, if a command has begun it.
    pub(crate) const TRACE: usize = 14;
    /// The name of the program, up to a zero.
    pub(crate) const NAME: usize = 16;
    pub(crate) const NAME_BYTES: usize = 128;
    /// The pools of a live recording: the size in the low half, and above it the number, plus 1. 0
    /// after the last one.
    pub(crate) const POOLS: usize = 32;
    pub(crate) const MOST_POOLS: usize = 256;
}

/// Words of the header of a ring.
pub(crate) mod ring {
    /// The number of events ever written.
    pub(crate) const HEAD: usize = 0;
    /// The number of the oldest event that is not to be left out. Each thread that gets the ring
    /// begins with another one.
    pub(crate) const FIRST: usize = 1;
    pub(crate) const THREAD: usize = 2;
    pub(crate) const POOL: usize = 3;
    /// All ones for a thread that is no worker.
    pub(crate) const SLOT: usize = 4;
    pub(crate) const PLACE: usize = 5;
    /// In a reader's copy: the number of the thread's events that were overwritten.
    pub(crate) const LOST: usize = 6;
    pub(crate) const NAME: usize = 8;
    pub(crate) const NAME_BYTES: usize = 64;
}

pub(crate) const NO_SLOT: u64 = u64::MAX;

pub(crate) const WORD: usize = 8;
/// The header and the table of labels.
pub(crate) const HEADER_BYTES: usize = 4096;
pub(crate) const LABELS_BYTES: usize = 60 << 10;
pub(crate) const RINGS_OFFSET: usize = HEADER_BYTES + LABELS_BYTES;
pub(crate) const RING_HEADER_BYTES: usize = 4096;
pub(crate) const EVENT_BYTES: usize = 16;

/// The size of a ring with its header.
pub(crate) fn ring_bytes(capacity: usize) -> usize {
    RING_HEADER_BYTES + capacity * EVENT_BYTES
}

/// Where a ring begins.
pub(crate) fn ring_offset(number: usize, capacity: usize) -> usize {
    RINGS_OFFSET + number * ring_bytes(capacity)
}
