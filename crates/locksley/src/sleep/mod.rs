//! How workers sleep and how they are woken: announce, look again, block; and no wake-up is lost.
//!
//! This module blocks and wakes; it does not decide when (that is `idle/`). The README beside this file has the
//! protocol and the argument. Nothing in it takes a lock, and a thread that is suspended at any step leaves the
//! others able to wake each other.

mod counters;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod sleepers;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;
mod wake_affinity;

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use counters::Counters;
pub(crate) use counters::{MAX_WORKERS, Snapshot};
use parker::Parker;
use sleepers::Sleepers;
use wake_affinity::WakeAffinity;

use crate::deque::Closable;
use crate::os;
use crate::primitive::{AtomicBool, AtomicU64, AtomicUsize, CachePadded, Ordering, fence};

/// The sleeping side of one pool.
#[derive(Debug)]
pub(crate) struct Sleep {
    counters: Counters,
    sleepers: Sleepers,
    parkers: Box<[CachePadded<Parker>]>,
    /// One for each of those, if workers that are woken go where no other is.
    wake_affinities: Box<[CachePadded<WakeAffinity>]>,
    /// So many processors they may run on then.
    processors: usize,
    /// For how long a sentinel sleeps, in nanoseconds.
    timed_park: AtomicU64,
    workers: usize,
    /// So many of the workers count as awake whatever they are about, and not towards the size.
    borrowed_threads: usize,
    /// What has become of the limit and the size: see [`beyond`].
    beyond: AtomicU64,
    /// So many, beside the borrowed threads, do what is sent: the size, if this is more.
    allowed: AtomicUsize,
    /// Whether one more may do so.
    one_more: AtomicBool,
    /// How many sleepers every push wakes.
    wakes_with_every_push: usize,
}

/// How many workers pushes wake, at the most, to be awake at the same time.
///
/// When so many are awake, one of those asleep is the sentinel: it gets up every `timed_park` to see whether tasks lie where nobody
/// touches them, because a worker that is awake may be stuck.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use locksley::idle::{Balanced, IdlePolicy, Limit};
///
/// assert_eq!(Balanced::default().limit(4), Limit { awake: 4, timed_park: Duration::from_millis(10) });
/// assert_eq!(locksley::idle::Abp::default().limit(4), Limit::NONE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Workers, at least one.
    pub awake: usize,
    /// For how long the sentinel sleeps.
    pub timed_park: Duration,
}

impl Limit {
    /// No limit, however many workers there are.
    pub const NONE: Self = Self { awake: usize::MAX, timed_park: Duration::MAX };

    fn timed_park_or(self, usual: Duration) -> Duration {
        if self.timed_park == Self::NONE.timed_park { usual } else { self.timed_park }
    }
}

/// Of so many workers, in one word: how many are beyond the limit or the size (bits 0–31); how many may be awake by the limit (32–47,
/// all bits for any number); and the size (48–63), which is for those that are no borrowed threads.
fn beyond(workers: usize, borrowed_threads: usize, limit: usize, size: usize) -> u64 {
    let awake = limit.min(size.saturating_add(borrowed_threads)).max(1);
    let beyond = workers.saturating_sub(awake) as u64;
    beyond | (limit.min(ANY_NUMBER) as u64) << 32 | (size.min(workers) as u64) << 48
}

/// More than there can be workers.
const ANY_NUMBER: usize = 0xFFFF;
const _: () = assert!(MAX_WORKERS < ANY_NUMBER);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// For how long a sentinel sleeps if the idle policy sets no limit, and so says nothing about timed parks.
const USUAL_TIMED_PARK: Duration = Duration::from_millis(10);

/// What somebody who falls asleep leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: it looks at everything again.
    Full,
    /// What is pushed, to the sentinel.
    Relieved,
    /// It is the sentinel.
    AsSentinel,
    /// Nothing, and it is the sentinel for when as many are awake again as the limit says.
    InReserve,
}

