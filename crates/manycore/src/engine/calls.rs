//! What the code of a virtual thread does: accesses, work, and calls of the kernel.

use std::panic::Location;

use super::thread_state::Wait;
use super::{Engine, Here, Pause, What};
use crate::arena::outside;
use crate::coherence::Access;
use crate::ids::{Cpu, LineIndex, Nanos, ThreadId};
use crate::kernel::Kernel;

impl Here {
    /// The engine. The reference is used at once: not across a suspension, and not beside another.
    #[inline(always)]
    pub(crate) fn get<'a>(self) -> &'a mut Engine {
        // SAFETY: the engine lives until the run is over, one host thread uses it, and callers use
        // the reference as the comment says.
        unsafe { &mut *self.0.as_ptr() }
    }

    /// Adds to the clock of the current processor, and lets others run when it is their turn.
    #[inline(always)]
    pub(crate) fn charge(self, cost: Nanos) {
        let engine = self.get();
        engine.clock += cost;
        if engine.clock >= engine.limit {
            self.suspend(Pause::Turn);
        }
    }

    /// Gives the host's thread back. When this returns, the thread may be on another processor.
    #[inline(never)]
    fn suspend(self, pause: Pause) {
        let engine = self.get();
        engine.pause = pause;
        let unwinds = engine.is_unwinding(std::thread::panicking());
        engine.suspended_unwinding += usize::from(unwinds);
        let thread = &mut engine.threads[engine.current];
        thread.unwinds = unwinds;
        // SAFETY: the thread's code runs now, so that its coroutine and yielder exist.
        let yielder = unsafe { &*thread.yielder };
        yielder.suspend(());
        self.get().suspended_unwinding -= usize::from(unwinds);
    }

    /// Lets everything happen that is earlier than the current processor's clock.
    #[inline]
    fn wait_for_turn(self) {
        while self.get().clock > self.get().next_event {
            self.suspend(Pause::Turn);
        }
    }

