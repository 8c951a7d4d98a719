//! What all workers of a pool, and those who send it work, have in common.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::apart::Apart;
use super::division::{Division, Unplaced};
use super::metered::{self, Meter};
use super::stand_ins::StandIns;
use super::start::Makeup;
use super::tally::{Left, Tally};

use crate::allowance::Allowance;
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::AnyThief;
use crate::deque::{ChaseLevThief, Closed, Inbox, Mailbox, Steal, Thief};
use crate::fiber::{Node, Returns, StackOptions, Supply};
use crate::fork::Waiting;
#[cfg(feature = "held-locks")]
use crate::held;
use crate::hunt::{Activity, Governor, Limit};
use crate::job::{HeapJob, Job, Line};
use crate::latch::Flag;
use crate::meter::{Counters, Ledger, Meeting, PoolStats, WorkerStats};
use crate::os::{
    self, Assists, Processors, Standing, ThreadAffinity, ThreadClock, ThreadDelay, ThreadWatch,
};
use crate::primitive::{AtomicBool, AtomicU64, AtomicUsize, CachePadded, Ordering};
use crate::sleep::{Sleep, Summons};
use crate::strand::Rendezvous;
use crate::task::{Placement, Shelves};
use crate::unwind::{self, AbortOnUnwind, Payload};
use crate::worker::Worker;

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// The heart of a pool. It lives as long as the last worker, handle of the pool, and waker of who [blocks](crate::block_on) here.
pub(crate) struct Shared {
    /// Those of the workers, and behind them those of stand-ins.
    seats: Box<[CachePadded<Seat>]>,
    workers: usize,
    /// So many of the workers, the first ones, are guests.
    guests: usize,
    /// So many seats have been taken; behind them nobody has ever sat.
    seats_taken: AtomicUsize,
    stand_ins: StandIns,
    /// That of the process which has built the pool.
    generation: u32,
    inbox: Inbox<Job>,
    /// For what needs a stack of its own.
    apart: Apart<Job>,
    division: Division,
    /// Where a task goes for which no place is named.
    unplaced: Unplaced,
    sleep: Sleep,
    governor: Arc<dyn Governor>,
    /// Processors allowed when the pool was built.
    processors: Processors,
    /// If nobody has chosen how many workers there are: how many may be awake.
    allowance: Option<Allowance>,
    assists: Assists,
    /// Whether hunters can lower their priority and get it back. Asked once, before there are workers: hunting takes
    /// no lock, not even that of a probe.
    can_lower_priority: bool,
    /// Whether workers take their own tasks oldest first.
    oldest_first: bool,
    panic_handler: Option<Arc<PanicHandler>>,
    #[cfg(feature = "held-locks")]
    held_lock_handler: Option<Arc<held::Handler>>,
    /// Where a task goes that has become ready.
    placement: Placement,
    /// Where tasks are noted that wait.
    shelves: Shelves,
    /// Stacks for code that waits.
    stacks: Supply,
    /// What workers run while joins and scopes wait.
    waiting: Waiting,
    /// What has not ended. At nothing the pool is closed.
    tally: Tally,
    /// Whether tasks are dropped instead of polled: only they are left.
    closing: AtomicBool,
    closed: Flag,
    /// If all that the pool does is metered.
    meter: Option<Meter>,
}

/// How workers go about their tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Whether they take their own oldest first.
    pub(crate) oldest_first: bool,
    /// Where one goes that has become ready.
    pub(crate) placement: Placement,
    /// Stacks for those that wait.
    pub(crate) stacks: StackOptions,
    /// What is run while joins and scopes wait.
    pub(crate) waiting: Waiting,
    /// Where a task goes for which no place is named.
    pub(crate) unplaced: Unplaced,
}

