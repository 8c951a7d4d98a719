//! What follows when points occur: dependencies arrive at successors. Bodies are scheduled, take
//! their locks and run.

use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Wake;

use locksley::Worker;
use locksley::extend::{self, Job, Kind, WorkerRef};
use locksley_sys::primitive::Ordering;
use locksley_sys::unwind::{self, AbortOnUnwind};

use crate::graph::context::Context;
use crate::graph::interval::{self, Body, Header, Interval, NewInterval, PointRef};
use crate::graph::lock_set::LockRequest;
use crate::graph::point::{Outcome, Side};
use crate::graph::root_state::RootState;
use crate::graph::trace::pass_stamp;

/// The points that are about to occur on one thread.
///
/// One occurrence leads to others, in chains of any length. The list replaces a recursion.
pub(crate) struct Occurrence<'w> {
    worker: Option<&'w Worker>,
    due: Vec<(PointRef, Outcome)>,
}

impl<'w> Occurrence<'w> {
    /// Lets the body arrive at the end of its interval.
    ///
    /// # Safety
    /// The interval is alive, and its body has ended. The caller does not access it afterwards.
    pub(crate) unsafe fn end_body(interval: NonNull<Header>, outcome: Outcome, worker: &'w Worker) {
        // SAFETY: as the caller promises.
        let header = unsafe { interval.as_ref() };
        if let Some(trace) = header.trace() {
            trace.add_stamp(Side::End, extend::stamp().unwrap_or_default());
            header.tracer().inspect(|tracer| tracer.end_span());
        }
        // SAFETY: as the caller promises.
        unsafe { Self::arrive(PointRef::end(interval), outcome, Some(worker)) };
    }

    /// Lets a dependency of a point arrive. Makes the point occur if it was the last one.
    ///
    /// # Safety
    /// The interval is alive. It and its root may be freed afterwards, unless the caller keeps them
    /// alive.
    pub(crate) unsafe fn arrive(point: PointRef, outcome: Outcome, worker: Option<&'w Worker>) {
        // SAFETY: as the caller promises.
        if let Some(outcome) = unsafe { point.state() }.arrive(outcome) {
            // Other tasks wait for what happens here.
            let abort = AbortOnUnwind("a point could not occur");
            let mut this = Self { worker, due: Vec::new() };
            let mut next = Some((point, outcome));
            while let Some((point, outcome)) = next {
                next = this.occur(point, outcome).or_else(|| this.due.pop());
            }
            abort.disarm();
        }
    }

    /// Makes a point occur. Returns the parent's end, if that is to occur next.
    ///
    /// The successors come first. A start schedules the body last, and an end arrives at the
    /// parent's end, or at the latch of the root, last: until then all is alive.
    fn occur(&mut self, point: PointRef, outcome: Outcome) -> Option<(PointRef, Outcome)> {
        let (interval, side) = (point.interval(), point.side());
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        header.trace().inspect(|trace| trace.log_occurrence(header.root(), side));
        if side == Side::Start {
            self.notify_successors(point, header, outcome);
            // SAFETY: the start has just occurred.
            unsafe { begin(interval, outcome, self.worker) };
            return None;
        }
        if let Some(locks) = header.own_locks() {
            locks.release();
        }
        self.notify_successors(point, header, outcome);
        let Some(parent) = header.parent.map(PointRef::end) else {
            // SAFETY: the end of the root is the last to occur, and does so once.
            unsafe { RootState::end(header.root_address()) };
            return None;
        };
        // SAFETY: the parent's end waits for this one.
        unsafe { pass_stamp(point, parent) };
        // SAFETY: as above.
        let outcome = unsafe { parent.state() }.arrive(outcome)?;
        Some((parent, outcome))
    }

    /// Closes the list of the edges from a point, and arrives at their targets.
    #[inline]
    fn notify_successors(&mut self, point: PointRef, header: &Header, outcome: Outcome) {
        // SAFETY: all dependencies have arrived, and only this thread was told. The edges are
        // alive, as the root is.
        for target in unsafe { header.point(point.side()).occur(outcome) }.map(PointRef) {
            // SAFETY: the target waits for this point.
            unsafe { pass_stamp(point, target) };
            // SAFETY: as above.
            if let Some(outcome) = unsafe { target.state() }.arrive(outcome) {
                // The usual successor of an end, a start, occurs at once and needs no list. No
                // start does this to another start, so it does not recur.
                if (point.side(), target.side()) == (Side::End, Side::Start) {
                    self.occur(target, outcome);
                } else {
                    self.due.push((target, outcome));
                }
            }
        }
    }
}

/// Schedules the body of an interval after its start has occurred and it has its locks.
///
/// A body that will not run takes no locks. It is scheduled too: its destructor may take long, and
/// may wait for successors that this thread has not notified yet.
///
/// # Safety
/// The interval is alive until its body has ended. This is called once.
unsafe fn begin(interval: NonNull<Header>, outcome: Outcome, worker: Option<&Worker>) {
    // SAFETY: this thread has the right to the locks.
    if outcome == Outcome::Failed || unsafe { take_locks(interval) } {
        // SAFETY: as the caller promises.
        unsafe { schedule(interval, worker) };
    }
}

