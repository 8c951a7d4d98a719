//! Thieves that take half of what they find, and not one task.

use std::ptr::NonNull;
use std::time::Duration;

use crate::deque::Steal;
use crate::hunt::{Governor, Hunter, Limit};
use crate::job::{self, HeapJob, Job};
use crate::worker::Worker;

/// A governor whose thieves take half of the tasks that they find, rounded up: they run the oldest and put the others into
/// their own deque (after Hendler and Shavit, "Non-blocking steal-half work queues", PODC 2002). Otherwise it is as the one
/// inside.
///
/// It departs from the paper in this: tasks are taken one by one, and each is in the thief's deque before the next is taken. So
/// a thief that is suspended keeps two tasks from the others, and not half of them.
///
/// # Examples
/// ```
/// use locksley::{Pool, alternatives::StealHalf, hunt::Balanced};
///
/// let pool = Pool::builder().workers(2).governor(StealHalf(Balanced::default())).build()?;
/// assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct StealHalf<G>(pub G);

impl<G: Governor> Governor for StealHalf<G> {
    fn name(&self) -> &'static str {
        "steal-half"
    }

    fn hunter(&self, worker: usize, workers: usize) -> Box<dyn Hunter> {
        self.0.hunter(worker, workers)
    }

    fn limit(&self, processors: usize) -> Limit {
        self.0.limit(processors)
    }

    fn spreads(&self) -> bool {
        self.0.spreads()
    }

    fn turn(&self) -> Option<Duration> {
        self.0.turn()
    }

    fn wakes_with_every_push(&self) -> usize {
        self.0.wakes_with_every_push()
    }

    fn takes_half(&self) -> bool {
        true
    }
}

/// Moves tasks from `victim`'s deque to that of `worker`, who has just taken one there, until it has half of them.
pub(in crate::hunt) fn take_more(worker: &Worker, victim: usize) {
    let seat = worker.shared().seat(victim);
    // There was one more, so this is half of them, rounded up, less the one that was taken.
    for _ in 0..seat.tasks_seen() / 2 {
        let Steal::Taken(job) = seat.steal_oldest() else { return };
        worker.counters().steals.increment();
        let loot = Loot { job, from: victim };
        // SAFETY: whoever takes a word out of a deque runs it, once; nothing is borrowed; and jobs do not unwind.
        let word = unsafe { HeapJob::into_job(move |worker| loot.run(worker)) };
        worker.push(word);
    }
}

/// A task that was moved. Whoever runs it wakes the worker that pushed it first, which may wait for its end.
struct Loot {
    job: NonNull<Job>,
    from: usize,
}

// SAFETY: a job may be run by any worker.
unsafe impl Send for Loot {}

impl Loot {
    fn run(self, worker: &Worker) {
        // SAFETY: alive until it has run; the thief that made this took it, alone, from the deque of worker `from`; and this
        // is run once.
        unsafe { job::execute(self.job, worker, self.from) }
    }
}
