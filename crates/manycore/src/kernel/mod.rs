//! The kernel's scheduler: which thread runs on which processor.
//!
//! [`Kernel`] is a deterministic state machine. It knows nothing of code: an engine tells it what
//! threads do ([`wake`](Kernel::wake), [`block`](Kernel::block), [`yield_now`](Kernel::yield_now),
//! ...), with the time. It asks for later calls by [`Request`]s. `README.md` describes the model.

#![allow(dead_code, reason = "the other schedulers follow")]

mod bandwidth;
mod cfs;
mod config;
mod cpu_set;
mod eevdf;
mod round_robin;
mod run_queue;
mod settings;
#[cfg(test)]
mod tests;
mod thread;
mod weights;

pub use bandwidth::{Bandwidth, GroupId, GroupTimes};
pub use cfs::{Cfs, CfsYield};
pub use config::{Balancing, IdleScan, KernelConfig, KernelCosts, Scheduler};
pub use cpu_set::CpuSet;
pub use eevdf::{Eevdf, EevdfYield};
pub use thread::{Policy, ThreadState, ThreadTimes};

use crate::ids::{Cpu, Nanos, ProgramId, ThreadId};
use crate::topology::Topology;
use run_queue::{Dequeue, Enqueue, Entities, Entity, RunQueue};
use thread::Thread;

/// What the kernel asks of the engine. Times are not before the `now` of the call that made the
/// request. Each request is fulfilled once, in the order of time; one that is out of date by then
/// has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// At `at`, settle the running thread of `cpu` and call [`Kernel::pick`] with `at` or later.
    Reschedule {
        /// The processor.
        cpu: Cpu,
        /// When.
        at: Nanos,
    },
    /// At `at`, call [`Kernel::expire`].
    Timer {
        /// When.
        at: Nanos,
        /// What to call it with.
        timer: KernelTimer,
    },
}

/// A timer of the kernel: a tick, the end of a slice, a group's period, or balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelTimer(TimerKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TimerKind {
    Tick(Cpu),
    SliceEnd(Cpu),
}

impl KernelTimer {
    /// The processor whose time the timer's handler takes. `None` if it takes no time.
    pub const fn cpu(self) -> Option<Cpu> {
        match self.0 {
            TimerKind::Tick(cpu) | TimerKind::SliceEnd(cpu) => Some(cpu),
        }
    }
}

/// What a processor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    /// The thread that runs. `None`: the processor is idle.
    pub thread: Option<ThreadId>,
    /// True if it did not run before this call.
    pub switched: bool,
    /// How long the processor is busy in the kernel before the thread goes on (or the processor
    /// halts). It counts as run time of the thread.
    pub cost: Nanos,
}

/// The model of the kernel's scheduler.
///
/// The rules for the engine:
///
/// - After [`block`](Self::block), [`exit`](Self::exit), [`yield_now`](Self::yield_now) and a
///   successful [`yield_to`](Self::yield_to), it calls [`pick`](Self::pick) for that processor.
/// - After each call it takes the requests, and fulfils each of them at its time.
/// - `now` does not go back for one processor. It may be slightly before a `now` that another
///   processor's call had.
pub struct Kernel {
    topology: Topology,
    config: KernelConfig,
    threads: Vec<Thread>,
    entities: Entities,
    processors: Vec<Processor>,
    /// Processors without a current thread and without a runnable one.
    idle: CpuSet,
    requests: Vec<Request>,
}

struct Processor {
    queue: Box<dyn RunQueue>,
    current: Option<ThreadId>,
    /// Run time and idle time are accounted until then.
    clock: Nanos,
    idle_time: Nanos,
    /// Time that a hypervisor took and that is not yet subtracted.
    stolen: Nanos,
    /// True after a call that must be followed by a pick.
    must_pick: bool,
    /// When the processor reschedules, if it was asked to.
    reschedule_at: Option<Nanos>,
    /// True if a tick is requested.
    is_ticking: bool,
    /// When the timer of the end of a slice expires, if it is requested.
    slice_end: Option<Nanos>,
    /// Since when the processor has had no current thread, if it has none.
    idle_since: Nanos,
}