/// What others may touch of one worker.
pub(crate) struct Seat {
    thief: ChaseLevThief<Job>,
    #[cfg(feature = "alternatives")]
    instead: Option<AnyThief<Job>>,
    mailbox: Arc<Mailbox<Job>>,
    /// Ready tasks that were sent to this worker, or gave way here. Others take them too.
    inbox: Inbox<Job>,
    /// Where stacks of this worker's come back to it.
    returns: Returns,
    /// Where this worker's detached tasks stand that begin in the order in which they were spawned.
    line: Line,
    /// Apart from what thieves read: the worker writes these with every task.
    counters: CachePadded<Counters>,
    /// What the worker does. Read by hunters, and no part of any protocol.
    activity: CachePadded<AtomicU8>,
    /// The stolen second half of a join that the worker is in, if all that it has in its deque lies below that. No part of what
    /// decides who runs what.
    running: CachePadded<AtomicPtr<Job>>,
    /// Where the task lies, or lay, that the worker last pushed as the one that it runs next; and a number that no recent one had.
    next: CachePadded<AtomicU64>,
    clock: OnceLock<ThreadClock>,
    delay: OnceLock<ThreadDelay>,
    affinity: OnceLock<ThreadAffinity>,
    watch: OnceLock<ThreadWatch>,
    /// Where its time went.
    ledger: CachePadded<Ledger>,
}

impl Seat {
    pub(crate) fn new(thief: ChaseLevThief<Job>, mailbox: Arc<Mailbox<Job>>) -> Self {
        Self {
            thief,
            #[cfg(feature = "alternatives")]
            instead: None,
            mailbox,
            inbox: Inbox::new(),
            returns: Returns::new(),
            line: Line::new(),
            counters: CachePadded::default(),
            activity: CachePadded::default(),
            running: CachePadded::new(AtomicPtr::new(std::ptr::null_mut())),
            next: CachePadded::new(AtomicU64::new(0)),
            clock: OnceLock::new(),
            delay: OnceLock::new(),
            affinity: OnceLock::new(),
            watch: OnceLock::new(),
            ledger: CachePadded::new(Ledger::new()),
        }
    }

    #[cfg(feature = "alternatives")]
    pub(crate) fn with_instead(self, instead: AnyThief<Job>) -> Self {
        Self { instead: Some(instead), ..self }
    }

