//! `join`: runs two tasks, possibly at the same time, and returns both results.

use crate::deque::TakeBack;
use crate::job::ForkJob;
use crate::observe::Observer;
use crate::pool::Pool;
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// The first runs at once, on the calling worker. The second is pushed to its deque, where idle
/// workers can steal it. If none does, the calling worker runs it next, for about the price of a
/// call. On a thread that is no worker, both run in the [global pool](Pool::global).
///
/// While the second task runs on another worker, the calling worker runs only tasks that it has
/// forked. If there are none, the thread blocks, and a replacement works under the worker's index.
/// The join returns when the second task has ended and the replacement's present task has.
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
        None => join_in_global_pool(a, b),
    })
}

// Out of line, so that it takes no registers from the common case.
#[cold]
#[inline(never)]
fn join_in_global_pool<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Pool::global().install(|worker| worker.join_inline(|_| a(), |_| b()))
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
        let pushed = self.local.deque.push(second.as_job());
        if !pushed.is_complete {
            return second.run_slowly_after(a, self, pushed.index);
        }
        second.run_after(a, self, pushed.index)
    }

    /// A join in an observed pool: the observer sees the fork, both halves and the join. It is not
    /// generic, to be compiled once.
    fn join_observed(
        &self,
        observer: &dyn Observer,
        a: &mut dyn FnMut(&Worker),
        b: &mut (dyn FnMut(&Worker) + Send),
    ) -> Result<(), Payload> {
        let slot = self.slot().get();
        let fork = observer.stamp(slot);
        let second = ForkJob::new(|worker: &Worker| {
            let observer = worker.observer().expect("all workers of a pool are observed");
            let here = worker.slot().get();
            let suspended = observer.begin(here, fork, here != slot);
            let result = unwind::catch(|| b(worker));
            (result, observer.end(here, suspended))
        });
        let index = self.push_real(second.as_job());
        let first = |worker: &Worker| unwind::catch(|| a(worker));
        let (first, (other, end)) = second.run_after(first, self, index);
        observer.follow(slot, end);
        if first.is_ok() {
            return other;
        }
        unwind::drop_quietly(other);
        first
    }
}

/// How a join goes on after `worker` has pushed its second task, this one, to `index`.
impl<B, RB> ForkJob<B, RB>
where
    B: FnOnce(&Worker) -> RB + Send,
    RB: Send,
{
    /// After an incomplete push: the deque must grow or open, or the pool is observed. Out of line,
    /// so that it takes no registers from the common case.
    #[cold]
    #[inline(never)]
    fn run_slowly_after<A, RA>(&self, a: A, worker: &Worker, index: i64) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
    {
        let Some(observer) = worker.observer() else {
            worker.after_slow_push(index);
            return self.run_after(a, worker, index);
        };
        // SAFETY: pushes of an observed worker are redirected, so no thread has seen the word.
        let b = unsafe { self.take_back() };
        let (mut first, mut second) = (None, None);
        let ended =
            worker.join_observed(observer, &mut once(a, &mut first), &mut once(b, &mut second));
        match (ended, first, second) {
            (Ok(()), Some(first), Some(second)) => (first, second),
            (Err(payload), first, second) => unwind::resume_without((first, second), payload),
            _ => unreachable!("both halves have ended without a panic"),
        }
    }

    /// Runs the first task, and then this one, if no thief has taken it.
    #[inline(always)]
    fn run_after<A, RA>(&self, a: A, worker: &Worker, index: i64) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
    {
        // This task lies in the frame of the join, so it must end before a panic of the first
        // unwinds that.
        match unwind::catch(|| a(worker)) {
            Ok(first) => {
                if !self.can_be_in_deque() {
                    return self.finish(first, worker, index);
                }
                match worker.local.deque.take_back(index) {
                    TakeBack::Taken => {
                        // SAFETY: the word has come back.
                        let task = unsafe { self.take_back() };
                        (first, task(worker))
                    }
                    TakeBack::Buried => self.finish(first, worker, index),
                    TakeBack::Contended => self.finish_contended(first, worker, index),
                }
            }
            Err(payload) => self.finish_panic(payload, worker, index),
        }
    }

    /// The first task has ended, and thieves may compete for this one.
    #[cold]
    #[inline(never)]
    fn finish_contended<RA>(&self, first: RA, worker: &Worker, index: i64) -> (RA, RB) {
        if worker.local.deque.pop_lowered(index).is_some() {
            // SAFETY: the word has come back.
            let task = unsafe { self.take_back() };
            return (first, task(worker));
        }
        self.finish(first, worker, index)
    }

    /// The first task has ended, and this one has been taken, or lies below other tasks.
    #[cold]
    #[inline(never)]
    fn finish<RA>(&self, first: RA, worker: &Worker, index: i64) -> (RA, RB) {
        both(Ok(first), self.complete(worker, index))
    }

    /// The first task has panicked. No later panic replaces that: neither this task's, nor that of
    /// dropping its result.
    #[cold]
    #[inline(never)]
    fn finish_panic(&self, first: Payload, worker: &Worker, index: i64) -> ! {
        unwind::resume_without(self.complete(worker, index), first)
    }

    /// Runs this task, or waits until the worker that took it has run it.
    fn complete(&self, worker: &Worker, index: i64) -> Result<RB, Payload> {
        if worker.wait_for_fork(self.header(), index) {
            // SAFETY: its word has come back.
            let task = unsafe { self.take_back() };
            unwind::catch(|| task(worker))
        } else {
            // SAFETY: its latch is set.
            unsafe { self.take_result() }
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

/// Returns both results. After a panic, drops the other result, and raises the first panic: no
/// later one replaces it.
pub(super) fn both<A, B>(first: Result<A, Payload>, second: Result<B, Payload>) -> (A, B) {
    match (first, second) {
        (Ok(first), Ok(second)) => (first, second),
        (Ok(first), Err(payload)) => unwind::resume_without(first, payload),
        (Err(payload), second) => unwind::resume_without(second, payload),
    }
}
