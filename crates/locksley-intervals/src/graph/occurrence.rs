//! What happens when points occur: the targets of their edges are told, and bodies are pushed.

use std::ptr::NonNull;

use locksley::Worker;
use locksley::extend::{Job, Stamp, WorkerExt as _};
use locksley_sys::unwind::AbortOnUnwind;

use crate::graph::interval::{At, Header, Side};
use crate::graph::lock::Holding;
use crate::graph::point::Outcome;
use crate::graph::root::Core;
use crate::graph::special::Special;

/// Points that are to occur, and the worker on whose thread they do.
///
/// One occurrence leads to others, through chains as long as the program likes: they are listed, so
/// that nothing recurs.
pub(crate) struct Occurrence<'w> {
    worker: Option<&'w Worker>,
    due: Vec<(At, Outcome)>,
}

impl<'w> Occurrence<'w> {
    /// Tells the end of an interval that its body has ended: so many
    /// [things](crate::graph::point::BODY) stand for it.
    ///
    /// # Safety
    /// The interval is alive, and its body has ended. The caller does not touch it afterwards.
    pub(crate) unsafe fn end_body(
        interval: NonNull<Header>,
        things: usize,
        outcome: Outcome,
        worker: &'w Worker,
    ) {
        // SAFETY: as the caller promises.
        if let Some(notes) = unsafe { interval.as_ref() }.notes() {
            notes.reach(Side::End, worker.stamp().unwrap_or_default());
        }
        // SAFETY: as the caller promises.
        unsafe { Self::arrive(At::end(interval), things, outcome, Some(worker)) };
    }

    /// Starts an interval that has no edges into its start, which counts as occurred.
    ///
    /// # Safety
    /// It is alive, and was not started. It and its root may be gone afterwards, unless the caller
    /// keeps them.
    pub(crate) unsafe fn start_new(interval: NonNull<Header>, worker: Option<&'w Worker>) {
        let abort = AbortOnUnwind("an interval could not be started");
        // SAFETY: as the caller promises.
        let header = unsafe { interval.as_ref() };
        if let Some(notes) = header.notes() {
            notes.occur(header.core(), Side::Start);
        }
        // SAFETY: as the caller promises.
        unsafe { launch(interval, Outcome::Well, worker) };
        abort.disarm();
    }

    /// Brings some of the things that a point waits for.
    ///
    /// # Safety
    /// The interval is alive. It and its root may be gone afterwards, unless the caller keeps them.
    pub(crate) unsafe fn arrive(
        at: At,
        things: usize,
        outcome: Outcome,
        worker: Option<&'w Worker>,
    ) {
        // SAFETY: as the caller promises.
        let state = unsafe { at.state() };
        if let Some(outcome) = state.arrive(things, outcome) {
            // Other tasks wait for what happens here.
            let abort = AbortOnUnwind("a point could not occur");
            let mut this = Self { worker, due: Vec::new() };
            let mut next = Some((at, outcome));
            while let Some((at, outcome)) = next {
                let parents_end = match at.side() {
                    Side::Start => {
                        this.start(at.interval(), outcome);
                        None
                    }
                    Side::End => this.end(at.interval(), outcome),
                };
                next = parents_end.or_else(|| this.due.pop());
            }
            abort.disarm();
        }
    }

    /// Makes a start occur: the body is next, to be run or only dropped.
    ///
    /// The edges come first. Until the body is sent, the interval is alive, and with it its root
    /// and all edges.
    fn start(&mut self, interval: NonNull<Header>, outcome: Outcome) {
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        let stamp = header.notes().map(|notes| notes.occur(header.core(), Side::Start));
        self.tell_targets(header, Side::Start, outcome, stamp);
        // SAFETY: its start has just occurred.
        unsafe { launch(interval, outcome, self.worker) };
    }

    /// Makes an end occur. Returns the parent's end, if that is to occur next.
    ///
    /// The parent's end, or the root's latch, comes last: until then, all is alive.
    fn end(&mut self, interval: NonNull<Header>, outcome: Outcome) -> Option<(At, Outcome)> {
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        let stamp = header.notes().map(|notes| notes.occur(header.core(), Side::End));
        if let Some(holding) = header.own_holding() {
            holding.give_back();
        }
        self.tell_targets(header, Side::End, outcome, stamp);
        let Some(parent) = header.parent else {
            // SAFETY: the root's end is the last to occur, and does so once.
            unsafe { Core::end(header.core_address()) };
            return None;
        };
        // SAFETY: it waits for this end.
        let parent_header = unsafe { parent.as_ref() };
        pass_on(stamp, parent_header, Side::End);
        Some((At::end(parent), parent_header.end.arrive(1, outcome)?))
    }

