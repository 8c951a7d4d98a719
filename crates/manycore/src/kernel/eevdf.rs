//! Earliest eligible virtual deadline first, as in Linux 6.12 to 6.18.

use super::run_queue::{Dequeue, Enqueue, Entities, Entity, RunQueue, Timeline};
use super::thread::Policy;
use super::weights::{real_time, virtual_time};
use crate::costs::options;
use crate::ids::{MICROSECOND, Nanos, ThreadId};

options! {
    /// Options of the EEVDF scheduler.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Eevdf {
        /// The slice of a thread that asks for none, before it is scaled with the number of
        /// processors. Linux: 0.75 ms until 6.14, 0.7 ms since (2.8 ms on 8 processors or more).
        base_slice: Nanos = 700 * MICROSECOND,
        /// True: the current thread runs until its slice ends or its lag is 0 (`RUN_TO_PARITY`).
        run_to_parity: bool = true,
        /// True: a thread that sleeps while it is ahead stays in its queue until it is eligible
        /// (`DELAY_DEQUEUE`, since 6.12).
        delay_dequeue: bool = true,
        /// True: a thread with a shorter slice may preempt earlier (`PREEMPT_SHORT`, since 6.12).
        preempt_short: bool = true,
        /// What `sched_yield` does.
        yielding: EevdfYield = EevdfYield::Forfeit,
    }
}

/// What `sched_yield` does under EEVDF, if other threads are in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EevdfYield {
    /// The deadline moves by a slice: 6.6 to 6.16, in 6.12 until 6.12.62. The thread goes on if it
    /// is the only eligible one.
    Deadline,
    /// If the thread is eligible, it forfeits the rest of its slice: its virtual run time moves to
    /// its deadline, and the deadline by a slice. If it is not, another one runs anyway. Since
    /// 6.19, 6.18.2 and 6.12.63.
    Forfeit,
}

/// The queue of one processor.
///
/// A thread's virtual run time `vruntime` grows by its run time over its weight. The queue's
/// virtual time `V` is the average of them, by weight. A thread's lag is `V - vruntime`: what it is
/// owed. It is *eligible* if that is not negative. The eligible thread with the earliest deadline
/// runs, where the deadline is a slice after the virtual run time that the slice began with.
#[derive(Default)]
pub(super) struct Queue {
    options: Eevdf,
    base_slice: Nanos,
    tick: Nanos,
    /// The threads that wait or sleep in the queue, by deadline.
    timeline: Timeline,
    current: Option<ThreadId>,
    /// The sum of the weights of all queued threads: the current, waiting and sleeping ones.
    weights: u64,
    /// The sum of their virtual run times, each times its weight.
    sum: i128,
    /// `V` when the queue became empty.
    last_virtual_time: i64,
    sleeping: usize,
    sleeping_weights: u64,
    /// True once a thread has asked for a slice.
    has_own_slices: bool,
}

impl Queue {
    pub(super) fn new(options: Eevdf, scale: u64, tick: Nanos) -> Self {
        Self { options, base_slice: options.base_slice * scale, tick, ..Self::default() }
    }

    fn slice(&self, entity: &Entity) -> Nanos {
        entity.slice.unwrap_or(self.base_slice)
    }

    fn virtual_slice(&self, entity: &Entity) -> i64 {
        virtual_time(self.slice(entity), entity.weight)
    }

    /// `V`.
    fn virtual_time(&self) -> i64 {
        if self.weights == 0 {
            return self.last_virtual_time;
        }
        let average = self.sum.div_euclid(i128::from(self.weights));
        i64::try_from(average).expect("an average of virtual times is one")
    }

    fn is_eligible(&self, entity: &Entity) -> bool {
        i128::from(entity.vruntime) * i128::from(self.weights) <= self.sum
    }

    /// `V - vruntime`, within two slices or a tick.
    fn lag(&self, entity: &Entity) -> i64 {
        let limit = virtual_time((2 * self.slice(entity)).max(self.tick), entity.weight);
        (self.virtual_time() - entity.vruntime).clamp(-limit, limit)
    }

    fn add(&mut self, entity: &Entity) {
        self.has_own_slices |= entity.slice.is_some();
        self.weights += entity.weight;
        self.sum += i128::from(entity.vruntime) * i128::from(entity.weight);
    }

    fn subtract(&mut self, entity: &Entity) {
        self.last_virtual_time = self.virtual_time();
        self.weights -= entity.weight;
        self.sum -= i128::from(entity.vruntime) * i128::from(entity.weight);
    }