    pub(crate) fn steal_oldest(&self) -> Steal<Job> {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.steal_oldest();
        }
        self.thief.steal_oldest()
    }

    /// As [`steal_oldest`](Self::steal_oldest) on the built-in deque, if that is wanted when it has been seen what the oldest is.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce(&Self) -> bool) -> Steal<Job> {
        self.thief.steal_oldest_if(|| is_wanted(self))
    }

    /// Two numbers that change together with what is in the deque; `None` if it has none.
    pub(crate) fn marks(&self) -> Option<(i64, i64)> {
        #[cfg(feature = "alternatives")]
        if self.instead.is_some() {
            return None;
        }
        Some(self.thief.marks())
    }

    /// Whether there seemed to be several tasks, a moment ago. A deque that does not tell counts as having them.
    pub(crate) fn holds_several(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.instead.is_some() {
            return true;
        }
        self.thief.items_seen() > 1
    }

    /// How many tasks there were in the built-in deque, a moment ago.
    #[cfg(feature = "alternatives")]
    pub(crate) fn tasks_seen(&self) -> usize {
        self.thief.items_seen()
    }

    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if let Some(instead) = &self.instead {
            return instead.is_empty();
        }
        self.thief.is_empty()
    }

    pub(crate) fn has_tasks(&self) -> bool {
        !self.is_empty()
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn returns(&self) -> &Returns {
        &self.returns
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Called by the worker on its own thread.
    pub(crate) fn start_clock(&self) {
        self.clock.get_or_init(ThreadClock::of_this_thread);
        self.delay.get_or_init(ThreadDelay::of_this_thread);
        self.affinity.get_or_init(ThreadAffinity::of_this_thread);
        self.ledger.begin();
    }

    /// The same, and from then on the thread is seen by others.
    pub(crate) fn appear(&self, assists: Assists) {
        self.start_clock();
        self.watch.get_or_init(|| ThreadWatch::of_this_thread(assists));
    }

    /// Called by the worker on its own thread, before that ends; and what it waited for may be asked for later, if that is metered.
    pub(crate) fn disappear(&self, is_metered: bool) {
        self.ledger.end();
        if is_metered && let Some(delay) = self.delay.get() {
            delay.retire();
        }
        if let Some(watch) = self.watch.get() {
            watch.retire();
        }
    }

    pub(crate) fn does(&self, activity: Activity) {
        self.activity.store(activity as u8, Ordering::Relaxed);
        self.ledger.turn_to(activity as u8);
    }

    /// The worker's time goes into that, or into something that is none of the pool's.
    pub(crate) fn spends_time_on(&self, activity: Option<Activity>) {
        match activity {
            Some(activity) => self.ledger.turn_to(activity as u8),
            None => self.ledger.turn_away(),
        }
    }

    /// Whether it goes into something that is none of the pool's.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.ledger.is_elsewhere()
    }

    /// The worker, which was about to sleep, hunts on.
    pub(crate) fn does_not_sleep(&self) {
        self.activity.store(Activity::Hunts as u8, Ordering::Relaxed);
        self.ledger.turn_back_to(Activity::Hunts as u8);
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            0 => Activity::Works,
            1 => Activity::Hunts,
            _ => Activity::Sleeps,
        }
    }

    /// Called by the worker, with null where there is none.
    pub(crate) fn now_runs(&self, job: *mut Job) {
        // Relaxed: what is pushed later is published by the push, and this with it.
        self.running.store(job, Ordering::Relaxed);
    }

    /// Called by the worker before it pushes, at that index, a task that it runs next if the one waits that it runs now.
    pub(crate) fn is_to_run_next(&self, index: i64) {
        // Relaxed: published by the push; and nobody but the worker writes it.
        let pushed = (self.next.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.next.store(pushed << 32 | u64::from(index as u32), Ordering::Relaxed);
    }

    /// Which task it is, if there is one in its deque only, and that was pushed like that.
    pub(crate) fn is_about_to_run(&self) -> Option<u64> {
        let (oldest, _) = self.marks().filter(|(oldest, end)| end - oldest == 1)?;
        // Relaxed: no part of any protocol. An old one may lie where another one did that was pushed like that.
        Some(self.next.load(Ordering::Relaxed)).filter(|&next| next as u32 == oldest as u32)
    }

    /// Whether there seems to be nothing in its deque.
    pub(crate) fn seems_empty(&self) -> bool {
        self.marks().is_some_and(|(oldest, end)| oldest == end)
    }

    pub(crate) fn running(&self) -> *mut Job {
        self.running.load(Ordering::Relaxed)
    }

    /// Whether the worker is in that job, and all that it has in its deque lies below.
    pub(crate) fn runs(&self, job: NonNull<Job>) -> bool {
        self.running() == job.as_ptr()
    }

    /// The processor that the worker last ran on.
    pub(crate) fn processor(&self) -> Option<usize> {
        self.watch.get()?.processor()
    }

    /// Where the worker is, as seen by one that runs on processor `here`.
    pub(crate) fn standing(&self, here: Option<usize>) -> Standing {
        self.watch.get().map_or(Standing::Unknown, |watch| watch.standing(here))
    }

    /// How often the worker's thread has left its processor and come back.
    pub(crate) fn switches(&self) -> Option<u64> {
        self.watch.get()?.switches()
    }

    /// Has the worker wait for processor `here`. Says whether that was done.
    pub(crate) fn pull(&self, here: usize) -> bool {
        self.watch.get().is_some_and(|watch| watch.pull(here))
    }

    fn stats(&self) -> WorkerStats {
        let spent = self.ledger.read();
        WorkerStats {
            tasks: self.counters.tasks.read(),
            steals: self.counters.steals.read(),
            failed_steals: self.counters.failed_steals.read(),
            received: self.counters.received.read(),
            yields: self.counters.yields.read(),
            sleeps: self.counters.sleeps.read(),
            wakeups: self.counters.wakeups.read(),
            hand_overs: self.counters.hand_overs.read(),
            pulls: self.counters.pulls.read(),
            moves: self.counters.moves.read(),
            out_of_place: self.counters.out_of_place.read(),
            switches: self.switches(),
            to_hunter: self.counters.to_hunter.read(),
            working: spent.working,
            hunting: spent.hunting,
            sleeping: spent.sleeping,
            off_processor: None,
            #[cfg(feature = "alternatives")]
            lock_wait: self.instead.as_ref().map_or(Duration::ZERO, AnyThief::lock_wait),
            processor_time: self.clock.get().and_then(ThreadClock::read),
        }
    }
}

