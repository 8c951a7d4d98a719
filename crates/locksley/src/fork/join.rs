//! `join`: two tasks that may run at the same time, and their results.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::waiting::Waiting;
use crate::deque::TakeBack;
use crate::held::{self, Place, Wait};
use crate::job::{ForkJob, Job};
use crate::latch::Flag;
use crate::meter::Site;
use crate::pool::Pool;
use crate::strand::{Half, HalfRoom, Halves};
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// Runs two tasks, possibly at the same time, and returns both results.
///
/// The first runs at once, on the calling worker; the second is put where idle workers can take it, and if none does,
/// the calling worker runs it next, for about the price of a call. On a thread that is no worker, both run in the
/// [global pool](Pool::global).
///
/// Who waits here for the second runs other tasks meanwhile ([`Waiting`]). So values that are set in
/// [thread-locals](crate::PoolBuilder::waiting_stacks) for the time of a call must not be relied on across a join.
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
#[cfg_attr(any(feature = "held-locks", feature = "join-lines"), track_caller)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (place, name) = (Place::here(), Joiner::<A>::here());
    Worker::with_current(|current| match current {
        Some(worker) => worker.join_by(None, (place, name), |_| a(), |_| b()),
        None => {
            let task = |worker: &Worker| worker.join_by(None, (place, name), |_| a(), |_| b());
            Pool::global().run_from((place, Site::of::<A>()), task)
        }
    })
}

/// Where a join is, for the meter. What is not asked for takes no room, and no instruction.
trait Named: Copy {
    /// `None`: where the strand is that joins.
    fn site(self) -> Option<Site>;
}

/// In the function with the first half, which is a closure of type `A`; with `join-lines`, at its line.
struct Joiner<A> {
    #[cfg(feature = "join-lines")]
    line: Site,
    half: PhantomData<fn(A)>,
}

impl<A> Joiner<A> {
    #[inline(always)]
    #[cfg_attr(feature = "join-lines", track_caller)]
    fn here() -> Self {
        Self {
            #[cfg(feature = "join-lines")]
            line: Site::here(),
            half: PhantomData,
        }
    }
}

impl<A> Clone for Joiner<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Joiner<A> {}

impl<A> Named for Joiner<A> {
    fn site(self) -> Option<Site> {
        #[cfg(feature = "join-lines")]
        return Some(self.line);
        #[cfg(not(feature = "join-lines"))]
        Some(Site::of::<A>())
    }
}

/// Of whatever calls it: of a loop's, for example.
#[derive(Clone, Copy)]
struct Anybodys;

impl Named for Anybodys {
    fn site(self) -> Option<Site> {
        None
    }
}

/// Where the join is: for who looks for locks, and for the meter.
type Where<N> = (Place, N);

/// Where the second task was pushed; what is run while it is waited for: `None`, as the pool has it; and where the join is.
type How = (i64, Option<Waiting>, Place);

/// The second half of a metered join runs on the worker that has forked, which goes on after both when this is dropped: also if it panics.
struct EndsHalves<'h> {
    worker: &'h Worker,
    half: &'h Half<'h>,
}

impl<'h> EndsHalves<'h> {
    /// # Safety
    /// What comes next for that half, when this is dropped, is [`Worker::joins_halves`].
    #[inline]
    unsafe fn when_dropped(worker: &'h Worker, half: &'h Half<'h>) -> Self {
        Self { worker, half }
    }
}

