//! For each slot of a worker: the work of its tasks, and the length of the longest path to the
//! present moment of the running one.
//!
//! A path grows with the clock while its task runs. So a slot keeps the moment at which its path
//! would have begun without interruptions, and a running task writes nothing: the length of the
//! path is the time since then. The scheduler keeps the path of a suspended task as a [`Stamp`].
//!
//! The *run delay* of a thread is the time in which it could run, but other threads had its
//! processor. It counts neither as work nor on a path.

use std::time::Duration;

use locksley::extend::{MAX_SLOTS, Observer, Stamp};
use locksley_sys::primitive::plain::{AtomicBool, AtomicI64, OnceLock};
use locksley_sys::primitive::{CachePadded, Ordering};

use crate::Profiler;
use crate::clock::Clock;

/// The cost, in nanoseconds, of moving a task to another worker, or its result back. Each task pays
/// once, because it could be moved. A task that was moved pays twice.
///
/// Cilkview takes 15,000 instructions (He, Leiserson and Leiserson, "The Cilkview scalability
/// analyzer", SPAA 2010, section 3): some 5 µs, at three instructions a nanosecond.
pub(crate) const BURDEN: i64 = 5_000;

/// [`BURDEN`] as a duration.
pub(crate) const fn burden() -> Duration {
    Duration::from_nanos(BURDEN as u64)
}

/// After this many nanoseconds without a reading of the clock, the worker asks the kernel for its
/// run delay. Preemptions are seldom shorter, and to ask takes a microsecond.
pub(crate) const ASK_AFTER: i64 = 200_000;

/// The same for a worker that begins a task after it had none: the earlier run delay is not the
/// task's. It is shorter, because a worker without a task has the time to ask.
pub(crate) const ASK_AFTER_IDLE: i64 = ASK_AFTER / 10;

/// The suspended stamp of a worker without a task.
const NO_TASK: Stamp = Stamp([u64::MAX; 2]);

/// A number that one worker writes, and all may read.
#[derive(Debug, Default)]
struct Published(AtomicI64);

impl Published {
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

/// The slot of one worker. Times are in ticks, except `run_delay`.
#[derive(Debug, Default)]
struct Slot {
    /// The moments at which the two paths of the running task, plain and burdened, would have begun
    /// without interruptions.
    began: [Published; 2],
    /// `2 * time`, where `time` is that of all tasks. While a task runs since `start`, it is
    /// `2 * (time - start) + 1` instead. Other threads read it, so it is one word.
    work: Published,
    /// After this moment the worker asks for its run delay. While a task runs, it is the last
    /// reading of the clock plus [`ASK_AFTER`].
    limit: Published,
    tasks: Published,
    /// The longest paths to the end of a task, or to a wait.
    longest: [Published; 2],
    /// The run delay of the thread when the worker last asked for it, in nanoseconds.
    run_delay: Published,
    /// The run delay while tasks ran.
    taken: Published,
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

    /// The paths to a moment. Not negative, though counters of two processors may differ by a few
    /// ticks.
    #[inline]
    fn path(&self, now: i64) -> Stamp {
        Stamp([0, 1].map(|path: usize| (now - self.began[path].get()).max(0) as u64))
    }

