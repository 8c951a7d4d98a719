//! What programs ask of the operating system: futexes, placement, times.

use std::time::Duration;

use crate::atomic::AtomicU32;
use crate::engine::{Engine, engine, here};
use crate::ids::{Cpu, Nanos, ThreadId};
pub use crate::kernel::{Bandwidth, CpuSet, GroupTimes, Policy, ThreadState, ThreadTimes};
use crate::time::nanos;
use crate::topology::Topology;

/// Blocks while the word has this value, until it is woken. Returns false if `timeout` was over.
///
/// It may return without a wake-up, as Linux's.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    let address = std::ptr::from_ref(word).addr();
    here().futex_wait(address, || word.peek() == expected, timeout.map(nanos))
}

/// Wakes up to `count` threads of this program that wait for the word, and returns how many.
///
/// Outside of a machine, no thread waits.
pub fn futex_wake(word: &AtomicU32, count: usize) -> usize {
    engine().map_or(0, |here| here.futex_wake(std::ptr::from_ref(word).addr(), count))
}

/// Computes for `time` on a processor of full speed: slower ones take longer. The thread may be
/// preempted meanwhile.
///
/// Other plain code takes no time.
pub fn work(time: Duration) {
    here().work(nanos(time));
}

/// Adds to the count of this program, which the statistics report: rounds, for example.
pub fn count(more: u64) {
    let engine = here().get();
    let program = engine.program();
    engine.programs[program].count += more;
}

/// A random number that the machine's seed decides.
pub fn random() -> u64 {
    here().get().random()
}

/// `sched_yield`, as the machine's kernel does it.
pub fn sched_yield() {
    here().get().note_yield();
    here().reschedule(|kernel, cpu, now| kernel.yield_now(cpu, now));
}

/// Yields to this thread, if it is ready and may run here: the directed yield that BWS added to the
/// kernel. Returns whether it did.
pub fn yield_to(thread: ThreadId) -> bool {
    here().reschedule(|kernel, cpu, now| kernel.yield_to(cpu, thread, now))
}

/// `membarrier`, private and expedited: all other running threads of this program make a fence.
pub fn membarrier() {
    here().membarrier();
}

/// The processor that runs this thread.
pub fn current_cpu() -> Cpu {
    here().get().cpu
}

/// The shape of the machine.
///
/// # Panics
/// Outside of a machine.
pub fn topology() -> Topology {
    here().get().topology
}

/// How many processors the machine has.
pub fn processors() -> usize {
    engine().map_or(1, |here| here.get().topology.processors())
}

/// Reads what the kernel shows in a small file of `/proc` or of a control group.
fn read_file<T>(read: impl FnOnce(&mut Engine) -> T) -> T {
    let here = here();
    here.system_call(here.get().settings.system.file, read)
}

/// What other threads see of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The processor that runs it, queues it or ran it last.
    pub cpu: Cpu,
    /// Whether it runs, waits for a processor or is blocked.
    pub state: ThreadState,
    /// How often it has given a processor up.
    pub switches: u64,
}

/// Looks at a thread by the pages that the kernel shares with programs: the processor's number and
/// the records of switches. It costs what reading the clock costs.
pub fn observe(thread: ThreadId) -> Observation {
    let here = here();
    let engine = here.get();
    let (kernel, now) = (&engine.kernel, engine.clock);
    let times = kernel.times(thread, now);
    let seen = Observation {
        cpu: kernel.processor(thread),
        state: kernel.state(thread),
        switches: times.voluntary_switches + times.involuntary_switches,
    };
    engine.note_clock();
    let cost = engine.settings.system.clock;
    here.charge(cost);
    seen
}

/// The times of all threads of this program, together.
pub fn program_times() -> ThreadTimes {
    read_file(|engine| {
        let program = engine.program();
        let mut sum = ThreadTimes::default();
        for (id, thread) in engine.threads.entries() {
            if thread.program == program {
                sum.add(&engine.kernel.times(id, engine.clock));
            }
        }
        sum
    })
}

/// The processors that the first thread of this program may run on.
pub fn program_affinity() -> CpuSet {
    here().system_call(0, |engine| {
        let program = engine.program();
        let first = engine.threads.entries().find(|(_, thread)| thread.program == program);
        let (first, _) = first.expect("a program has a first thread");
        engine.kernel.affinity(first)
    })
}

/// The bandwidth of this program's control group, and what the group has used of it.
pub fn bandwidth() -> Option<(Bandwidth, GroupTimes)> {
    read_file(|engine| {
        let group = engine.programs[engine.program()].group?;
        Some((engine.kernel.bandwidth(group), engine.kernel.group_times(group)))
    })
}

/// How long a thread has run.
pub fn run_time(thread: ThreadId) -> Nanos {
    let here = here();
    let cost = here.get().settings.system.thread_clock;
    here.system_call(cost, |engine| engine.kernel.times(thread, engine.clock).run)
}

/// A thread's times, from a file of `/proc`.
pub fn times(thread: ThreadId) -> ThreadTimes {
    read_file(|engine| engine.kernel.times(thread, engine.clock))
}

/// How many threads are ready or run, in the whole machine.
pub fn runnable_threads() -> usize {
    read_file(|engine| {
        let all = engine.topology.all();
        all.map(|cpu| engine.kernel.runnable(cpu)).sum()
    })
}

/// How long the hypervisor has taken a processor away: `steal` of `/proc/stat`.
pub fn steal_time(cpu: Cpu) -> Nanos {
    read_file(|engine| engine.stolen(cpu, engine.clock))
}

/// The processors that a thread may run on.
pub fn affinity(thread: ThreadId) -> CpuSet {
    here().system_call(0, |engine| engine.kernel.affinity(thread))
}

/// Lets a thread run on these processors alone. Returns false if they are none of the machine's.
pub fn set_affinity(thread: ThreadId, set: &CpuSet) -> bool {
    let here = here();
    let own = here.get().current;
    let set = set.clone();
    let done = here.system_call(0, |engine| {
        let is_possible = engine.kernel.has_any(&set);
        if is_possible {
            engine.kernel.set_affinity(thread, set, engine.clock);
        }
        is_possible
    });
    if done && thread == own {
        here.reschedule(|_, _, _| {});
    }
    done
}

/// Sets a thread's scheduling policy.
pub fn set_policy(thread: ThreadId, policy: Policy) {
    here().system_call(0, |engine| engine.kernel.set_policy(thread, policy, engine.clock));
}

/// A thread's nice level.
pub fn nice(thread: ThreadId) -> i8 {
    here().system_call(0, |engine| engine.kernel.nice(thread))
}

/// Sets a thread's nice level, from -20 to 19.
pub fn set_nice(thread: ThreadId, nice: i8) {
    here().system_call(0, |engine| engine.kernel.set_nice(thread, nice, engine.clock));
}

/// Asks for time slices of this length, as `sched_setattr` does.
pub fn set_slice(thread: ThreadId, slice: Duration) {
    here().system_call(0, |engine| engine.kernel.set_slice(thread, nanos(slice)));
}

/// Names the cache lines of `value` in reports. The value stays where it is.
pub fn name<T: ?Sized>(value: &T, name: &str) {
    let Some(here) = engine() else { return };
    let engine = here.get();
    let first = std::ptr::from_ref(value).cast::<()>().addr();
    let last = first + size_of_val(value).max(1) - 1;
    // Lines of two pages are not numbered one after the other.
    for address in (first & !63..=last).step_by(64) {
        let line = engine.lines.of(address);
        crate::arena::outside(|| engine.coherence.name(line, name));
    }
}
