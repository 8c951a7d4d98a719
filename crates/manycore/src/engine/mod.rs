//! Virtual time: the order in which code of virtual threads runs on the host, and for how long.
//!
//! The code of one virtual thread goes on without a switch while its clock is before the next event
//! plus the shortest transfer between processors. Nothing that another processor does from then on
//! could have reached this one yet. A miss and a system call are served in the exact order of their
//! times.

mod calls;
pub(crate) mod lines;
pub(crate) mod locals;
mod queue;
mod thread_state;
pub(crate) mod trace;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use corosensei::{Coroutine, Yielder};

use crate::arena::{self, Heap, Stack, outside};
use crate::coherence::{Access, Coherence};
use crate::costs::SystemCosts;
use crate::error::RunError;
use crate::hypervisor::{Hypervisor, View};
use crate::ids::{Cpu, GroupId, Id, LineIndex, Nanos, ProgramId, Table, ThreadId};
use crate::kernel::{Kernel, KernelTimer, Request as KernelRequest};
use crate::topology::{Distance, Topology};
use lines::LineNumbers;
use queue::Queue;
use thread_state::{Spin, ThreadState, Wait};
use trace::{Trace, TraceKind};

/// What an event is about. An event with an old number is stale.
#[derive(Clone, Copy, Debug)]
enum What {
    /// The current thread of a processor runs, unless the processor's number has changed.
    Run(Cpu, u32),
    /// A processor picks a thread.
    Reschedule(Cpu),
    Kernel(KernelTimer),
    /// A thread's wait is over, unless its number has changed.
    Timeout(ThreadId, u32),
    /// An interrupt takes time from a processor.
    Interrupt(Cpu, Nanos),
    /// The hypervisor decides which processors run.
    Hypervisor,
}

/// Why the code of a thread gave the host's thread back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// It is another processor's turn.
    Turn,
    /// The thread computes.
    Work,
    /// The thread is blocked.
    Block,
    /// The kernel picks a thread for this processor.
    Reschedule,
    /// Nothing changes until a line is invalidated, or until this time.
    Spin(Nanos),
}

/// A processor as the engine sees it.
#[derive(Default)]
struct Processor {
    /// Until when its thread's work is up to date.
    clock: Nanos,
    /// Counts runs, so that the event of an earlier one is known as stale.
    number: u32,
    /// The number of the run in which the thread sleeps until a line changes.
    spins: u32,
    running: Option<ThreadId>,
    /// The hypervisor has taken the processor away since then.
    away_since: Option<Nanos>,
    /// The kernel wants to pick a thread when the processor is back.
    wants_pick: bool,
    /// A thread has yielded here since the hypervisor decided.
    has_yielded: bool,
    /// Timers that expired while the processor was away.
    deferred: Vec<KernelTimer>,
    /// The lines that list this processor as a watcher.
    watched: Vec<LineIndex>,
    stolen: Nanos,
    /// In thousandths.
    speed: u64,
}

/// Threads that wait for a futex.
#[derive(Default)]
struct Futex {
    busy_until: Nanos,
    waiters: VecDeque<ThreadId>,
}

/// A program's part of the statistics.
pub(crate) struct ProgramState {
    pub(crate) name: String,
    pub(crate) group: Option<GroupId>,
    pub(crate) count: u64,
}

/// Settings of a machine that concern the engine.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) system: SystemCosts,
    pub(crate) seed: u64,
    /// Each transfer takes up to this much longer, at random.
    pub(crate) noise: Nanos,
    pub(crate) spin_quantum: Nanos,
    pub(crate) time_limit: Nanos,
    /// What a hardware thread does while its core's other one runs, in thousandths.
    pub(crate) smt_speed: u64,
    pub(crate) stack_bytes: usize,
    pub(crate) keeps_trace: bool,
    pub(crate) keeps_sites: bool,
}

/// What a thread runs; and what it runs when its locals were dropped.
pub(crate) type Code = (Box<dyn FnOnce()>, Box<dyn FnOnce()>);