impl Kernel {
    /// A machine without threads, whose processors are idle.
    pub fn new(topology: Topology, config: KernelConfig) -> Self {
        let scale = config.scale(topology.processors());
        let processor = |_| Processor {
            queue: run_queue::new_queue(config.scheduler, scale, config.tick()),
            current: None,
            clock: 0,
            idle_time: 0,
            stolen: 0,
            must_pick: false,
            reschedule_at: None,
            is_ticking: false,
            slice_end: None,
            idle_since: 0,
        };
        Self {
            topology,
            config,
            threads: Vec::new(),
            entities: Entities::default(),
            processors: topology.all().map(processor).collect(),
            idle: topology.all().collect(),
            requests: Vec::new(),
        }
    }

    /// Adds a control group with a quota.
    pub fn add_group(&mut self, _bandwidth: Bandwidth) -> GroupId {
        todo!("quotas follow")
    }

    /// Adds a thread, which is blocked at first. Its first wake-up places it near `parent_cpu`.
    pub fn add_thread(
        &mut self,
        program: ProgramId,
        group: Option<GroupId>,
        parent_cpu: Cpu,
    ) -> ThreadId {
        let id = ThreadId(u32::try_from(self.threads.len()).expect("fewer than 2^32 threads"));
        self.threads.push(Thread::new(program, group, parent_cpu));
        self.entities.push(Entity::new());
        id
    }

    /// Makes a blocked thread runnable; no effect on another one. `waker` is the processor whose
    /// current thread wakes it, `None` for a timer or device. Returns how long the waker is busy.
    pub fn wake(&mut self, thread: ThreadId, waker: Option<Cpu>, now: Nanos) -> Nanos {
        if self.state(thread) != ThreadState::Blocked {
            return 0;
        }
        let costs = self.config.costs;
        let (cpu, mut cost) = self.place(thread, waker);
        cost += costs.wake_up;
        let why = if self.threads[thread.index()].is_new { Enqueue::New } else { Enqueue::Wake };
        self.threads[thread.index()].is_new = false;
        self.settle(cpu, now);
        let was_idle = self.idle.contains(cpu);
        self.enqueue(thread, cpu, why, now);
        let processor = &mut self.processors[cpu.index()];
        if was_idle {
            let is_deep = now.saturating_sub(processor.idle_since) > costs.deep_idle_after;
            let exit = if is_deep { costs.deep_idle_exit } else { costs.idle_exit };
            self.reschedule(cpu, now + cost + exit);
        } else if processor.current.is_some()
            && processor.queue.preempts(&mut self.entities, thread)
        {
            let interrupt = if waker == Some(cpu) { 0 } else { costs.reschedule_interrupt };
            self.reschedule(cpu, now + cost + interrupt);
        }
        cost
    }

    /// The current thread of `cpu` waits for a wake-up.
    ///
    /// # Panics
    /// If `cpu` has no current thread; [`exit`](Self::exit) and the yields panic then, too.
    pub fn block(&mut self, cpu: Cpu, now: Nanos) {
        self.settle(cpu, now);
        let thread = self.take_current(cpu);
        self.threads[thread.index()].times.voluntary_switches += 1;
        self.threads[thread.index()].enter(ThreadState::Blocked, now);
        self.processors[cpu.index()].queue.dequeue(&mut self.entities, thread, Dequeue::Sleep);
    }

    /// The current thread of `cpu` exits.
    pub fn exit(&mut self, cpu: Cpu, now: Nanos) {
        self.settle(cpu, now);
        let thread = self.take_current(cpu);
        self.threads[thread.index()].times.voluntary_switches += 1;
        self.threads[thread.index()].enter(ThreadState::Exited, now);
        self.processors[cpu.index()].queue.dequeue(&mut self.entities, thread, Dequeue::Exit);
    }

