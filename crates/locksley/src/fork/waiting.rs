//! What a worker runs while a join or a scope waits: anything, or only what lies below it.

use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

use super::scope;
use super::strays::Below;
use crate::deque::Steal;
use crate::fiber::Mark;
use crate::hunt::Found;
use crate::job::{self, Job, Role};
use crate::kahn::ForeignWait;
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
    /// those of its tasks that nobody has begun, but for what other workers have spawned and still have. When there is none of that, it does nothing but look
    /// again, at first all the time and later every 100 µs. What it finds in its way is left to others.
    ///
    /// So none of what it runs there can want a lock that the waiting task holds, unless that task's own children do. This does not
    /// hold if the waiting task, or a task of its scope that ran on top of it, has been in [`block_on`](crate::block_on), or has waited for
    /// [`Anything`](Self::Anything), since the join or scope began: then other tasks went to stacks of their own on this worker, maybe what is
    /// waited for, too; while there are such, the join or scope may wait for anything. And what lies below waits in its turn as its pool has it.
    ///
    /// Nor does it hold for a scope in which [a broadcast](crate::Scope::spawn_broadcast) was spawned. That needs every worker, and others
    /// may need this one for theirs: from then on the scope waits for anything.
    ///
    /// All that only this worker can do waits as long as the join or scope does: what was sent to it and nobody else
    /// ([`Pool::spawn_at`](crate::Pool::spawn_at), its part of a broadcast), and its stacks of before that are
    /// ready. So what lies below must not wait for any of these, which would never end; nor, in
    /// a loop of its own, for a task that its own worker has spawned, if no worker is left to take that.
    ///
    /// A [future](crate::task) that what lies below waits for is not known as a part of it: it is left to other workers. So a
    /// pool whose workers all wait like this, as the only one of a pool may, does not go on then.
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

/// A scope that is waited for, and where its tasks are found if its waiter runs nothing but them.
pub(super) type Awaited<'t> = (NonNull<()>, Option<&'t Below>);

impl Worker {
    /// What is run while a call waits that says so, or does not.
    pub(super) fn waiting(&self, asked: Option<Waiting>) -> Waiting {
        // Of what is only there to be compared with it is not known what lies below what: another deque, or one into which tasks come that
        // were stolen.
        if self.has_other_deque() || self.shared().takes_half() {
            return Waiting::Anything;
        }
        asked.unwrap_or_else(|| self.shared().waiting())
    }

    /// Waits for `job`, which was pushed to that index here, or takes it back, and runs only what lies below it. Says whether it was
    /// taken back.
    pub(super) fn recover_below(&self, job: NonNull<Job>, end: &Flag, index: i64) -> bool {
        if self.shared().is_lost() {
            return self.recover_in_a_child(job, end);
        }
        if end.is_set() {
            self.settle_as_guest();
            return false;
        }
        let abort = AbortOnUnwind("a panic came out of a task");
        let _foreign = ForeignWait::begin(self);
        let _unable = self.waits_on_top();
        let (mut patience, mut is_back) = (Patience::default(), false);
        while !is_back && !end.is_set() {
            if end.is_begun_at_home() {
                // On another stack of this worker; it may wait for whatever this worker has, wherever that lies.
                self.wait_until(end);
            } else if self.deque_end() > index
                // What lies deeper is not the first task's.
                && let Some(newest) = self.take_newest()
            {
                is_back = newest.job == job;
                if !is_back {
                    self.clear_away(newest);
                }
            } else if let Some(found) = self.steal_back(job, patience.is_short()) {
                self.execute_below(found);
                patience = Patience::default();
            } else {
                self.look_again_later(&mut patience);
            }
        }
        self.settle_as_guest();
        abort.disarm();
        is_back
    }

    /// Waits for the tasks of a scope, which began at the mark.
    pub(super) fn wait_for_scope(
        &self,
        event: &Flag,
        awaited: Awaited<'_>,
        mark: Mark,
        asked: Option<Waiting>,
    ) {
        self.while_aside(|| {
            if self.shared().is_lost() {
                return self.wait_in_a_child(event, awaited);
            }
            if event.is_set() {
                return self.settle_as_guest();
            }
            let _foreign = ForeignWait::begin(self);
            match self.waiting(asked) {
                Waiting::Anything => {
                    self.work_above(mark, awaited.0, event);
                    self.wait_until(event);
                    self.settle_as_guest();
                }
                Waiting::Below => self.wait_below(event, awaited, mark),
            }
        });
    }

    /// Waits for the intervals of a root, which began at the mark.
    pub(crate) fn wait_for_root(&self, event: &Flag, root: NonNull<()>, mark: Mark) {
        self.while_aside(|| {
            if self.shared().is_lost() {
                return self.wait_in_a_child(event, (root, None));
            }
            if event.is_set() {
                return self.settle_as_guest();
            }
            let _foreign = ForeignWait::begin(self);
            self.work_above(mark, root, event);
            self.wait_until(event);
            self.settle_as_guest();
        });
    }