/// The machine while it runs. The first fields are those of the fast paths.
pub(crate) struct Engine {
    /// The clock of the current processor.
    pub(crate) clock: Nanos,
    /// The current thread pauses when the clock reaches it.
    limit: Nanos,
    next_event: Nanos,
    pub(crate) cpu: Cpu,
    pub(crate) current: ThreadId,
    pub(crate) lines: LineNumbers,
    pub(crate) coherence: Coherence,
    pub(crate) topology: Topology,
    pub(crate) settings: Settings,
    /// How far a thread may run ahead of the next event.
    look_ahead: Nanos,
    pause: Pause,
    random: u64,
    pub(crate) kernel: Kernel,
    queue: Queue<What>,
    processors: Table<Cpu, Processor>,
    /// A thread stays where it is while others are made.
    pub(crate) threads: Table<ThreadId, Box<ThreadState>>,
    pub(crate) programs: Table<ProgramId, ProgramState>,
    futexes: BTreeMap<(ProgramId, usize), Futex>,
    /// The processors whose threads spin on a line, or did since it was last invalidated.
    watchers: HashMap<LineIndex, Vec<Cpu>>,
    membarrier_until: Nanos,
    hypervisor: Option<Box<dyn Hypervisor>>,
    pub(crate) trace: Trace,
    /// How often each line moved for each place in the source, if that is wanted.
    pub(crate) sites: Option<HashMap<(LineIndex, &'static Location<'static>), u32>>,
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) spin_sleeps: u64,
    /// How many suspended threads unwind.
    suspended_unwinding: usize,
    /// Heaps of threads that have ended, for new ones.
    heaps: Vec<Heap>,
}

thread_local! {
    static ENGINE: Cell<Option<NonNull<Engine>>> = const { Cell::new(None) };
}

/// The machine that runs on this thread of the host, as the code of its current thread sees it.
#[derive(Clone, Copy)]
pub(crate) struct Here(NonNull<Engine>);

/// The machine that runs on this thread of the host.
#[inline(always)]
pub(crate) fn engine() -> Option<Here> {
    ENGINE.get().map(Here)
}

/// As [`engine`], for what exists only within a machine.
#[track_caller]
pub(crate) fn here() -> Here {
    engine().expect("manycore: this works only in code that `Machine::builder().run` runs")
}

impl Engine {
    pub(crate) fn new(
        topology: Topology,
        settings: Settings,
        coherence: Coherence,
        kernel: Kernel,
        speeds: &[u64],
        hypervisor: Option<Box<dyn Hypervisor>>,
    ) -> Box<Self> {
        let processor = |&speed: &u64| Processor { spins: u32::MAX, speed, ..Processor::default() };
        let mut queue = Queue::new();
        if hypervisor.is_some() {
            queue.push(0, What::Hypervisor);
        }
        Box::new(Self {
            clock: 0,
            limit: 0,
            next_event: 0,
            cpu: Cpu(0),
            current: ThreadId(0),
            lines: LineNumbers::new(),
            topology,
            look_ahead: coherence.min_transfer(),
            coherence,
            pause: Pause::Turn,
            random: settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            kernel,
            queue,
            processors: speeds.iter().map(processor).collect(),
            threads: Table::default(),
            programs: Table::default(),
            futexes: BTreeMap::new(),
            watchers: HashMap::new(),
            membarrier_until: 0,
            hypervisor,
            trace: Trace::new(settings.seed, settings.keeps_trace),
            sites: settings.keeps_sites.then(HashMap::new),
            settings,
            events: 0,
            switches: 0,
            spin_sleeps: 0,
            suspended_unwinding: 0,
            heaps: Vec::new(),
        })
    }

    /// Runs until the thread `root` has ended.
    pub(crate) fn run(self: &mut Box<Self>, root: ThreadId) -> Result<(), RunError> {
        struct AtEnd;
        impl Drop for AtEnd {
            fn drop(&mut self) {
                ENGINE.set(None);
            }
        }
        assert!(ENGINE.get().is_none(), "a machine runs already on this host thread");
        let here = Here(NonNull::from(&mut **self));
        ENGINE.set(Some(here.0));
        let _at_end = AtEnd;
        while here.get().threads[root].coroutine.is_some() {
            step(here)?;
        }
        Ok(())
    }

