//! An event as it lies in a ring: two words.
//!
//! | bits of the second word | what |
//! |---|---|
//! | 0–7 | the kind |
//! | 8–15 | a detail, which depends on the kind |
//! | 16–31 | the processor; all ones if it is not known |
//! | 32–63 | the argument, which depends on the kind |
//!
//! Some kinds have a large detail: bits 48–63 are its upper bits, and the argument has bits 32–47.
//!
//! The first word is the time: ticks of the recorder's clock. Records of the kernel have
//! nanoseconds there. In a `ClockSync` the second word has nanoseconds from bit 8 on.

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Two clocks at one moment; never in what is read.
    ClockSync = 1,
    /// The thread becomes the worker of slot `arg` of pool `detail`.
    Attached = 2,
    /// A task begins that was stolen from slot `arg`, or sent if that is the thread's own.
    TaskBegins = 3,
    /// It ends.
    TaskEnds = 4,
    /// The worker begins to search.
    SearchBegins = 5,
    /// The search is over.
    SearchEnds = 6,
    /// The worker stole from slot `arg`, where `detail` tasks are left, or more if it is 255.
    Steals = 7,
    /// The worker parks. `detail` is 1 if it is over the limit of active workers, and 2 if it is
    /// also the monitor, which looks from time to time whether the active workers block.
    Parks = 8,
    /// The thread may block: a task waits, or calls code that blocks.
    Blocks = 9,
    /// The thread runs again.
    Unparks = 10,
    /// The thread wakes slot `arg` of pool `detail`.
    Wakes = 11,
    /// A task waits.
    Waits = 12,
    /// It goes on.
    Resumes = 13,
    /// The thread completes what slot `arg` of pool `detail` may wait for.
    Signals = 14,
    /// The worker gives its processor to slot `arg`.
    HandsOver = 15,
    /// From now on `arg` workers may be active.
    Allows = 16,
    /// A quota has stopped the process for `arg` microseconds since the last such event.
    Throttled = 17,
    /// A span of the program with label `arg` begins.
    SpanBegins = 18,
    /// It ends.
    SpanEnds = 19,
    /// The kernel gave the thread a processor.
    SwitchedIn = 20,
    /// The kernel took the processor from the thread, which would have run on.
    Preempted = 21,
    /// The kernel took the processor from the thread, which blocks.
    Blocked = 22,
    /// The thread is no worker any more.
    Detached = 23,
    /// Something that has label `arg` happens.
    Mark = 24,
    /// The system forbids an assist that it has granted before.
    LosesAssist = 25,
    /// The thread goes on on processor `arg`. Found by [`Timeline`](crate::Timeline), never in a
    /// file.
    Migrates = 26,
    /// The queue with label `arg` has `detail` entries: a sample.
    Length = 27,
}

const KINDS: [Kind; 27] = [
    Kind::ClockSync,
    Kind::Attached,
    Kind::TaskBegins,
    Kind::TaskEnds,
    Kind::SearchBegins,
    Kind::SearchEnds,
    Kind::Steals,
    Kind::Parks,
    Kind::Blocks,
    Kind::Unparks,
    Kind::Wakes,
    Kind::Waits,
    Kind::Resumes,
    Kind::Signals,
    Kind::HandsOver,
    Kind::Allows,
    Kind::Throttled,
    Kind::SpanBegins,
    Kind::SpanEnds,
    Kind::SwitchedIn,
    Kind::Preempted,
    Kind::Blocked,
    Kind::Detached,
    Kind::Mark,
    Kind::LosesAssist,
    Kind::Migrates,
    Kind::Length,
];

/// The largest detail of the kinds that have a large one.
pub(crate) const MOST_DETAIL: u32 = (1 << 24) - 1;

/// The details of [`Kind::Parks`].
pub(crate) mod role {
    /// There is no work.
    pub(crate) const ORDINARY: u32 = 0;
    /// As many workers are active as may be.
    pub(crate) const OVER_LIMIT: u32 = 1;
    /// The same, and the worker looks from time to time whether the active ones block.
    pub(crate) const MONITOR: u32 = 2;
}

/// An event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the monotonic clock.
    pub at: u64,
    /// What happened.
    pub kind: Kind,
    /// See the kind.
    pub detail: u32,
    /// The processor that the thread ran on.
    pub processor: Option<u16>,
    /// See the kind.
    pub arg: u32,
}

const UNKNOWN: u16 = u16::MAX;

/// The second word of an event.
#[inline]
pub(crate) fn pack(kind: Kind, detail: u32, processor: Option<usize>, arg: u32) -> u64 {
    let processor = processor.map_or(UNKNOWN, |it| u16::try_from(it).unwrap_or(UNKNOWN));
    let detail = u64::from(detail & 0xff) << 8 | u64::from(detail >> 8) << 48;
    kind as u64 | detail | u64::from(processor) << 16 | u64::from(arg) << 32
}

/// The second word of a [`Kind::ClockSync`].
pub(crate) fn pack_sync(nanos: u64) -> u64 {
    Kind::ClockSync as u64 | nanos << 8
}

/// The nanoseconds of a [`Kind::ClockSync`].
pub(crate) fn unpack_sync(word: u64) -> u64 {
    word >> 8
}

impl Kind {
    /// The kind with this code.
    pub(crate) fn of_word(word: u64) -> Option<Self> {
        KINDS.get((word as u8).checked_sub(1)? as usize).copied()
    }

    /// True if the first word is in nanoseconds.
    pub(crate) fn is_of_kernel(self) -> bool {
        matches!(self, Self::SwitchedIn | Self::Preempted | Self::Blocked)
    }

    /// True if the detail is a pool or a length, of 24 bits. The argument then has 16.
    fn has_large_detail(self) -> bool {
        use Kind::{Allows, Attached, HandsOver, Length, Signals, Wakes};
        matches!(self, Attached | Wakes | Signals | HandsOver | Allows | Length)
    }
}

impl Record {
    /// Reads the second word of an event of time `at`. `None` if a newer version wrote it.
    pub(crate) fn unpack(at: u64, word: u64) -> Option<Self> {
        let processor = Some((word >> 16) as u16).filter(|&it| it != UNKNOWN);
        let kind = Kind::of_word(word)?;
        let (detail, arg) = ((word >> 8) as u32 & 0xff, (word >> 32) as u32);
        let (detail, arg) = match kind.has_large_detail() {
            true => (detail | arg >> 16 << 8, arg & 0xffff),
            false => (detail, arg),
        };
        Some(Self { at, kind, detail, processor, arg })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for (code, kind) in (1..).zip(KINDS) {
            assert_eq!(kind as u8, code);
            let (detail, arg) = if kind.has_large_detail() {
                (MOST_DETAIL, u16::MAX.into())
            } else {
                (200, u32::MAX - 1)
            };
            let record = Record { at: 7, kind, detail, processor: Some(63), arg };
            let word = pack(kind, record.detail, Some(63), record.arg);
            assert_eq!(Record::unpack(7, word), Some(record));
        }
        let elsewhere = pack(Kind::Waits, 0, None, 0);
        assert_eq!(Record::unpack(0, elsewhere).unwrap().processor, None);
        assert_eq!(unpack_sync(pack_sync(1 << 50)), 1 << 50);
    }

    #[test]
    fn an_unknown_kind_is_left_out() {
        for code in [0, KINDS.len() as u64 + 1, 255] {
            assert_eq!(Record::unpack(0, code), None);
        }
    }
}
