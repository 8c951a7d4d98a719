//! The kernel's scheduler: which thread runs on which processor.
//!
//! [`Kernel`] is a deterministic state machine. It knows nothing of code: an engine tells it what
//! threads do ([`wake`](Kernel::wake), [`block`](Kernel::block), [`yield_now`](Kernel::yield_now),
//! ...), with the time. It asks for later calls by [`Request`]s. `README.md` describes the model.

mod attributes;
mod balance;
mod bandwidth;
mod cfs;
mod config;
mod eevdf;
mod placement;
mod round_robin;
mod run_queue;
#[cfg(test)]
mod tests;
mod thread;
mod weights;

pub use bandwidth::{Bandwidth, GroupTimes};
pub use cfs::{Cfs, CfsYield};
pub use config::{Balancing, IdleScan, KernelConfig, KernelCosts, Scheduler};
pub use eevdf::{Eevdf, EevdfYield};
pub use thread::{Policy, ThreadState, ThreadTimes};

pub use crate::cpu_set::CpuSet;
pub use crate::ids::GroupId;
use crate::ids::{Cpu, Nanos, Table, ThreadId};
use crate::topology::{Distance, Topology};
use bandwidth::Group;
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

/// A timer of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelTimer {
    /// A tick.
    Tick(Cpu),
    /// The end of a slice.
    SliceEnd(Cpu),
    /// An idle processor was asked to look for threads.
    IdleBalance(Cpu),
    /// The end of a period of a group.
    Period(GroupId),
    /// Processors returned run time to a group.
    Slack(GroupId),
}