/// Where so many processors may be used. A guest counts as awake, though mostly it is about something else.
fn limit_by(governor: &dyn Governor, processors: usize, guests: usize) -> Limit {
    let limit = governor.limit(processors);
    Limit { awake: limit.awake.saturating_add(guests), ..limit }
}

/// The same, but no more than that, whatever the governor says.
fn limit_where_allowed(governor: &dyn Governor, workers: usize, guests: usize) -> Limit {
    let limit = limit_by(governor, workers, guests);
    Limit { awake: limit.awake.min(workers.saturating_add(guests)), ..limit }
}

impl Shared {
    /// `seats` are those of so many `workers`, some of whom are `guests`, and those of stand-ins.
    pub(super) fn new(
        seats: Vec<Seat>,
        workers: usize,
        guests: usize,
        stand_ins: StandIns,
        makeup: Makeup,
    ) -> Arc<Self> {
        let Makeup { governor, assists, .. } = makeup;
        let seats_at_most = seats.len();
        let seats: Box<[_]> = seats.into_iter().map(CachePadded::new).collect();
        let processors = Processors::allowed();
        // Opens what has to be opened, so that no hunter waits for another one that does.
        let _ = assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads);
        let allowance = makeup.allowance.map(|source| Allowance::new(&processors, source.open()));
        let limit = match &allowance {
            Some(allowance) => limit_where_allowed(&*governor, allowance.awake(), guests),
            None => limit_by(&*governor, processors.count_up(), guests),
        };
        let sleep = Sleep::with_seats(workers, seats.len(), limit).with_guests(guests);
        let sleep = sleep.allowing(allowance.as_ref().map_or(usize::MAX, Allowance::allowed));
        #[cfg(feature = "alternatives")]
        let sleep = sleep.waking_with_every_push(governor.wakes_with_every_push());
        Arc::new(Self {
            placement: makeup.rules.placement,
            shelves: Shelves::new(seats.len()),
            stacks: Supply::new(makeup.rules.stacks, seats.len()),
            waiting: makeup.rules.waiting,
            seats,
            workers,
            guests,
            seats_taken: AtomicUsize::new(workers),
            stand_ins,
            generation: os::generation(),
            inbox: Inbox::new(),
            apart: Apart::new(seats_at_most, guests..workers),
            division: Division::new(makeup.places, workers, processors.ids()),
            unplaced: makeup.rules.unplaced,
            sleep,
            governor,
            processors,
            allowance,
            assists,
            can_lower_priority: assists.has(Assists::LOWERED_PRIORITY)
                && os::lowered_priority_works(),
            oldest_first: makeup.rules.oldest_first,
            panic_handler: makeup.panic_handler,
            #[cfg(feature = "held-locks")]
            held_lock_handler: makeup.held_lock_handler,
            tally: Tally::new(),
            closing: AtomicBool::new(false),
            closed: Flag::new(),
            meter: Meter::start(makeup.meter, seats_at_most),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Whether its thieves push what they have stolen into their own deques.
    pub(crate) fn takes_half(&self) -> bool {
        #[cfg(feature = "alternatives")]
        return self.governor().takes_half();
        #[cfg(not(feature = "alternatives"))]
        false
    }

    /// Whether its threads are lost: it was built before a fork, and this is the child.
    pub(crate) fn is_lost(&self) -> bool {
        self.generation != os::generation()
    }

    /// Ends the process: a worker that has forked is done, in the child, with the task in which it did, or waits for others.
    /// Whatever it could go on with is the parent's, which does it itself.
    #[cold]
    pub(crate) fn end_of_the_lost(&self) -> ! {
        debug_assert!(self.is_lost());
        drop(AbortOnUnwind("a worker goes on with what was lost in a fork"));
        unreachable!("the process has ended");
    }

    /// Those of the workers, who come first, and of all stand-ins that there may be.
    pub(crate) fn seats(&self) -> usize {
        self.seats.len()
    }

    /// Behind so many seats nobody has ever sat. Exact for those who pushed before the caller's last fence.
    pub(crate) fn seats_taken(&self) -> usize {
        self.seats_taken.load(Ordering::Relaxed)
    }

    /// Somebody is going to sit there, who does not push before this.
    pub(super) fn takes_seat(&self, seat: usize) {
        let mut taken = self.seats_taken();
        while taken <= seat {
            // Relaxed: whoever looks for what that one pushed has a fence between, as it has (`../sleep/README.md`).
            match self.seats_taken.compare_exchange(
                taken,
                seat + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => taken = now,
            }
        }
    }

    fn taken(&self) -> &[CachePadded<Seat>] {
        &self.seats[..self.seats_taken()]
    }

    pub(super) fn stand_ins(&self) -> &StandIns {
        &self.stand_ins
    }

    /// Whether `done` is what who sits there works until, and not the end of some task.
    pub(crate) fn is_end_of_service(&self, seat: usize, done: &Flag) -> bool {
        let end = match seat.checked_sub(self.workers) {
            None => &self.closed,
            Some(stand_in) => self.stand_ins.is_released(stand_in),
        };
        std::ptr::eq(done, end)
    }

    pub(crate) fn seat(&self, seat: usize) -> &Seat {
        &self.seats[seat]
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn apart(&self) -> &Apart<Job> {
        &self.apart
    }

    pub(super) fn division(&self) -> &Division {
        &self.division
    }

    #[inline]
    pub(super) fn unplaced(&self) -> Unplaced {
        self.unplaced
    }

    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    pub(crate) fn governor(&self) -> &dyn Governor {
        &*self.governor
    }

    /// How many may be used: when the pool was built, or, if nobody has chosen the number of workers, now.
    pub(crate) fn processors(&self) -> usize {
        self.allowance.as_ref().map_or_else(|| self.processors_at_first(), Allowance::awake)
    }

    /// As many as it took to use what was allowed when the pool was built: with a quota rounded down, a pool of two workers would leave a third of
    /// one and a half processors.
    pub(crate) fn processors_at_first(&self) -> usize {
        self.processors.count_up()
    }

    /// How many there are that any worker may run on, as the system has it now.
    pub(crate) fn processors_of_workers(&self) -> Option<usize> {
        let workers = self.seats[self.guests..self.workers].iter();
        ThreadAffinity::of_any(workers.filter_map(|seat| seat.affinity.get()))
    }

    /// Looks what is allowed, if that is due. Who counts as hunting does not read files: pushes wake nobody meanwhile.
    #[inline]
    pub(crate) fn attends_to_allowance(&self, reads: bool) {
        if let Some(allowance) = &self.allowance {
            allowance.attend(self, reads);
        }
    }

    /// Whether somebody should read what is allowed, and should have so long ago.
    pub(crate) fn is_reading_due_for(&self, long: Duration) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.is_reading_due_for(long))
    }

    /// Whether as many others are awake as are allowed, in a pool for which nobody has chosen a number. A governor need not ask.
    pub(crate) fn is_beyond_what_is_allowed(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| !allowance.is_chosen())
            && self.sleep.is_one_too_many()
    }

