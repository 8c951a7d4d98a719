//! Known answers of the kernel model, on an engine that knows computing, sleeping and yielding.

mod balancing;
mod bandwidth;
mod properties;
mod sharing;
mod wake_ups;
mod yields;

use super::*;
use crate::ids::Id;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MICROSECOND: Nanos = crate::ids::MICROSECOND;
const MILLISECOND: Nanos = crate::ids::MILLISECOND;
const SECOND: Nanos = 1000 * MILLISECOND;

/// What a thread does, step by step. After its last step it begins again.
#[derive(Clone, Copy, Debug)]
enum Step {
    Compute(Nanos),
    Sleep(Nanos),
    Yield,
    YieldTo(ThreadId),
    Wake(ThreadId),
    /// Sleeps until another thread's `Wake`.
    Wait,
    Exit,
}

/// A thread that computes for ever.
const LOOP: &[Step] = &[Step::Compute(SECOND)];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Reschedule(Cpu),
    Timer(usize),
    StepEnd(Cpu, u64),
    Wake(ThreadId),
}

struct Body {
    steps: Vec<Step>,
    next: usize,
    left: Nanos,
}

#[derive(Clone, Copy, Default)]
struct Core {
    /// Until when the running thread's step is settled.
    clock: Nanos,
    number: u64,
}

struct Engine {
    kernel: Kernel,
    now: Nanos,
    bodies: Vec<Body>,
    cores: Vec<Core>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    timers: Vec<KernelTimer>,
    count: u64,
    stolen: Nanos,
    /// A hash of all picks.
    trace: u64,
}

impl Engine {
    fn new(topology: Topology, config: KernelConfig) -> Self {
        Self {
            kernel: Kernel::new(topology, config),
            now: 0,
            bodies: Vec::new(),
            cores: vec![Core::default(); topology.processors()],
            events: BinaryHeap::new(),
            timers: Vec::new(),
            count: 0,
            stolen: 0,
            trace: 0,
        }
    }

    /// A machine with one cluster of `processors`, and free operations.
    fn flat(processors: usize, config: KernelConfig) -> Self {
        Self::new(Topology::new(1, 1, processors, 1).unwrap(), config.without_costs())
    }

    fn add(&mut self, steps: &[Step]) -> ThreadId {
        self.add_to(None, steps)
    }

    fn add_to(&mut self, group: Option<GroupId>, steps: &[Step]) -> ThreadId {
        let thread = self.kernel.add_thread(group, Cpu(0));
        self.bodies.push(Body { steps: steps.to_vec(), next: 0, left: 0 });
        thread
    }

    /// Adds a thread and wakes it up.
    fn start(&mut self, steps: &[Step]) -> ThreadId {
        let thread = self.add(steps);
        self.wake(thread);
        thread
    }

    fn start_on(&mut self, cpus: &[u16], steps: &[Step]) -> ThreadId {
        let thread = self.add(steps);
        self.kernel.set_affinity(thread, cpus.iter().map(|&cpu| Cpu(cpu)).collect(), self.now);
        self.wake(thread);
        thread
    }

    fn wake(&mut self, thread: ThreadId) {
        self.kernel.wake(thread, None, self.now);
        self.carry_out();
    }

    fn push(&mut self, at: Nanos, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn carry_out(&mut self) {
        let requests: Vec<_> = self.kernel.take_requests().collect();
        for request in requests {
            match request {
                Request::Reschedule { cpu, at } => self.push(at, Event::Reschedule(cpu)),
                Request::Timer { at, timer } => {
                    self.timers.push(timer);
                    self.push(at, Event::Timer(self.timers.len() - 1));
                }
            }
        }
    }

    fn run_for(&mut self, duration: Nanos) {
        self.run_until(self.now + duration, |_| {});
    }

    fn run_until(&mut self, end: Nanos, mut check: impl FnMut(&mut Self)) {
        while let Some(&Reverse((at, _, event))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            assert!(at >= self.now, "an event in the past");
            self.now = at;
            self.handle(event);
            self.carry_out();
            check(self);
        }
        self.now = end;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Reschedule(cpu) => {
                self.settle(cpu);
                self.pick(cpu);
            }
            Event::Timer(index) => {
                let timer = self.timers[index];
                let cost = self.kernel.expire(timer, self.now);
                if let Some(cpu) = timer.cpu() {
                    self.delay(cpu, cost);
                }
            }
            Event::Wake(thread) => {
                self.kernel.wake(thread, None, self.now);
            }
            Event::StepEnd(cpu, number) => {
                if self.cores[cpu.index()].number == number {
                    self.settle(cpu);
                    self.step(cpu);
                }
            }
        }
    }