    /// Runs `operation`, which reads or changes the value at `address`, at its cost.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn access<T>(
        self,
        address: *const (),
        access: Access,
        operation: impl FnOnce() -> T,
    ) -> T {
        let engine = self.get();
        let line = engine.lines.of(address.addr());
        if access == Access::Load {
            engine.spin_of_current().note_read(line);
        } else {
            engine.spin_of_current().note_other();
        }
        let cost = match engine.coherence.hit(engine.cpu, line, access) {
            Some(cost) => cost,
            None => self.miss(line, access),
        };
        let result = operation();
        self.charge(cost);
        result
    }

    /// Gets a line, and returns how long that keeps the processor.
    #[inline(never)]
    #[track_caller]
    fn miss(self, line: LineIndex, access: Access) -> Nanos {
        self.wait_for_turn();
        let engine = self.get();
        engine.spin_of_current().note_other();
        if let Some(cost) = engine.coherence.hit(engine.cpu, line, access) {
            return cost; // it came while this waited for its turn
        }
        let noise = engine.noise();
        let now = engine.clock;
        let site = Location::caller();
        outside(|| {
            if let Some(sites) = &mut engine.sites {
                *sites.entry((line, site)).or_default() += 1;
            }
            let miss = engine.coherence.miss(engine.cpu, line, access, now, noise);
            engine.trace.mix(u64::from(line.0) ^ miss.done << 20);
            if miss.invalidated {
                engine.wake_spinners(line, miss.done);
            }
            miss.retires.saturating_sub(now)
        })
    }

    /// A fence: waits for the processor's own stores.
    pub(crate) fn fence(self) {
        let engine = self.get();
        engine.spin_of_current().note_other();
        let cost = engine.coherence.fence(engine.cpu, engine.clock);
        self.charge(cost);
    }

    /// The thread spins. If nothing can change, it is not run until something does.
    pub(crate) fn spin_loop(self) {
        let engine = self.get();
        let (pause, quantum) = (engine.coherence.costs().pause, engine.settings.spin_quantum);
        let spin = engine.spin_of_current();
        let sleeps = spin.end_iteration() && quantum > 0;
        if !sleeps {
            return self.charge(pause);
        }
        let (lines, count) = spin.last_lines();
        if spin.owed > 0 {
            // The thread has slept through this iteration.
            spin.owed = spin.owed.saturating_sub(pause + count as Nanos);
            return;
        }
        self.wait_for_turn();
        let engine = self.get();
        let is_here =
            |line: &u32| engine.coherence.hit(engine.cpu, LineIndex(*line), Access::Load).is_some();
        if !lines[..count].iter().all(is_here) {
            return self.charge(pause); // one of them changed meanwhile
        }
        engine.clock += pause;
        engine.spin_sleeps += 1;
        let start = engine.clock;
        outside(|| lines[..count].iter().for_each(|&line| engine.watch(LineIndex(line))));
        self.suspend(Pause::Spin(start + quantum));
        let engine = self.get();
        let slept = engine.clock.saturating_sub(start).min(quantum);
        engine.spin_of_current().owed = slept;
    }

    /// Computes for `time`, on a processor of full speed. The thread can be preempted meanwhile.
    pub(crate) fn work(self, time: Nanos) {
        let engine = self.get();
        engine.spin_of_current().note_other();
        let end = engine.clock.saturating_add(engine.stretched(engine.cpu, time));
        if end < engine.limit {
            engine.clock = end;
            return;
        }
        let current = engine.current;
        engine.threads[current].remaining = time.max(1);
        self.suspend(Pause::Work);
    }

    /// Enters the kernel. What the call does happens when its cost, and `more`, have passed, and
    /// all that is earlier has happened.
    fn enter_kernel(self, more: Nanos) {
        let engine = self.get();
        engine.spin_of_current().note_other();
        engine.clock += engine.settings.system.system_call + more;
        self.wait_for_turn();
    }

    /// A call to the kernel that changes or reads its state.
    pub(crate) fn system_call<T>(self, cost: Nanos, call: impl FnOnce(&mut Engine) -> T) -> T {
        self.enter_kernel(cost);
        let engine = self.get();
        let result = outside(|| {
            let result = call(engine);
            engine.carry_out();
            result
        });
        self.charge(0);
        result
    }

    /// A call to the kernel after which it picks a thread for this processor.
    pub(crate) fn reschedule<T>(self, call: impl FnOnce(&mut Kernel, Cpu, Nanos) -> T) -> T {
        self.enter_kernel(0);
        let engine = self.get();
        let result = outside(|| call(&mut engine.kernel, engine.cpu, engine.clock));
        self.suspend(Pause::Reschedule);
        result
    }

    /// Blocks if `is_unchanged` says so, which is one step with the check. Returns false if the
    /// time was over.
    pub(crate) fn futex_wait(
        self,
        address: usize,
        is_unchanged: impl FnOnce() -> bool,
        timeout: Option<Nanos>,
    ) -> bool {
        self.enter_kernel(0);
        let engine = self.get();
        let cost = engine.kernel_read(address);
        let futex = (engine.program(), address);
        let blocks = outside(|| {
            engine.lock_futex(futex);
            engine.clock += cost;
            let blocks = is_unchanged();
            if blocks {
                engine.futexes.entry(futex).or_default().waiters.push_back(engine.current);
            }
            blocks
        });
        if !blocks {
            self.charge(0);
            return true;
        }
        self.block(Wait::Futex(address), timeout)
    }

    /// Wakes up to `count` threads that wait for the futex, and returns how many.
    pub(crate) fn futex_wake(self, address: usize, count: usize) -> usize {
        self.system_call(0, |engine| {
            let futex = (engine.program(), address);
            engine.lock_futex(futex);
            let mut woken = 0;
            while woken < count {
                let waiting = engine.futexes.get_mut(&futex);
                let Some(thread) = waiting.and_then(|it| it.waiters.pop_front()) else {
                    engine.futexes.remove(&futex);
                    break;
                };
                engine.wake(thread, Some(engine.cpu), engine.clock);
                woken += 1;
            }
            woken
        })
    }

    /// Blocks for `time`.
    pub(crate) fn sleep(self, time: Nanos) {
        self.enter_kernel(0);
        self.block(Wait::Sleep, Some(time));
    }

    /// Returns false if the time was over.
    fn block(self, wait: Wait, timeout: Option<Nanos>) -> bool {
        let engine = self.get();
        let (id, clock) = (engine.current, engine.clock);
        let thread = &mut engine.threads[id];
        (thread.wait, thread.has_timed_out) = (wait, false);
        thread.wait_number += 1;
        let number = thread.wait_number;
        if let Some(timeout) = timeout {
            let end = clock.saturating_add(timeout);
            outside(|| engine.queue.push(end, What::Timeout(id, number)));
        }
        self.suspend(Pause::Block);
        !self.get().threads[id].has_timed_out
    }

    /// Interrupts all other processors that run this program, and waits for them.
    pub(crate) fn membarrier(self) {
        self.system_call(0, |engine| {
            let system = engine.settings.system;
            // One barrier at a time.
            engine.clock = engine.clock.max(engine.membarrier_until) + system.membarrier
                - system.system_call.min(system.membarrier);
            let program = engine.program();
            for (cpu, processor) in engine.processors.entries() {
                let runs_it = |thread| engine.threads[thread].program == program;
                if cpu != engine.cpu && processor.running.is_some_and(runs_it) {
                    engine.clock += system.membarrier_each;
                    engine.queue.push(engine.clock, What::Interrupt(cpu, system.interrupt));
                }
            }
            engine.membarrier_until = engine.clock;
        });
    }

    /// Makes a thread, which begins to run. Returns `None` if there is no memory for its stack.
    pub(crate) fn spawn(
        self,
        name: Option<&str>,
        stack_bytes: Option<usize>,
        body: Box<dyn FnOnce()>,
        at_exit: Box<dyn FnOnce()>,
    ) -> Option<ThreadId> {
        // Without a stack, the code is dropped here, where its destructors may do anything.
        let mut code = Some((body, at_exit));
        self.system_call(self.get().settings.system.spawn, |engine| {
            let stack = engine.new_stack(stack_bytes)?;
            let (program, parent) = (engine.program(), Some(engine.current));
            let code = code.take().expect("it is taken once");
            let id = engine.add_thread(program, parent, name.map(Box::from), stack, code);
            engine.wake(id, Some(engine.cpu), engine.clock);
            Some(id)
        })
    }
}