    /// Makes a thread that is blocked.
    pub(crate) fn add_thread(
        &mut self,
        program: ProgramId,
        parent: Option<ThreadId>,
        name: Option<Box<str>>,
        stack: Stack,
        code: Code,
    ) -> ThreadId {
        let group = self.programs[program].group;
        let id = self.kernel.add_thread(group, self.cpu);
        if let Some(parent) = parent {
            self.kernel.inherit(id, parent);
        }
        let coroutine = Some(coroutine(id, stack, code));
        let heap = self.heaps.pop().unwrap_or_default();
        let state = ThreadState { coroutine, heap, program, name, ..ThreadState::default() };
        self.threads.push(Box::new(state))
    }

    /// The stack of the next thread, or `None` if there is no memory for it.
    pub(crate) fn new_stack(&self, bytes: Option<usize>) -> Option<Stack> {
        Stack::new(bytes.unwrap_or(self.settings.stack_bytes), self.threads.len())
    }

    /// The first wake-up of a thread, from outside of the machine.
    pub(crate) fn begin(&mut self, thread: ThreadId) {
        self.kernel.wake(thread, None, 0);
        self.carry_out();
    }

    /// The program of the current thread.
    pub(crate) fn program(&self) -> ProgramId {
        self.threads[self.current].program
    }

    /// The thread has read the clock: the next iteration of a spin is not like the last one.
    #[inline]
    pub(crate) fn note_clock(&mut self) {
        self.spin_of_current().note_other();
    }

    /// Whether the current thread unwinds, as far as the host's counter of panics tells.
    pub(crate) fn is_unwinding(&self, host_is_panicking: bool) -> bool {
        let current = &self.threads[self.current];
        host_is_panicking && (self.suspended_unwinding == 0 || current.unwinds)
    }

    pub(crate) fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn noise(&mut self) -> Nanos {
        match self.settings.noise {
            0 => 0,
            noise => (self.random() >> 33) % (noise + 1),
        }
    }

    #[inline(always)]
    fn spin_of_current(&mut self) -> &mut Spin {
        &mut self.threads[self.current].spin
    }

    /// The kernel reads a word of the program.
    fn kernel_read(&mut self, address: usize) -> Nanos {
        let line = self.lines.of(address);
        let (cpu, now) = (self.cpu, self.clock);
        self.coherence.hit(cpu, line, Access::Load).unwrap_or_else(|| {
            outside(|| self.coherence.miss(cpu, line, Access::Load, now, 0).retires - now)
        })
    }

    /// Takes the kernel's lock of a futex, whose holders come one after the other.
    fn lock_futex(&mut self, futex: (ProgramId, usize)) {
        let held = self.settings.system.futex_lock;
        let futex = self.futexes.entry(futex).or_default();
        self.clock = self.clock.max(futex.busy_until) + held;
        futex.busy_until = self.clock;
    }

    /// Ends a thread's wait. The waker pays on its clock.
    fn wake(&mut self, thread: ThreadId, waker: Option<Cpu>, now: Nanos) {
        let state = &mut self.threads[thread];
        state.wait = Wait::Nothing;
        state.wait_number += 1;
        let cost = self.kernel.wake(thread, waker, now);
        if waker.is_some() {
            self.clock += cost;
        }
        self.trace.note(now, self.kernel.processor(thread), thread, TraceKind::Wake);
    }

    /// Turns what the kernel wants into events.
    fn carry_out(&mut self) {
        let mut earliest = Nanos::MAX;
        let kernel = &mut self.kernel;
        for request in kernel.take_requests() {
            let (at, what) = match request {
                KernelRequest::Reschedule { cpu, at } => (at, What::Reschedule(cpu)),
                KernelRequest::Timer { at, timer } => (at, What::Kernel(timer)),
            };
            self.queue.push(at, what);
            earliest = earliest.min(at);
        }
        self.bring_forward(earliest);
    }

    /// An event was pushed while code runs: the code may not run ahead of it.
    fn bring_forward(&mut self, event: Nanos) {
        if event < self.next_event {
            self.next_event = event;
            self.limit = self.limit.min(event.saturating_add(self.look_ahead));
        }
    }

    /// How long work takes on a processor.
    fn stretched(&self, cpu: Cpu, work: Nanos) -> Nanos {
        match self.speed(cpu) {
            1000 => work,
            speed => (work as u128 * 1000 / u128::from(speed)) as Nanos,
        }
    }