    fn settle(&mut self, cpu: Cpu) {
        let core = &mut self.cores[cpu.index()];
        let ran = self.now.saturating_sub(core.clock);
        core.clock = core.clock.max(self.now);
        if let Some(thread) = self.kernel.current(cpu) {
            self.bodies[thread.index()].left -= ran;
        }
    }

    /// Something takes a processor for `cost`.
    fn delay(&mut self, cpu: Cpu, cost: Nanos) {
        self.settle(cpu);
        self.cores[cpu.index()].clock += cost;
        self.go_on(cpu);
    }

    fn steal(&mut self, cpu: Cpu, stolen: Nanos) {
        self.kernel.steal(cpu, stolen);
        self.stolen += stolen;
        self.delay(cpu, stolen);
    }

    fn go_on(&mut self, cpu: Cpu) {
        let core = &mut self.cores[cpu.index()];
        core.number += 1;
        if let Some(thread) = self.kernel.current(cpu) {
            let (at, number) = (core.clock + self.bodies[thread.index()].left, core.number);
            self.push(at, Event::StepEnd(cpu, number));
        }
    }

    fn pick(&mut self, cpu: Cpu) {
        let picked = self.kernel.pick(cpu, self.now);
        assert_eq!(picked.thread, self.kernel.current(cpu));
        let word = picked.thread.map_or(u64::MAX, |thread| u64::from(thread.0));
        for word in [self.now, u64::from(cpu.0), word] {
            self.trace = (self.trace ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(17);
        }
        self.cores[cpu.index()].clock = self.cores[cpu.index()].clock.max(self.now) + picked.cost;
        self.go_on(cpu);
    }

    /// The current thread's step is over.
    fn step(&mut self, cpu: Cpu) {
        let thread = self.kernel.current(cpu).expect("a thread made the step");
        let body = &mut self.bodies[thread.index()];
        let step = body.steps[body.next];
        body.next = (body.next + 1) % body.steps.len();
        match step {
            Step::Compute(time) => body.left = time,
            Step::Wake(other) => {
                body.left = self.kernel.wake(other, Some(cpu), self.now);
            }
            Step::Yield => self.kernel.yield_now(cpu, self.now),
            Step::YieldTo(target) => {
                self.kernel.yield_to(cpu, target, self.now);
            }
            Step::Sleep(time) => {
                self.kernel.block(cpu, self.now);
                self.push(self.now + time, Event::Wake(thread));
            }
            Step::Wait => self.kernel.block(cpu, self.now),
            Step::Exit => self.kernel.exit(cpu, self.now),
        }
        if matches!(step, Step::Compute(_) | Step::Wake(_)) {
            self.go_on(cpu);
        } else {
            self.pick(cpu);
        }
    }

    fn times(&self, thread: ThreadId) -> ThreadTimes {
        self.kernel.times(thread, self.now)
    }

    fn run_time(&self, thread: ThreadId) -> Nanos {
        self.times(thread).run
    }

    fn idle_time(&self) -> Nanos {
        let cpus = (0..self.cores.len()).map(Cpu::new);
        cpus.map(|cpu| self.kernel.idle_time(cpu, self.now)).sum()
    }
}

/// Asserts that `actual` is within `percent` of `expected`.
#[track_caller]
fn assert_near(actual: Nanos, expected: Nanos, percent: u64) {
    let difference = actual.abs_diff(expected);
    assert!(difference * 100 <= expected * percent, "{actual}, but {expected} ± {percent} %");
}

/// Each kind of scheduler, with each kind of yield.
fn all_configs() -> Vec<KernelConfig> {
    let mut configs = vec![
        KernelConfig::linux_6_18(),
        KernelConfig::linux_6_12(EevdfYield::Deadline),
        KernelConfig::linux_6_6(),
        KernelConfig::linux_5(),
        KernelConfig::round_robin(5 * MILLISECOND),
    ];
    configs.extend([CfsYield::Stay, CfsYield::Compat].map(KernelConfig::linux_2_6));
    configs
}

/// A generator of random choices (splitmix64, Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound
    }
}
