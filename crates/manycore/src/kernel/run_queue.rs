//! The queue of one processor, as each scheduler implements it.

use super::thread::Policy;
use crate::ids::{Nanos, Table, ThreadId};

/// Why a thread enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enqueue {
    /// Its first wake-up.
    New,
    /// Another wake-up, or the end of its group's throttling.
    Wake,
    /// It comes from another queue, in which it waited.
    Move,
}

/// Why a thread leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dequeue {
    /// It blocks.
    Sleep,
    /// It exits, or its group is throttled.
    Leave,
    /// It enters another queue by [`Enqueue::Move`].
    Move,
}

/// The threads of one processor that are runnable, the current one included.
///
/// Adding a scheduler: a file that implements this trait, a variant of [`Scheduler`], and a line in
/// [`new_queue`](super::new_queue). The current thread counts as queued.
pub(super) trait RunQueue {
    /// Adds a thread.
    fn enqueue(&mut self, entities: &mut Entities, thread: ThreadId, why: Enqueue);

    /// Removes a thread, which may be the current one. If it is now [delayed](Entity::is_delayed),
    /// it stays in the queue though it sleeps, and [`pick`](Self::pick) removes it later.
    fn dequeue(&mut self, entities: &mut Entities, thread: ThreadId, why: Dequeue);

    /// Wakes a thread up that [`dequeue`](Self::dequeue) left in the queue.
    fn requeue(&mut self, _entities: &mut Entities, _thread: ThreadId) {
        unreachable!("this scheduler removes sleeping threads at once");
    }

    /// A thread that left this queue to sleep wakes up in another one.
    fn detach(&mut self, _entities: &mut Entities, _thread: ThreadId) {}

    /// Changes the weight of a queued thread that is not asleep. Also called when the slice that
    /// the thread asks for has changed.
    fn reweight(&mut self, entities: &mut Entities, thread: ThreadId, weight: u64);

    /// Chooses the thread that runs from now on, and makes it the current one. The former current
    /// thread, if it is still queued, waits from now on unless it is chosen again.
    fn pick(&mut self, entities: &mut Entities) -> Option<ThreadId>;

    /// Makes this waiting thread the current one, with a slice of `left`. The former current thread
    /// waits.
    fn pick_directly(&mut self, entities: &mut Entities, thread: ThreadId, left: Nanos);

    /// The current thread has run for `ran`. True if the processor should reschedule.
    fn update_current(&mut self, entities: &mut Entities, ran: Nanos) -> bool;

    /// The current thread calls `sched_yield`.
    fn yield_current(&mut self, entities: &mut Entities);

    /// True if a thread that has just been woken up should run instead of the current one.
    fn preempts(&mut self, entities: &mut Entities, woken: ThreadId) -> bool;

    /// A tick, after [`update_current`](Self::update_current). True if the processor should
    /// reschedule.
    fn tick(&mut self, _entities: &mut Entities) -> bool {
        false
    }

    /// How long the current thread may run until its slice ends. `None` without a current thread.
    fn slice_left(&self, entities: &Entities) -> Option<Nanos>;

    /// How many threads are runnable, the current one included.
    fn len(&self) -> usize;

    /// The sum of their weights.
    fn load(&self) -> u64;

    /// The `n`th of the threads that wait and are not asleep, in the order of the queue.
    fn waiting(&self, entities: &Entities, n: usize) -> Option<ThreadId>;
}

/// What a scheduler knows of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entity {
    /// Its share relative to other threads. Nice 0 has [`NICE_0`](super::weights::NICE_0).
    pub(super) weight: u64,
    pub(super) policy: Policy,
    /// The slice that the thread asked for.
    pub(super) slice: Option<Nanos>,
    /// Weighted run time, on the clock of its queue.
    pub(super) vruntime: i64,
    /// Virtual deadline, on the same clock.
    pub(super) deadline: i64,
    /// The virtual time by which the thread was behind its queue when it left.
    pub(super) lag: i64,
    /// The virtual time until which other threads do not preempt it.
    pub(super) protected: i64,
    /// True if `deadline` counts from `vruntime`, as it does outside of queues.
    pub(super) is_relative: bool,
    /// True if the thread sleeps in the queue.
    pub(super) is_delayed: bool,
    /// Run time since the thread was picked.
    pub(super) ran: Nanos,
}

/// The entities of all threads.
pub(super) type Entities = Table<ThreadId, Entity>;

/// Threads in the order of a key; equal keys in the order of arrival.
#[derive(Default)]
pub(super) struct Timeline(Vec<(i64, ThreadId)>);

impl Timeline {
    pub(super) fn insert(&mut self, key: i64, thread: ThreadId) {
        let at = self.0.partition_point(|&(other, _)| other <= key);
        self.0.insert(at, (key, thread));
    }

    /// Removes a thread that was inserted with this key.
    pub(super) fn remove(&mut self, key: i64, thread: ThreadId) {
        let from = self.0.partition_point(|&(other, _)| other < key);
        let offset = self.0[from..].iter().position(|&entry| entry == (key, thread));
        self.0.remove(from + offset.expect("the thread waits in the queue"));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.0.iter().map(|&(_, thread)| thread)
    }

    pub(super) fn first(&self) -> Option<ThreadId> {
        self.iter().next()
    }

    pub(super) fn last(&self) -> Option<ThreadId> {
        self.0.last().map(|&(_, thread)| thread)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