    /// The speed of a processor now, in thousandths: hardware threads of a core share it.
    fn speed(&self, cpu: Cpu) -> u64 {
        let speed = self.processors[cpu].speed;
        let is_shared =
            self.siblings(cpu).any(|sibling| self.processors[sibling].running.is_some());
        if is_shared { (speed * self.settings.smt_speed / 1000).max(1) } else { speed }
    }

    fn siblings(&self, cpu: Cpu) -> impl Iterator<Item = Cpu> + use<> {
        let core = self.topology.within(Distance::Core, cpu);
        core.map(Cpu::new).filter(move |&other| other != cpu)
    }

    /// Brings a processor's clock to `now` at least, and the work of its thread up to date. Its
    /// next run needs a new event.
    fn settle(&mut self, cpu: Cpu, now: Nanos) {
        let speed = self.speed(cpu);
        let processor = &mut self.processors[cpu];
        processor.number += 1;
        if let Some(thread) = processor.running
            && processor.away_since.is_none()
        {
            let remaining = &mut self.threads[thread].remaining;
            let passed = now.saturating_sub(processor.clock);
            let done = (u128::from(passed) * u128::from(speed) / 1000) as Nanos;
            *remaining = remaining.saturating_sub(done);
        }
        processor.clock = processor.clock.max(now);
    }

    /// Lets the thread of a processor go on, at the processor's clock.
    fn go_on(&mut self, cpu: Cpu) {
        let processor = &self.processors[cpu];
        let Some(thread) = processor.running else { return };
        if processor.away_since.is_some() {
            return;
        }
        let remaining = self.threads[thread].remaining;
        let end = processor.clock.saturating_add(self.stretched(cpu, remaining));
        let processor = &mut self.processors[cpu];
        processor.number += 1;
        self.queue.push(end, What::Run(cpu, processor.number));
        self.bring_forward(end);
    }

    /// The kernel picks a thread for a processor.
    fn pick(&mut self, cpu: Cpu, now: Nanos) {
        if self.processors[cpu].away_since.is_some() {
            self.processors[cpu].wants_pick = true;
            return;
        }
        self.settle(cpu, now);
        let clock = self.processors[cpu].clock;
        let picked = self.kernel.pick(cpu, clock);
        let processor = &mut self.processors[cpu];
        processor.clock += picked.cost;
        let was_idle = processor.running.is_none();
        let clock = processor.clock;
        if was_idle != picked.thread.is_none() && self.topology.size(Distance::Core) > 1 {
            let siblings: Vec<_> = self.siblings(cpu).collect();
            siblings.iter().for_each(|&sibling| self.settle(sibling, now));
            self.processors[cpu].running = picked.thread;
            siblings.iter().for_each(|&sibling| self.go_on(sibling));
        }
        self.processors[cpu].running = picked.thread;
        if let Some(thread) = picked.thread {
            // A thread's own time does not go back when it moves.
            let ran_until = self.threads[thread].clock;
            let processor = &mut self.processors[cpu];
            processor.clock = processor.clock.max(ran_until);
            if picked.switched {
                self.trace.note(clock, cpu, thread, TraceKind::Run);
            }
            self.go_on(cpu);
        }
    }

    /// Something takes `cost` from a processor.
    fn interrupt(&mut self, cpu: Cpu, now: Nanos, cost: Nanos) {
        self.settle(cpu, now);
        self.processors[cpu].clock += cost;
        self.go_on(cpu);
    }

    /// The current processor's thread is about to sleep until a line changes.
    fn watch(&mut self, line: LineIndex) {
        let processor = &mut self.processors[self.cpu];
        processor.spins = processor.number;
        if !processor.watched.contains(&line) {
            processor.watched.push(line);
            self.coherence.watch(line);
            self.watchers.entry(line).or_default().push(self.cpu);
        }
    }

    /// Runs the threads that spin on a line, for they see it change.
    fn wake_spinners(&mut self, line: LineIndex, now: Nanos) {
        self.coherence.unwatch(line);
        for cpu in self.watchers.remove(&line).unwrap_or_default() {
            let processor = &mut self.processors[cpu];
            processor.watched.retain(|&watched| watched != line);
            // A thread that has watched the line before may sleep for another one.
            if processor.spins == processor.number {
                self.settle(cpu, now);
                self.go_on(cpu);
            }
        }
    }

