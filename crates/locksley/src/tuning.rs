//! The constants that were tuned: each with its unit and its reason, and with the measurement if
//! there is one.
//!
//! Structural constants, such as the bits of a packed word, stand where they are used. "Record"
//! names a file in `lab/record`, or the experiment that shows the figure.

use std::time::Duration;

/// *Time.* How long a thread spins in a wait before it parks: a thief that has just begun a short
/// task ends it meanwhile. A caller outside of a pool spins as long if its last task took less.
/// About the cost of parking: record `xeon-2/2026-11-27-bench.json`, a round trip between two parked threads takes
/// 16 µs; and ADR 019, a figure of many processors. Record for callers:
/// `epyc-2/others/2026-11-30-callers.txt`.
pub(crate) const WAIT_SPIN: Duration = Duration::from_micros(20);

/// *Time.* How long a wait spins beside other programs, and a thief leaves a worker's only task to
/// it there: to be woken may take a time slice, and tasks that were stolen end later. Record: ADR
/// 019, `corun --pairs few+loop`; with 20 µs, three tasks beside a busy loop lose twice as much.
pub(crate) const WAIT_SPIN_BESIDE_OTHERS: Duration = Duration::from_micros(200);

/// *Looks.* How often a thread looks at a line that another one is about to write: 0.1 µs. A join
/// looks whether its stolen half has ended, before it steals back; a thief looks whether an owner
/// has opened its deque. A short half is about to end, and a steal from its thief would take the
/// thief's cache lines. Record: `xeon-2/others/2026-11-27-short-loops.txt`, loops of 4 µs took 1.2
/// times as long.
pub(crate) const SHORT_LOOKS: u32 = 8;

/// *Time.* A thread that has its event waits for its index while another one works under it. If
/// that thread makes no progress for this long, it may wait for a lock that the first one holds, so
/// the first one goes on. Long against time slices, so that a thread that only waits for a
/// processor has run meanwhile.
pub(crate) const NO_PROGRESS: Duration = Duration::from_millis(100);

/// *Time.* A call that takes less is short: the calling thread runs the next one itself, as a
/// guest. Two thread switches cost a few percent of that. Record: `bench`, a call into an idle
/// pool.
pub(crate) const SHORT_CALL: Duration = Duration::from_millis(2);

/// *Tasks.* How many tasks of other scopes a wait moves at a time. A join that finds more than that
/// above its fork sets them aside, so that outer joins of a deep recursion do not move them again.
/// A wait looks at this many tasks that were set aside. Recursions of joins, 32,000 deep, that
/// leave a task at each level: 38 ms, and 1,709 if all are pushed back each time. No other value
/// was tried.
pub(crate) const MOVED_AT_ONCE: usize = 16;

/// *Threads.* The most guests of a pool at a time.
pub(crate) const GUESTS: usize = 8;

/// *Threads.* The default limit of replacements; a pool with more workers has one for each. A
/// replacement costs a thread only when it is needed.
pub(crate) const REPLACEMENTS: usize = 256;

/// *Polls, turns, and searches.* After this many polls a worker looks into its other queues; after
/// this many turns, in each of which it chooses a task, into deques of threads without an index. A
/// prime, as in other schedulers, so that it does not align with patterns in the tasks. One of this
/// many searches, at random, does not begin with the victim of the last steal; no other number was
/// tried for that.
pub(crate) const LOOK_ELSEWHERE_AFTER: u32 = 61;

/// *Slots.* A worker looks into so many at a time for tasks of threads that have no index: it has
/// seen all slots of a small pool after some hundred turns. No other value was tried.
pub(crate) const LEFT_BEHIND_SLOTS: usize = 8;

/// *Time.* About the cost of moving a task between threads. Polls that are shorter do not send
/// tasks to other workers. A thief leaves a worker's only task to it for so long, if the worker
/// probably runs that next. Record: `channels`, message rates between processes.
pub(crate) const MOVE_COST: Duration = Duration::from_micros(2);

/// *Attempts.* After this many failed attempts a thief looks everywhere, and opens closed deques by
/// force. Record: `simulated/others/2026-11-30-steps.txt`, also of as many as there are slots.
pub(crate) const SWEEP_INTERVAL: u32 = 64;

