//! How workers sleep and how they are woken: announce, look again, block; and no wake-up is lost.
//!
//! This module blocks and wakes; it does not decide when (that is `idle/`). The README beside this file has the
//! protocol and the argument. Nothing in it takes a lock, and a thread that is suspended at any step leaves the
//! others able to wake each other.

mod bed;
mod counters;
#[cfg(all(test, loom))]
mod models;
mod parker;
mod sleepers;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use bed::Bed;
use counters::Counters;
pub(crate) use counters::{Census, MAX_WORKERS};
use parker::Parker;
use sleepers::Sleepers;

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
    beds: Box<[CachePadded<Bed>]>,
    /// So many processors they may run on then.
    processors: usize,
    /// For how long a lookout sleeps, in nanoseconds.
    nap: AtomicU64,
    workers: usize,
    /// So many of the workers count as awake whatever they are about, and not towards the size.
    guests: usize,
    /// What has become of the limit and the size: see [`beyond`].
    beyond: AtomicU64,
    /// So many, beside the guests, do what is sent: the size, if this is more.
    allowed: AtomicUsize,
    /// Whether one more may do so.
    one_more: AtomicBool,
    /// How many sleepers every push wakes.
    wakes_with_every_push: usize,
}

/// How many workers pushes wake, at the most, to be awake at the same time.
///
/// When so many are awake, one of those asleep is the lookout: it gets up every `nap` to see whether tasks lie where nobody
/// touches them, because a worker that is awake may be stuck.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use locksley::idle::{Balanced, Governor, Limit};
///
/// assert_eq!(Balanced::default().limit(4), Limit { awake: 4, nap: Duration::from_millis(10) });
/// assert_eq!(locksley::idle::Abp::default().limit(4), Limit::NONE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Workers, at least one.
    pub awake: usize,
    /// For how long the lookout sleeps.
    pub nap: Duration,
}

impl Limit {
    /// No limit, however many workers there are.
    pub const NONE: Self = Self { awake: usize::MAX, nap: Duration::MAX };

    fn nap_or(self, usual: Duration) -> Duration {
        if self.nap == Self::NONE.nap { usual } else { self.nap }
    }
}

/// Of so many workers, in one word: how many are beyond the limit or the size (bits 0–31); how many may be awake by the limit (32–47,
/// all bits for any number); and the size (48–63), which is for those that are no guests.
fn beyond(workers: usize, guests: usize, limit: usize, size: usize) -> u64 {
    let awake = limit.min(size.saturating_add(guests)).max(1);
    let beyond = workers.saturating_sub(awake) as u64;
    beyond | (limit.min(ANY_NUMBER) as u64) << 32 | (size.min(workers) as u64) << 48
}

/// More than there can be workers.
const ANY_NUMBER: usize = 0xFFFF;
const _: () = assert!(MAX_WORKERS < ANY_NUMBER);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// For how long a lookout sleeps if the governor sets no limit, and so says nothing about naps.
const USUAL_NAP: Duration = Duration::from_millis(10);

/// What somebody who falls asleep leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: it looks at everything again.
    Full,
    /// What is pushed, to the lookout.
    Relieved,
    /// It is the lookout.
    AsLookout,
    /// Nothing, and it is the lookout for when as many are awake again as the limit says.
    InReserve,
}

/// How a worker slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Not at all: there was a reason to stay awake.
    No,
    /// Until it was woken.
    Well,
    /// As the lookout, until it was woken.
    AsLookout,
    /// As the lookout, until its nap was over.
    ForANap,
}

impl Slept {
    pub(crate) fn is_as_lookout(self) -> bool {
        matches!(self, Slept::AsLookout | Slept::ForANap)
    }
}

/// A worker's own memory of the last wake-up that it asked for.
///
/// Until somebody has got up since, that wake-up is still under way and asking again would only cost.
#[derive(Debug)]
pub(crate) struct Summons {
    made_at: Cell<Option<u32>>,
    /// Who is woken first: from that one on, and before this one.
    near: Cell<(usize, usize)>,
}

impl Summons {
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
    fn is_first_at(&self, census: Census) -> bool {
        let got_up = Some(census.got_up());
        self.made_at.replace(got_up) != got_up
    }
}

/// Of one to whom all are alike.
impl Default for Summons {
    fn default() -> Self {
        Self::with_neighbours(0..usize::MAX)
    }
}