    fn advance(&mut self, entity: &mut Entity, by: i64) {
        entity.vruntime += by;
        self.sum += i128::from(by) * i128::from(entity.weight);
    }

    /// Sets a thread's virtual run time so that it has its lag after it is added.
    fn place(&self, entity: &mut Entity, why: Enqueue) {
        let mut lag = entity.lag;
        if self.weights == 0 {
            lag = 0;
        } else if lag != 0 {
            let weights = i128::from(self.weights);
            let inflated = i128::from(lag) * (weights + i128::from(entity.weight)) / weights;
            lag = i64::try_from(inflated).expect("the lag is limited");
        }
        entity.vruntime = self.virtual_time() - lag;
        let until_deadline = match why {
            _ if entity.is_relative => entity.deadline,
            Enqueue::New => self.virtual_slice(entity) / 2,
            Enqueue::Wake | Enqueue::Move => self.virtual_slice(entity),
        };
        entity.deadline = entity.vruntime + until_deadline;
        entity.is_relative = false;
    }

    /// The shortest slice in the queue.
    fn shortest_slice(&self, entities: &Entities) -> Nanos {
        if !self.has_own_slices {
            return self.base_slice;
        }
        let queued = self.timeline.iter().chain(self.current);
        queued.map(|thread| self.slice(&entities[thread])).min().unwrap_or(self.base_slice)
    }

    /// The thread that runs next, which may sleep in the queue. `protect`: the current thread keeps
    /// its protection.
    fn best(&self, entities: &Entities, protect: bool) -> Option<ThreadId> {
        if self.timeline.len() + usize::from(self.current.is_some()) == 1 {
            return self.current.or(self.timeline.first());
        }
        let current = self.current.filter(|&current| self.is_eligible(&entities[current]));
        if let Some(current) = current {
            let entity = &entities[current];
            if protect && entity.vruntime < entity.protected {
                return Some(current);
            }
        }
        let waiting = self.timeline.iter().find(|&thread| self.is_eligible(&entities[thread]));
        match (current, waiting) {
            (Some(a), Some(b)) if entities[a].deadline < entities[b].deadline => current,
            _ => waiting.or(current),
        }
    }

    /// The current thread waits from now on.
    fn put_current(&mut self, entities: &Entities) {
        if let Some(current) = self.current.take() {
            self.timeline.insert(entities[current].deadline, current);
        }
    }

    /// A waiting thread becomes the current one. It is protected until the end of its slice, or of
    /// the queue's shortest slice.
    fn set_current(&mut self, entities: &mut Entities, thread: ThreadId) {
        self.put_current(entities);
        let shortest = if self.options.run_to_parity {
            self.shortest_slice(entities)
        } else {
            self.options.base_slice
        };
        let entity = &mut entities[thread];
        self.timeline.remove(entity.deadline, thread);
        let quantum = virtual_time(shortest.min(self.slice(entity)), entity.weight);
        entity.protected = if shortest < self.slice(entity) {
            entity.deadline.min(entity.vruntime + quantum)
        } else {
            entity.deadline
        };
        self.current = Some(thread);
    }

    /// A thread that sleeps in the queue is eligible, or is woken up: it owes nothing any more, and
    /// is owed nothing.
    fn finish_sleep(&mut self, entity: &mut Entity) {
        entity.is_delayed = false;
        entity.lag = entity.lag.min(0);
        self.sleeping -= 1;
        self.sleeping_weights -= entity.weight;
    }
}

impl RunQueue for Queue {
    fn enqueue(&mut self, entities: &mut Entities, thread: ThreadId, why: Enqueue) {
        let entity = &mut entities[thread];
        self.place(entity, why);
        self.add(entity);
        self.timeline.insert(entity.deadline, thread);
    }

    fn dequeue(&mut self, entities: &mut Entities, thread: ThreadId, why: Dequeue) {
        let entity = &mut entities[thread];
        if why == Dequeue::Sleep && self.options.delay_dequeue && !self.is_eligible(entity) {
            entity.is_delayed = true;
            self.sleeping += 1;
            self.sleeping_weights += entity.weight;
            self.put_current(entities);
            return;
        }
        if self.current == Some(thread) {
            self.current = None;
        } else {
            self.timeline.remove(entity.deadline, thread);
        }
        entity.lag = self.lag(entity);
        if entity.is_delayed {
            self.finish_sleep(entity);
        }
        self.subtract(entity);
        if why == Dequeue::Move {
            entity.deadline -= entity.vruntime;
            entity.is_relative = true;
        }
    }