    /// The current thread of `cpu` calls `sched_yield`.
    pub fn yield_now(&mut self, cpu: Cpu, now: Nanos) {
        self.settle(cpu, now);
        let processor = &mut self.processors[cpu.index()];
        assert!(processor.current.is_some(), "a yield on an idle processor");
        if processor.queue.len() > 1 {
            processor.queue.yield_current(&mut self.entities);
        }
        processor.must_pick = true;
    }

    /// The current thread of `cpu` yields to `target`, which runs there at once for the rest of the
    /// slice. False, and no effect, unless `target` is [`Ready`](ThreadState::Ready), on whichever
    /// processor, and may run on `cpu`.
    ///
    /// Source: Ding et al., BWS: Balanced Work Stealing for Time-Sharing Multicores, EuroSys 2012,
    /// section 4.
    pub fn yield_to(&mut self, cpu: Cpu, target: ThreadId, now: Nanos) -> bool {
        let _ = (cpu, target, now);
        false
    }

    /// A timer has expired. Returns how long its handler keeps the timer's processor busy.
    pub fn expire(&mut self, timer: KernelTimer, now: Nanos) -> Nanos {
        match timer.0 {
            TimerKind::Tick(cpu) => self.tick(cpu, now),
            TimerKind::SliceEnd(cpu) => {
                let processor = &mut self.processors[cpu.index()];
                if processor.slice_end.is_some_and(|end| end <= now) {
                    processor.slice_end = None;
                    if self.settle(cpu, now) {
                        self.reschedule(cpu, now);
                    }
                    self.request_slice_end(cpu, now);
                }
                0
            }
        }
    }

    /// Chooses what `cpu` does next. Calls that are not due change nothing.
    pub fn pick(&mut self, cpu: Cpu, now: Nanos) -> Picked {
        let is_over = self.settle(cpu, now);
        let processor = &mut self.processors[cpu.index()];
        let is_asked = processor.reschedule_at.is_some_and(|at| at <= now);
        if !is_over && !processor.must_pick && !is_asked {
            return Picked { thread: processor.current, switched: false, cost: 0 };
        }
        let was_current = processor.current;
        processor.must_pick = false;
        processor.reschedule_at = None;
        let next = processor.queue.pick(&mut self.entities);
        self.switch(cpu, was_current, next, now)
    }