impl Sleep {
    /// For so many workers, and no others.
    #[cfg(test)]
    pub(crate) fn new(workers: usize, limit: Limit) -> Self {
        Self::with_seats(workers, workers, limit)
    }

    /// For so many workers, of whom others may take the places: they sit in `seats` seats.
    pub(crate) fn with_seats(workers: usize, seats: usize, limit: Limit) -> Self {
        debug_assert!(workers <= seats && seats <= MAX_WORKERS);
        Self {
            nap: AtomicU64::new(nanos(limit.nap_or(USUAL_NAP))),
            wakes_with_every_push: 0,
            workers,
            guests: 0,
            beyond: AtomicU64::new(beyond(workers, 0, limit.awake, workers)),
            allowed: AtomicUsize::new(usize::MAX),
            one_more: AtomicBool::new(false),
            counters: Counters::new(),
            sleepers: Sleepers::new(seats),
            parkers: (0..seats).map(|_| CachePadded::new(Parker::new())).collect(),
            beds: Box::default(),
            processors: 0,
        }
    }

    /// The same, but that so many of the workers are guests. The limit is for all.
    pub(crate) fn with_guests(self, guests: usize) -> Self {
        Self { guests, ..self }
    }

    /// The same, but that so many do what is sent.
    pub(crate) fn allowing(self, allowed: usize) -> Self {
        Self { allowed: AtomicUsize::new(allowed), ..self }
    }

    /// The same, but that a worker which wakes another one has it woken on another processor than its own, if one of so many is free.
    pub(crate) fn spreading(self, processors: usize) -> Self {
        let beds = self.parkers.iter().map(|_| CachePadded::new(Bed::new())).collect();
        Self { beds, processors, ..self }
    }

    /// The same, but that every push wakes so many.
    pub(crate) fn waking_with_every_push(self, wakes_with_every_push: usize) -> Self {
        Self { wakes_with_every_push, ..self }
    }

    /// How many workers are beyond the limit. Whoever decides by it reads it after a census, or after a fence.
    #[inline]
    fn spare(&self) -> u32 {
        // Relaxed: see `resize`.
        self.beyond.load(Ordering::Relaxed) as u32
    }

    fn nap(&self) -> Duration {
        // Relaxed: a nap of another length loses nothing.
        Duration::from_nanos(self.nap.load(Ordering::Relaxed))
    }

    /// How many workers may be awake, beside the guests: as many as there are, if nobody has said otherwise.
    pub(crate) fn size(&self) -> usize {
        (self.beyond.load(Ordering::Relaxed) >> 48) as usize
    }

    fn beyond_the_size(&self) -> usize {
        self.workers.saturating_sub((self.size() + self.guests).max(1))
    }

    /// Whether somebody has chosen fewer than there are.
    pub(crate) fn is_reduced(&self) -> bool {
        self.beyond_the_size() > 0
    }

    /// How many workers are not for what is sent.
    fn beyond_what_is_allowed(&self) -> usize {
        // Relaxed: as the size, it is changed before the counters are (see `resize` and the README).
        let one_more = usize::from(self.one_more.load(Ordering::Relaxed));
        let allowed = self.allowed.load(Ordering::Relaxed).saturating_add(one_more);
        let size = self.size().min(allowed);
        self.workers.saturating_sub((size + self.guests).max(1))
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
        self.beyond_what_is_allowed() > 0
    }

    /// From now on so many workers may be awake, beside the guests, or as many as the limit says if that is less. Those who are too many go to sleep when
    /// they have nothing to do.
    pub(crate) fn resize(&self, size: usize) {
        self.change(|limit, _| (limit, size));
        // Who sleeps may have left to others what is its own matter now.
        self.wake_all();
    }

