//! What this process is granted of the machine: processors, quota, and what other programs leave.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use locksley_sys::os::{Board, PARTS, generation, runnable_threads, shorten_time_slice};

use crate::environment::{processors, settings};
use crate::messages::warn;
use crate::uncancelled::uncancelled;

/// The time between two readings of affinity and quota.
const BETWEEN_READINGS: Duration = Duration::from_millis(100);
/// The time between two looks at what other programs of the user want.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// The time between two samples of the other programs' threads.
const BETWEEN_SAMPLES: Duration = Duration::from_millis(2);
/// Numbers of threads are in units of 1/`ONE`.
const ONE: u32 = 1 << 8;
/// The weight of a sample is one part in this many.
const WEIGHT: u32 = 4;
/// Other programs want a processor if their threads are more than this. Some thread runs now and
/// then on any machine.
const QUIET: u32 = ONE / 2;
/// The shortest that the kernel grants.
const TIME_SLICE: Duration = Duration::from_micros(100);

// All accesses are relaxed: these are estimates, and no data depends on them.
static READ_AT: AtomicU64 = AtomicU64::new(0);
static ALLOWED: AtomicU32 = AtomicU32::new(0);
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);
/// The share of what is allowed, beside other programs that divide the processors.
static SHARE: AtomicU32 = AtomicU32::new(u32::MAX);
static SAMPLED_AT: AtomicU64 = AtomicU64::new(0);
/// The runnable threads of other programs, smoothed.
static OTHERS: AtomicU32 = AtomicU32::new(0);
/// The threads that do not sleep, of those that have used this library.
static AWAKE: AtomicU32 = AtomicU32::new(0);

/// Nanoseconds since the first call; never 0.
fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