    /// The limit where nobody has chosen a number, and so many workers are allowed.
    pub(crate) fn limit_where_allowed(&self, workers: usize) -> Limit {
        limit_where_allowed(self.governor(), workers, self.guests)
    }

    /// The limit by what was allowed when the pool was built.
    pub(crate) fn limit_at_first(&self) -> Limit {
        limit_by(self.governor(), self.processors_at_first(), self.guests)
    }

    /// How many workers may be at work, beside guests.
    pub(super) fn size(&self) -> usize {
        let size = self.sleep.size();
        match &self.allowance {
            Some(allowance) if !allowance.is_chosen() => size.min(allowance.allowed()),
            _ => size,
        }
    }

    /// Somebody has chosen how many.
    pub(super) fn resize(&self, size: usize) {
        if let Some(allowance) = &self.allowance {
            allowance.ends(self);
        }
        self.sleep.resize(size);
    }

    /// The size that somebody has chosen.
    pub(super) fn chosen_size(&self) -> Option<usize> {
        let is_chosen = self.allowance.as_ref().is_none_or(Allowance::is_chosen);
        is_chosen.then(|| self.sleep.size())
    }

    /// The processors that the process was allowed to use when the pool was built.
    pub(crate) fn processor_ids(&self) -> &[usize] {
        self.processors.ids()
    }