/// How a worker slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Not at all: there was a reason to stay awake.
    No,
    /// Until it was woken.
    Well,
    /// As the sentinel, until it was woken.
    AsSentinel,
    /// As the sentinel, until its timed park was over.
    TimedPark,
}

impl Slept {
    pub(crate) fn is_as_sentinel(self) -> bool {
        matches!(self, Slept::AsSentinel | Slept::TimedPark)
    }
}

/// A worker's own memory of the last wake-up that it asked for.
///
/// Until somebody has got up since, that wake-up is still under way and asking again would only cost.
#[derive(Debug)]
pub(crate) struct WakeToken {
    made_at: Cell<Option<u32>>,
    /// Who is woken first: from that one on, and before this one.
    near: Cell<(usize, usize)>,
}

impl WakeToken {
    /// Of one who is nearer to some than to others.
    pub(crate) fn with_neighbours(near: Range<usize>) -> Self {
        Self { made_at: Cell::new(None), near: Cell::new((near.start, near.end)) }
    }

    /// From now on others are near: it passes for somebody else.
    pub(crate) fn has_neighbours(&self, near: Range<usize>) {
        self.near.set((near.start, near.end));
    }

    /// Who is woken first.
    pub(crate) fn neighbours(&self) -> Range<usize> {
        let (first, end) = self.near.get();
        first..end
    }

    /// Whether nobody was asked since that many had got up. From now on somebody was.
    fn is_first_at(&self, snapshot: Snapshot) -> bool {
        let got_up = Some(snapshot.got_up());
        self.made_at.replace(got_up) != got_up
    }
}

/// Of one to whom all are alike.
impl Default for WakeToken {
    fn default() -> Self {
        Self::with_neighbours(0..usize::MAX)
    }
}

impl Sleep {
    /// For so many workers, and no others.
    #[cfg(test)]
    pub(crate) fn new(workers: usize, limit: Limit) -> Self {
        Self::with_slots(workers, workers, limit)
    }

    /// For so many workers, of whom others may take the places: they sit in `slots` slots.
    pub(crate) fn with_slots(workers: usize, slots: usize, limit: Limit) -> Self {
        debug_assert!(workers <= slots && slots <= MAX_WORKERS);
        Self {
            timed_park: AtomicU64::new(nanos(limit.timed_park_or(USUAL_TIMED_PARK))),
            wakes_with_every_push: 0,
            workers,
            borrowed_threads: 0,
            beyond: AtomicU64::new(beyond(workers, 0, limit.awake, workers)),
            allowed: AtomicUsize::new(usize::MAX),
            one_more: AtomicBool::new(false),
            counters: Counters::new(),
            sleepers: Sleepers::new(slots),
            parkers: (0..slots).map(|_| CachePadded::new(Parker::new())).collect(),
            wake_affinities: Box::default(),
            processors: 0,
        }
    }

    /// The same, but that so many of the workers are borrowed threads. The limit is for all.
    pub(crate) fn with_borrowed(self, borrowed_threads: usize) -> Self {
        Self { borrowed_threads, ..self }
    }

    /// The same, but that so many do what is sent.
    pub(crate) fn allowing(self, allowed: usize) -> Self {
        Self { allowed: AtomicUsize::new(allowed), ..self }
    }

    /// The same, but that a worker which wakes another one has it woken on another processor than its own, if one of so many is free.
    pub(crate) fn spreading(self, processors: usize) -> Self {
        let wake_affinities =
            self.parkers.iter().map(|_| CachePadded::new(WakeAffinity::new())).collect();
        Self { wake_affinities, processors, ..self }
    }

    /// The same, but that every push wakes so many.
    pub(crate) fn waking_with_every_push(self, wakes_with_every_push: usize) -> Self {
        Self { wakes_with_every_push, ..self }
    }

    /// How many workers are beyond the limit. Whoever decides by it reads it after a snapshot, or after a fence.
    #[inline]
    fn spare(&self) -> u32 {
        // Relaxed: see `resize`.
        self.beyond.load(Ordering::Relaxed) as u32
    }