/// Takes the locks that an interval names and does not have yet. Returns true if it has all.
///
/// If this returns false, the interval waits for a lock. The thread that grants the lock schedules
/// the job of the interval, which calls this again. That may have happened already, so the caller
/// must not access the interval any more.
///
/// # Safety
/// The interval is alive, and the progress of its locks belongs to the caller.
unsafe fn take_locks(interval: NonNull<Header>) -> bool {
    loop {
        // SAFETY: alive until the request is parked, as the caller promises.
        let Some(set) = unsafe { interval.as_ref() }.own_locks() else { return true };
        // SAFETY: the progress belongs to the caller until the request is parked.
        match unsafe { set.advance(interval.cast()) } {
            None => return true,
            Some(request) if request.park() => return false,
            Some(_granted_meanwhile) => {}
        }
    }
}

/// Pushes the job of an interval, so that a worker runs or drops the body.
///
/// # Safety
/// The start has occurred, and the interval is alive until its body has ended. The job is in no
/// queue.
#[inline]
unsafe fn schedule(interval: NonNull<Header>, worker: Option<&Worker>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { interval.as_ref() };
    let (job, root) = (interval.cast::<Job>(), header.root());
    let place = header.extras.as_ref().and_then(|extras| extras.place);
    let Some(worker) = worker.filter(|worker| root.home.is_of(worker)) else {
        // A clone: after the job is sent, the root may end, and the pool may be dropped.
        let home = root.home.clone();
        // SAFETY: the header begins with its job, which is alive until the body has ended.
        return unsafe { home.send(place, job) };
    };
    match (place, header.followed_worker()) {
        // SAFETY: as above.
        (None, Some(last)) => unsafe { extend::push_to_last(worker, last, job) },
        // SAFETY: as above.
        (place, _) => unsafe { extend::push(worker, place, job) },
    }
}

impl Wake for LockRequest {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.grant() {
            // SAFETY: it waits for its locks, so it is alive, and its start has succeeded. One
            // thread finds it parked. The job takes the other locks before the body begins.
            Worker::with_current(|worker| unsafe { schedule(self.job.cast(), worker) });
        }
    }
}

impl<F, T> Interval<F, T> {
    #[inline]
    pub(crate) fn create<'g, 'env: 'g>(new: NewInterval, body: F) -> NonNull<Header>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        Self::place(const { &Kind::of_group(Self::execute) }, new, Body::Closure(body))
    }

    /// # Safety
    /// As for every job: only this worker has taken it, and the start has occurred.
    unsafe fn execute<'g, 'env: 'g>(job: NonNull<Job>, worker: WorkerRef<'_>, _from: usize)
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let worker = worker.worker();
        let address: NonNull<Header> = job.cast();
        // SAFETY: the job is the first field of the head, that of the header, and that of a `Self`.
        // It lives until the root has ended, which waits for the end of this interval.
        let interval = unsafe { job.cast::<Self>().as_ref() };
        let header = &interval.header;
        // Relaxed: the end of this interval publishes it.
        header.ran_on.store(worker.index(), Ordering::Relaxed);
        let has_failed = header.point(Side::Start).outcome() == Some(Outcome::Failed);
        // An interval that will not run because the root was cancelled takes its locks too: its
        // start has succeeded, so its end releases them.
        let begins = !has_failed && !header.root().is_cancelled();
        if !has_failed && header.extras.is_some() {
            // SAFETY: this worker has the job.
            if !unsafe { prepare_with_extras(address, begins.then_some(worker)) } {
                return; // scheduled again by the thread that releases the lock
            }
        }
        let outcome = if begins {
            let Body::Closure(closure) = interval.take_body() else {
                unreachable!("a body runs once")
            };
            // SAFETY: alive while the body runs.
            let context = unsafe { Context::new(address) };
            match unwind::catch(|| closure(&context)) {
                Ok(result) => {
                    let result = Body::Result(result);
                    // SAFETY: only this worker accesses it before the end has occurred.
                    interval.body.with_mut(|body| unsafe { *body = result });
                    Outcome::Succeeded
                }
                Err(payload) => {
                    header.root().keep_panic(payload);
                    Outcome::Failed
                }
            }
        } else {
            if !has_failed {
                header.root().keep_own_cancellation();
            }
            // `end_body` ends it.
            header.tracer().inspect(|tracer| tracer.begin_span(header.name()));
            // SAFETY: the body belongs to the worker that has the job.
            unsafe { interval::abandon(address) };
            Outcome::Failed
        };
        // SAFETY: the body has ended, and the interval is not accessed any more here.
        unsafe { Occurrence::end_body(address, outcome, worker) };
    }
}

/// Takes the locks of an interval, and logs that the worker begins to run the body, if one is
/// given. Returns false if the interval waits for a lock.
///
/// # Safety
/// The interval has extras, and the caller has its job.
#[cold]
unsafe fn prepare_with_extras(interval: NonNull<Header>, begins_on: Option<&Worker>) -> bool {
    // SAFETY: alive, as the caller has the job, which has the right to the locks.
    if !unsafe { take_locks(interval) } {
        return false;
    }
    // SAFETY: as above.
    let header = unsafe { interval.as_ref() };
    if let (Some(trace), Some(worker)) = (header.trace(), begins_on) {
        trace.log_begin(header, worker);
    }
    true
}
