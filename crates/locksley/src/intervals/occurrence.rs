//! What happens when points occur: those who waited for them are let go.

use std::ptr::NonNull;
use std::sync::Arc;

use super::interval::{self, At, Header, Side};
use super::lock::Holding;
use super::paths;
use super::point::{Outcome, Successors};
use super::root::Core;
use crate::job::Job;
use crate::strand::carried_to;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// Points that are to occur, and the worker on whose thread they do.
///
/// One occurrence leads to others, through chains as long as the program likes: they are noted, and none recurs.
pub(super) struct Occurrence<'w> {
    worker: Option<&'w Worker>,
    due: Vec<(At, Outcome)>,
}

impl<'w> Occurrence<'w> {
    fn new(worker: Option<&'w Worker>) -> Self {
        Self { worker, due: Vec::new() }
    }

    /// Ends what the end of an interval waits for in any case: so many [things](super::point::BODY) stand for its body.
    ///
    /// # Safety
    /// The interval is alive, and its body has ended. The caller does not touch it afterwards.
    pub(super) unsafe fn body_has_ended(
        interval: NonNull<Header>,
        things: usize,
        outcome: Outcome,
        worker: Option<&'w Worker>,
    ) {
        // SAFETY: as the caller promises.
        unsafe { Self::arrive(At::end(interval), things, outcome, worker) };
    }

    /// The start of an interval occurs at once, which its maker has shown to nobody, and which has no edges into its start. Its notes have
    /// it already.
    ///
    /// # Safety
    /// It is alive. The caller does not touch it afterwards, unless the caller keeps it.
    pub(super) unsafe fn start_new(
        interval: NonNull<Header>,
        outcome: Outcome,
        worker: Option<&'w Worker>,
    ) {
        let abort = AbortOnUnwind("an interval could not be started");
        // SAFETY: as the caller promises.
        unsafe { interval.as_ref() }.start().occur_unknown(outcome);
        let this = Self::new(worker);
        this.has_started(interval, outcome);
        abort.disarm();
    }

    /// So many of the things have come that a point waits for.
    ///
    /// # Safety
    /// The interval is alive. It and its root may be gone afterwards, unless the caller keeps them.
    pub(super) unsafe fn arrive(
        at: At,
        things: usize,
        outcome: Outcome,
        worker: Option<&'w Worker>,
    ) {
        // SAFETY: as the caller promises.
        let state = unsafe { at.state() };
        if let Some(outcome) = state.arrive(things, outcome) {
            // Others wait for what happens here.
            let abort = AbortOnUnwind("a point could not let those go who waited for it");
            let mut this = Self::new(worker);
            this.occur(at, outcome);
            this.finish();
            abort.disarm();
        }
    }

    fn occur(&mut self, at: At, outcome: Outcome) {
        let mut next = Some((at, outcome));
        while let Some((at, outcome)) = next {
            next = match at.side {
                Side::Start => {
                    self.start(at.interval, outcome);
                    None
                }
                Side::End => self.end(at.interval, outcome),
            }
        }
    }

    fn finish(mut self) {
        while let Some((at, outcome)) = self.due.pop() {
            self.occur(at, outcome);
        }
    }

    /// A start occurs: the body is next, to be run or only dropped.
    ///
    /// Its successors are let go first. Until the body is sent, the interval is alive, and with it its root and all edges.
    fn start(&mut self, interval: NonNull<Header>, outcome: Outcome) {
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        if header.special().is_nothing() {
            // SAFETY: all has come that it waits for, and we are the only ones to be told. Alive, as above.
            let successors = unsafe { header.start().occur(outcome) };
            self.let_go_all(successors, header.core(), outcome, |_| ());
        } else {
            self.start_specially(header, outcome);
        }
        self.has_started(interval, outcome);
    }

    fn has_started(&self, interval: NonNull<Header>, outcome: Outcome) {
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        if header.special().is_nothing() {
            // SAFETY: its start has occurred, and it is sent once for that.
            return unsafe { schedule(interval, self.worker) };
        }
        // A body that will not run is sent too: its destructor is the program's, may take long, and may wait for those that we
        // have not let go. It needs no locks.
        let wanted = header.own_holding().filter(|_| outcome == Outcome::Well).map(NonNull::from);
        // SAFETY: the right to them is ours.
        if wanted.is_none_or(|holding| unsafe { Holding::take(holding) }) {
            // SAFETY: its start has occurred, it has its locks if it did so well, and it is sent once for that.
            unsafe { schedule(interval, self.worker) };
        }
    }

    /// An end occurs. What it makes its parent's end do.
    ///
    /// The parent's end, or the root's latch, comes last: until then, all is alive.
    fn end(&mut self, interval: NonNull<Header>, outcome: Outcome) -> Option<(At, Outcome)> {
        // SAFETY: alive, as above.
        let header = unsafe { interval.as_ref() };
        if header.special().is_nothing() {
            // SAFETY: all has come that it waits for, and we are the only ones to be told. Alive, as above.
            let successors = unsafe { header.end().occur(outcome) };
            self.let_go_after_end(successors, header.core(), outcome, |_| ());
        } else {
            self.end_specially(header, outcome);
        }
        let Some(parent) = header.parent() else {
            // SAFETY: the root's end is the last to occur, and does so once.
            unsafe { Core::has_ended(header.core_address()) };
            return None;
        };
        // SAFETY: it waits for us.
        let state = unsafe { At::end(parent).state() };
        Some((At::end(parent), state.arrive(1, outcome)?))
    }

