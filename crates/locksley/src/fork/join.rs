//! `join`: two tasks that may run at the same time, and their results.

use crate::deque::TakeBack;
use crate::observe::{LatestStamp, Observer, Stamp};
use crate::pool::Pool;
use crate::scheduler::Worker;
use crate::scheduler::job::ForkJob;
use crate::unwind::{self, Payload};

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// The first runs at once, on the calling worker; the second is put where idle workers can take it.
/// If none does, the calling worker runs it next, for about the price of a call. On a thread that is
/// no worker, both run in the [global pool](Pool::global).
///
/// While the second task runs elsewhere, the calling worker runs only what that task has forked. If
/// there is none of that, it blocks, and a replacement worker takes its place.
///
/// # Panics
/// If a task panics, with its payload, after both have ended; if both do, with the first one's.
///
/// # Examples
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (a, b) = locksley::join(|| sum(left), || sum(right));
///     a + b
/// }
///
/// let numbers: Vec<u64> = (1..=10_000).collect();
/// assert_eq!(sum(&numbers), 50_005_000);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => worker.join_inline(|_| a(), |_| b()),
        None => Pool::global().install(|worker| worker.join_inline(|_| a(), |_| b())),
    })
}

impl Worker {
    /// Runs two tasks, possibly at the same time, and returns both results: [`join`] on a known worker.
    ///
    /// The first task runs on this very worker and need not be `Send`.
    ///
    /// # Panics
    /// If a task panics, with its payload, after both have ended; if both do, with the first one's.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut halves = [1, 2];
    /// let [left, right] = &mut halves;
    /// pool.install(|w| w.join(|_| *left += 10, |_| *right += 20));
    /// assert_eq!(halves, [11, 22]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    // The compiler then puts what is joined into the join, and not the join into its caller: a
    // recursion's test for its end needs no call. A fork of fib takes 51 instructions instead of 63.
    #[inline(never)]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.join_inline(a, b)
    }

    #[inline(always)]
    fn join_inline<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let second = ForkJob::new(b);
        let (index, is_done) = self.fork(second.as_job());
        if !is_done {
            return self.join_slowly(a, &second, index);
        }
        self.run_both(a, &second, index)
    }

    /// The deque has to grow or to open, or the pool is observed. Apart, so that it takes no
    /// registers from the common case.
    #[cold]
    #[inline(never)]
    fn join_slowly<A, B, RA, RB>(&self, a: A, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let Some(observer) = self.observer() else {
            self.after_slow_push(index);
            return self.run_both(a, second, index);
        };
        // SAFETY: pushes of an observed worker are redirected, so no thread has seen the word.
        let b = unsafe { second.take_back() };
        let (mut first, mut other) = (None, None);
        self.join_observed(observer, &mut once(a, &mut first), &mut once(b, &mut other));
        (returned(first), returned(other))
    }

    /// A join in an observed pool: the observer sees the fork, both halves and the join. Not
    /// generic, so that it is compiled once.
    fn join_observed(
        &self,
        observer: &dyn Observer,
        a: &mut dyn FnMut(&Worker),
        b: &mut (dyn FnMut(&Worker) + Send),
    ) {
        let slot = self.slot_index();
        let fork = observer.stamp(slot);
        let end = LatestStamp::new();
        let second = ForkJob::new(|worker: &Worker| {
            let _strand = Observed::begin(worker, fork, worker.slot_index() != slot, &end);
            b(worker);
        });
        let index = self.push_real(second.as_job());
        let joined = unwind::halt(|| self.run_both(a, &second, index));
        observer.follow(slot, end.get());
        joined.unwrap_or_else(|payload| unwind::resume(payload));
    }

    /// Runs the first task, and the second, if it comes back from where it was pushed.
    #[inline(always)]
    fn run_both<A, B, RA, RB>(&self, a: A, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        // The second task lies in this frame, so it has to end before a panic of the first goes on.
        match unwind::halt(|| a(self)) {
            Ok(first) => {
                if !second.may_be_there() {
                    return self.finish(first, second, index);
                }
                match self.take_back(index) {
                    TakeBack::Taken => {
                        // SAFETY: the word has come back.
                        let task = unsafe { second.take_back() };
                        (first, task(self))
                    }
                    TakeBack::Buried => self.finish(first, second, index),
                    TakeBack::Lowered => self.finish_lowered(first, second, index),
                }
            }
            Err(payload) => self.first_panicked(payload, second, index),
        }
    }

    /// The first task has ended, and thieves may compete for the second.
    #[cold]
    #[inline(never)]
    fn finish_lowered<B, RA, RB>(&self, first: RA, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        if self.take_lowered(index) {
            // SAFETY: the word has come back.
            let task = unsafe { second.take_back() };
            return (first, task(self));
        }
        self.finish(first, second, index)
    }

    /// The first task has ended, and the second cannot simply be taken back.
    #[cold]
    #[inline(never)]
    fn finish<B, RA, RB>(&self, first: RA, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        match self.end(second, index) {
            Ok(second) => (first, second),
            Err(payload) => unwind::resume(payload),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_panicked<B, RB>(&self, payload: Payload, second: &ForkJob<B, RB>, index: i64) -> !
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        // Neither the second task's panic nor that of its result's destructor replaces the first.
        match self.end(second, index) {
            Ok(result) => {
                if let Err(again) = unwind::halt(|| drop(result)) {
                    unwind::discard(again);
                }
            }
            Err(second) => unwind::discard(second),
        }
        unwind::resume(payload)
    }

    /// Runs `job`, which was pushed here, or waits until the worker that took it has.
    fn end<B, RB>(&self, job: &ForkJob<B, RB>, index: i64) -> Result<RB, Payload>
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        if self.recover(job.as_job(), job.end(), index) {
            // SAFETY: its word has come back.
            let task = unsafe { job.take_back() };
            unwind::halt(|| task(self))
        } else {
            // SAFETY: its end is set.
            unsafe { job.take_result() }
        }
    }
}

/// A task that leaves its result in a place of its caller's.
fn once<F, R>(task: F, result: &mut Option<R>) -> impl FnMut(&Worker)
where
    F: FnOnce(&Worker) -> R,
{
    let mut task = Some(task);
    move |worker| {
        let task = task.take().expect("a half of a join runs once");
        *result = Some(task(worker));
    }
}

fn returned<R>(result: Option<R>) -> R {
    result.expect("both halves have ended without a panic")
}

/// While it lives, the second half of an observed join runs.
struct Observed<'s> {
    worker: &'s Worker,
    suspended: Stamp,
    end: &'s LatestStamp,
}

impl<'s> Observed<'s> {
    fn begin(worker: &'s Worker, cause: Stamp, is_moved: bool, end: &'s LatestStamp) -> Self {
        let observer = worker.observer().expect("all workers of a pool are observed");
        let suspended = observer.begin(worker.slot_index(), cause, is_moved);
        Self { worker, suspended, end }
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        let observer = self.worker.observer().expect("as when it began");
        self.end.record(observer.end(self.worker.slot_index(), self.suspended));
    }
}
