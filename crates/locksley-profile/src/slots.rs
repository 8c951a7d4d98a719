//! The slots of workers: the work of each, and the path to the present moment of its task.
//!
//! A path grows with the clock while its task runs. So a slot keeps the moment at which its path
//! would have begun without interruptions, and a running task writes nothing: the length of the
//! path is the time since then. The core keeps the path of a suspended task as a [`Stamp`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use locksley::extend::{MAX_SLOTS, Observer, Stamp};
use locksley_sys::primitive::CachePadded;

use crate::Profiler;
use crate::clock::Clock;

/// The cost, in nanoseconds, of moving a task to another worker, or its result back.
///
/// Cilkview takes 15,000 instructions (He, Leiserson and Leiserson, "The Cilkview scalability
/// analyzer", SPAA 2010, section 3): some 5 µs, at three instructions a nanosecond.
pub(crate) const BURDEN: i64 = 5_000;

/// The same as a duration.
pub(crate) const fn burden() -> Duration {
    Duration::from_nanos(BURDEN as u64)
}

/// After this many nanoseconds without a reading of the clock, the worker asks the kernel if other
/// threads had its processor. Preemptions are seldom shorter, and to ask takes a microsecond.
pub(crate) const LONG: i64 = 200_000;

/// The same for a worker that had no task.
pub(crate) const LONG_IDLE: i64 = LONG / 10;

/// The suspended stamp of a worker without a task.
const NO_TASK: Stamp = Stamp([u64::MAX; 2]);

/// A number that one worker writes, and all may read.
#[derive(Debug, Default)]
struct Number(AtomicI64);

impl Number {
    // Relaxed, both: the numbers are part of no protocol. A reader that has waited for a task sees
    // what was written before the task ended.
    #[inline]
    fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The slot of one worker. Times are in ticks.
#[derive(Debug, Default)]
struct Slot {
    /// The moment at which the path of the running task would have begun without interruptions.
    span_began: Number,
    burdened_began: Number,
    /// The time of all tasks, in one word so that other threads can read it: twice that time if no
    /// task runs. If one runs, twice the difference of the time and the task's start, plus 1.
    work: Number,
    /// After this moment the worker asks for its delay.
    limit: Number,
    tasks: Number,
    /// The longest path to the end of a task, or to a wait.
    longest: [Number; 2],
    /// The thread's delay when the worker last asked for it, in nanoseconds.
    delay: Number,
    /// The time in which other threads had the processor while a task ran.
    taken: Number,
}

impl Slot {
    #[inline]
    fn is_running(&self) -> bool {
        self.work.get() & 1 != 0
    }

    fn work_until(&self, now: i64) -> i64 {
        let word = self.work.get();
        if word & 1 != 0 { (word >> 1) + now } else { word >> 1 }
    }

    /// The path to a moment. Not negative, though counters of two processors may differ by a few
    /// ticks.
    #[inline]
    fn path(&self, now: i64) -> Stamp {
        let since = |began: &Number| (now - began.get()).max(0) as u64;
        Stamp([since(&self.span_began), since(&self.burdened_began)])
    }

    #[inline]
    fn resume_at(&self, path: Stamp, now: i64) {
        self.span_began.set(now - path.0[0] as i64);
        self.burdened_began.set(now - path.0[1] as i64);
    }

    #[inline]
    fn record_end(&self, path: Stamp) {
        for (longest, path) in self.longest.iter().zip(path.0) {
            if path as i64 > longest.get() {
                longest.set(path as i64);
            }
        }
    }
}

/// The sums over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// In ticks.
    pub(crate) work: i64,
    pub(crate) tasks: i64,
    /// In ticks. `None` if a reading failed.
    pub(crate) taken: Option<i64>,
}

/// The slots of a pool's workers. They are allocated when a worker first needs one.
#[derive(Debug)]
pub(crate) struct Slots {
    clock: Clock,
    /// Ticks per nanosecond, measured when the profiler was made.
    rate: f64,
    /// [`BURDEN`], [`LONG`] and [`LONG_IDLE`] in ticks.
    burden: i64,
    long: i64,
    long_idle: i64,
    groups: Box<[OnceLock<Box<Group>>]>,
    /// True if a reading of a worker's delay failed.
    has_failed: AtomicBool,
}

const GROUP: usize = 64;
type Group = [CachePadded<Slot>; GROUP];