    pub(crate) fn assists(&self) -> Assists {
        self.assists
    }

    pub(crate) fn moves_workers(&self) -> bool {
        self.assists.has(Assists::MOVES)
    }

    /// Threads of all programs that can run.
    pub(crate) fn runnable_threads(&self) -> Option<usize> {
        self.assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads).flatten()
    }

    pub(crate) fn can_lower_priority(&self) -> bool {
        self.can_lower_priority
    }

    pub(crate) fn oldest_first(&self) -> bool {
        self.oldest_first
    }

    pub(crate) fn closed(&self) -> &Flag {
        &self.closed
    }

    pub(crate) fn placement(&self) -> Placement {
        self.placement
    }

    pub(crate) fn stacks(&self) -> &Supply {
        &self.stacks
    }

    pub(crate) fn waiting(&self) -> Waiting {
        self.waiting
    }

    #[cfg(feature = "held-locks")]
    pub(crate) fn held_lock_handler(&self) -> Option<&held::Handler> {
        self.held_lock_handler.as_deref()
    }

    pub(crate) fn shelves(&self) -> &Shelves {
        &self.shelves
    }

    /// Whether tasks are dropped instead of polled.
    pub(crate) fn is_closing(&self) -> bool {
        // Acquire pairs with the release in `cancel_tasks`.
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn has_meter(&self) -> bool {
        self.meter.is_some()
    }

    pub(super) fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let workers = self.taken().iter().map(|seat| seat.stats()).collect();
        PoolStats { governor: self.governor.name(), workers }
    }

    /// The same, and how long workers waited for a processor. It reads a file for each of them.
    pub(super) fn stats_with_waits(&self) -> PoolStats {
        let stats = |seat: &CachePadded<Seat>| {
            let off_processor = seat.delay.get().and_then(ThreadDelay::read);
            WorkerStats { off_processor, ..seat.stats() }
        };
        let workers = self.taken().iter().map(stats).collect();
        PoolStats { governor: self.governor.name(), workers }
    }

    /// What all workers have used together, those that have not ended; `None` where the system does not tell.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        // A guest's thread may have ended.
        let clocks = self.taken().iter().filter_map(|seat| seat.clock.get()?.read());
        clocks.reduce(|all, one| all + one)
    }

    /// Has the kernel account for what those who are awake have used until now.
    pub(crate) fn brings_clocks_up_to_date(&self) {
        let awake = self.taken().iter().filter(|seat| seat.activity() != Activity::Sleeps);
        awake.filter_map(|seat| seat.clock.get()).for_each(|clock| _ = clock.read());
    }

    /// Whether any worker could take something now. Exact for what was pushed or sent before the caller's last fence.
    pub(crate) fn is_work_left(&self) -> bool {
        let is_left = |seat: &CachePadded<Seat>| seat.has_tasks() || !seat.inbox.is_empty();
        self.taken().iter().any(is_left)
            || !self.inbox.is_empty()
            || self.quarters().iter().any(|quarter| !quarter.inbox().is_empty())
    }

    /// Has the deques opened that their owners have closed, so that what was pushed to them is seen and what will be
    /// pushed is pushed openly. `scratch` is empty before and after, and has room for all seats.
    pub(crate) fn open_deques(&self, scratch: &mut Vec<(usize, Closed)>) {
        let closed =
            |(worker, seat): (usize, &CachePadded<Seat>)| Some((worker, seat.thief.ask()?));
        scratch.extend(self.taken().iter().enumerate().filter_map(closed));
        // Where the barrier fails, the owners are asked all the same, and open with their next push or pop.
        let may_open = !scratch.is_empty() && os::heavy_barrier();
        for (worker, closed) in scratch.drain(..) {
            if may_open {
                self.seats[worker].thief.open(closed);
            }
        }
    }

    /// The word to send instead of that of `job`, if that is sent by a strand, or if all that the pool does is metered.
    ///
    /// # Safety
    /// As for [`Worker::carried`].
    pub(super) unsafe fn metered(&self, job: NonNull<Job>) -> NonNull<Job> {
        Worker::with_current(|current| match (current, &self.meter) {
            // SAFETY: as the caller promises.
            (Some(worker), _) if worker.is_metered() => unsafe { worker.carried(job) },
            // SAFETY: as the caller promises.
            (_, Some(meter)) => unsafe { meter.carried(current, job) },
            (_, None) => job,
        })
    }

    /// A place where the paths of tasks meet for which the caller is going to wait, which is that worker or none; if it is metered.
    pub(crate) fn rendezvous(&self, caller: Option<&Worker>) -> Option<Box<Rendezvous>> {
        match (caller, &self.meter) {
            (Some(worker), _) if worker.is_metered() => Rendezvous::of(worker),
            (_, Some(meter)) => Some(meter.rendezvous(caller)),
            (_, None) => None,
        }
    }

    /// The caller, which is that worker or none, has waited for what has arrived there.
    pub(crate) fn meter_comes_after(&self, caller: Option<&Worker>, meeting: &Meeting) {
        match (caller, &self.meter) {
            (Some(worker), _) if worker.is_metered() => worker.comes_after(meeting),
            (_, Some(meter)) => meter.comes_after(caller, meeting),
            (_, None) => {}
        }
    }

    /// Hands a job to the pool from outside.
    pub(crate) fn send(&self, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of the inbox runs it, once; and this one is about to be sent.
        self.send_as_is(unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_as_is(&self, job: NonNull<Job>) {
        self.inbox.send(job);
        self.sleep.work_was_sent();
    }

    /// Hands a job to those workers who can go to a stack of its own.
    pub(crate) fn send_apart(&self, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of an inbox runs it, once; and this one is about to be sent.
        self.apart.send(unsafe { self.metered(job) }, &self.sleep);
    }

    /// Panics on a thread that has outlived the pool whose worker it is: no other worker is there any more.
    pub(crate) fn must_be_open(&self) {
        assert!(!self.closed.is_set(), "the pool that this thread belongs to has been closed");
    }

    /// Hands a job to one worker, which alone runs it.
    pub(crate) fn send_to(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: the worker runs what is in its mailbox, once; and this is about to be sent.
        self.send_to_as_is(worker, unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_to_as_is(&self, worker: usize, job: NonNull<Job>) {
        self.seats[worker].mailbox.send(job);
        self.sleep.wake(worker);
    }

    /// The same, a task of that scope.
    pub(crate) fn send_task_to(&self, worker: usize, scope: NonNull<()>, task: NonNull<Job>) {
        self.seats[worker].mailbox.send_on(scope.as_ptr(), task);
        self.sleep.wake(worker);
    }

    /// Hands a ready task to one worker, from outside; others may take it too.
    pub(crate) fn send_ready(&self, worker: usize, job: NonNull<Job>) {
        // SAFETY: whoever takes a word out of an inbox runs it, once; and this one is about to be sent.
        self.send_ready_as_is(worker, unsafe { self.metered(job) });
    }

    /// The same for a job that has the path that it has, or none.
    pub(crate) fn send_ready_as_is(&self, worker: usize, job: NonNull<Job>) {
        self.seats[worker].inbox.send(job);
        self.sleep.work_was_addressed(worker, None);
    }

    /// The same, by a worker of this pool.
    pub(crate) fn pass_on(&self, worker: usize, job: NonNull<Job>, summons: &Summons) {
        self.seats[worker].inbox.send(job);
        self.sleep.work_was_addressed(worker, Some(summons));
    }

    /// What a worker waits for has happened, and that was published before. If a stack of its own waited, that is given back.
    pub(crate) fn wake(&self, worker: usize, stack: Option<NonNull<Node>>) {
        if let Some(stack) = stack {
            let returns = &self.seats[worker].returns;
            match worker.checked_sub(self.workers) {
                // SAFETY: what sets a flag for stacks hands the node over, once; alive, since its stack waits.
                None => unsafe { returns.send(stack) },
                // It does not sleep in the pool if nobody wants it.
                // SAFETY: as above.
                Some(stand_in) => unsafe { self.stand_ins.give_back(stand_in, stack, returns) },
            }
        }
        self.sleep.wake(worker);
    }

    /// A detached task is about to be accepted. `false` if the pool is closed: the caller need not be counted itself.
    #[must_use]
    pub(crate) fn begin_detached(&self) -> bool {
        self.tally.begin_owed()
    }

    /// A job that keeps the pool open until it has run. It is pushed or sent, once, to this pool. `None` if the pool is closed: then
    /// nobody would run the task, and it is dropped.
    pub(crate) fn detached<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        if !self.begin_detached() {
            return None;
        }
        let run = |worker: &Worker| worker.shared().run_detached(worker, || task(worker));
        // SAFETY: it will be run once, because the pool is not closed before; it borrows nothing; its panic is caught.
        Some(unsafe { HeapJob::into_job(run) })
    }

    /// The same for a job that is told when the pool's tasks are cancelled, as they are: it keeps the pool open, but is not waited for
    /// before they are.
    pub(crate) fn cancellable<F>(&self, task: F) -> Option<NonNull<Job>>
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        if !self.begin_task() {
            return None;
        }
        let run = |worker: &Worker| {
            let shared = worker.shared();
            if let Err(payload) = unwind::halt(|| task(worker)) {
                shared.report_panic(payload);
            }
            worker.arrives();
            shared.end_task();
        };
        // SAFETY: as in `detached`.
        Some(unsafe { HeapJob::into_job(run) })
    }

    /// A detached task, or the pool's handle, has ended. After the last one, and after what processes waited for by then that is no channel, futures
    /// are cancelled that are still tasks, and after the last of these the pool is closed.
    pub(crate) fn end_detached(&self) {
        self.see_to_the_rest(self.tally.end_owed());
    }

    /// A process, which is counted as a task, is about to wait for what is no channel. Says whether the wait is owed its end before tasks are
    /// cancelled.
    #[must_use]
    pub(crate) fn begin_foreign(&self) -> bool {
        self.tally.begin_foreign()
    }

    /// A wait that is owed its end has come to it.
    pub(crate) fn end_foreign(&self) {
        self.see_to_the_rest(self.tally.end_foreign());
    }

    /// As [`begin_detached`](Self::begin_detached), for a future.
    #[must_use]
    pub(crate) fn begin_task(&self) -> bool {
        self.tally.begin_task()
    }

    /// A future has finished as a task.
    pub(crate) fn end_task(&self) {
        self.see_to_the_rest(self.tally.end_task());
    }

    fn see_to_the_rest(&self, left: Left) {
        match left {
            Left::Some => {}
            Left::Tasks => self.cancel_tasks(),
            Left::Nothing => {
                // While its threads are there to be asked.
                let report = self.last_words();
                self.closed.set();
                self.stand_ins.close();
                self.sleep.wake_all();
                // Nobody need wait until it has been read.
                report.iter().for_each(metered::print);
            }
        }
    }

    /// Has all tasks cancelled by a worker; once.
    #[cold]
    fn cancel_tasks(&self) {
        if self.is_closing() || !self.tally.begin_task() {
            return; // that is under way, or meanwhile there are none
        }
        // Release pairs with the acquire in `is_closing`.
        if self.closing.swap(true, Ordering::AcqRel) {
            return self.end_task(); // somebody was faster
        }
        let cancel = |worker: &Worker| {
            worker.shared().shelves.cancel_all();
            worker.arrives();
            worker.shared().end_task();
        };
        // SAFETY: it will be run once, because it counts as a task; it borrows nothing, and does not unwind.
        let job = unsafe { HeapJob::into_job(cancel) };
        self.send(job);
    }

    /// Runs a detached task: its panic goes to the handler, and to nobody else.
    pub(crate) fn run_detached(&self, worker: &Worker, task: impl FnOnce()) {
        if let Err(payload) = unwind::halt(task) {
            self.report_panic(payload);
        }
        worker.arrives();
        self.end_detached();
    }

    /// Nobody waits for a detached task, so its panic must not pass in silence: without a handler, or when that panics
    /// too, the process ends.
    pub(crate) fn report_panic(&self, payload: Payload) {
        let abort =
            AbortOnUnwind("a detached task panicked and the pool has no handler that takes it");
        if let Some(handler) = &self.panic_handler {
            handler(payload);
            abort.disarm();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("workers", &self.workers())
            .field("governor", &self.governor)
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}