/// *Pushes.* What a heavy barrier costs for each worker that it interrupts. An owner closes its
/// deque after this many pushes for each worker of the pool without a steal, so that it pays at
/// most twice what the better choice costs (the ski-rental problem). Record:
/// `simulated/others/2026-11-30-steps.txt`.
pub(crate) const BARRIER_COST_OF_WORKER: u32 = 32;

/// *Attempts.* One of this many, at random, chooses among all slots: also those of threads that
/// wait, which may hold tasks below the frame that waits, and those of far places.
pub(crate) const ALL_SLOTS_EVERY: usize = 8;

/// *Failed steals.* After this many in a row a thief sleeps, as in BWS (section 4.2, figure 6).
pub(crate) const SLEEP_THRESHOLD: u32 = 64;

/// *Factor.* On a quiet machine the sleep threshold is this many times as high: to stay awake costs
/// other programs nothing there. Record: `bench`.
pub(crate) const QUIET_PATIENCE: u32 = 4;

/// *Attempts.* This many attempts of a search are made without a pause, unless the last stolen task
/// took less than the pace. Record: `epyc-2/others/2026-11-30-brief-steals.txt`.
pub(crate) const UNPACED_ATTEMPTS: u32 = 16;

/// *Time.* The time between later attempts. An attempt takes a cache line that the owner writes, so
/// faster attempts would slow the owner down.
pub(crate) const PACE: Duration = Duration::from_nanos(800);

/// *Attempts.* After this many, a thief samples the machine, and checks whether its last victim has
/// a processor.
pub(crate) const CHECK_MACHINE_EVERY: u32 = 4;

/// *Attempts.* On a quiet machine, a thief yields after this many (25 µs), for programs that wake
/// up now and then. A multiple of [`CHECK_MACHINE_EVERY`]. Not measured by itself: record
/// `xeon-2/others/2026-12-01-patience.txt` is of this and [`QUIET_PATIENCE`].
pub(crate) const YIELD_EVERY: u32 = 32;

/// *Threads, in 1/65,536.* The machine is quiet if other programs have had fewer runnable threads
/// on average: 0.3. Some thread runs now and then on any machine.
pub(crate) const QUIET: u64 = (1 << 16) * 3 / 10;

/// *One part in so many.* The weight of a sample of the number of runnable threads: a busy machine
/// is noticed after some of them, and a thread that runs for a moment is not.
pub(crate) const SAMPLE_WEIGHT: u64 = 8;

/// *Time.* Between two looks at what changes within milliseconds: the number of runnable threads,
/// the monitor's look at the pool, and a worker's at its own waits for a processor. A look takes
/// some microseconds. Blocked workers get company within some of these times.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// *Workers.* How many active workers the monitor samples to learn whether they block. Each costs a
/// file.
pub(crate) const SAMPLED_WORKERS: usize = 4;

/// *Factor.* A pool that follows the system has this many times as many workers as are granted when
/// it is built, if the machine has as many processors: more may be granted later.
pub(crate) const GROWTH: usize = 4;

/// *Time.* Between two readings of affinity and quotas, which take some tens of microseconds.
pub(crate) const GRANT_INTERVAL: Duration = Duration::from_millis(100);

/// *Time.* Between two looks at what other pools of the user want.
pub(crate) const SHARE_INTERVAL: Duration = Duration::from_millis(10);

/// *Time.* A pool whose tasks have made no progress for [`NO_PROGRESS`] is not limited to its share
/// for so long: tasks that wait for one another lose a hundredth of the time at most.
pub(crate) const SHARE_PAUSE: Duration = Duration::from_secs(10);

/// *Time.* If a queue of a pool that is limited to its share keeps the same oldest task for so
/// long, a running task may wait for that one: the pool takes no part in the division for as long.
pub(crate) const NO_THEFT: Duration = Duration::from_secs(1);

/// *Time.* The time that a leaf of a loop should take: long enough that the division and the clock
/// cost a few percent of it. No other worker can take the rest of a leaf, so it is not longer than
/// necessary.
pub(crate) const LEAF: Duration = Duration::from_micros(5);

/// *Leaves, and factor.* One leaf in so many is timed once the size of leaves is found. A worker
/// that has stolen a part begins with leaves so many times smaller: its items may be more
/// expensive.
pub(crate) const LEAF_SAMPLE: u32 = 16;