    /// Closes the list of a point's edges, and tells their targets.
    #[inline]
    fn tell_targets(
        &mut self,
        header: &Header,
        side: Side,
        outcome: Outcome,
        stamp: Option<Stamp>,
    ) {
        // SAFETY: all that it waits for has arrived, and this thread alone was told. The edges are
        // alive, as the root is.
        for word in unsafe { header.point(side).occur(outcome) } {
            let target = At::from_word(word);
            let target_side = target.side();
            // SAFETY: it waits for this point.
            let target_header = unsafe { target.header() };
            if At::follows(word)
                && let Some(worker) = self.worker.filter(|it| header.core().home.is_of(it))
            {
                target_header.set_home(worker.index());
            }
            pass_on(stamp, target_header, target_side);
            if let Some(outcome) = target_header.point(target_side).arrive(1, outcome) {
                // The usual target of an end starts at once, without being listed. No start does
                // this to another, so it does not recur.
                if (side, target_side) == (Side::End, Side::Start) {
                    self.start(target.interval(), outcome);
                } else {
                    self.due.push((target, outcome));
                }
            }
        }
    }
}

/// Notes the stamp of a point that has occurred at a target of it, which waits for it.
pub(crate) fn pass_on(stamp: Option<Stamp>, target: &Header, side: Side) {
    if let (Some(stamp), Some(notes)) = (stamp, target.notes()) {
        notes.reach(side, stamp);
    }
}

/// Sends the body of an interval whose start has occurred, or has the interval wait for its locks.
///
/// A body that will not run is sent too, and takes no locks. Its destructor belongs to the program,
/// may take long, and may wait for targets that this thread has not told yet.
///
/// # Safety
/// The interval is alive at least until its body has ended. This is called once.
unsafe fn launch(interval: NonNull<Header>, outcome: Outcome, worker: Option<&Worker>) {
    // SAFETY: as the caller promises.
    let header = unsafe { interval.as_ref() };
    let wanted = header.own_holding().filter(|_| outcome == Outcome::Well).map(NonNull::from);
    // SAFETY: the right to the locks is this thread's.
    if wanted.is_none_or(|holding| unsafe { Holding::take(holding) }) {
        // SAFETY: it has its locks, if it is to run.
        unsafe { schedule(interval, worker) };
    }
}

/// Makes a body available to all workers; first of all to those of a place, if one was named.
///
/// # Safety
/// The interval's start has occurred, and it is alive at least until its body has ended. The body
/// is sent once.
pub(crate) unsafe fn schedule(interval: NonNull<Header>, worker: Option<&Worker>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { interval.as_ref() };
    match worker.filter(|worker| header.core().home.is_of(worker)) {
        Some(worker) if header.special.is_nothing() => {
            // SAFETY: the header begins with its job, which is alive until the body has ended.
            unsafe { worker.push(interval.cast()) };
        }
        // SAFETY: as the caller promises.
        own => unsafe { schedule_specially(interval, own) },
    }
}

/// The same if the interval is special, or if the calling thread is no worker of the root's pool.
///
/// # Safety
/// As for [`schedule`].
#[cold]
unsafe fn schedule_specially(interval: NonNull<Header>, own: Option<&Worker>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { interval.as_ref() };
    let job: NonNull<Job> = interval.cast();
    let last = header.home();
    // With the job the root may end, and then the pool may go, unless the caller is its worker.
    let home = header.core().home.clone();
    let goes_round = header.special.has(Special::GOES_ROUND) && last.is_none();
    let next_place = || if goes_round { home.next_place() } else { None };
    let place = header.special.place().or_else(next_place);
    // SAFETY, of each: the job is alive until the body has ended, and is handed over once.
    match (own, place, last) {
        // SAFETY: as above.
        (Some(worker), Some(place), _) => unsafe { worker.push_near(place, job) },
        // SAFETY: as above.
        (Some(worker), None, Some(last)) => unsafe { worker.push_at_home(last, job) },
        // SAFETY: as above.
        (Some(worker), None, None) => unsafe { worker.push(job) },
        // SAFETY: as above.
        (None, Some(place), _) => unsafe { home.send_near(place, job) },
        // SAFETY: as above.
        (None, None, _) => unsafe { home.send(job) },
    }
}
