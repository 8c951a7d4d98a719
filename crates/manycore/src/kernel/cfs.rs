//! The completely fair scheduler of Linux 2.6.23 to 6.5.

use super::run_queue::{Dequeue, Enqueue, Entities, RunQueue, Timeline};
use super::thread::Policy;
use super::weights::virtual_time;
use crate::costs::options;
use crate::ids::{MILLISECOND, Nanos, ThreadId};

options! {
    /// Options of the completely fair scheduler. Times are scaled with the number of processors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Cfs {
        /// The period in which each thread of a queue should run once (`sched_latency_ns`).
        latency: Nanos = 6 * MILLISECOND,
        /// The shortest slice (`sched_min_granularity_ns`).
        min_granularity: Nanos = MILLISECOND * 3 / 4,
        /// A woken thread preempts if it is behind the current one by more than this
        /// (`sched_wakeup_granularity_ns`).
        wakeup_granularity: Nanos = MILLISECOND,
        /// True: a sleeper's credit is half the latency instead of all of it
        /// (`GENTLE_FAIR_SLEEPERS`, since 2.6.32).
        gentle_sleepers: bool = true,
        /// What `sched_yield` does.
        yielding: CfsYield = CfsYield::Skip,
    }
}

/// What `sched_yield` does under CFS, if other threads are in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfsYield {
    /// The thread stays where it is in the order, and goes on if it is still the first: 2.6.23 to
    /// 2.6.38 with `sched_compat_yield=0`.
    Stay,
    /// The thread goes to the end of the queue, as with the O(1) scheduler before 2.6.23: 2.6.23 to
    /// 2.6.38 with `sched_compat_yield=1`. The BWS paper has this on 2.6.36.
    Compat,
    /// The next choice skips the thread, unless the second one is ahead by more than the wake-up
    /// granularity: since 2.6.39.
    Skip,
}

/// The queue of one processor: the thread with the least virtual run time runs.
#[derive(Default)]
pub(super) struct Queue {
    /// With scaled times.
    options: Cfs,
    /// The threads that wait, by virtual run time.
    timeline: Timeline,
    current: Option<ThreadId>,
    weights: u64,
    /// The least virtual run time of the queue. It never goes back.
    floor: i64,
    /// A thread that the next choice should skip, because it yielded.
    skip: Option<ThreadId>,
    /// A thread that the next choice should take, because it preempts.
    next: Option<ThreadId>,
}

impl Queue {
    pub(super) fn new(options: Cfs, scale: u64) -> Self {
        let options = Cfs {
            latency: options.latency * scale,
            min_granularity: options.min_granularity * scale,
            wakeup_granularity: options.wakeup_granularity * scale,
            ..options
        };
        Self { options, ..Self::default() }
    }

    /// The slice of a thread of this weight, among `threads` whose weights sum to `weights`.
    fn slice(&self, threads: usize, weight: u64, weights: u64) -> Nanos {
        let period = self.options.latency.max(self.options.min_granularity * threads as u64);
        period * weight / weights.max(1)
    }

    fn slice_of_current(&self, entities: &Entities) -> Nanos {
        let weight = self.current.map_or(0, |current| entities[current].weight);
        self.slice(self.len(), weight, self.weights)
    }

    fn raise_floor(&mut self, entities: &Entities) {
        let vruntime = |thread: ThreadId| entities[thread].vruntime;
        let least = self.current.into_iter().chain(self.timeline.first()).map(vruntime).min();
        self.floor = self.floor.max(least.unwrap_or(self.floor));
    }

    /// True if a thread of this weight at `vruntime` is behind one at `other` by more than the
    /// wake-up granularity.
    fn is_far_behind(&self, vruntime: i64, weight: u64, other: i64) -> bool {
        other - vruntime > virtual_time(self.options.wakeup_granularity, weight)
    }

    fn put_current(&mut self, entities: &Entities) {
        if let Some(current) = self.current.take() {
            self.timeline.insert(entities[current].vruntime, current);
        }
    }

    fn set_current(&mut self, entities: &Entities, thread: ThreadId) {
        self.timeline.remove(entities[thread].vruntime, thread);
        self.current = Some(thread);
        self.skip = None;
        self.next = None;
    }

    /// The thread to run, of those that wait.
    fn best(&self, entities: &Entities) -> Option<ThreadId> {
        let first = self.timeline.first()?;
        // True if `thread` may run before the first one, because it is not far ahead of it.
        let is_near = |thread: ThreadId| {
            let (first, thread) = (&entities[first], &entities[thread]);
            !self.is_far_behind(first.vruntime, first.weight, thread.vruntime)
        };
        let second = || self.timeline.iter().nth(1).filter(|&second| is_near(second));
        let best = if self.skip == Some(first) { second() } else { None };
        let next = self.next.filter(|&next| self.skip != Some(next) && is_near(next));
        next.or(best).or(Some(first))
    }