    /// Waits for a scope that began at the mark, and runs only its tasks.
    fn wait_below(&self, event: &Flag, awaited: Awaited<'_>, mark: Mark) {
        let abort = AbortOnUnwind("a panic came out of a task");
        let _unable = self.waits_on_top();
        let mut patience = Patience::default();
        while !event.is_set() {
            if self.must_wait_for_anything(awaited, mark) {
                self.wait_until(event);
            } else if let Some(found) = self.take_of_scope(event, awaited) {
                self.execute_below(found);
                patience = Patience::default();
            } else {
                self.look_again_later(&mut patience);
            }
        }
        self.settle_as_guest();
        abort.disarm();
    }

    /// Whether others wait for this worker, or may, that the scope waits for. Tasks of the scope may have begun on other stacks of this
    /// worker, where they wait for whatever it has, wherever that lies; only if it has been on another one since the mark. And who waits for
    /// the parts of a broadcast needs all workers, of whom others may wait for this one's part of theirs.
    fn must_wait_for_anything(&self, (_, below): Awaited<'_>, mark: Mark) -> bool {
        // The thread's own stack is not counted among those that wait.
        let may_have_left = self.has_waiting_stacks() || self.stack().is_some();
        (self.has_switched_since(mark) && may_have_left) || below.is_none_or(Below::has_broadcast)
    }

    /// A task of the scope, out of all places where this worker may find one before others do.
    fn take_of_scope(&self, event: &Flag, (scope, below): Awaited<'_>) -> Option<Found> {
        let below = below?;
        while !event.is_set()
            && self.deque_end() > below.floor()
            && let Some(newest) = self.take_newest()
        {
            // SAFETY: just taken.
            if unsafe { job::scope(newest.job) } == Some(scope) {
                return Some(newest);
            }
            self.clear_away(newest);
        }
        below.take().map(|job| Found { job, from: self.seat_index() })
    }

    /// Waits before it looks again.
    fn look_again_later(&self, patience: &mut Patience) {
        if patience.is_short() {
            // It may never come to hunt.
            self.doubts().settle();
        }
        patience.wait();
    }

    /// Does away with a task that lies in the way: others run it. But not the second half of a join, whose own worker goes by its
    /// place: that one is begun here, on a stack of its own.
    fn clear_away(&self, found: Found) {
        // SAFETY: just taken.
        match unsafe { job::role(found.job) } {
            Role::Fork => self.start(found),
            Role::Scoped | Role::Interval | Role::Followed | Role::Other => {
                self.leave_to_others(found.job)
            }
        }
    }

    /// Not the second half of a join: its own worker may look for it where it cannot be found any more.
    fn leave_to_others(&self, task: NonNull<Job>) {
        let pool = self.shared();
        // SAFETY: just taken.
        let is_scoped = unsafe { job::role(task) } == Role::Scoped;
        // An interval has a root, and no scope. SAFETY: just taken.
        match is_scoped.then(|| unsafe { job::scope(task) }).flatten() {
            // SAFETY: a task of that scope, just taken; who pushes one is a worker of the scope's pool.
            Some(scope) => unsafe { scope::leave_to_others(scope, task, pool) },
            None => pool.send_as_is(task),
        }
    }

    /// A second half of a join that whoever runs `job` has forked below it.
    fn steal_back(&self, job: NonNull<Job>, insists: bool) -> Option<Found> {
        let shared = self.shared();
        let thief = (0..shared.seats_taken()).find(|&seat| shared.seat(seat).runs(job))?;
        // Again, when what is the oldest is seen: what the thief pushed when it had gone on to something else is seen with that (the
        // acquire of the steal pairs with the release of the push). And a job's address is its own while somebody waits for it.
        let taken = match shared.seat(thief).steal_oldest_if(|seat| seat.runs(job)) {
            Steal::Taken(taken) => taken,
            Steal::Kept if insists => {
                // The thief has been asked to open its deque, and may be stuck.
                shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Kept | Steal::Lost | Steal::Empty => return None,
        };
        self.has_stolen_from(thief);
        // SAFETY: just taken.
        match unsafe { job::role(taken) } {
            Role::Fork => Some(Found { job: taken, from: thief }),
            Role::Scoped | Role::Interval | Role::Followed | Role::Other => {
                self.leave_to_others(taken);
                None
            }
        }
    }

    /// Runs what lies below the task that this worker is in: so whoever waits for that one may go on to steal it back.
    fn execute_below(&self, found: Found) {
        let before = self.seat().running();
        self.execute(found);
        self.seat().now_runs(before);
    }
}