    /// From now on pushes wake no more workers than `limit.awake`, guests included; and what is sent wakes no more than are `allowed`, beside
    /// the guests.
    pub(crate) fn limit_to(&self, limit: Limit, allowed: usize) {
        self.nap.store(nanos(limit.nap_or(USUAL_NAP)), Ordering::Relaxed);
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
    /// what was left to the lookout is left to it rightly.
    fn wake_missing(&self) {
        // Pairs with the fence in `work_was_pushed`: either who pushes goes by the new limit, or those who are rung for see the task.
        fence(Ordering::SeqCst);
        let asleep = self.census().asleep();
        for _ in 0..asleep.saturating_sub(self.spare() as usize) {
            self.summon(&(0..usize::MAX));
        }
    }

    /// Changes how many may be awake by the limit, and by the size. Returns what the limit was before.
    fn change(&self, change: impl Fn(usize, usize) -> (usize, usize)) -> usize {
        let mut before = self.beyond.load(Ordering::Relaxed);
        loop {
            let was = (before >> 32) as usize & ANY_NUMBER;
            let (limit, size) = change(was, (before >> 48) as usize);
            let after = beyond(self.workers, self.guests, limit, size);
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.beyond.compare_exchange(before, after, success, failure) {
                Ok(_) => {
                    // Release pairs with the acquire of all who change the counters: who goes by a census that is newer than this sees
                    // the new numbers, and who goes by an older one is seen by the caller (see the README).
                    self.counters.touch();
                    return was;
                }
                Err(now) => before = now,
            }
        }
    }

    /// Whether all are awake but so many, and one of those asleep is the lookout: then who sends something wakes
    /// nobody, and who falls asleep leaves it to them.
    fn is_made_up(census: Census, beyond: usize) -> bool {
        beyond > 0 && census.has_lookout() && census.asleep() <= beyond
    }

    /// Whether so many are awake as the limit says, or more, and one of those asleep is the lookout, to whom others may leave things.
    fn is_limit_made_up(&self, census: Census) -> bool {
        census.has_lookout() && census.asleep() <= self.spare() as usize
    }

    /// For who falls asleep, and is counted already: whether it leaves what is sent to all, or to its place, to those who are awake, and to the
    /// lookout.
    pub(crate) fn leaves_what_is_sent(&self) -> bool {
        Self::is_made_up(self.census(), self.beyond_what_is_allowed())
    }

    /// Whether as many workers as the size allows are awake though the calling one, which hunts, is not counted.
    pub(crate) fn is_beyond_the_size(&self) -> bool {
        let beyond = self.beyond_the_size();
        beyond > 0 && self.census().asleep() < beyond
    }

    /// The same for those who are to do what is sent to all.
    pub(crate) fn leaves_the_inbox(&self) -> bool {
        let beyond = self.beyond_what_is_allowed();
        beyond > 0 && self.census().asleep() < beyond
    }

    /// How many workers do what, a moment ago.
    pub(crate) fn census(&self) -> Census {
        self.counters.census()
    }

    pub(crate) fn begins_to_hunt(&self) {
        self.counters.begins_to_hunt();
    }

    /// A worker stops hunting, whatever it found. If it was the last one and others sleep, and `is_work_left` says so,
    /// one of them is woken to hunt in its place: pushes did not wake anybody while this one hunted.
    pub(crate) fn stops_hunting(&self, summons: &Summons, is_work_left: impl FnOnce() -> bool) {
        let census = self.counters.stops_hunting();
        if census.lacks_a_hunter(self.spare()) {
            // Pairs with the fence in `work_was_pushed`: a push that still saw this hunter is seen here.
            fence(Ordering::SeqCst);
            if is_work_left() {
                // By this census, in which somebody sleeps. By a later one nobody may, and then remembering its number
                // would mean to wait for who is not coming.
                self.summon_unless_under_way(census, summons, &summons.neighbours());
            }
        }
    }

    /// A worker has pushed a task that others may take. All that it pays for those who idle: a fence, a load and a
    /// comparison, and one wake-up after the last hunter fell asleep.
    #[inline]
    pub(crate) fn work_was_pushed(&self, summons: &Summons) {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the task, or we see that they are gone.
        fence(Ordering::SeqCst);
        let census = self.census();
        if census.lacks_a_hunter(self.spare()) {
            self.summon_a_neighbour(census, summons);
        }
        for _ in 0..self.wakes_with_every_push.min(census.asleep()) {
            self.summon(&summons.neighbours());
        }
    }

    /// What the owner of an open deque does after a push. When it has been left alone for long, it
    /// may close the deque, and then pushes without looking after sleepers: a worker that falls
    /// asleep, or stops searching while others sleep, has the deque opened and looks.
    pub(crate) fn work_was_pushed_openly(&self, deque: &impl Closable, summons: &Summons) {
        self.work_was_pushed(summons);
        if deque.should_close() && deque.close() && self.relies_on_pushes() {
            deque.open();
        }
    }

    /// Whether a worker that pushes has to care about those who sleep. The caller has just changed something that says
    /// how it will push from now on.
    pub(crate) fn relies_on_pushes(&self) -> bool {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the change, or we that they are gone.
        fence(Ordering::SeqCst);
        if self.wakes_with_every_push > 0 {
            return true;
        }
        self.census().lacks_a_hunter(self.spare())
    }

    /// Somebody who is no worker of this pool has sent it work. Wakes a sleeper if there is one, even when others
    /// hunt: one of those may be suspended, and the sender will not do the work itself.
    pub(crate) fn work_was_sent(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        let census = self.census();
        if census.asleep() > 0 && !Self::is_made_up(census, self.beyond_what_is_allowed()) {
            self.summon(&(0..usize::MAX));
        }
    }

    /// Work was sent to `worker`, that any other may do as well. Wakes that one, if it sleeps and was not woken before. If not, it may be stuck, and this is
    /// as if the work had been pushed, by the worker whose summons it is; or else sent.
    pub(crate) fn work_was_addressed(&self, worker: usize, summons: Option<&Summons>) {
        self.work_was_addressed_to_some(worker..worker + 1, summons);
    }

    /// The same, where it was sent to several: wakes one of these. But where a worker sends it, and one of these is on its way up, or is awake
    /// while the limit is made up, this is as if it had been pushed.
    pub(crate) fn work_was_addressed_to_some(
        &self,
        workers: Range<usize>,
        summons: Option<&Summons>,
    ) {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the work, or we see that they are gone.
        fence(Ordering::SeqCst);
        let census = self.census();
        if census.asleep() == 0
            || Self::is_made_up(census, self.beyond_what_is_allowed())
            || self.rings_one_of(&workers, census, summons)
        {
            return;
        }
        match summons {
            Some(summons) if census.lacks_a_hunter(self.spare()) => {
                self.summon_unless_under_way(census, summons, &workers);
            }
            None => self.summon(&workers),
            Some(_) => {}
        }
    }

    /// Rings for one of these to whom something was sent, unless that is seen to.
    fn rings_one_of(
        &self,
        workers: &Range<usize>,
        census: Census,
        summons: Option<&Summons>,
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
        let is_seen_to = has_rung || has_awake && self.is_limit_made_up(census);
        // One who was rung for before may be suspended: what is sent then is not to wait for it.
        (summons.is_none() || !is_seen_to)
            && silent.is_some_and(|worker| self.parkers[worker].ring())
    }

    /// The same, where these may run on processors that others have, as nobody is told: if nobody hunts, one of the others is woken as well,
    /// who takes it if they do not come.
    pub(crate) fn work_was_addressed_to_bound_ones(
        &self,
        workers: Range<usize>,
        summons: Option<&Summons>,
    ) {
        // Pairs with the fences in `sleep` and `stops_hunting`: either they see the work, or we see that they are gone.
        fence(Ordering::SeqCst);
        let census = self.census();
        if census.asleep() == 0 || Self::is_made_up(census, self.beyond_what_is_allowed()) {
            return;
        }
        // It is to be asked once: who is woken in the place is no answer to whether one elsewhere is.
        let is_first = census.lacks_a_hunter(self.spare())
            && summons.is_none_or(|summons| summons.is_first_at(census));
        let is_one_rung = self.rings_one_of(&workers, census, summons);
        let is_other_rung = is_first && self.wake_first(|worker| !workers.contains(worker));
        if !is_one_rung && !is_other_rung && (is_first || summons.is_none()) {
            self.summon(&workers);
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
    fn summon_a_neighbour(&self, census: Census, summons: &Summons) {
        self.summon_unless_under_way(census, summons, &summons.neighbours());
    }

    #[cold]
    #[inline(never)]
    fn summon_unless_under_way(&self, census: Census, summons: &Summons, near: &Range<usize>) {
        if summons.is_first_at(census) {
            self.summon_from(near, |worker| self.turns_from_here(census, worker));
        }
    }

    /// The calling worker has work, and keeps its processor. Where all other processors are taken when the kernel wakes a thread, or seem to be, it stays where it was last.
    fn turns_from_here(&self, census: Census, worker: usize) {
        let Some(bed) = self.beds.get(worker) else { return };
        bed.turns_from_here(|| self.is_free(census, self.processors.saturating_sub(1)));
    }

    /// Whether workers that are woken go where no other one is.
    pub(crate) fn spreads(&self) -> bool {
        !self.beds.is_empty()
    }

    /// Whether a processor is free though a worker, which is awake, waits behind the calling one or the other way round. Not where workers stay where the kernel wakes them.
    pub(crate) fn is_another_processor_free(&self) -> bool {
        self.spreads() && self.is_free(self.census(), self.processors)
    }

    /// Whether no more threads can run on the machine than workers are awake by that census, nor than that.
    fn is_free(&self, census: Census, at_most: usize) -> bool {
        let awake = self.workers.saturating_sub(census.asleep());
        os::runnable_threads().is_some_and(|all| all <= awake.min(at_most))
    }

    /// Which time it is that `worker` is up and its thread may run on all that it may: see [`Bed::whole`].
    pub(crate) fn whole(&self, worker: usize) -> Option<u32> {
        self.beds.get(worker).map_or(Some(0), |bed| bed.whole())
    }

    /// The thread that the calling worker is in this seat begins, or is about to end.
    pub(crate) fn thread_comes_or_goes(&self, worker: usize) {
        if let Some(bed) = self.beds.get(worker) {
            bed.leaves();
        }
    }

    /// Wakes one sleeper that nobody has rung for yet, one of those near if there is one; where there is none, rings again for all that are rung
    /// for: whoever rang may have been suspended before the system call.
    fn summon(&self, near: &Range<usize>) {
        self.summon_from(near, |_| ());
    }

    /// The same, and something is done about that one first.
    fn summon_from(&self, near: &Range<usize>, prepare: impl FnOnce(usize)) {
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

    /// Whether as many workers as the limit allows are awake though the calling one, which hunts, is not counted.
    pub(crate) fn is_one_too_many(&self) -> bool {
        // This one is awake; if it slept, `asleep + 1` would.
        self.census().asleep() < self.spare() as usize
    }

    /// `worker`, which hunts, sleeps until it is woken, or not at all if `look_again` finds a reason to stay awake. If it is
    /// one too many and there is no lookout, it sleeps as that. Hunts again when this returns.
    ///
    /// `look_again` is told what is left to the lookout; it looks at everything else. It looks even when others still hunt,
    /// who would find what there is: one of them may be suspended.
    pub(crate) fn sleep(&self, worker: usize, look_again: impl FnOnce(Rest) -> bool) -> Slept {
        self.sleep_as(worker, Self::falls_asleep, look_again)
    }

    /// The same; but if there is no lookout it sleeps as that also where it is not one too many. So who wakes the others until as many are awake as the limit says
    /// need not wake it for that.
    pub(crate) fn sleep_in_reserve(
        &self,
        worker: usize,
        look_again: impl FnOnce(Rest) -> bool,
    ) -> Slept {
        self.sleep_as(worker, Self::falls_asleep_in_reserve, look_again)
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
        // Pairs with the fences of those who publish work or an event (`work_was_pushed`, `work_was_sent`,
        // `work_was_addressed`, `wake`).
        fence(Ordering::SeqCst);
        let parker = &self.parkers[worker];
        let slept = match (look_again(rest), rest) {
            (true, _) => Slept::No,
            (false, Rest::AsLookout | Rest::InReserve) => {
                self.in_bed(worker, || parker.nap(self.nap()));
                if parker.is_rung() { Slept::AsLookout } else { Slept::ForANap }
            }
            (false, Rest::Full | Rest::Relieved) => {
                self.in_bed(worker, || parker.park());
                Slept::Well
            }
        };
        let _ = match rest {
            Rest::AsLookout | Rest::InReserve => self.counters.lookout_gets_up(),
            Rest::Full | Rest::Relieved => self.counters.gets_up(),
        };
        self.sleepers.leave(worker);
        slept
    }

    fn in_bed(&self, worker: usize, block: impl FnOnce()) {
        // Not a guest's: its thread may be about something else before it comes here again.
        let bed = self.beds.get(worker).filter(|_| worker >= self.guests);
        bed.inspect(|bed| bed.lies_down(self.processors));
        block();
        bed.inspect(|bed| bed.gets_up());
    }

    fn falls_asleep(&self) -> Rest {
        let spare = self.spare();
        if spare > 0 && self.counters.falls_asleep_as_lookout(spare) {
            return Rest::AsLookout;
        }
        if self.is_limit_made_up(self.counters.falls_asleep()) {
            Rest::Relieved
        } else {
            Rest::Full
        }
    }

    fn falls_asleep_in_reserve(&self) -> Rest {
        let spare = self.spare();
        if spare > 0 && self.counters.falls_asleep_as_lookout(spare) {
            return Rest::AsLookout;
        }
        if spare > 0 && self.counters.falls_asleep_as_lookout(u32::MAX) {
            return Rest::InReserve;
        }
        self.falls_asleep()
    }
}