    /// A timer of the kernel: its handler takes time from its processor.
    fn expire(&mut self, timer: KernelTimer, now: Nanos) {
        let of_absent = timer.cpu().filter(|cpu| self.processors[*cpu].away_since.is_some());
        if let Some(cpu) = of_absent {
            self.processors[cpu].deferred.push(timer);
            return;
        }
        let cost = self.kernel.expire(timer, now);
        if let Some(cpu) = timer.cpu()
            && cost > 0
        {
            self.interrupt(cpu, now, cost);
        }
    }

    fn time_out(&mut self, id: ThreadId, now: Nanos) {
        let thread = &mut self.threads[id];
        thread.has_timed_out = true;
        if let Wait::Futex(address) = thread.wait
            && let Some(futex) = self.futexes.get_mut(&(thread.program, address))
        {
            futex.waiters.retain(|&waiter| waiter != id);
            if futex.waiters.is_empty() {
                self.futexes.remove(&(thread.program, address));
            }
        }
        self.wake(id, None, now);
    }

    /// The hypervisor takes processors away, or gives them back.
    fn let_hypervisor_decide(&mut self, now: Nanos) {
        let Some(mut hypervisor) = self.hypervisor.take() else { return };
        let running: Vec<_> = self.processors.iter().map(|it| it.running).collect();
        let of_each = self.processors.iter_mut();
        let yielded: Vec<_> = of_each.map(|it| std::mem::take(&mut it.has_yielded)).collect();
        let view = View { now, running: &running, yielded: &yielded };
        let mut available = vec![true; self.processors.len()];
        // The hypervisor is code of the host: it finds no machine.
        let here = ENGINE.replace(None);
        let next = hypervisor.decide(&view, &mut available);
        ENGINE.set(here);
        for (index, is_available) in available.into_iter().enumerate() {
            let cpu = Cpu::new(index);
            match (is_available, self.processors[cpu].away_since) {
                (true, Some(since)) => self.give_back(cpu, since, now),
                (false, None) => {
                    self.settle(cpu, now);
                    self.processors[cpu].away_since = Some(now);
                }
                _ => {}
            }
        }
        self.queue.push(now.saturating_add(next.max(1)), What::Hypervisor);
        self.hypervisor = Some(hypervisor);
    }

    /// The current thread yields.
    pub(crate) fn note_yield(&mut self) {
        self.processors[self.cpu].has_yielded = true;
    }

    fn give_back(&mut self, cpu: Cpu, since: Nanos, now: Nanos) {
        let processor = &mut self.processors[cpu];
        let stolen = now - since;
        processor.away_since = None;
        processor.stolen += stolen;
        processor.clock = processor.clock.max(now);
        let wants_pick = std::mem::take(&mut processor.wants_pick);
        self.kernel.steal(cpu, stolen);
        for timer in std::mem::take(&mut self.processors[cpu].deferred) {
            self.queue.push(now, What::Kernel(timer));
        }
        if wants_pick { self.pick(cpu, now) } else { self.go_on(cpu) }
    }

    /// Tells the kernel of absences that are not over.
    pub(crate) fn settle_absences(&mut self, now: Nanos) {
        for (index, processor) in self.processors.iter_mut().enumerate() {
            if let Some(since) = &mut processor.away_since {
                let stolen = now.saturating_sub(*since);
                *since = now;
                processor.stolen += stolen;
                self.kernel.steal(Cpu::new(index), stolen);
            }
        }
    }

    /// How long the hypervisor has taken a processor away.
    pub(crate) fn stolen(&self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &self.processors[cpu];
        processor.stolen + processor.away_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Lists threads that have not ended, for the message about a deadlock.
    fn describe_threads(&self) -> String {
        let threads = self.threads.iter().map(|thread| &**thread).enumerate();
        let waiting = threads.filter(|(_, thread)| thread.coroutine.is_some());
        let describe = |(id, thread): (usize, &ThreadState)| {
            let name = thread.name.as_deref().unwrap_or("unnamed");
            format!("thread {id} ({name}): {:?}", thread.wait)
        };
        let all: Vec<_> = waiting.map(describe).collect();
        let more = all.len().saturating_sub(8);
        let shown = all[..all.len().min(8)].join(", ");
        if more > 0 { format!("{shown}, and {more} more") } else { shown }
    }
}

impl Drop for Engine {
    /// Ends all threads, as the end of a process does.
    fn drop(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.forget());
    }
}