    /// A start occurs of an interval about which something is special.
    #[cold]
    #[inline(never)]
    fn start_specially(&mut self, header: &Header, outcome: Outcome) {
        // SAFETY: all has come that it waits for, and we are the only ones to be told.
        let path = header.notes().and_then(|notes| unsafe { notes.start_occurs(header) });
        // SAFETY: as above. Alive, as the caller says.
        let successors = unsafe { header.start().occur(outcome) };
        self.let_go_all(successors, header.core(), outcome, |target| {
            // SAFETY: it waits for what comes from here.
            path.into_iter().for_each(|path| unsafe { paths::goes_on_to(path, target) });
        });
    }

    /// The same of an end.
    #[cold]
    #[inline(never)]
    fn end_specially(&mut self, header: &Header, outcome: Outcome) {
        // SAFETY: as above.
        let path = header.notes().and_then(|notes| unsafe { notes.end_occurs(header) });
        if let Some(holding) = header.own_holding() {
            let left = path.zip(header.paths()).map(|(path, paths)| (path, paths.region()));
            holding.give_back(left);
        }
        // SAFETY: as above.
        let successors = unsafe { header.end().occur(outcome) };
        let brings = |target| {
            // SAFETY: it waits for what comes from here, as the parent does.
            path.into_iter().for_each(|path| unsafe { paths::goes_on_to(path, target) });
        };
        self.let_go_after_end(successors, header.core(), outcome, brings);
        header.parent().into_iter().for_each(|parent| brings(At::end(parent)));
    }

    /// Those who waited for a start, each of which is told to `brings` before.
    #[inline]
    fn let_go_all(
        &mut self,
        successors: Successors,
        core: &Core<'_>,
        outcome: Outcome,
        brings: impl Fn(At),
    ) {
        for target in successors {
            let target = self.target(target, core);
            brings(target);
            self.let_go(target, outcome);
        }
    }

    /// The same for those who waited for an end.
    #[inline]
    fn let_go_after_end(
        &mut self,
        successors: Successors,
        core: &Core<'_>,
        outcome: Outcome,
        brings: impl Fn(At),
    ) {
        for target in successors {
            let target = self.target(target, core);
            brings(target);
            if target.side == Side::Start {
                self.start_if_last(target.interval, outcome);
            } else {
                self.let_go(target, outcome);
            }
        }
    }

    /// The point that a word stands for; if it follows, it is to run here.
    #[inline]
    fn target(&self, word: NonNull<()>, core: &Core<'_>) -> At {
        let target = At::from_word(word);
        if At::follows(word)
            && let Some(worker) = self.worker.filter(|worker| worker.belongs_to(core.home()))
        {
            // SAFETY: it waits for us.
            unsafe { target.header() }.is_to_follow_to(worker.index());
        }
        target
    }

    /// The usual successor: it starts at once, without being noted. No start does this to another, so it does not recur.
    fn start_if_last(&mut self, interval: NonNull<Header>, outcome: Outcome) {
        // SAFETY: it waits for us.
        let header = unsafe { interval.as_ref() };
        if let Some(outcome) = header.start().arrive(1, outcome) {
            self.start(interval, outcome);
        }
    }

    fn let_go(&mut self, target: At, outcome: Outcome) {
        // SAFETY: it waits for us.
        let state = unsafe { target.state() };
        if let Some(outcome) = state.arrive(1, outcome) {
            self.due.push((target, outcome));
        }
    }
}

/// Makes a body available to all workers; first of all to those of a place, if one was named for it.
///
/// # Safety
/// The interval's start has occurred, and it is alive at least until its body has ended. The body is sent once.
pub(super) unsafe fn schedule(interval: NonNull<Header>, worker: Option<&Worker>) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { interval.as_ref() };
    match worker.filter(|worker| worker.belongs_to(header.core().home())) {
        Some(worker) if header.special().is_nothing() => worker.push(interval::as_job(interval)),
        // SAFETY: as the caller promises.
        own => unsafe { schedule_specially(header, interval::as_job(interval), own, worker) },
    }
}

/// The same where something is special about it, or about who starts it: `caller`, who is `own` if of the root's pool.
///
/// # Safety
/// As for [`schedule`].
#[cold]
unsafe fn schedule_specially(
    header: &Header,
    job: NonNull<Job>,
    own: Option<&Worker>,
    caller: Option<&Worker>,
) {
    let (core, special) = (header.core(), header.special());
    let home = core.home();
    let last = if special.follows() { header.followed() } else { None };
    let goes_round = special.goes_round() && last.is_none();
    let place = special.place().or_else(|| if goes_round { home.next_place() } else { None });
    // With the job the root may end; and then nobody but us may keep the pool, unless we work in it.
    let kept = own.is_none().then(|| Arc::clone(home));
    let job = match header.paths() {
        // SAFETY: whoever takes the word runs it, once, while the interval is alive; its start has occurred.
        Some(paths) => unsafe { paths.carried(job, own) },
        // SAFETY: whoever takes the word runs it, once, while the interval is alive.
        None => unsafe { carried_to(None, caller, job) },
    };
    match (own, kept, place) {
        (Some(worker), _, None) => match last {
            Some(last) => worker.follow_as_is(last, job),
            None => worker.push_as_is(job),
        },
        (Some(worker), _, Some(place)) => worker.push_near_as_is(place, job),
        (None, Some(home), None) => match last {
            Some(last) => home.send_ready_as_is(last, job),
            None => home.send_as_is(job),
        },
        (None, Some(home), Some(place)) => home.send_near_as_is(place, job),
        (None, None, _) => unreachable!("who is not of the pool keeps it"),
    }
}