    fn forget(&mut self, thread: ThreadId) {
        for buddy in [&mut self.skip, &mut self.next] {
            *buddy = buddy.filter(|&buddy| buddy != thread);
        }
    }
}

impl RunQueue for Queue {
    fn enqueue(&mut self, entities: &mut Entities, thread: ThreadId, why: Enqueue) {
        let entity = &mut entities[thread];
        if entity.is_relative {
            entity.vruntime += self.floor;
            entity.is_relative = false;
        }
        match why {
            Enqueue::New => {
                let weights = self.weights + entity.weight;
                let slice = self.slice(self.len() + 1, entity.weight, weights);
                entity.vruntime = self.floor + virtual_time(slice, entity.weight);
            }
            Enqueue::Wake => {
                let gentle = if self.options.gentle_sleepers { 2 } else { 1 };
                let credit = i64::try_from(self.options.latency / gentle).unwrap_or(i64::MAX);
                entity.vruntime = entity.vruntime.max(self.floor - credit);
            }
            Enqueue::Move => {}
        }
        self.weights += entity.weight;
        self.timeline.insert(entity.vruntime, thread);
    }

    fn dequeue(&mut self, entities: &mut Entities, thread: ThreadId, why: Dequeue) {
        self.forget(thread);
        self.weights -= entities[thread].weight;
        if self.current == Some(thread) {
            self.current = None;
        } else {
            self.timeline.remove(entities[thread].vruntime, thread);
        }
        if why == Dequeue::Move {
            self.detach(entities, thread);
        }
        self.raise_floor(entities);
    }

    fn detach(&mut self, entities: &mut Entities, thread: ThreadId) {
        entities[thread].vruntime -= self.floor;
        entities[thread].is_relative = true;
    }

    fn reweight(&mut self, entities: &mut Entities, thread: ThreadId, weight: u64) {
        self.weights += weight;
        self.weights -= entities[thread].weight;
        entities[thread].weight = weight;
    }

    fn pick(&mut self, entities: &mut Entities) -> Option<ThreadId> {
        let before = self.current;
        self.put_current(entities);
        let best = self.best(entities)?;
        self.set_current(entities, best);
        // A thread that goes on after its slice begins a new one.
        let is_over = entities[best].ran > self.slice_of_current(entities);
        if before != Some(best) || is_over {
            entities[best].ran = 0;
        }
        Some(best)
    }

    fn pick_directly(&mut self, entities: &mut Entities, thread: ThreadId, left: Nanos) {
        self.put_current(entities);
        self.set_current(entities, thread);
        entities[thread].ran = (self.slice_of_current(entities) + 1).saturating_sub(left);
    }

    fn update_current(&mut self, entities: &mut Entities, ran: Nanos) -> bool {
        if let Some(current) = self.current {
            let entity = &mut entities[current];
            entity.vruntime += virtual_time(ran, entity.weight);
            entity.ran += ran;
            self.raise_floor(entities);
        }
        false
    }

    fn yield_current(&mut self, entities: &mut Entities) {
        let Some(current) = self.current else { return };
        match self.options.yielding {
            CfsYield::Stay => {}
            CfsYield::Skip => self.skip = Some(current),
            CfsYield::Compat => {
                let last = self.timeline.last().map_or(i64::MIN, |last| entities[last].vruntime);
                if last >= entities[current].vruntime {
                    entities[current].vruntime = last + 1;
                }
            }
        }
    }

    fn preempts(&mut self, entities: &mut Entities, woken: ThreadId) -> bool {
        let Some(current) = self.current else { return false };
        let (old, new) = (&entities[current], &entities[woken]);
        let preempts = match (old.policy, new.policy) {
            (Policy::Idle, Policy::Other | Policy::Batch) => true,
            (_, Policy::Batch | Policy::Idle) => false,
            (Policy::Other | Policy::Batch, Policy::Other) => {
                self.is_far_behind(new.vruntime, new.weight, old.vruntime)
            }
        };
        if preempts {
            self.next = Some(woken);
        }
        preempts
    }

    fn tick(&mut self, entities: &mut Entities) -> bool {
        let (Some(current), Some(first)) = (self.current, self.timeline.first()) else {
            return false;
        };
        let slice = self.slice_of_current(entities);
        let (current, first) = (&entities[current], &entities[first]);
        if current.ran > slice {
            self.next = None;
            return true;
        }
        current.ran >= self.options.min_granularity
            && i128::from(current.vruntime - first.vruntime) > i128::from(slice)
    }

    fn slice_left(&self, entities: &Entities) -> Option<Nanos> {
        // The slice is over when the thread has run for longer.
        let ran = entities[self.current?].ran;
        Some((self.slice_of_current(entities) + 1).saturating_sub(ran))
    }

    fn len(&self) -> usize {
        self.timeline.len() + usize::from(self.current.is_some())
    }

    fn load(&self) -> u64 {
        self.weights
    }

    fn waiting(&self, _entities: &Entities, n: usize) -> Option<ThreadId> {
        self.timeline.iter().nth(n)
    }
}