    fn timed_park(&self) -> Duration {
        // Relaxed: a timed park of another length loses nothing.
        Duration::from_nanos(self.timed_park.load(Ordering::Relaxed))
    }

    /// How many workers may be awake, beside the borrowed threads: as many as there are, if nobody has said otherwise.
    pub(crate) fn size(&self) -> usize {
        (self.beyond.load(Ordering::Relaxed) >> 48) as usize
    }

    fn over_size(&self) -> usize {
        self.workers.saturating_sub((self.size() + self.borrowed_threads).max(1))
    }

    /// Whether somebody has chosen fewer than there are.
    pub(crate) fn is_reduced(&self) -> bool {
        self.over_size() > 0
    }

    /// How many workers are not for what is sent.
    fn over_allowance(&self) -> usize {
        // Relaxed: as the size, it is changed before the counters are (see `resize` and the README).
        let one_more = usize::from(self.one_more.load(Ordering::Relaxed));
        let allowed = self.allowed.load(Ordering::Relaxed).saturating_add(one_more);
        let size = self.size().min(allowed);
        self.workers.saturating_sub((size + self.borrowed_threads).max(1))
    }

    /// Whether what is sent may have one more awake than are allowed. That wakes more, and leaves less to others, than without; so it loses nothing, whoever sees
    /// it when.
    pub(crate) fn welcomes_one_more(&self, one_more: bool) {
        self.one_more.store(one_more, Ordering::Relaxed);
    }

    pub(crate) fn is_one_more_welcome(&self) -> bool {
        // Relaxed: as where it is changed.
        self.one_more.load(Ordering::Relaxed)
    }

