//! What a worker runs while a join or a scope waits: anything, or only what lies below it.

use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

use crate::deque::Steal;
use crate::fiber::Mark;
use crate::hunt::Found;
use crate::job::{self, HeapJob, Job, Role};
use crate::latch::Flag;
use crate::os;
use crate::primitive::spin_loop;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// What a worker runs while a join or a scope of its own waits for tasks that others run.
///
/// For a pool: [`PoolBuilder::waiting`](crate::PoolBuilder::waiting). For one call: [`Worker::join_waiting`],
/// [`Worker::scope_waiting`].
///
/// # Examples
/// A lock that knows nothing of tasks, held across a join. Any other task may want it, too, so the worker must not run one:
/// ```
/// use std::sync::Mutex;
///
/// use locksley::{Pool, Waiting};
///
/// let (pool, total) = (Pool::new(2)?, Mutex::new(0));
/// pool.run(|worker| {
///     worker.scope(|worker, scope| {
///         for _ in 0..10 {
///             scope.spawn_on(worker, |worker, _| {
///                 let mut total = total.lock().unwrap();
///                 let (a, b) = worker.join_waiting(Waiting::Below, |_| 1, |_| 2);
///                 *total += a + b;
///             });
///         }
///     });
/// });
/// assert_eq!(total.into_inner()?, 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// Anything that it finds, on a [stack](crate::PoolBuilder::waiting_stacks) of its own.
    #[default]
    Anything,
    /// Only what lies below the waiting task, on top of it: for a join what it steals back from whoever took its second half
    /// (Wagner and Calder, "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993), for a scope
    /// what the worker has spawned into scopes since this one began, and still has. When there is none of that, it does nothing but look again, at first all the time and
    /// later every 100 µs. What it finds in its way is left to others, and stacks of this worker that are ready wait, unless they may have
    /// to do with what is waited for.
    ///
    /// So none of what it runs there can want a lock that the waiting task holds, unless that task's own children do. This does not
    /// hold for tasks that went to a stack of their own while the waiting one was in [`block_on`](crate::block_on) before; and what
    /// lies below waits in its turn as its pool has it.
    Below,
}

/// How long one who has looked in vain waits before looking again.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    const SPINS: u32 = 64;
    const YIELDS: u32 = 128;
    const NAP: Duration = Duration::from_micros(100);

    /// Whether it has looked in vain for long.
    fn is_short(&self) -> bool {
        self.0 > Self::SPINS
    }

    fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            ..Self::SPINS => (0..16).for_each(|_| spin_loop()),
            Self::SPINS..Self::YIELDS => os::yield_now(),
            _ => thread::sleep(Self::NAP),
        }
    }
}

/// A task that was in somebody's way, as it goes to whoever comes.
struct Stray(Found);

// SAFETY: a job may be run by any worker.
unsafe impl Send for Stray {}

impl Stray {
    fn run(self, worker: &Worker) {
        let Self(Found { job, from }) = self;
        // SAFETY: alive until it has run; whoever made this took it, alone, from the deque of worker `from`; and this is run once.
        unsafe { job::execute(job, worker, from) }
    }
}

impl Worker {
    /// What is run while a call waits that says so, or does not.
    pub(super) fn waiting(&self, asked: Option<Waiting>) -> Waiting {
        // Of a deque that is only there to be compared with it is not known what lies below what.
        if self.has_other_deque() {
            return Waiting::Anything;
        }
        asked.unwrap_or_else(|| self.shared().waiting())
    }

    /// Waits for `job`, which was pushed to that index here, or takes it back, and runs only what lies below it. Says whether it was
    /// taken back.
    pub(super) fn recover_below(&self, job: NonNull<Job>, end: &Flag, index: i64) -> bool {
        let abort = AbortOnUnwind("a panic came out of a task");
        let (mut patience, mut is_back) = (Patience::default(), false);
        while !is_back && !end.is_set() {
            // What lies deeper is not the first task's.
            if self.deque_end() > index
                && let Some(newest) = self.take_newest()
            {
                is_back = newest.job == job;
                if !is_back {
                    self.clear_away(newest);
                }
            } else if let Some(found) = self.steal_back(job, patience.is_short()) {
                self.execute_below(found);
                patience = Patience::default();
            } else if !(end.is_begun_at_home() && self.resume_one()) {
                patience.wait();
            }
        }
        abort.disarm();
        is_back
    }

    /// Waits for the tasks of a scope, which began at the mark.
    pub(super) fn wait_for_scope(
        &self,
        event: &Flag,
        scope: NonNull<()>,
        mark: Mark,
        asked: Option<Waiting>,
    ) {
        self.while_aside(|| match self.waiting(asked) {
            Waiting::Anything => {
                self.work_above(mark, scope, event);
                self.wait_until(event);
            }
            Waiting::Below => self.wait_below(event, mark),
        });
    }

    /// Waits for a scope, and runs only those of its tasks that this worker has pushed since the mark.
    fn wait_below(&self, event: &Flag, mark: Mark) {
        let abort = AbortOnUnwind("a panic came out of a task");
        let mut patience = Patience::default();
        while !event.is_set() {
            if self.deque_end() > mark.end()
                && let Some(newest) = self.take_newest()
            {
                // SAFETY: just taken.
                match unsafe { job::role(newest.job) } {
                    Role::Scoped => self.execute_below(newest),
                    Role::Fork | Role::Line | Role::Other => self.clear_away(newest),
                }
            } else if !self.resume_one() {
                // (A task of the scope may be on a stack of this worker.)
                patience.wait();
            }
        }
        abort.disarm();
    }

    /// Does away with a task that lies in the way: others run it. But not the second half of a join, whose own worker goes by its
    /// place: that one is begun here, on a stack of its own.
    fn clear_away(&self, found: Found) {
        // SAFETY: just taken.
        match unsafe { job::role(found.job) } {
            Role::Fork => self.start(found),
            Role::Scoped | Role::Line | Role::Other => self.leave_to_others(found),
        }
    }

    fn leave_to_others(&self, found: Found) {
        let stray = Stray(found);
        // SAFETY: whoever takes a word out of an inbox runs it, once; nothing is borrowed; and jobs do not unwind.
        let word = unsafe { HeapJob::into_job(move |worker| stray.run(worker)) };
        self.shared().send(word);
    }

    /// A second half of a join that whoever runs `job` has forked below it.
    fn steal_back(&self, job: NonNull<Job>, insists: bool) -> Option<Found> {
        let shared = self.shared();
        let thief = (0..self.workers()).find(|&worker| shared.seat(worker).runs(job))?;
        let taken = match shared.seat(thief).steal_oldest() {
            Steal::Taken(taken) => taken,
            Steal::Kept if insists => {
                // The thief has been asked to open its deque, and may be stuck.
                shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Kept | Steal::Lost | Steal::Empty => return None,
        };
        let found = Found { job: taken, from: thief };
        self.counters().steals.increment();
        // Again: what the thief pushed when it had gone on to something else is seen with that (the acquire of the steal pairs with
        // the release of the push). And a job's address is its own while somebody waits for it.
        // SAFETY: just taken.
        if shared.seat(thief).runs(job) && unsafe { job::role(taken) } == Role::Fork {
            return Some(found);
        }
        self.leave_to_others(found);
        None
    }

    /// Runs what lies below the task that this worker is in: so whoever waits for that one may go on to steal it back.
    fn execute_below(&self, found: Found) {
        let before = self.seat().running();
        self.execute(found);
        self.seat().now_runs(before);
    }
}