/// What a thread does from its begin to its end.
fn coroutine(id: ThreadId, stack: Stack, (body, at_exit): Code) -> Coroutine<(), (), (), Stack> {
    Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        let here = here();
        here.get().threads[id].yielder = yielder;
        // A panic that reaches this was reported by the hook: it ends the thread alone.
        let _ = catch_unwind(AssertUnwindSafe(body));
        // A destructor may use locals that are left, and make others.
        while let Some(local) = here.get().threads[id].locals.take_last() {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(local)));
        }
        let _ = catch_unwind(AssertUnwindSafe(at_exit));
    })
}

/// Handles the next event. No reference to the engine lives while code of a thread runs.
fn step(here: Here) -> Result<(), RunError> {
    let engine = here.get();
    let Some((now, what)) = engine.queue.pop() else {
        return Err(RunError::Deadlock(engine.describe_threads()));
    };
    engine.events += 1;
    if now >= engine.settings.time_limit {
        return Err(RunError::TimeLimit(engine.settings.time_limit));
    }
    match what {
        What::Run(cpu, number) => {
            if engine.processors[cpu].number == number {
                run_code(here, cpu, now);
            }
        }
        What::Reschedule(cpu) => engine.pick(cpu, now),
        What::Kernel(timer) => engine.expire(timer, now),
        What::Timeout(thread, number) => {
            if engine.threads[thread].wait_number == number {
                engine.time_out(thread, now);
            }
        }
        What::Interrupt(cpu, cost) => engine.interrupt(cpu, now, cost),
        What::Hypervisor => engine.let_hypervisor_decide(now),
    }
    here.get().carry_out();
    Ok(())
}

/// Runs the code of a processor's thread until it pauses.
fn run_code(here: Here, cpu: Cpu, now: Nanos) {
    let engine = here.get();
    let processor = &mut engine.processors[cpu];
    processor.clock = processor.clock.max(now);
    processor.number += 1;
    let id = processor.running.expect("a processor runs a thread");
    (engine.clock, engine.cpu, engine.current) = (processor.clock, cpu, id);
    engine.next_event = engine.queue.next_time();
    engine.limit =
        engine.next_event.saturating_add(engine.look_ahead).min(engine.settings.time_limit);
    engine.switches += 1;
    engine.trace.mix(engine.clock ^ u64::from(id.0) << 40 ^ u64::from(cpu.0) << 52);
    let thread = &mut engine.threads[id];
    thread.remaining = 0;
    let mut coroutine = thread.coroutine.take().expect("a thread that runs has not ended");
    arena::activate(&raw mut thread.heap);
    let is_over = coroutine.resume(()).as_return().is_some();
    arena::activate(std::ptr::null_mut());

    let engine = here.get();
    let clock = engine.clock;
    let thread = &mut engine.threads[id];
    thread.clock = clock;
    if !is_over {
        thread.coroutine = Some(coroutine);
    }
    engine.processors[cpu].clock = clock;
    // No code runs: events may be pushed at any time.
    engine.next_event = 0;
    if is_over {
        let heap = std::mem::take(&mut engine.threads[id].heap);
        engine.heaps.push(heap);
        engine.trace.note(clock, cpu, id, TraceKind::Exit);
        engine.kernel.exit(cpu, clock);
        return engine.pick(cpu, clock);
    }
    match engine.pause {
        Pause::Turn | Pause::Work => engine.go_on(cpu),
        Pause::Block => {
            engine.trace.note(clock, cpu, id, TraceKind::Block);
            engine.kernel.block(cpu, clock);
            engine.pick(cpu, clock);
        }
        Pause::Reschedule => engine.pick(cpu, clock),
        Pause::Spin(until) => {
            let number = engine.processors[cpu].number;
            engine.queue.push(until, What::Run(cpu, number));
        }
    }
}

/// The processor time that this host thread has used.
pub(crate) fn host_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