    /// Whether fewer than there are do what is sent.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.over_allowance() > 0
    }

    /// From now on so many workers may be awake, beside the borrowed threads, or as many as the limit says if that is less. Those who are too many go to sleep when
    /// they have nothing to do.
    pub(crate) fn resize(&self, size: usize) {
        self.change(|limit, _| (limit, size));
        // Who sleeps may have left to others what is its own matter now.
        self.wake_all();
    }

    /// From now on pushes wake no more workers than `limit.awake`, borrowed threads included; and what is sent wakes no more than are `allowed`, beside
    /// the borrowed threads.
    pub(crate) fn limit_to(&self, limit: Limit, allowed: usize) {
        self.timed_park.store(nanos(limit.timed_park_or(USUAL_TIMED_PARK)), Ordering::Relaxed);
        let allowed_before = self.allowed.swap(allowed, Ordering::Relaxed);
        let limit_before = self.change(|_, size| (limit.awake, size));
        if allowed > allowed_before {
            // As in `resize`.
            self.wake_all();
        } else if limit.awake > limit_before {
            self.wake_missing();
        }
    }

    /// The limit is higher than it was: rings for as many as are missing now, each of whom looks at everything. Where nobody is, as many are awake as may be, and
    /// what was left to the sentinel is left to it rightly.
    fn wake_missing(&self) {
        // Pairs with the fence in `notify_pushed`: either who pushes goes by the new limit, or those who are rung for see the task.
        fence(Ordering::SeqCst);
        let asleep = self.snapshot().asleep();
        for _ in 0..asleep.saturating_sub(self.spare() as usize) {
            self.unpark_one(&(0..usize::MAX));
        }
    }

    /// Changes how many may be awake by the limit, and by the size. Returns what the limit was before.
    fn change(&self, change: impl Fn(usize, usize) -> (usize, usize)) -> usize {
        let mut before = self.beyond.load(Ordering::Relaxed);
        loop {
            let was = (before >> 32) as usize & ANY_NUMBER;
            let (limit, size) = change(was, (before >> 48) as usize);
            let after = beyond(self.workers, self.borrowed_threads, limit, size);
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.beyond.compare_exchange(before, after, success, failure) {
                Ok(_) => {
                    // Release pairs with the acquire of all who change the counters: who goes by a snapshot that is newer than this sees
                    // the new numbers, and who goes by an older one is seen by the caller (see the README).
                    self.counters.touch();
                    return was;
                }
                Err(now) => before = now,
            }
        }
    }

    /// Whether all are awake but so many, and one of those asleep is the sentinel: then who sends something wakes
    /// nobody, and who falls asleep leaves it to them.
    fn is_at_limit(snapshot: Snapshot, beyond: usize) -> bool {
        beyond > 0 && snapshot.has_sentinel() && snapshot.asleep() <= beyond
    }

    /// Whether so many are awake as the limit says, or more, and one of those asleep is the sentinel, to whom others may leave things.
    fn is_at_limit_now(&self, snapshot: Snapshot) -> bool {
        snapshot.has_sentinel() && snapshot.asleep() <= self.spare() as usize
    }

    /// For who falls asleep, and is counted already: whether it leaves what is sent to all, or to its place, to those who are awake, and to the
    /// sentinel.
    pub(crate) fn leaves_what_is_sent(&self) -> bool {
        Self::is_at_limit(self.snapshot(), self.over_allowance())
    }

    /// Whether as many workers as the size allows are awake though the calling one, which searches, is not counted.
    pub(crate) fn is_over_size(&self) -> bool {
        let beyond = self.over_size();
        beyond > 0 && self.snapshot().asleep() < beyond
    }

    /// The same for those who are to do what is sent to all.
    pub(crate) fn leaves_the_inbox(&self) -> bool {
        let beyond = self.over_allowance();
        beyond > 0 && self.snapshot().asleep() < beyond
    }

    /// How many workers do what, a moment ago.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    pub(crate) fn begin_search(&self) {
        self.counters.begin_search();
    }

    /// A worker stops searching, whatever it found. If it was the last one and others sleep, and `is_work_left` says so,
    /// one of them is woken to search in its place: pushes did not wake anybody while this one searched.
    pub(crate) fn end_search(&self, wake_token: &WakeToken, is_work_left: impl FnOnce() -> bool) {
        let snapshot = self.counters.end_search();
        if snapshot.lacks_a_thief(self.spare()) {
            // Pairs with the fence in `notify_pushed`: a push that still saw this thief is seen here.
            fence(Ordering::SeqCst);
            if is_work_left() {
                // By this snapshot, in which somebody sleeps. By a later one nobody may, and then remembering its number
                // would mean to wait for who is not coming.
                self.unpark_unless_under_way(snapshot, wake_token, &wake_token.neighbours());
            }
        }
    }

    /// A worker has pushed a task that others may take. All that it pays for those who idle: a fence, a load and a
    /// comparison, and one wake-up after the last thief fell asleep.
    #[inline]
    pub(crate) fn notify_pushed(&self, wake_token: &WakeToken) {
        // Pairs with the fences in `sleep` and `end_search`: either they see the task, or we see that they are gone.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.lacks_a_thief(self.spare()) {
            self.unpark_a_neighbour(snapshot, wake_token);
        }
        for _ in 0..self.wakes_with_every_push.min(snapshot.asleep()) {
            self.unpark_one(&wake_token.neighbours());
        }
    }

    /// What the owner of an open deque does after a push. When it has been left alone for long, it
    /// may close the deque, and then pushes without looking after sleepers: a worker that falls
    /// asleep, or stops searching while others sleep, has the deque opened and looks.
    pub(crate) fn notify_pushed_openly(&self, deque: &impl Closable, wake_token: &WakeToken) {
        self.notify_pushed(wake_token);
        if deque.should_close() && deque.close() && self.relies_on_pushes() {
            deque.open();
        }
    }

    /// Whether a worker that pushes has to care about those who sleep. The caller has just changed something that says
    /// how it will push from now on.
    pub(crate) fn relies_on_pushes(&self) -> bool {
        // Pairs with the fences in `sleep` and `end_search`: either they see the change, or we that they are gone.
        fence(Ordering::SeqCst);
        if self.wakes_with_every_push > 0 {
            return true;
        }
        self.snapshot().lacks_a_thief(self.spare())
    }

    /// Somebody who is no worker of this pool has sent it work. Wakes a sleeper if there is one, even when others
    /// search: one of those may be suspended, and the sender will not do the work itself.
    pub(crate) fn notify_sent(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() > 0 && !Self::is_at_limit(snapshot, self.over_allowance()) {
            self.unpark_one(&(0..usize::MAX));
        }
    }

    /// Work was sent to `worker`, that any other may do as well. Wakes that one, if it sleeps and was not woken before. If not, it may be stuck, and this is
    /// as if the work had been pushed, by the worker whose wake token it is; or else sent.
    pub(crate) fn notify_addressed(&self, worker: usize, wake_token: Option<&WakeToken>) {
        self.notify_addressed_to_some(worker..worker + 1, wake_token);
    }

    /// The same, where it was sent to several: wakes one of these. But where a worker sends it, and one of these is on its way up, or is awake
    /// while the limit is made up, this is as if it had been pushed.
    pub(crate) fn notify_addressed_to_some(
        &self,
        workers: Range<usize>,
        wake_token: Option<&WakeToken>,
    ) {
        // Pairs with the fences in `sleep` and `end_search`: either they see the work, or we see that they are gone.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() == 0
            || Self::is_at_limit(snapshot, self.over_allowance())
            || self.rings_one_of(&workers, snapshot, wake_token)
        {
            return;
        }
        match wake_token {
            Some(wake_token) if snapshot.lacks_a_thief(self.spare()) => {
                self.unpark_unless_under_way(snapshot, wake_token, &workers);
            }
            None => self.unpark_one(&workers),
            Some(_) => {}
        }
    }

    /// Rings for one of these to whom something was sent, unless that is seen to.
    fn rings_one_of(
        &self,
        workers: &Range<usize>,
        snapshot: Snapshot,
        wake_token: Option<&WakeToken>,
    ) -> bool {
        let (mut silent, mut has_rung, mut has_awake) = (None, false, false);
        for worker in workers.clone() {
            if !self.sleepers.contains(worker) {
                has_awake = true;
            } else if self.parkers[worker].is_rung() {
                has_rung = true;
            } else {
                silent = silent.or(Some(worker));
            }
        }
        let is_seen_to = has_rung || has_awake && self.is_at_limit_now(snapshot);
        // One who was rung for before may be suspended: what is sent then is not to wait for it.
        (wake_token.is_none() || !is_seen_to)
            && silent.is_some_and(|worker| self.parkers[worker].ring())
    }

    /// The same, where these may run on processors that others have, as nobody is told: if nobody searches, one of the others is woken as well,
    /// who takes it if they do not come.
    pub(crate) fn notify_addressed_to_bound(
        &self,
        workers: Range<usize>,
        wake_token: Option<&WakeToken>,
    ) {
        // Pairs with the fences in `sleep` and `end_search`: either they see the work, or we see that they are gone.
        fence(Ordering::SeqCst);
        let snapshot = self.snapshot();
        if snapshot.asleep() == 0 || Self::is_at_limit(snapshot, self.over_allowance()) {
            return;
        }
        // It is to be asked once: who is woken in the place is no answer to whether one elsewhere is.
        let is_first = snapshot.lacks_a_thief(self.spare())
            && wake_token.is_none_or(|wake_token| wake_token.is_first_at(snapshot));
        let is_one_rung = self.rings_one_of(&workers, snapshot, wake_token);
        let is_other_rung = is_first && self.wake_first(|worker| !workers.contains(worker));
        if !is_one_rung && !is_other_rung && (is_first || wake_token.is_none()) {
            self.unpark_one(&workers);
        }
    }

    /// Something lies where these look first, and somebody else has seen to it. Wakes one of them for the rest, if one sleeps that was not woken before.
    pub(crate) fn wake_one_of(&self, workers: &Range<usize>) {
        self.wake_first(|worker| workers.contains(worker));
    }

    /// Says whether it has rung for one.
    fn wake_first(&self, is_wanted: impl Fn(&usize) -> bool) -> bool {
        let is_silent = |worker: &usize| !self.parkers[*worker].is_rung();
        let silent = self.sleepers.iter().find(|worker| is_wanted(worker) && is_silent(worker));
        silent.is_some_and(|worker| self.parkers[worker].ring())
    }

    #[cold]
    #[inline(never)]
    fn unpark_a_neighbour(&self, snapshot: Snapshot, wake_token: &WakeToken) {
        self.unpark_unless_under_way(snapshot, wake_token, &wake_token.neighbours());
    }

    #[cold]
    #[inline(never)]
    fn unpark_unless_under_way(
        &self,
        snapshot: Snapshot,
        wake_token: &WakeToken,
        near: &Range<usize>,
    ) {
        if wake_token.is_first_at(snapshot) {
            self.unpark_from(near, |worker| self.turns_from_here(snapshot, worker));
        }
    }

    /// The calling worker has work, and keeps its processor. Where all other processors are taken when the kernel wakes a thread, or seem to be, it stays where it was last.
    fn turns_from_here(&self, snapshot: Snapshot, worker: usize) {
        let Some(wake_affinity) = self.wake_affinities.get(worker) else { return };
        wake_affinity.turns_from_here(|| self.is_free(snapshot, self.processors.saturating_sub(1)));
    }

    /// Whether workers that are woken go where no other one is.
    pub(crate) fn spreads(&self) -> bool {
        !self.wake_affinities.is_empty()
    }

    /// Whether a processor is free though a worker, which is awake, waits behind the calling one or the other way round. Not where workers stay where the kernel wakes them.
    pub(crate) fn is_another_processor_free(&self) -> bool {
        self.spreads() && self.is_free(self.snapshot(), self.processors)
    }

    /// Whether no more threads can run on the machine than workers are awake by that snapshot, nor than that.
    fn is_free(&self, snapshot: Snapshot, at_most: usize) -> bool {
        let awake = self.workers.saturating_sub(snapshot.asleep());
        os::runnable_threads().is_some_and(|all| all <= awake.min(at_most))
    }

    /// Which time it is that `worker` is up and its thread may run on all that it may: see [`WakeAffinity::whole`].
    pub(crate) fn whole(&self, worker: usize) -> Option<u32> {
        self.wake_affinities.get(worker).map_or(Some(0), |wake_affinity| wake_affinity.whole())
    }

    /// The thread that the calling worker is in this slot begins, or is about to end.
    pub(crate) fn thread_comes_or_goes(&self, worker: usize) {
        if let Some(wake_affinity) = self.wake_affinities.get(worker) {
            wake_affinity.leaves();
        }
    }

    /// Wakes one sleeper that nobody has rung for yet, one of those near if there is one; where there is none, rings again for all that are rung
    /// for: whoever rang may have been suspended before the system call.
    fn unpark_one(&self, near: &Range<usize>) {
        self.unpark_from(near, |_| ());
    }

    /// The same, and something is done about that one first.
    fn unpark_from(&self, near: &Range<usize>, prepare: impl FnOnce(usize)) {
        let is_silent = |worker: &usize| !self.parkers[*worker].is_rung();
        let is_near_and_silent = |worker: &usize| near.contains(worker) && is_silent(worker);
        let silent = self.sleepers.iter().find(is_near_and_silent);
        let silent = silent.or_else(|| self.sleepers.iter().find(is_silent));
        if let Some(worker) = silent {
            prepare(worker);
        }
        if silent.is_some_and(|worker| self.parkers[worker].ring()) {
            return;
        }
        for worker in self.sleepers.iter() {
            if self.parkers[worker].ring() {
                return;
            }
        }
    }

    /// Wakes `worker` if it sleeps, because what it waits for has happened. The caller has published that before.
    pub(crate) fn wake(&self, worker: usize) {
        // Pairs with the fence in `sleep`: either the sleeper sees what happened, or we see that it sleeps.
        fence(Ordering::SeqCst);
        if self.sleepers.contains(worker) {
            self.parkers[worker].ring();
        }
    }

    /// Wakes all that sleep, because something has happened that all of them look for.
    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        for worker in self.sleepers.iter() {
            self.parkers[worker].ring();
        }
    }

    /// Whether as many workers as the limit allows are awake though the calling one, which searches, is not counted.
    pub(crate) fn is_over_limit(&self) -> bool {
        // This one is awake; if it slept, `asleep + 1` would.
        self.snapshot().asleep() < self.spare() as usize
    }

    /// `worker`, which searches, sleeps until it is woken, or not at all if `look_again` finds a reason to stay awake. If it is
    /// over the limit and there is no sentinel, it sleeps as that. Searches again when this returns.
    ///
    /// `look_again` is told what is left to the sentinel; it looks at everything else. It looks even when others still search,
    /// who would find what there is: one of them may be suspended.
    pub(crate) fn sleep(&self, worker: usize, look_again: impl FnOnce(Rest) -> bool) -> Slept {
        self.sleep_as(worker, Self::falls_asleep, look_again)
    }

    /// The same; but if there is no sentinel it sleeps as that also where it is not over the limit. So who wakes the others until as many are awake as the limit says
    /// need not wake it for that.
    pub(crate) fn sleep_in_reserve(
        &self,
        worker: usize,
        look_again: impl FnOnce(Rest) -> bool,
    ) -> Slept {
        self.sleep_as(worker, Self::park_in_reserve, look_again)
    }

    fn sleep_as(
        &self,
        worker: usize,
        falls_asleep: fn(&Self) -> Rest,
        look_again: impl FnOnce(Rest) -> bool,
    ) -> Slept {
        self.parkers[worker].forget();
        // In this order: whoever sees it counted finds it in the set.
        self.sleepers.enter(worker);
        let rest = falls_asleep(self);
        // Pairs with the fences of those who publish work or an event (`notify_pushed`, `notify_sent`,
        // `notify_addressed`, `wake`).
        fence(Ordering::SeqCst);
        let parker = &self.parkers[worker];
        let slept = match (look_again(rest), rest) {
            (true, _) => Slept::No,
            (false, Rest::AsSentinel | Rest::InReserve) => {
                self.while_parked(worker, || parker.timed_park(self.timed_park()));
                if parker.is_rung() { Slept::AsSentinel } else { Slept::TimedPark }
            }
            (false, Rest::Full | Rest::Relieved) => {
                self.while_parked(worker, || parker.park());
                Slept::Well
            }
        };
        let _ = match rest {
            Rest::AsSentinel | Rest::InReserve => self.counters.unpark_sentinel(),
            Rest::Full | Rest::Relieved => self.counters.end_sleep(),
        };
        self.sleepers.leave(worker);
        slept
    }

    fn while_parked(&self, worker: usize, block: impl FnOnce()) {
        // Not a borrowed thread's: its thread may be about something else before it comes here again.
        let wake_affinity =
            self.wake_affinities.get(worker).filter(|_| worker >= self.borrowed_threads);
        wake_affinity.inspect(|wake_affinity| wake_affinity.begin_sleep(self.processors));
        block();
        wake_affinity.inspect(|wake_affinity| wake_affinity.end_sleep());
    }

    fn falls_asleep(&self) -> Rest {
        let spare = self.spare();
        if spare > 0 && self.counters.park_as_sentinel(spare) {
            return Rest::AsSentinel;
        }
        if self.is_at_limit_now(self.counters.falls_asleep()) { Rest::Relieved } else { Rest::Full }
    }

    fn park_in_reserve(&self) -> Rest {
        let spare = self.spare();
        if spare > 0 && self.counters.park_as_sentinel(spare) {
            return Rest::AsSentinel;
        }
        if spare > 0 && self.counters.park_as_sentinel(u32::MAX) {
            return Rest::InReserve;
        }
        self.falls_asleep()
    }
}
