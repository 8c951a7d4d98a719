//! `join`: runs two tasks, possibly at the same time, and returns both results.

use crate::deque::TakeBack;
use crate::observe::Observer;
use crate::pool::Pool;
use crate::scheduler::Worker;
use crate::scheduler::job::ForkJob;
use crate::unwind::{self, Payload};

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// The first runs at once, on the calling worker. The second is pushed to its deque, where idle
/// workers can steal it. If none does, the calling worker runs it next, for about the price of a
/// call. On a thread that is no worker, both run in the [global pool](Pool::global).
///
/// While the second task runs on another worker, the calling worker runs only tasks that it has
/// forked. If there are none, the thread blocks, and a replacement works under the worker's index.
///
/// # Panics
/// If a task panics: with its payload, after both have ended. If both do: with that of the first.
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
    /// Runs two tasks, possibly at the same time, and returns both results: [`join`] on a known
    /// worker.
    ///
    /// The first task runs on this very worker and need not be `Send`.
    ///
    /// # Panics
    /// If a task panics: with its payload, after both have ended. If both do: with that of the
    /// first.
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
    // Not inlined into its caller, so that the compiler inlines the tasks into the join: then the
    // base case of a recursion needs no call.
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
        let pushed = self.deque.push(second.as_job());
        if !pushed.is_complete {
            return self.join_slowly(a, &second, pushed.index);
        }
        self.run_both(a, &second, pushed.index)
    }

    /// A join after an incomplete push: the deque must grow or open, or the pool is observed.
    /// Out of line, so that it takes no registers from the common case.
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

    /// A join in an observed pool: the observer sees the fork, both halves and the join. It is not
    /// generic, to be compiled once.
    fn join_observed(
        &self,
        observer: &dyn Observer,
        a: &mut dyn FnMut(&Worker),
        b: &mut (dyn FnMut(&Worker) + Send),
    ) {
        let slot = self.slot_index();
        let fork = observer.stamp(slot);
        let second = ForkJob::new(|worker: &Worker| {
            let observer = worker.observer().expect("all workers of a pool are observed");
            let here = worker.slot_index();
            let suspended = observer.begin(here, fork, here != slot);
            let result = unwind::catch(|| b(worker));
            (result, observer.end(here, suspended))
        });
        let index = self.push_real(second.as_job());
        let first = |worker: &Worker| unwind::catch(|| a(worker));
        let (first, (other, end)) = self.run_both(first, &second, index);
        observer.follow(slot, end);
        match (first, other) {
            (Ok(()), Ok(())) => {}
            (Ok(()), Err(payload)) | (Err(payload), Ok(())) => unwind::resume(payload),
            (Err(payload), Err(second)) => {
                unwind::discard(second);
                unwind::resume(payload);
            }
        }
    }

    /// Runs the first task, and then the second, if no thief has taken it.
    #[inline(always)]
    fn run_both<A, B, RA, RB>(&self, a: A, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        // The second task lies in this frame, so it must end before a panic of the first unwinds
        // it.
        match unwind::catch(|| a(self)) {
            Ok(first) => {
                if !second.can_be_in_deque() {
                    return self.finish(first, second, index);
                }
                match self.deque.take_back(index) {
                    TakeBack::Taken => {
                        // SAFETY: the word has come back.
                        let task = unsafe { second.take_back() };
                        (first, task(self))
                    }
                    TakeBack::Buried => self.finish(first, second, index),
                    TakeBack::Contended => self.finish_contended(first, second, index),
                }
            }
            Err(payload) => self.first_panicked(payload, second, index),
        }
    }

    /// The first task has ended, and thieves may compete for the second.
    #[cold]
    #[inline(never)]
    fn finish_contended<B, RA, RB>(
        &self,
        first: RA,
        second: &ForkJob<B, RB>,
        index: i64,
    ) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        if self.deque.pop_lowered(index).is_some() {
            // SAFETY: the word has come back.
            let task = unsafe { second.take_back() };
            return (first, task(self));
        }
        self.finish(first, second, index)
    }

    /// The first task has ended, and the second has been taken, or lies below other tasks.
    #[cold]
    #[inline(never)]
    fn finish<B, RA, RB>(&self, first: RA, second: &ForkJob<B, RB>, index: i64) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        match self.complete(second, index) {
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
        // No later panic replaces the first: neither the second task's, nor that of dropping its
        // result.
        match self.complete(second, index) {
            Ok(result) => {
                if let Err(second) = unwind::catch(|| drop(result)) {
                    unwind::discard(second);
                }
            }
            Err(second) => unwind::discard(second),
        }
        unwind::resume(payload)
    }

    /// Runs a job that was pushed here, or waits until the worker that took it has run it.
    fn complete<B, RB>(&self, job: &ForkJob<B, RB>, index: i64) -> Result<RB, Payload>
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        if self.wait_for_fork(job.as_job(), job.latch(), index) {
            // SAFETY: its word has come back.
            let task = unsafe { job.take_back() };
            unwind::catch(|| task(self))
        } else {
            // SAFETY: its latch is set.
            unsafe { job.take_result() }
        }
    }
}

/// Wraps a task that runs once, and writes its result to `result`.
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