impl KernelTimer {
    /// The processor whose time the timer's handler takes. `None` if it takes no time.
    pub const fn cpu(self) -> Option<Cpu> {
        match self {
            Self::Tick(cpu) | Self::SliceEnd(cpu) | Self::IdleBalance(cpu) => Some(cpu),
            Self::Period(_) | Self::Slack(_) => None,
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
    threads: Table<ThreadId, Thread>,
    entities: Entities,
    queues: Table<Cpu, Box<dyn RunQueue>>,
    processors: Table<Cpu, Processor>,
    groups: Table<GroupId, Group>,
    /// Processors without a current thread and without a runnable one.
    idle: CpuSet,
    /// The average share of busy processors of each cluster, in 1024ths, and when it was updated.
    utilization: Vec<(Nanos, Nanos)>,
    /// Processors with a thread that waits.
    overloaded: CpuSet,
    requests: Vec<Request>,
    /// Kept for its memory.
    candidates: Vec<(u64, Cpu)>,
}

/// An empty queue of this scheduler. Its times are multiplied by `scale`.
fn new_queue(scheduler: Scheduler, scale: u64, tick: Nanos) -> Box<dyn RunQueue> {
    match scheduler {
        Scheduler::Eevdf(options) => Box::new(eevdf::Queue::new(options, scale, tick)),
        Scheduler::Cfs(options) => Box::new(cfs::Queue::new(options, scale)),
        Scheduler::RoundRobin { slice } => Box::new(round_robin::RoundRobin::new(slice)),
    }
}

#[derive(Clone, Default)]
struct Processor {
    current: Option<ThreadId>,
    /// Run time and idle time are accounted until then.
    clock: Nanos,
    idle_time: Nanos,
    /// Time that a hypervisor took and that is not yet subtracted.
    stolen: Nanos,
    /// True after a call that must be followed by a pick.
    must_pick: bool,
    /// The thread that the next pick takes, after a directed yield.
    chosen: Option<ThreadId>,
    /// When the processor reschedules, if it was asked to.
    reschedule_at: Option<Nanos>,
    /// True if a tick is requested.
    is_ticking: bool,
    /// When the timer of the end of a slice expires, if it is requested.
    slice_end: Option<Nanos>,
    /// True if it chose to be idle, and has not chosen a thread since.
    is_halted: bool,
    /// Since when it is halted, if it is.
    idle_since: Nanos,
    /// A moving average of how long it is idle.
    average_idle: Nanos,
    /// True if it was asked to look for threads while it is idle.
    is_kicked: bool,
    /// When it balances next, at each distance.
    next_balance: [Nanos; Distance::COUNT],
    /// How often balancing found a heavier queue and moved nothing, at each distance.
    failed_balance: [u32; Distance::COUNT],
}

impl Kernel {
    /// A machine without threads, whose processors are idle.
    pub fn new(topology: Topology, config: KernelConfig) -> Self {
        let scale = config.scale(topology.processors());
        let queue = |_| new_queue(config.scheduler, scale, config.tick());
        let average_idle = 2 * config.balancing.hot;
        let processor = Processor { is_halted: true, average_idle, ..Processor::default() };
        Self {
            topology,
            config,
            threads: Table::default(),
            entities: Entities::default(),
            queues: topology.all().map(queue).collect(),
            processors: vec![processor; topology.processors()].into(),
            groups: Table::default(),
            idle: topology.all().collect(),
            utilization: vec![(0, 0); topology.processors() / topology.size(Distance::Cluster)],
            overloaded: CpuSet::new(),
            requests: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Adds a thread, which is blocked at first. Its first wake-up places it near `parent_cpu`.
    pub fn add_thread(&mut self, group: Option<GroupId>, parent_cpu: Cpu) -> ThreadId {
        self.entities.push(Entity { weight: weights::NICE_0, ..Entity::default() });
        let cpu = parent_cpu;
        self.threads.push(Thread { group, cpu, is_new: true, ..Thread::default() })
    }

    /// Makes a blocked thread runnable; no effect on another one. `waker` is the processor whose
    /// current thread wakes it, `None` for a timer or device. Returns how long the waker is busy.
    pub fn wake(&mut self, thread: ThreadId, waker: Option<Cpu>, now: Nanos) -> Nanos {
        if self.state(thread) != ThreadState::Blocked {
            return 0;
        }
        let wake_up = self.config.costs.wake_up;
        if self.entities[thread].is_delayed {
            let cpu = self.processor(thread);
            self.settle(cpu, now);
            let queue = &mut self.queues[cpu];
            if self.threads[thread].is_allowed(cpu) {
                queue.requeue(&mut self.entities, thread);
                self.threads[thread].enter(ThreadState::Ready, now);
                self.count_queued(thread);
                self.note(cpu);
                self.check_preemption(thread, waker, now, wake_up);
                return wake_up;
            }
            queue.dequeue(&mut self.entities, thread, Dequeue::Leave);
        }
        let (cpu, search) = self.place(thread, waker, now);
        let cost = wake_up + search;
        let entry = &mut self.threads[thread];
        let why = if entry.is_new { Enqueue::New } else { Enqueue::Wake };
        entry.is_new = false;
        self.enqueue(thread, cpu, why, now);
        self.check_preemption(thread, waker, now, cost);
        cost
    }

    /// The current thread of `cpu` waits for a wake-up.
    ///
    /// # Panics
    /// If `cpu` has no current thread; [`exit`](Self::exit) and the yields panic then, too.
    pub fn block(&mut self, cpu: Cpu, now: Nanos) {
        self.leave(cpu, ThreadState::Blocked, Dequeue::Sleep, now);
    }

    /// The current thread of `cpu` exits.
    pub fn exit(&mut self, cpu: Cpu, now: Nanos) {
        self.leave(cpu, ThreadState::Exited, Dequeue::Leave, now);
    }

    /// The current thread of `cpu` calls `sched_yield`.
    pub fn yield_now(&mut self, cpu: Cpu, now: Nanos) {
        self.settle(cpu, now);
        assert!(self.current(cpu).is_some(), "a yield on an idle processor");
        if self.runnable(cpu) > 1 {
            self.queues[cpu].yield_current(&mut self.entities);
        }
        self.processors[cpu].must_pick = true;
    }

    /// The current thread of `cpu` yields to `target`, which the next pick runs there for the rest
    /// of the slice. False, and no effect, unless `target` is [`Ready`](ThreadState::Ready), on
    /// whichever processor, and may run on `cpu`.
    ///
    /// Source: Ding et al., BWS: Balanced Work Stealing for Time-Sharing Multicores, EuroSys 2012,
    /// section 4.
    pub fn yield_to(&mut self, cpu: Cpu, target: ThreadId, now: Nanos) -> bool {
        let source = self.processor(target);
        if self.state(target) != ThreadState::Ready
            || !self.threads[target].is_allowed(cpu)
            || self.is_throttled(target, cpu)
        {
            return false;
        }
        let is_over = self.account(cpu, now);
        assert!(self.current(cpu).is_some(), "a yield on an idle processor");
        if source != cpu {
            self.migrate(target, cpu, now);
        }
        let left = self.queues[cpu].slice_left(&self.entities).filter(|_| !is_over);
        self.queues[cpu].pick_directly(&mut self.entities, target, left.unwrap_or(0));
        let processor = &mut self.processors[cpu];
        processor.chosen = Some(target);
        processor.must_pick = true;
        true
    }

    /// A timer has expired. Returns how long its handler keeps the timer's processor busy.
    pub fn expire(&mut self, timer: KernelTimer, now: Nanos) -> Nanos {
        match timer {
            KernelTimer::Tick(cpu) => return self.tick(cpu, now),
            KernelTimer::SliceEnd(cpu) => self.end_slice(cpu, now),
            KernelTimer::IdleBalance(cpu) => return self.balance_idle(cpu, now),
            KernelTimer::Period(group) => self.end_period(group, now),
            KernelTimer::Slack(group) => self.distribute_slack(group, now),
        }
        0
    }

    /// Chooses what `cpu` does next. A call that is not due changes nothing.
    pub fn pick(&mut self, cpu: Cpu, now: Nanos) -> Picked {
        let processor = &mut self.processors[cpu];
        let previous = processor.current;
        let is_asked = processor.reschedule_at.is_some_and(|at| at <= now);
        let may_stay = previous.is_none_or(|id| self.threads[id].is_allowed(cpu));
        if !processor.must_pick && !is_asked && may_stay {
            return Picked { thread: previous, switched: false, cost: 0 };
        }
        let _ = self.account(cpu, now);
        let processor = &mut self.processors[cpu];
        processor.must_pick = false;
        processor.reschedule_at = None;
        let chosen = processor.chosen.take();
        self.expel_current(cpu, now);
        // It may have moved since.
        let is_here = |thread: &ThreadId| {
            self.state(*thread) == ThreadState::Ready && self.processor(*thread) == cpu
        };
        let mut next = chosen.filter(is_here).or_else(|| self.pick_unthrottled(cpu, now));
        let mut cost = 0;
        if next.is_none() {
            cost = self.balance_new_idle(cpu, now);
            next = self.pick_unthrottled(cpu, now);
        }
        let switched = previous != next && next.is_some();
        cost += self.switch(cpu, previous, next, now);
        Picked { thread: next, switched, cost }
    }

    /// The requests since the last call.
    pub fn take_requests(&mut self) -> std::vec::Drain<'_, Request> {
        self.requests.drain(..)
    }

    /// The thread that runs on `cpu`.
    pub fn current(&self, cpu: Cpu) -> Option<ThreadId> {
        self.processors[cpu].current
    }

    /// True if `cpu` has no runnable thread.
    pub fn is_idle(&self, cpu: Cpu) -> bool {
        self.idle.contains(cpu)
    }

    /// How many threads of `cpu` are runnable, the current one included.
    pub fn runnable(&self, cpu: Cpu) -> usize {
        self.queues[cpu].len()
    }

    /// The processor that runs or queues the thread, or did so before it blocked.
    pub fn processor(&self, thread: ThreadId) -> Cpu {
        self.threads[thread].cpu
    }

    /// Whether the thread runs, waits or sleeps.
    pub fn state(&self, thread: ThreadId) -> ThreadState {
        self.threads[thread].state
    }

    /// A hypervisor takes `cpu`, or took it, for this long. The next `stolen` nanoseconds of the
    /// processor's time are neither run time nor idle time.
    pub fn steal(&mut self, cpu: Cpu, stolen: Nanos) {
        self.processors[cpu].stolen += stolen;
    }

    /// The thread's times until `now`.
    pub fn times(&self, thread: ThreadId, now: Nanos) -> ThreadTimes {
        let thread = &self.threads[thread];
        let mut times = thread.settled_times(now);
        if thread.state == ThreadState::Running {
            times.run += self.unsettled(thread.cpu, now);
        }
        times
    }

    /// How long `cpu` has had no current thread, until `now`.
    pub fn idle_time(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &self.processors[cpu];
        let running = if processor.current.is_none() { self.unsettled(cpu, now) } else { 0 };
        processor.idle_time + running
    }

    /// The processor's time since its clock, without what a hypervisor took.
    fn unsettled(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &self.processors[cpu];
        now.saturating_sub(processor.clock).saturating_sub(processor.stolen)
    }

    /// Accounts the time of `cpu` until `now`. True if the current thread's slice is over.
    #[must_use = "the processor may have to reschedule"]
    fn account(&mut self, cpu: Cpu, now: Nanos) -> bool {
        let ran = self.unsettled(cpu, now);
        let processor = &mut self.processors[cpu];
        let elapsed = now.saturating_sub(processor.clock);
        processor.stolen -= elapsed - ran;
        processor.clock += elapsed;
        let Some(current) = processor.current else {
            processor.idle_time += ran;
            return false;
        };
        let thread = &mut self.threads[current];
        thread.times.run += ran;
        thread.ran_at = processor.clock;
        let group = thread.group;
        let is_over = self.queues[cpu].update_current(&mut self.entities, ran);
        let is_spent = group.is_some_and(|group| !self.charge(group, cpu, ran, now));
        is_over || is_spent
    }

    /// Accounts the time of `cpu`, which reschedules if the current thread's slice is over.
    fn settle(&mut self, cpu: Cpu, now: Nanos) {
        if self.account(cpu, now) {
            self.reschedule(cpu, now);
        }
    }

    /// Asks for a pick at `at`, unless an earlier one is requested.
    fn reschedule(&mut self, cpu: Cpu, at: Nanos) {
        let pending = &mut self.processors[cpu].reschedule_at;
        if pending.is_none_or(|pending| pending > at) {
            *pending = Some(at);
            self.requests.push(Request::Reschedule { cpu, at });
        }
    }

    /// The current thread leaves its processor and its queue.
    fn leave(&mut self, cpu: Cpu, state: ThreadState, why: Dequeue, now: Nanos) {
        let _ = self.account(cpu, now);
        let processor = &mut self.processors[cpu];
        processor.must_pick = true;
        let thread = processor.current.take().expect("the processor runs a thread");
        self.dequeue(thread, why, now);
        self.threads[thread].times.voluntary_switches += 1;
        self.threads[thread].enter(state, now);
    }

    /// A thread that left its queue enters the queue of `cpu`, unless its group is throttled there.
    fn enqueue(&mut self, id: ThreadId, cpu: Cpu, why: Enqueue, now: Nanos) {
        self.settle(cpu, now);
        let thread = &mut self.threads[id];
        thread.enter(ThreadState::Ready, now);
        if why == Enqueue::Wake && thread.cpu != cpu {
            self.queues[thread.cpu].detach(&mut self.entities, id);
        }
        thread.times.migrations += u64::from(why != Enqueue::New && thread.cpu != cpu);
        thread.cpu = cpu;
        if self.is_throttled(id, cpu) {
            self.throttle(id, now);
            return;
        }
        self.count_queued(id);
        self.queues[cpu].enqueue(&mut self.entities, id, why);
        self.note(cpu);
        self.request_slice_end(cpu, now);
    }

    /// A thread leaves its queue.
    fn dequeue(&mut self, thread: ThreadId, why: Dequeue, now: Nanos) {
        self.queues[self.threads[thread].cpu].dequeue(&mut self.entities, thread, why);
        self.count_dequeued(thread, now);
    }

    /// A thread that waits moves to the queue of `cpu`.
    fn migrate(&mut self, thread: ThreadId, cpu: Cpu, now: Nanos) {
        let source = self.processor(thread);
        self.settle(source, now);
        self.dequeue(thread, Dequeue::Move, now);
        self.note(source);
        self.enqueue(thread, cpu, Enqueue::Move, now);
    }

    /// A thread has entered the queue of `cpu`, by an action that keeps `actor` busy for `cost`:
    /// an idle processor wakes up, and a busy one may have to run the thread at once.
    fn check_preemption(&mut self, thread: ThreadId, actor: Option<Cpu>, now: Nanos, cost: Nanos) {
        if self.state(thread) != ThreadState::Ready {
            return;
        }
        let cpu = self.processor(thread);
        let processor = &self.processors[cpu];
        let latency = if processor.is_halted {
            self.idle_exit(cpu, now)
        } else if processor.current.is_none()
            || !self.queues[cpu].preempts(&mut self.entities, thread)
        {
            return;
        } else if actor == Some(cpu) {
            0
        } else {
            self.config.costs.reschedule_interrupt
        };
        self.reschedule(cpu, now + cost + latency);
    }

    /// How long a halted processor takes until it schedules.
    fn idle_exit(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let costs = &self.config.costs;
        let idle = now.saturating_sub(self.processors[cpu].idle_since);
        if idle > costs.deep_idle_after { costs.deep_idle_exit } else { costs.idle_exit }
    }

    /// Updates the sets of processors after a change of `cpu`.
    fn note(&mut self, cpu: Cpu) {
        let current = usize::from(self.current(cpu).is_some());
        let queued = self.runnable(cpu);
        self.idle.set(cpu, current == 0 && queued == 0);
        self.overloaded.set(cpu, queued > current.max(1));
    }

    /// The current thread of `cpu` goes elsewhere, if it may not run there any more.
    fn expel_current(&mut self, cpu: Cpu, now: Nanos) {
        let processor = &mut self.processors[cpu];
        let Some(current) = processor.current else { return };
        if self.threads[current].is_allowed(cpu) {
            return;
        }
        processor.current = None;
        self.threads[current].times.involuntary_switches += 1;
        self.threads[current].enter(ThreadState::Ready, now);
        let (target, cost) = self.place(current, None, now);
        self.migrate(current, target, now);
        self.check_preemption(current, Some(cpu), now, cost);
    }

    /// The next thread of `cpu` whose group has run time. Threads of other groups leave the queue.
    fn pick_unthrottled(&mut self, cpu: Cpu, now: Nanos) -> Option<ThreadId> {
        loop {
            let next = self.queues[cpu].pick(&mut self.entities)?;
            if self.may_run(next, cpu, now) {
                return Some(next);
            }
            self.dequeue(next, Dequeue::Leave, now);
            let processor = &mut self.processors[cpu];
            if processor.current == Some(next) {
                processor.current = None;
                self.threads[next].times.involuntary_switches += 1;
            }
            self.throttle(next, now);
        }
    }

    /// Makes `next` the current thread. Returns what that costs.
    fn switch(
        &mut self,
        cpu: Cpu,
        previous: Option<ThreadId>,
        next: Option<ThreadId>,
        now: Nanos,
    ) -> Nanos {
        let costs = self.config.costs;
        let processor = &mut self.processors[cpu];
        let mut cost = 0;
        if previous != next {
            if let Some(waits) = processor.current {
                self.threads[waits].times.involuntary_switches += 1;
                self.threads[waits].enter(ThreadState::Ready, now);
            }
            if let Some(next) = next {
                let thread = &mut self.threads[next];
                thread.enter(ThreadState::Running, now);
                let core = |cpu| self.topology.core(cpu);
                let moved = thread.ran_on.is_some_and(|before| core(before) != core(cpu));
                thread.ran_on = Some(cpu);
                cost = costs.context_switch + if moved { costs.migration } else { 0 };
            }
        }
        if processor.is_halted && next.is_some() {
            balance::update_average_idle(processor, &self.config, now);
        } else if !processor.is_halted && next.is_none() {
            processor.idle_since = now;
        }
        processor.is_halted = next.is_none();
        processor.current = next;
        if next.is_some() && !processor.is_ticking {
            processor.is_ticking = true;
            self.request_tick(cpu, now);
        }
        self.note(cpu);
        self.request_slice_end(cpu, now);
        cost
    }

    fn tick(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        self.settle(cpu, now);
        let processor = &mut self.processors[cpu];
        if processor.current.is_none() {
            processor.is_ticking = false;
            return 0;
        }
        if self.queues[cpu].tick(&mut self.entities) {
            self.reschedule(cpu, now);
        }
        self.request_tick(cpu, now);
        self.config.costs.tick + self.balance_periodically(cpu, now)
    }

    /// Asks for the next tick. The ticks of all processors are at the same times.
    fn request_tick(&mut self, cpu: Cpu, now: Nanos) {
        let tick = self.config.tick();
        self.request_timer((now / tick + 1) * tick, KernelTimer::Tick(cpu));
    }

    fn request_timer(&mut self, at: Nanos, timer: KernelTimer) {
        self.requests.push(Request::Timer { at, timer });
    }

    fn end_slice(&mut self, cpu: Cpu, now: Nanos) {
        let processor = &mut self.processors[cpu];
        if processor.slice_end.is_none_or(|end| end > now) {
            return;
        }
        processor.slice_end = None;
        self.settle(cpu, now);
        if self.queues[cpu].tick(&mut self.entities) {
            self.reschedule(cpu, now);
        } else {
            self.request_slice_end(cpu, now);
        }
    }

    /// Asks for a timer at the end of the current slice, if slices end precisely and another
    /// thread waits.
    fn request_slice_end(&mut self, cpu: Cpu, now: Nanos) {
        if !self.config.precise_slices || self.runnable(cpu) < 2 {
            return;
        }
        let Some(left) = self.queues[cpu].slice_left(&self.entities) else { return };
        let processor = &mut self.processors[cpu];
        let at = now.max(processor.clock) + processor.stolen + left.max(1);
        if processor.slice_end.is_none_or(|end| end > at) {
            processor.slice_end = Some(at);
            self.request_timer(at, KernelTimer::SliceEnd(cpu));
        }
    }
}