    fn requeue(&mut self, entities: &mut Entities, thread: ThreadId) {
        let entity = &mut entities[thread];
        entity.lag = self.lag(entity);
        let is_owed = entity.lag > 0;
        self.finish_sleep(entity);
        if is_owed {
            self.timeline.remove(entity.deadline, thread);
            self.subtract(entity);
            self.enqueue(entities, thread, Enqueue::Wake);
        }
    }

    fn reweight(&mut self, entities: &mut Entities, thread: ThreadId, weight: u64) {
        let waits = self.current != Some(thread);
        let entity = &mut entities[thread];
        if waits {
            self.timeline.remove(entity.deadline, thread);
        }
        let now = self.virtual_time();
        self.subtract(entity);
        let scaled = |time: i64| {
            let scaled = i128::from(time) * i128::from(entity.weight) / i128::from(weight);
            i64::try_from(scaled).expect("virtual times are small")
        };
        let vruntime = now - scaled(now - entity.vruntime);
        entity.deadline = vruntime + scaled(entity.deadline - entity.vruntime);
        entity.protected = vruntime + scaled(entity.protected - entity.vruntime);
        entity.vruntime = vruntime;
        entity.weight = weight;
        self.add(entity);
        if waits {
            self.timeline.insert(entity.deadline, thread);
        }
    }

    fn pick(&mut self, entities: &mut Entities) -> Option<ThreadId> {
        loop {
            let best = self.best(entities, true)?;
            if entities[best].is_delayed {
                self.dequeue(entities, best, Dequeue::Leave);
                continue;
            }
            if self.current != Some(best) {
                self.set_current(entities, best);
            }
            return Some(best);
        }
    }

    fn pick_directly(&mut self, entities: &mut Entities, thread: ThreadId, left: Nanos) {
        if let Some(current) = self.current {
            let next_slice = self.virtual_slice(&entities[current]);
            entities[current].deadline = entities[current].vruntime + next_slice;
        }
        self.set_current(entities, thread);
        let entity = &mut entities[thread];
        entity.deadline = entity.vruntime + virtual_time(left, entity.weight);
        entity.protected = entity.deadline;
    }

    fn update_current(&mut self, entities: &mut Entities, ran: Nanos) -> bool {
        let Some(current) = self.current else { return false };
        let entity = &mut entities[current];
        self.advance(entity, virtual_time(ran, entity.weight));
        let is_over = entity.vruntime >= entity.deadline;
        if is_over {
            entity.deadline = entity.vruntime + self.virtual_slice(entity);
        }
        self.timeline.len() > 0 && (is_over || entity.vruntime >= entity.protected)
    }

    fn yield_current(&mut self, entities: &mut Entities) {
        let Some(current) = self.current else { return };
        let entity = &mut entities[current];
        match self.options.yielding {
            EevdfYield::Deadline => {
                entity.deadline += self.virtual_slice(entity);
                entity.protected = entity.vruntime;
            }
            EevdfYield::Forfeit if self.is_eligible(entity) => {
                self.advance(entity, entity.deadline - entity.vruntime);
                entity.deadline += self.virtual_slice(entity);
            }
            EevdfYield::Forfeit => {}
        }
    }

    fn preempts(&mut self, entities: &mut Entities, woken: ThreadId) -> bool {
        let Some(current) = self.current else { return false };
        let (old, new) = (entities[current], entities[woken]);
        match (old.policy, new.policy) {
            (Policy::Idle, Policy::Other | Policy::Batch) => {
                entities[current].protected = old.vruntime;
                return true;
            }
            (_, Policy::Batch | Policy::Idle) => return false,
            (Policy::Other | Policy::Batch, Policy::Other) => {}
        }
        let is_shorter = self.options.preempt_short && self.slice(&new) < self.slice(&old);
        let preempts = self.best(entities, !is_shorter) == Some(woken);
        if is_shorter {
            let protected = if preempts {
                old.vruntime
            } else {
                old.vruntime + virtual_time(self.shortest_slice(entities), old.weight)
            };
            entities[current].protected = old.protected.min(protected);
        }
        preempts
    }

    fn slice_left(&self, entities: &Entities) -> Option<Nanos> {
        let entity = &entities[self.current?];
        Some(real_time(entity.deadline - entity.vruntime, entity.weight))
    }

    fn len(&self) -> usize {
        self.timeline.len() - self.sleeping + usize::from(self.current.is_some())
    }

    fn load(&self) -> u64 {
        self.weights - self.sleeping_weights
    }

    fn waiting(&self, entities: &Entities, n: usize) -> Option<ThreadId> {
        self.timeline.iter().filter(|&thread| !entities[thread].is_delayed).nth(n)
    }
}
