//! `join`: two tasks that may run at the same time, and their results.

use crate::job::StackJob;
use crate::latch::WorkerLatch;
use crate::pool::Pool;
use crate::unwind::{self, AbortOnUnwind, Payload};
use crate::worker::Worker;

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// The first runs at once, on the calling worker; the second is put where idle workers can take it, and if none does,
/// the calling worker runs it next, for about the price of a call. On a thread that is no worker, both run in the
/// [global pool](Pool::global).
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
        Some(worker) => worker.join(|_| a(), |_| b()),
        None => Pool::global().run(|worker| worker.join(|_| a(), |_| b())),
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
    /// pool.run(|w| w.join(|_| *left += 10, |_| *right += 20));
    /// assert_eq!(halves, [11, 22]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let second = StackJob::new(b, WorkerLatch::new(self));
        self.push(second.as_job());
        let first = unwind::halt(|| a(self));
        // Whatever became of the first task: the second has a place in this frame, so it ends before we leave.
        let second = self.finish(&second);
        match (first, second) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(payload), second) => raise(payload, second.err()),
            (_, Err(payload)) => raise(payload, None),
        }
    }

    /// Runs `job`, which was pushed here, or waits until whoever took it has.
    #[inline]
    fn finish<F, R>(&self, job: &StackJob<F, R, WorkerLatch<'_>>) -> Result<R, Payload>
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        while !job.latch().flag().is_set() {
            match self.take_back() {
                Some(newest) if newest == job.as_job() => {
                    self.counters().tasks.increment();
                    // SAFETY: its word has come back.
                    let task = unsafe { job.take_back() };
                    return unwind::halt(|| task(self));
                }
                // The first task left tasks behind that it did not wait for.
                Some(newer) => {
                    let abort = AbortOnUnwind("a panic came out of a task");
                    self.execute(newer);
                    abort.disarm();
                }
                None => self.work_until(job.latch().flag()),
            }
        }
        // SAFETY: the latch is set.
        unsafe { job.take_result() }
    }
}

#[cold]
#[inline(never)]
fn raise(payload: Payload, other: Option<Payload>) -> ! {
    if let Some(other) = other {
        unwind::discard(other);
    }
    unwind::resume(payload)
}