fn is_due(at: &AtomicU64, now: u64, interval: Duration) -> bool {
    let last = at.load(Ordering::Relaxed);
    let is_past = last == 0 || now.saturating_sub(last) >= interval.as_nanos() as u64;
    is_past && at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// The number of threads that use all processors that affinity and quota allow now.
pub(crate) fn granted() -> u32 {
    sample();
    known()
}

/// The share of these for a dynamic team that could use so many threads: beside pools and dynamic
/// teams of the same user that compute at the same time, each gets an equal part.
pub(crate) fn share(wanted: u32) -> u32 {
    static BOARD: Mutex<Option<Board>> = Mutex::new(None);
    let granted = granted();
    if !is_contended() || !settings().has_board {
        return granted;
    }
    if is_due(&LOOKED_AT, now(), BETWEEN_LOOKS)
        && let Ok(mut board) = BOARD.try_lock()
    {
        let share = uncancelled(|| {
            *board = board.take().or_else(Board::open);
            board.as_mut()?.exchange(wanted.min(granted) * PARTS, granted as usize)
        });
        SHARE.store(share.map_or(u32::MAX, |share| share as u32), Ordering::Relaxed);
    }
    SHARE.load(Ordering::Relaxed).min(granted)
}

/// The same at the last sample.
fn known() -> u32 {
    match ALLOWED.load(Ordering::Relaxed) {
        0 => read(),
        known => known,
    }
}

#[cold]
fn read() -> u32 {
    let (_, count) = uncancelled(|| processors(&settings().places));
    ALLOWED.store(count, Ordering::Relaxed);
    count
}

/// Samples the other programs' threads and the processors that are allowed, if that is due.
/// Returns the time, in nanoseconds.
pub(super) fn sample() -> u64 {
    let (now, last) = (now(), SAMPLED_AT.load(Ordering::Relaxed));
    if is_due(&SAMPLED_AT, now, BETWEEN_SAMPLES) {
        uncancelled(|| renew(now, last));
    }
    now
}

fn renew(now: u64, last: u64) {
    // It opens files.
    if is_due(&READ_AT, now, BETWEEN_READINGS) {
        read();
    }
    let Some(all) = runnable_threads() else { return };
    let others = u32::try_from(all).unwrap_or(u32::MAX).saturating_sub(awake()).min(1 << 16) * ONE;
    let interval = Duration::from_nanos(now.saturating_sub(last));
    let before = if last == 0 { others } else { OTHERS.load(Ordering::Relaxed) };
    OTHERS.store(smooth(before, others, interval), Ordering::Relaxed);
}

/// Adds a sample to the exponential moving average `before`. An average that is older than
/// `BETWEEN_READINGS` is first lowered to the sample.
fn smooth(before: u32, others: u32, interval: Duration) -> u32 {
    let before = if interval < BETWEEN_READINGS { before } else { before.min(others) };
    before - before / WEIGHT + others / WEIGHT
}

/// True if other programs want processors.
pub(super) fn is_contended() -> bool {
    OTHERS.load(Ordering::Relaxed) > QUIET
}

thread_local! {
    /// The size of the calling thread's latest team, and the process in which its threads are.
    static TEAM: Cell<(u32, u32)> = const { Cell::new((1, 0)) };
    static HAS_SHORT_TIME_SLICES: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread has entered a team of that many threads, which are in the process of that
/// generation.
pub(crate) fn note_team(size: u32, generation: u32) {
    TEAM.set((size, generation));
}

/// The calling thread is about to sleep. Ends a child that was forked within a region: the other
/// threads of the team, which would wake it, are not in it.
pub(super) fn end_if_orphaned() {
    let (size, team_generation) = TEAM.try_with(Cell::get).unwrap_or((1, 0));
    if size > 1 && team_generation != generation() {
        warn("A child forked within a parallel region waits for threads that it lacks");
        // Exit handlers and buffered output are the parent's.
        // SAFETY: it ends the process.
        unsafe { libc::_exit(1) };
    }
}

/// The calling thread, which is this library's, is about to execute a region beside others.
pub(crate) fn prepare_worker() {
    if is_contended() && !HAS_SHORT_TIME_SLICES.replace(true) {
        // Otherwise a member that is woken waits until the time slice of another program's thread
        // ends, and the team waits for the member. Members get no more processor time in total.
        uncancelled(|| shorten_time_slice(TIME_SLICE));
    }
}

/// True if there are more threads of this library than processors: awake, or in the calling
/// thread's team, of which some would sleep and be woken again and again.
pub(super) fn is_oversubscribed() -> bool {
    awake().max(TEAM.try_with(Cell::get).map_or(1, |it| it.0)) > known()
}

/// A thread that the library has not met may sleep at a lock, so that the count may be too small.
fn awake() -> u32 {
    u32::try_from(AWAKE.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
}

/// Records that the calling thread is about to sleep.
pub(crate) fn note_asleep() {
    AWAKE.fetch_sub(1, Ordering::Relaxed);
}

/// Records that so many more threads are awake, or begin.
pub(crate) fn note_awake(count: u32) {
    AWAKE.fetch_add(count, Ordering::Relaxed);
}

/// In a forked child: of the threads that are awake, at most the calling one is left.
pub(crate) fn forget_threads(is_counted: bool) {
    SHARE.store(u32::MAX, Ordering::Relaxed);
    AWAKE.store(is_counted.into(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_renew_the_number_of_processors() {
        let (_, here) = processors(&settings().places);
        ALLOWED.store(here + 1, Ordering::Relaxed);
        let began = std::time::Instant::now();
        // The thread of another test may take the sample that is due.
        while ALLOWED.load(Ordering::Relaxed) != here {
            READ_AT.store(0, Ordering::Relaxed);
            SAMPLED_AT.store(0, Ordering::Relaxed);
            sample();
            assert!(began.elapsed() < std::time::Duration::from_secs(20));
        }
    }

    #[test]
    fn samples_are_smoothed_and_forgotten_after_a_pause() {
        assert_eq!(smooth(0, ONE, BETWEEN_SAMPLES), ONE / WEIGHT);
        assert_eq!(smooth(4 * ONE, 4 * ONE, BETWEEN_SAMPLES), 4 * ONE);
        assert_eq!(smooth(4 * ONE, 0, BETWEEN_SAMPLES), 3 * ONE);
        assert_eq!(smooth(4 * ONE, 0, BETWEEN_READINGS), 0);
        assert_eq!(smooth(0, ONE, BETWEEN_READINGS), ONE / WEIGHT, "one thread is no load yet");
    }
}
