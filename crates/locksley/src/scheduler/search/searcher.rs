//! The search loop: the idle policy decides, and the worker attempts, yields or sleeps.

use std::ptr::NonNull;

use super::cpu_placement::move_away;
use super::locality::FarSearch;
use super::rescue::Untouched;
use super::victims::Victims;
use crate::deque::OpenRequest;
use crate::hooks;
use crate::idle::{Activity, End, IdleContext, Move, Thief};
use crate::primitive::{Ordering, spin_loop};
use crate::scheduler::allowance::PollPhase;
use crate::scheduler::job::Job;
use crate::scheduler::latch::Flag;
use crate::scheduler::{Shared, Worker};
use crate::trace::Event;
use crate::unwind::AbortOnUnwind;

/// A job that a worker has taken, and is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) job: NonNull<Job>,
    /// The slot that it was stolen from; for all other jobs the worker's own slot.
    pub(crate) from: usize,
}

/// The search of one worker, and what it keeps from one search to the next.
pub(crate) struct Searcher {
    pub(super) thief: Box<dyn Thief>,
    pub(super) victims: Victims,
    pub(super) far: FarSearch,
    /// Empty between calls of [`Shared::open_deques`]; kept for its memory.
    pub(super) open_requests: Vec<(usize, OpenRequest)>,
    /// The last victim whose deque stayed closed although this thief had requested it to be opened.
    /// `None` since the last `steal_by_force`.
    pub(super) unanswered: Option<usize>,
    /// Failed attempts since the search began, or since the worker last slept.
    pub(super) failures: u64,
    /// The victim of the last attempt.
    pub(super) victim: Option<usize>,
    /// What lay in the queues when this worker became the sentinel.
    pub(super) untouched: Untouched,
    /// For how many more timed parks this worker is a sentinel in reserve.
    pub(super) reserve: u32,
    /// True if the worker was a sentinel, timed out and found nothing, and was within the push
    /// limit: it sleeps again at once.
    pub(super) sleeps_on: bool,
    /// True if the allowance was polled since the worker last decided to do other than sleep.
    pub(super) has_polled: bool,
    /// The context switches of the worker that are accounted for.
    pub(super) switches: u64,
}

impl Searcher {
    /// For the worker with index `worker`, in slot `slot`.
    pub(crate) fn new(worker: usize, slot: usize, shared: &Shared) -> Self {
        let places = shared.place_states().len();
        Self {
            thief: shared.config.idle_policy.thief(worker, shared.workers),
            victims: Victims::new(slot),
            far: FarSearch::new(places),
            open_requests: Vec::new(),
            unanswered: None,
            failures: 0,
            victim: None,
            untouched: Untouched::new(places),
            reserve: 0,
            sleeps_on: false,
            has_polled: false,
            switches: 0,
        }
    }

    /// Searches until there is work, or `done` is set.
    pub(crate) fn run(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        let abort = AbortOnUnwind("an idle policy or a hook panicked");
        self.begin(worker);
        let found = self.search(worker, done);
        self.end(worker, found);
        abort.disarm();
        found
    }

    fn search(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        while !done.is_set() {
            let next = self.next_move(worker);
            if matches!(next, Move::Yield | Move::YieldLowered | Move::HandOver(_))
                && let Some(found) = self.steal_by_force(worker)
            {
                return Some(found);
            }
            match next {
                Move::Sleep => {}
                Move::Search => spin_loop(),
                Move::Yield => self.yield_to_others(worker),
                Move::YieldLowered => self.yield_lowered(worker),
                Move::HandOver(peer) => self.hand_over(worker, peer),
                Move::MoveAway => move_away(worker),
                Move::Wake(sleeper) => worker.shared().sleep.wake(sleeper),
            }
            let is_sleep = next == Move::Sleep;
            let found = if is_sleep { self.sleep(worker, done) } else { self.attempt(worker) };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Asks the policy, unless the worker has to sleep whatever the policy says.
    fn next_move(&mut self, worker: &Worker) -> Move {
        let shared = worker.shared();
        let is_over = shared.sleep.is_over_size() || shared.is_over_allowance();
        // Over a limit, the request to sleep for callers stays: no worker is taken over there.
        let is_over = is_over || worker.take_sleeps_for_callers();
        let next = if is_over || self.sleeps_on {
            Move::Sleep
        } else {
            let context = self.context(worker);
            self.thief.next(&context)
        };
        // A task in the inbox of another place is in its grace period. The thief yields until that
        // ends, since the worker there may wait for this processor.
        let must_stay = next == Move::Sleep && !is_over && self.far.keep_waiting();
        if must_stay { Move::Yield } else { next }
    }

    fn begin(&mut self, worker: &Worker) {
        let shared = worker.shared();
        // In a forked child all work that could come belongs to the parent.
        shared.abort_if_in_forked_child();
        let _ = shared.poll_allowance(PollPhase::BeforeSearch);
        shared.sleep.begin_search();
        worker.slot().begin_search();
        worker.shared().trace(|| Event::SearchBegins);
        (self.failures, self.victim) = (0, None);
        (self.sleeps_on, self.has_polled) = (false, false);
        self.far.awake_until = None;
        self.switches = worker.slot().switches().unwrap_or(0);
    }

    fn end(&mut self, worker: &Worker, found: Option<Found>) {
        self.account_for_switches(worker, 0);
        let end = match found {
            None => End::Over,
            Some(found) if found.from == worker.slot_index() => End::Received,
            Some(_) => End::Stole,
        };
        let context = self.context(worker);
        self.thief.search_ends(&context, end);
        worker.slot().set_activity(Activity::Works);
        worker.shared().trace(|| Event::SearchEnds);
        self.leave_searching(worker);
    }

    /// Ends being counted as searching.
    pub(super) fn leave_searching(&mut self, worker: &Worker) {
        let shared = worker.shared();
        shared.sleep.end_search(&worker.wake_token, || {
            shared.open_deques(&mut self.open_requests);
            shared.is_work_left()
        });
    }

    fn context<'a>(&self, worker: &'a Worker) -> IdleContext<'a> {
        let shared = worker.shared();
        let snapshot = shared.sleep.snapshot();
        let is_visible = |&victim: &usize| {
            let is_active = || shared.slot(victim).activity() != Activity::Sleeps;
            victim < shared.workers || (victim < shared.first_replacement() && is_active())
        };
        IdleContext {
            failures: self.failures,
            workers: shared.workers,
            searching: snapshot.searching(),
            asleep: snapshot.asleep(),
            processors: shared.processors(),
            worker: worker.index(),
            victim: self.victim.filter(is_visible),
            external_wakeups: shared.external_wakeups.load(Ordering::Relaxed),
            slot: worker.slot_index(),
            peers: &**shared,
        }
    }
}

/// Lets satellites publish what they have noted on this worker, and takes a task that this has made
/// ready.
pub(super) fn run_idle_hooks(worker: &Worker) -> Option<Found> {
    hooks::run_idle().then(|| worker.take_own()).flatten()
}