    /// The requests since the last call.
    pub fn take_requests(&mut self) -> std::vec::Drain<'_, Request> {
        self.requests.drain(..)
    }

    /// The thread that runs on `cpu`.
    pub fn current(&self, cpu: Cpu) -> Option<ThreadId> {
        self.processors[cpu.index()].current
    }

    /// True if `cpu` has no runnable thread.
    pub fn is_idle(&self, cpu: Cpu) -> bool {
        self.idle.contains(cpu)
    }

    /// How many threads of `cpu` are runnable, the current one included.
    pub fn runnable(&self, cpu: Cpu) -> usize {
        self.processors[cpu.index()].queue.len()
    }

    /// The processor that runs or queues the thread, or did so before it blocked.
    pub fn processor(&self, thread: ThreadId) -> Cpu {
        self.threads[thread.index()].cpu
    }

    /// Whether the thread runs, waits or sleeps.
    pub fn state(&self, thread: ThreadId) -> ThreadState {
        self.threads[thread.index()].state
    }

    /// The program of the thread.
    pub fn program(&self, thread: ThreadId) -> ProgramId {
        self.threads[thread.index()].program
    }

    /// Restricts the thread to a set of processors. A thread that runs or waits elsewhere moves.
    ///
    /// # Panics
    /// If the set has no processor of this machine.
    pub fn set_affinity(&mut self, thread: ThreadId, set: CpuSet, _now: Nanos) {
        assert!(self.topology.all().any(|cpu| set.contains(cpu)), "an affinity without processors");
        self.threads[thread.index()].affinity = Some(set);
    }

    /// Sets the scheduling policy.
    pub fn set_policy(&mut self, thread: ThreadId, policy: Policy, _now: Nanos) {
        self.threads[thread.index()].policy = policy;
    }

    /// Sets the nice level, -20 to 19; other values are clamped.
    pub fn set_nice(&mut self, thread: ThreadId, nice: i8, _now: Nanos) {
        self.threads[thread.index()].nice = nice;
    }

    /// Sets the slice that the thread asks for, clamped to 0.1 to 100 ms (`sched_setattr` with
    /// `sched_runtime`, since 6.12). It counts from the next slice on.
    pub fn set_slice(&mut self, thread: ThreadId, slice: Nanos) {
        let slice = slice.clamp(config::MILLISECOND / 10, 100 * config::MILLISECOND);
        self.entities[thread].slice = Some(slice);
    }

    /// A hypervisor takes `cpu`, or took it, for this long. The next `stolen` nanoseconds of the
    /// processor's time are neither run time nor idle time.
    pub fn steal(&mut self, cpu: Cpu, stolen: Nanos) {
        self.processors[cpu.index()].stolen += stolen;
    }

    /// The thread's times until `now`.
    pub fn times(&self, thread: ThreadId, now: Nanos) -> ThreadTimes {
        let thread = &self.threads[thread.index()];
        let mut times = thread.times;
        let waited = now.saturating_sub(thread.since);
        match thread.state {
            ThreadState::Running => times.run += self.unsettled(thread.cpu, now),
            ThreadState::Ready => times.delay += waited,
            ThreadState::Throttled => {
                times.delay += waited;
                times.throttled += waited;
            }
            ThreadState::Blocked | ThreadState::Exited => {}
        }
        times
    }

    /// How long `cpu` has had no current thread, until `now`.
    pub fn idle_time(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &self.processors[cpu.index()];
        let running = if processor.current.is_none() { self.unsettled(cpu, now) } else { 0 };
        processor.idle_time + running
    }

    /// The processor's time since its clock, without what a hypervisor took.
    fn unsettled(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &self.processors[cpu.index()];
        now.saturating_sub(processor.clock).saturating_sub(processor.stolen)
    }

    /// Accounts the time of `cpu` until `now`. True if the current thread's slice is over.
    fn settle(&mut self, cpu: Cpu, now: Nanos) -> bool {
        let ran = self.unsettled(cpu, now);
        let processor = &mut self.processors[cpu.index()];
        let elapsed = now.saturating_sub(processor.clock);
        processor.stolen -= elapsed - ran;
        processor.clock += elapsed;
        let Some(current) = processor.current else {
            processor.idle_time += ran;
            return false;
        };
        let thread = &mut self.threads[current.index()];
        thread.times.run += ran;
        thread.ran_at = processor.clock;
        processor.queue.update_current(&mut self.entities, ran)
    }

    /// Asks for a pick at `at`, unless an earlier one is requested.
    fn reschedule(&mut self, cpu: Cpu, at: Nanos) {
        let pending = &mut self.processors[cpu.index()].reschedule_at;
        if pending.is_none_or(|pending| pending > at) {
            *pending = Some(at);
            self.requests.push(Request::Reschedule { cpu, at });
        }
    }

    /// The current thread is about to leave its processor.
    fn take_current(&mut self, cpu: Cpu) -> ThreadId {
        let processor = &mut self.processors[cpu.index()];
        processor.must_pick = true;
        processor.current.take().expect("the processor runs a thread")
    }

    fn enqueue(&mut self, id: ThreadId, cpu: Cpu, why: Enqueue, now: Nanos) {
        let thread = &mut self.threads[id.index()];
        thread.enter(ThreadState::Ready, now);
        thread.times.migrations += u64::from(why != Enqueue::New && thread.cpu != cpu);
        thread.cpu = cpu;
        self.processors[cpu.index()].queue.enqueue(&mut self.entities, id, why);
        self.note(cpu);
        self.request_slice_end(cpu, now);
    }

    /// Updates the sets of processors after a change of `cpu`.
    fn note(&mut self, cpu: Cpu) {
        let processor = &self.processors[cpu.index()];
        if processor.current.is_none() && processor.queue.len() == 0 {
            self.idle.insert(cpu);
        } else {
            self.idle.remove(cpu);
        }
    }

    fn switch(
        &mut self,
        cpu: Cpu,
        previous: Option<ThreadId>,
        next: Option<ThreadId>,
        now: Nanos,
    ) -> Picked {
        let costs = self.config.costs;
        let processor = &mut self.processors[cpu.index()];
        processor.current = next;
        let switched = previous != next && next.is_some();
        let mut cost = 0;
        if previous != next {
            if let Some(previous) = previous {
                let previous = &mut self.threads[previous.index()];
                previous.times.involuntary_switches += 1;
                previous.enter(ThreadState::Ready, now);
            }
            if let Some(next) = next {
                let thread = &mut self.threads[next.index()];
                thread.enter(ThreadState::Running, now);
                let moved = thread.ran_on.is_some_and(|before| before != cpu);
                thread.ran_on = Some(cpu);
                cost = costs.context_switch + if moved { costs.migration } else { 0 };
            } else {
                processor.idle_since = now;
            }
        }
        self.note(cpu);
        if next.is_some() && !self.processors[cpu.index()].is_ticking {
            self.processors[cpu.index()].is_ticking = true;
            self.request_tick(cpu, now);
        }
        self.request_slice_end(cpu, now);
        Picked { thread: next, switched, cost }
    }

    fn tick(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        let mut is_over = self.settle(cpu, now);
        let processor = &mut self.processors[cpu.index()];
        if processor.current.is_none() {
            processor.is_ticking = false;
            return 0;
        }
        is_over |= processor.queue.tick(&mut self.entities);
        if is_over {
            self.reschedule(cpu, now);
        }
        self.request_tick(cpu, now);
        self.config.costs.tick
    }

    /// Asks for the next tick. The ticks of all processors are at the same times.
    fn request_tick(&mut self, cpu: Cpu, now: Nanos) {
        let tick = self.config.tick();
        let at = (now / tick + 1) * tick;
        self.requests.push(Request::Timer { at, timer: KernelTimer(TimerKind::Tick(cpu)) });
    }

    /// Asks for a timer at the end of the current slice, if slices end precisely and a thread waits.
    fn request_slice_end(&mut self, cpu: Cpu, now: Nanos) {
        let processor = &mut self.processors[cpu.index()];
        if !self.config.precise_slices || processor.queue.len() < 2 {
            return;
        }
        let Some(left) = processor.queue.slice_left(&self.entities) else { return };
        let at = now.max(processor.clock) + left.max(1);
        if processor.slice_end.is_none_or(|end| end > at) {
            processor.slice_end = Some(at);
            let timer = KernelTimer(TimerKind::SliceEnd(cpu));
            self.requests.push(Request::Timer { at, timer });
        }
    }

    /// The processor for a thread that wakes up, and what the search cost.
    fn place(&self, thread: ThreadId, _waker: Option<Cpu>) -> (Cpu, Nanos) {
        let thread = &self.threads[thread.index()];
        let is_free = |&cpu: &Cpu| thread.is_allowed(cpu) && self.idle.contains(cpu);
        let cpu = Some(thread.cpu)
            .filter(is_free)
            .or_else(|| self.topology.cluster_of(thread.cpu).find(is_free))
            .or_else(|| Some(thread.cpu).filter(|&cpu| thread.is_allowed(cpu)))
            .or_else(|| self.topology.all().find(|&cpu| thread.is_allowed(cpu)))
            .expect("an affinity has a processor");
        (cpu, 0)
    }
}