impl Slots {
    pub(crate) fn new(clock: Clock) -> Self {
        let rate = clock.rate();
        let ticks = |nanos: i64| (nanos as f64 * rate) as i64;
        Self {
            clock,
            rate,
            burden: ticks(BURDEN),
            long: ticks(LONG),
            long_idle: ticks(LONG_IDLE),
            groups: (0..MAX_SLOTS.div_ceil(GROUP)).map(|_| OnceLock::new()).collect(),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    fn all(&self) -> impl Iterator<Item = &Slot> {
        let groups = self.groups.iter().filter_map(|group| group.get());
        groups.flat_map(|group| group.iter().map(|slot| &**slot))
    }

    /// The sums over all workers until now, with running tasks.
    pub(crate) fn totals(&self) -> Totals {
        let now = self.clock.now();
        let is_known = !self.has_failed.load(Ordering::Relaxed);
        Totals {
            work: self.all().map(|slot| slot.work_until(now)).sum(),
            tasks: self.all().map(|slot| slot.tasks.get()).sum(),
            taken: is_known.then(|| self.all().map(|slot| slot.taken.get()).sum()),
        }
    }

    /// The longest path of any task.
    pub(crate) fn longest(&self) -> Stamp {
        let now = self.clock.now();
        let paths = self.all().map(|slot| {
            let ended = Stamp([0, 1].map(|number: usize| slot.longest[number].get() as u64));
            if slot.is_running() { ended.max(slot.path(now)) } else { ended }
        });
        paths.fold(Stamp::default(), Stamp::max)
    }

    #[inline]
    fn slot(&self, number: usize) -> &Slot {
        let group = self.groups[number / GROUP].get_or_init(Self::group);
        &group[number % GROUP]
    }

    #[cold]
    fn group() -> Box<Group> {
        Box::new(std::array::from_fn(|_| CachePadded::default()))
    }

    /// Reads the clock. The worker of the slot calls it, and runs a task from then on.
    #[inline]
    fn now(&self, slot: &Slot) -> i64 {
        let now = self.clock.now();
        let now = if now > slot.limit.get() { self.ask_for_delay(slot) } else { now };
        slot.limit.set(now + self.long);
        now
    }

    /// Asks for the time in which other threads have had the processor since the last call, and
    /// subtracts it from the running task. Returns the moment after.
    #[cold]
    #[inline(never)]
    fn ask_for_delay(&self, slot: &Slot) -> i64 {
        let delay = self.clock.delay();
        // After the delay was read: a wait between the two readings counts in the next interval.
        let now = self.clock.now();
        let Some(delay) = delay else {
            self.has_failed.store(true, Ordering::Relaxed);
            return now;
        };
        let delay = delay.as_nanos() as i64;
        let waited = (delay - slot.delay.get()).max(0);
        slot.delay.set(delay);
        if slot.is_running() {
            let interval = now - (slot.limit.get() - self.long);
            // This includes waits in short intervals, which were not subtracted before.
            let waited = ((waited as f64 * self.rate) as i64).min(interval);
            slot.span_began.set(slot.span_began.get() + waited);
            slot.burdened_began.set(slot.burdened_began.get() + waited);
            slot.work.set(slot.work.get() - 2 * waited);
            slot.taken.set(slot.taken.get() + waited);
        }
        now
    }

    /// Stops the running task. `runs_another` is true if another one runs from now on.
    #[inline]
    fn suspend(&self, slot: &Slot, now: i64, runs_another: bool) -> Stamp {
        let path = if slot.is_running() { slot.path(now) } else { NO_TASK };
        match (path == NO_TASK, runs_another) {
            (true, true) => slot.work.set(slot.work.get() - 2 * now + 1),
            (false, false) => {
                slot.work.set(slot.work.get() + 2 * now - 1);
                slot.limit.set(now + self.long_idle);
            }
            _ => {}
        }
        path
    }
}

impl Observer for Profiler {
    #[inline]
    fn begin(&self, slot: usize, Stamp([span, burdened]): Stamp, is_moved: bool) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        let now = slots.now(slot);
        let suspended = slots.suspend(slot, now, true);
        // A moved task pays for the way back, too.
        let burden = slots.burden << u32::from(is_moved);
        slot.resume_at(Stamp([span, burdened + burden as u64]), now);
        slot.tasks.set(slot.tasks.get() + 1);
        suspended
    }

    #[inline]
    fn end(&self, slot: usize, suspended: Stamp) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        let now = slots.now(slot);
        let has_suspended = suspended != NO_TASK;
        let path = slots.suspend(slot, now, has_suspended);
        slot.record_end(path);
        if has_suspended {
            slot.resume_at(suspended, now);
        }
        path
    }

    #[inline]
    fn stamp(&self, slot: usize) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        if slot.is_running() { slot.path(slots.now(slot)) } else { Stamp::default() }
    }

    #[inline]
    fn follow(&self, slot: usize, cause: Stamp) {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        // The path is not shorter than at the last reading of the clock.
        let read = slot.limit.get() - slots.long;
        let is_ahead = |began: &Number, path: u64| path as i64 > read - began.get();
        let [span, burdened] = cause.0;
        let is_late = is_ahead(&slot.span_began, span) || is_ahead(&slot.burdened_began, burdened);
        if is_late && slot.is_running() {
            let now = slots.now(slot);
            let extend = |began: &Number, path: u64| began.set(began.get().min(now - path as i64));
            extend(&slot.span_began, span);
            extend(&slot.burdened_began, burdened);
        }
    }

    #[inline]
    fn pause(&self, slot: usize) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        if !slot.is_running() {
            return NO_TASK;
        }
        let path = slots.suspend(slot, slots.now(slot), false);
        slot.record_end(path);
        path
    }

    #[inline]
    fn resume(&self, slot: usize, paused: Stamp) {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        if paused != NO_TASK {
            let now = slots.now(slot);
            slots.suspend(slot, now, true);
            slot.resume_at(paused, now);
        }
    }
}

#[cfg(test)]
mod tests;