    #[inline]
    fn resume_at(&self, path: Stamp, now: i64) {
        for (began, path) in self.began.iter().zip(path.0) {
            began.set(now - path as i64);
        }
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
    /// The run delay while tasks ran, in ticks. `None` if a reading failed.
    pub(crate) taken: Option<i64>,
}

/// The slots of a pool's workers. They are allocated when a worker first needs one.
#[derive(Debug)]
pub(crate) struct Slots {
    clock: Clock,
    /// Ticks per nanosecond, measured when the profiler was made.
    rate: f64,
    /// [`BURDEN`], [`ASK_AFTER`] and [`ASK_AFTER_IDLE`] in ticks.
    burden: i64,
    ask_after: i64,
    ask_after_idle: i64,
    blocks: Box<[OnceLock<Box<Block>>]>,
    /// True if a reading of a worker's run delay failed.
    has_failed: AtomicBool,
}

/// Slots that are allocated together.
type Block = [CachePadded<Slot>; BLOCK];
const BLOCK: usize = 64;

impl Slots {
    pub(crate) fn new(clock: Clock) -> Self {
        let rate = clock.rate();
        let ticks = |nanos: i64| (nanos as f64 * rate) as i64;
        Self {
            clock,
            rate,
            burden: ticks(BURDEN),
            ask_after: ticks(ASK_AFTER),
            ask_after_idle: ticks(ASK_AFTER_IDLE),
            blocks: (0..MAX_SLOTS.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect(),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    fn all(&self) -> impl Iterator<Item = &Slot> {
        let blocks = self.blocks.iter().filter_map(|block| block.get());
        blocks.flat_map(|block| block.iter().map(|slot| &**slot))
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

    /// The longest path and the longest burdened path of any task, which may be those of two tasks.
    pub(crate) fn longest(&self) -> Stamp {
        let now = self.clock.now();
        let paths = self.all().map(|slot| {
            let ended = Stamp([0, 1].map(|path: usize| slot.longest[path].get() as u64));
            if slot.is_running() { ended.max(slot.path(now)) } else { ended }
        });
        paths.fold(Stamp::default(), Stamp::max)
    }

    #[inline]
    fn slot(&self, number: usize) -> &Slot {
        let block = self.blocks[number / BLOCK].get_or_init(Self::new_block);
        &block[number % BLOCK]
    }

    #[cold]
    fn new_block() -> Box<Block> {
        Box::new(std::array::from_fn(|_| CachePadded::default()))
    }

    /// Reads the clock, on the thread of the slot's worker. If the last reading was long ago, asks
    /// for the run delay. The limit is set as for a worker that runs a task, which
    /// [`switch`](Self::switch) may change.
    #[inline]
    fn now(&self, slot: &Slot) -> i64 {
        let now = self.clock.now();
        let now = if now > slot.limit.get() { self.subtract_run_delay(slot) } else { now };
        slot.limit.set(now + self.ask_after);
        now
    }

    /// Asks for the run delay since the last call, and subtracts it from the running task. Returns
    /// the moment after.
    #[cold]
    #[inline(never)]
    fn subtract_run_delay(&self, slot: &Slot) -> i64 {
        let run_delay = self.clock.delay();
        // After the run delay was read: a delay between the two readings counts in the next
        // interval.
        let now = self.clock.now();
        let Some(run_delay) = run_delay else {
            self.has_failed.store(true, Ordering::Relaxed);
            return now;
        };
        let run_delay = run_delay.as_nanos() as i64;
        let new = (run_delay - slot.run_delay.get()).max(0);
        slot.run_delay.set(run_delay);
        if slot.is_running() {
            let interval = now - (slot.limit.get() - self.ask_after);
            // This includes delays in short intervals, which were not subtracted before.
            let new = ((new as f64 * self.rate) as i64).min(interval);
            slot.began.iter().for_each(|began| began.set(began.get() + new));
            slot.work.set(slot.work.get() - 2 * new);
            slot.taken.set(slot.taken.get() + new);
        }
        now
    }

    /// Stops the running task, if there is one. If `runs_next` is true, a task runs from now on.
    /// Returns the paths of the task that was stopped, or [`NO_TASK`].
    #[inline]
    fn switch(&self, slot: &Slot, now: i64, runs_next: bool) -> Stamp {
        let was_running = slot.is_running();
        let stopped = if was_running { slot.path(now) } else { NO_TASK };
        match (was_running, runs_next) {
            (false, true) => slot.work.set(slot.work.get() - 2 * now + 1),
            (true, false) => {
                slot.work.set(slot.work.get() + 2 * now - 1);
                slot.limit.set(now + self.ask_after_idle);
            }
            _ => {}
        }
        stopped
    }
}

impl Observer for Profiler {
    #[inline]
    fn begin(&self, slot: usize, Stamp([span, burdened]): Stamp, is_moved: bool) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        let now = slots.now(slot);
        let suspended = slots.switch(slot, now, true);
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
        let path = slots.switch(slot, now, has_suspended);
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
        let paths = || slot.began.iter().zip(cause.0.map(|path| path as i64));
        // The paths are at least as long as at the last reading of the clock. So most causes, which
        // are not longer than that, need no other reading.
        let last_reading = slot.limit.get() - slots.ask_after;
        let may_be_longer = paths().any(|(began, path)| path > last_reading - began.get());
        if may_be_longer && slot.is_running() {
            let now = slots.now(slot);
            paths().for_each(|(began, path)| began.set(began.get().min(now - path)));
        }
    }

    #[inline]
    fn pause(&self, slot: usize) -> Stamp {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        if !slot.is_running() {
            return NO_TASK;
        }
        let path = slots.switch(slot, slots.now(slot), false);
        slot.record_end(path);
        path
    }

    #[inline]
    fn resume(&self, slot: usize, paused: Stamp) {
        let (slots, slot) = (&self.0.slots, self.0.slots.slot(slot));
        if paused != NO_TASK {
            let now = slots.now(slot);
            slots.switch(slot, now, true);
            slot.resume_at(paused, now);
        }
    }
}

#[cfg(test)]
mod tests;