impl Drop for EndsHalves<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as was promised when this was made.
        unsafe { self.worker.joins_halves(self.half) };
    }
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
    // So that the compiler puts what is joined into the join, and not the join into what calls it: then a recursion's test for its
    // end needs no call. A fork of fib takes 51 instructions instead of 63.
    #[inline(never)]
    #[cfg_attr(any(feature = "held-locks", feature = "join-lines"), track_caller)]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.join_by(None, (Place::here(), Joiner::<A>::here()), a, b)
    }

    /// [`join`](Self::join), in the name of who is there, and of the strand that runs.
    #[inline(never)] // as above
    pub(crate) fn join_at<A, B, RA, RB>(&self, place: Place, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.join_by(None, (place, Anybodys), a, b)
    }

    /// [`join`](Self::join), and what this worker runs while it waits for the second task.
    ///
    /// # Panics
    /// As [`join`](Self::join).
    ///
    /// # Examples
    /// See [`Waiting`].
    #[cfg_attr(any(feature = "held-locks", feature = "join-lines"), track_caller)]
    pub fn join_waiting<A, B, RA, RB>(&self, waiting: Waiting, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.join_by(Some(waiting), (Place::here(), Joiner::<A>::here()), a, b)
    }

    #[inline(always)]
    fn join_by<A, B, RA, RB, N>(
        &self,
        waiting: Option<Waiting>,
        (place, name): Where<N>,
        a: A,
        b: B,
    ) -> (RA, RB)
    where
        N: Named,
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let second = ForkJob::new(b);
        let (index, done) = self.fork(second.as_job());
        if !done {
            if self.is_metered() {
                return self.join_metered(a, &second, waiting, (place, name));
            }
            return self.join_at_the_ceiling(a, &second, (index, waiting, place));
        }
        self.run_both(a, &second, (index, waiting, place))
    }

    /// Apart, so that it takes no registers from the common case.
    #[cold]
    #[inline(never)]
    fn join_at_the_ceiling<A, B, RA, RB>(
        &self,
        a: A,
        second: &ForkJob<B, RB>,
        (index, waiting, place): How,
    ) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        self.at_the_ceiling(index);
        self.run_both(a, second, (index, waiting, place))
    }

    /// The same at a fork of a strand: pushes are diverted, so nobody has seen the word of the second task.
    #[cold]
    #[inline(never)]
    fn join_metered<A, B, RA, RB, N>(
        &self,
        a: A,
        second: &ForkJob<B, RB>,
        waiting: Option<Waiting>,
        (place, name): Where<N>,
    ) -> (RA, RB)
    where
        N: Named,
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let room = HalfRoom::new();
        let (job, own) = (second.as_job(), ForkJob::<B, RB>::KIND);
        // SAFETY: it runs a strand. Nobody has seen the job's word; and this frame is not left before the job has ended or come back, and the halves are joined.
        unsafe { self.forks(&room, job, own, name.site()) };
        // SAFETY: it has forked there.
        let half = unsafe { room.half() };
        let first = unwind::halt(|| held::then_wait(Some(self), Wait::Join, place, || a(self)));
        // SAFETY: the strand has forked there; all that was called in the first half has returned, and every join in it is over.
        let is_back = unsafe { self.turns_to_second(half, second.end()) };
        match first {
            Ok(first) if is_back => {
                // SAFETY: the word has come back.
                let task = unsafe { second.take_back() };
                // SAFETY: so it is; and when this is dropped, the second half has ended.
                let ends = unsafe { EndsHalves::when_dropped(self, half) };
                let second = held::apart(|| task(self));
                // Before `first` is, if the second one panics: what that does then is no part of the half.
                drop(ends);
                (first, second)
            }
            Ok(first) => self.finish(first, second, half.index(), waiting, Some((half, false))),
            Err(payload) => {
                self.first_panicked(payload, second, half.index(), waiting, Some((half, is_back)))
            }
        }
    }

    /// Runs the first task, and the second, if it comes back from where it was pushed.
    #[inline(always)]
    fn run_both<A, B, RA, RB>(
        &self,
        a: A,
        second: &ForkJob<B, RB>,
        (index, waiting, place): How,
    ) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA,
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        // Whatever becomes of the first task: the second has a place in the caller's frame, so it ends before we leave.
        match unwind::halt(|| held::then_wait(Some(self), Wait::Join, place, || a(self))) {
            Ok(first) => {
                if !second.may_be_there() {
                    return self.finish(first, second, index, waiting, None);
                }
                match self.take_back(index) {
                    TakeBack::Taken => {
                        // SAFETY: the word has come back.
                        let task = unsafe { second.take_back() };
                        (first, held::apart(|| task(self)))
                    }
                    TakeBack::Buried => self.finish(first, second, index, waiting, None),
                    TakeBack::Lowered => self.finish_lowered(first, second, index, waiting),
                }
            }
            Err(payload) => self.first_panicked(payload, second, index, waiting, None),
        }
    }

    /// The first task has ended, and thieves may go for the second.
    #[cold]
    #[inline(never)]
    fn finish_lowered<B, RA, RB>(
        &self,
        first: RA,
        second: &ForkJob<B, RB>,
        index: i64,
        waiting: Option<Waiting>,
    ) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        if self.take_lowered(index) {
            // SAFETY: the word has come back.
            let task = unsafe { second.take_back() };
            return (first, held::apart(|| task(self)));
        }
        self.finish(first, second, index, waiting, None)
    }

    /// The first task has ended, and the second cannot simply be taken back.
    #[cold]
    #[inline(never)]
    fn finish<B, RA, RB>(
        &self,
        first: RA,
        second: &ForkJob<B, RB>,
        index: i64,
        waiting: Option<Waiting>,
        halves: Halves<'_>,
    ) -> (RA, RB)
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        match self.end(second, index, waiting, halves) {
            Ok(second) => (first, second),
            Err(payload) => unwind::resume(payload),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_panicked<B, RB>(
        &self,
        payload: Payload,
        second: &ForkJob<B, RB>,
        index: i64,
        waiting: Option<Waiting>,
        halves: Halves<'_>,
    ) -> !
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        // Neither the second one's panic nor that of its result's destructor takes the place of the first one's.
        match self.end(second, index, waiting, halves) {
            Ok(result) => {
                if let Err(again) = unwind::halt(|| drop(result)) {
                    unwind::discard(again);
                }
            }
            Err(second) => unwind::discard(second),
        }
        unwind::resume(payload)
    }

    /// Takes back what was pushed to `index`, if nobody has it, and it is the newest job here.
    #[inline]
    pub(crate) fn takes_back(&self, index: i64) -> bool {
        match self.take_back(index) {
            TakeBack::Taken => true,
            TakeBack::Buried => false,
            TakeBack::Lowered => self.take_lowered(index),
        }
    }

    /// Waits for a job that was pushed to that index here, or takes it back. Says whether it did that.
    // So that it is there once, and not in each join.
    #[cold]
    #[inline(never)]
    pub(crate) fn recover_as(
        &self,
        (job, end): (NonNull<Job>, &Flag),
        (index, waiting): (i64, Option<Waiting>),
    ) -> bool {
        match self.waiting(waiting) {
            Waiting::Anything => self.recover(job, end),
            Waiting::Below => self.recover_below(job, end, index),
        }
    }

    /// Runs `job`, which was pushed here, or waits until whoever took it has.
    fn end<B, RB>(
        &self,
        job: &ForkJob<B, RB>,
        index: i64,
        waiting: Option<Waiting>,
        halves: Halves<'_>,
    ) -> Result<RB, Payload>
    where
        B: FnOnce(&Worker) -> RB + Send,
        RB: Send,
    {
        let (awaited, how) = ((job.as_job(), job.end()), (index, waiting));
        let is_back = match halves {
            None => self.recover_as(awaited, how),
            // SAFETY: what comes next for a half that has not come back, whose job this is.
            Some((half, is_back)) => is_back || unsafe { self.waits_for_half(half, awaited, how) },
        };
        if is_back {
            // SAFETY: its word has come back.
            let task = unsafe { job.take_back() };
            let result = unwind::halt(|| held::apart(|| task(self)));
            if let Some((half, _)) = halves {
                // SAFETY: what comes next for a half that has come back, and has ended.
                unsafe { self.joins_halves(half) };
            }
            result
        } else {
            // SAFETY: its end is set.
            unsafe { job.take_result() }
        }
    }
}
