//! The strand that a worker runs: which region it belongs to, and how long the path is that it is on.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, ptr};

use super::clock::Clock;
use super::path::Path;
use super::region::{Done, Region};
use super::site::Site;
use super::stay::{Footing, Length, Room, Stay};
use super::told::Told;

/// To ask takes less than such a part of what is long; and after so many times of it, it is asked again.
const PARTS: i64 = 10;

/// What a worker notes of the strand that it runs. `H` is what the strand may be the second half of.
///
/// A path grows with the clock while its strand runs. So what is kept is when the path *would have begun* if nothing had ever
/// interrupted it, and nothing has to be done while it runs on.
#[derive(Debug)]
#[repr(C)] // what each fork uses first
pub(crate) struct Running<H> {
    /// Null while there is none.
    region: Cell<*const Arc<Region>>,
    /// The region's, at hand.
    clock: Cell<Clock>,
    /// How long strands of this worker have waited: its clock shows so much less.
    taken: Cell<i64>,
    /// Whoever reads the clock later than this looks whether that was after long. It is no later than after long from the last reading, and
    /// no later than [`due`](Self::due). (But where the thread comes to a processor whose counter is behind, its readings are earlier from then on,
    /// and this is not: one stretch may be longer by so much before it is looked at.)
    limit: Cell<i64>,
    /// When the clock was read last.
    read: Cell<i64>,
    span_began: Cell<i64>,
    /// [Nowhere](Stay::NOWHERE) while there is no strand.
    stay: Cell<NonNull<Stay>>,
    /// Where the next stay is to be noted. Dangling while there is no strand.
    room: Cell<NonNull<Room>>,
    // Not beside the other one: read together, what was written one by one is read late.
    burdened_began: Cell<i64>,
    burden: Cell<i64>,
    /// Forks that are not in the region's account.
    forks: Cell<u64>,
    /// What was done before this is in the region's account.
    since: Cell<i64>,
    /// Null if it is none.
    half: Cell<*const H>,
    /// Whether the region counts it among the tasks that have not ended.
    is_counted: Cell<bool>,
    /// Who has not read the clock for longer asks whether it had the processor.
    long: Cell<i64>,
    /// How long the thread had waited for a processor when that was asked last; `None` where the system does not tell.
    delay: Cell<Option<Duration>>,
    /// When that is to be asked again, however short all stretches are.
    due: Cell<i64>,
    /// What was [taken](Self::taken) and is not in the region's account; `None` if it could not be told.
    newly_taken: Cell<Option<i64>>,
    /// Where it is about to spawn, if that is known.
    spawning: Cell<Option<Site>>,
    /// What it has told of what it comes after, since the poll began that it is in.
    told: Cell<Told>,
}

impl<H> Running<H> {
    pub(crate) fn nothing() -> Self {
        Self {
            region: Cell::new(ptr::null()),
            clock: Cell::new(Clock::Monotonic),
            taken: Cell::new(0),
            limit: Cell::new(i64::MIN),
            read: Cell::new(0),
            span_began: Cell::new(0),
            burdened_began: Cell::new(0),
            stay: Cell::new(NonNull::from(Stay::NOWHERE)),
            room: Cell::new(NonNull::dangling()),
            burden: Cell::new(0),
            forks: Cell::new(0),
            since: Cell::new(0),
            half: Cell::new(ptr::null()),
            is_counted: Cell::new(false),
            long: Cell::new(0),
            delay: Cell::new(None),
            due: Cell::new(i64::MIN),
            newly_taken: Cell::new(Some(0)),
            spawning: Cell::new(None),
            told: Cell::new(Told::Nothing),
        }
    }

    /// That of the strand; null if there is none.
    #[inline]
    pub(crate) fn region(&self) -> *const Arc<Region> {
        self.region.get()
    }

    /// The second half that the strand is; null if it is none.
    pub(crate) fn half(&self) -> *const H {
        self.half.get()
    }

    /// Whether the region counts it among the tasks that have not ended.
    pub(crate) fn is_counted(&self) -> &Cell<bool> {
        &self.is_counted
    }

    /// What it has told of what it comes after, since the poll began that it is in.
    pub(crate) fn told(&self) -> &Cell<Told> {
        &self.told
    }

    /// What an edge costs in burdened paths of the strand's region.
    #[inline]
    pub(crate) fn burden(&self) -> i64 {
        self.burden.get()
    }

    /// This moment on the clock of the strand's region, which stands still while the kernel runs others in the thread's place.
    #[inline]
    pub(crate) fn now(&self) -> i64 {
        self.at_a_glance().unwrap_or_else(|| self.on_a_closer_look())
    }

    /// The same, if nothing has to be seen to before that is known.
    #[inline(always)]
    pub(crate) fn at_a_glance(&self) -> Option<i64> {
        let now = self.clock.get().at_a_glance()? - self.taken.get();
        if now > self.limit.get() {
            return None;
        }
        self.read.set(now);
        Some(now)
    }

    /// The same, if there is no other reason either for a closer look.
    #[inline(always)]
    pub(crate) fn at_a_glance_if(&self, nothing_else: bool) -> Option<i64> {
        if nothing_else { self.at_a_glance() } else { None }
    }

    /// The same in any case.
    #[cold]
    #[inline(never)]
    fn on_a_closer_look(&self) -> i64 {
        let now = self.clock.get().now() - self.taken.get();
        if now - self.read.get() > self.long.get() || now > self.due.get() {
            return self.after_long();
        }
        self.has_read(now);
        now
    }

    fn has_read(&self, now: i64) {
        self.read.set(now);
        self.limit.set(now.saturating_add(self.long.get()).min(self.due.get()));
    }

    /// The strand went on for so long that it may have been interrupted; or it did not, and nobody has asked for a while.
    fn after_long(&self) -> i64 {
        let before = self.delay.get();
        let now = self.asks();
        let stretch = now - self.read.get();
        // What short stretches waited for stays in them: it must not be taken from a long one that comes later.
        if stretch <= self.long.get() {
            self.has_read(now);
            return now;
        }
        let waited = before.zip(self.delay.get()).map(|(before, delay)| {
            let waited = self.clock.get().ticks(delay.saturating_sub(before).as_nanos() as i64);
            // Some of it may have been in short stretches, whose time is gone.
            waited.min(stretch)
        });
        self.newly_taken.set(self.newly_taken.get().zip(waited).map(|(sum, waited)| sum + waited));
        let waited = waited.unwrap_or(0);
        self.taken.set(self.taken.get() + waited);
        self.due.set(self.due.get().saturating_sub(waited));
        self.has_read(now - waited);
        now - waited
    }

    /// The same where a strand begins: what its worker has waited for before, as a hunter does that yields, is none of its own.
    fn now_it_begins(&self) -> i64 {
        let now = self.clock.get().now() - self.taken.get();
        // A thread that others have run in the place of was away for longer than a part of what is long.
        let was_away = (now - self.read.get()).saturating_mul(PARTS) > self.long.get();
        let now = if was_away || now > self.due.get() { self.asks() } else { now };
        self.has_read(now);
        now
    }

    /// Asks for how long the thread has waited. Returns a moment after that, and before it waits again: so what it has waited for lies before that
    /// moment, and all that it waits for from then on after it.
    fn asks(&self) -> i64 {
        /// One is enough but when the thread is interrupted just then.
        const TRIES: u32 = 3;
        let now = || self.clock.get().now() - self.taken.get();
        let mut last = now();
        for _ in 0..TRIES {
            self.delay.set(self.clock.get().delay());
            let before = mem::replace(&mut last, now());
            if last - before <= self.long.get() / PARTS {
                break;
            }
        }
        self.due.set(last.saturating_add(self.long.get().saturating_mul(PARTS)));
        last
    }

    /// A strand runs from now on, at the end of the path that stands there.
    ///
    /// # Safety
    /// Until the strand [ends](Self::end), the region's reference stays where it is; and as for [`stands`](Self::stands).
    pub(crate) unsafe fn begin(&self, region: &Arc<Region>, half: *const H, footing: Footing) {
        debug_assert!(self.region.get().is_null(), "a worker runs one strand");
        self.region.set(region);
        self.half.set(half);
        self.is_counted.set(false);
        self.spawning.set(None);
        self.told.set(Told::Nothing);
        self.clock.set(region.clock());
        self.burden.set(region.burden());
        self.long.set(region.long());
        self.newly_taken.set(Some(0));
        let now = self.now_it_begins();
        self.since.set(now);
        // SAFETY: as the caller promises.
        unsafe { self.stands(footing, now) };
    }

    /// The strand runs no more. Adds what was done to the account of that worker, and returns the path.
    pub(crate) fn end(&self, region: &Arc<Region>, worker: usize) -> Path {
        debug_assert!(ptr::eq(self.region.get(), region));
        let now = self.now();
        self.settle(region, worker, now);
        let path = self.path(now);
        self.region.set(ptr::null());
        self.half.set(ptr::null());
        self.stay.set(NonNull::from(Stay::NOWHERE));
        self.room.set(NonNull::dangling());
        path
    }

    /// Adds what was done to the account of that worker.
    pub(crate) fn settle(&self, region: &Region, worker: usize, now: i64) {
        let taken = self.newly_taken.replace(Some(0));
        let (work, forks) = (now - self.since.replace(now), self.forks.take());
        region.add(worker, Done { work, forks, taken });
    }

    /// The path to this moment.
    pub(crate) fn path(&self, now: i64) -> Path {
        // SAFETY: the strand's, and noted there; who writes there, or further out, is the strand.
        unsafe { self.its_stay().path(self.length(now)) }
    }

    /// How long the path to this moment is.
    #[inline]
    pub(crate) fn length(&self, now: i64) -> Length {
        Length { span: now - self.span_began.get(), burdened: now - self.burdened_began.get() }
    }

    /// What runs on is on a path of that length, whose stay is the same.
    #[inline]
    pub(crate) fn goes_to_length(&self, length: Length, now: i64) {
        self.span_began.set(now - length.span);
        self.burdened_began.set(now - length.burdened);
    }

    /// What runs on is on another path from now on.
    pub(crate) fn go_on(&self, path: &Path, now: i64) {
        self.goes_to_length(Length::of(path), now);
        self.stays(path);
    }

    /// That is its path from now on, as far as its course goes.
    fn stays(&self, path: &Path) {
        assert!(!self.region.get().is_null(), "there is a strand");
        // SAFETY: there, as long as it is the strand's, as was promised where it became that (`stands`, `has_room`): the frame that it is in has its
        // strand note elsewhere before it ends, returning or unwinding.
        let room = unsafe { self.room.get().as_ref() };
        // SAFETY: it is the innermost one: whatever was forked since its frame began, and may have noted what is there, has ended (`Room`); and nobody else
        // writes there, as was promised.
        self.stay.set(unsafe { room.put(path) });
    }

    #[inline]
    fn its_stay(&self) -> &Stay {
        // SAFETY: nowhere; or the strand's, and there as long as the strand refers to it, as was promised (`stands`); or noted by `stays`, in a
        // room that is there as long as it is the strand's.
        unsafe { self.stay.get().as_ref() }
    }

    /// Where that is noted: if it is the same as before, so is the stay.
    #[inline]
    pub(crate) fn stay(&self) -> NonNull<Stay> {
        self.stay.get()
    }

    /// Where it is, at this moment.
    #[inline]
    pub(crate) fn footing(&self, now: i64) -> Footing {
        Footing { length: self.length(now), stay: self.stay.get(), room: self.room.get() }
    }

    /// It is there from now on.
    ///
    /// # Safety
    /// The stay is there, and is not written over but by this, until the strand has ended or is at another one; and as for
    /// [`has_room`](Self::has_room).
    #[inline]
    pub(crate) unsafe fn stands(&self, Footing { length, stay, room }: Footing, now: i64) {
        self.goes_to_length(length, now);
        self.stay.set(stay);
        // SAFETY: as the caller promises.
        unsafe { self.has_room(room) };
    }

    /// Its next stay is noted there.
    ///
    /// # Safety
    /// Until the strand has ended, or has another room, this one is there, and the innermost one (see [`Room`]), where nobody else writes. What the
    /// strand has noted there, it refers to no longer when the room's frame ends.
    #[inline]
    pub(crate) unsafe fn has_room(&self, room: NonNull<Room>) {
        self.room.set(room);
    }

    /// Whether its next stay is noted in one of these.
    pub(crate) fn notes_in(&self, rooms: &[Room]) -> bool {
        rooms.iter().any(|room| ptr::eq(room, self.room.get().as_ptr()))
    }

    /// It goes on after a join, along the longer of two paths: one that was so long before and had the same stay all the while, or its own,
    /// whose end is that of a second half.
    #[inline]
    pub(crate) fn goes_on_after(&self, first: Length, now: i64) {
        // Who began earlier has come further.
        self.span_began.set(self.span_began.get().min(now - first.span));
        let second = self.burdened_began.get() - self.burden.get();
        self.burdened_began.set(second.min(now - first.burdened));
    }

    /// The place that the strand belongs to.
    #[inline]
    pub(crate) fn site(&self) -> Option<Site> {
        self.its_stay().site()
    }

    /// The strand goes on at that place. Returns where it was.
    #[inline]
    pub(crate) fn turns_to(&self, site: Option<Site>, now: i64) -> Option<Site> {
        let before = self.site();
        if !Site::are_one(before, site) && !self.turns_by_table(site, now) {
            // SAFETY: the strand's, and noted where it has its room, or further out.
            unsafe { self.stays_after(self.stay.get(), self.length(now), site) };
        }
        before
    }

    /// The same, if its path is at one of two places that are known without a look into a table, and that is the other one. Says whether.
    #[inline(always)]
    pub(crate) fn turns_by_table(&self, site: Option<Site>, now: i64) -> bool {
        // SAFETY: the strand's, so it and its table are noted where it has its room, or further out.
        unsafe { self.stays_by_table(self.stay.get(), self.length(now), site) }
    }

    /// The stay of a path from now on that has become so long at the one that is noted there, and goes on at that place.
    ///
    /// # Safety
    /// There is a strand. That stay is noted, and nobody writes there meanwhile.
    #[inline(never)]
    pub(crate) unsafe fn stays_after(
        &self,
        stay: NonNull<Stay>,
        length: Length,
        site: Option<Site>,
    ) {
        debug_assert!(!self.region.get().is_null(), "there is a strand");
        // SAFETY: there is a strand, as the caller promises; so that is its room, as in `stays`.
        let room = unsafe { self.room.get().as_ref() };
        // SAFETY: as there, and as the caller promises.
        self.stay.set(unsafe { room.put_turned(stay, length, site) });
    }

    /// The same, if that place is one of two that are known without a look into a table. Says whether.
    ///
    /// # Safety
    /// The same; and the stay's table lies where the strand has its room, or further out.
    #[inline(always)]
    pub(crate) unsafe fn stays_by_table(
        &self,
        stay: NonNull<Stay>,
        length: Length,
        site: Option<Site>,
    ) -> bool {
        debug_assert!(!self.region.get().is_null(), "there is a strand");
        // SAFETY: there is a strand, as the caller promises; so that is its room, as in `stays`.
        let room = unsafe { self.room.get().as_ref() };
        // SAFETY: as there, and as the caller promises.
        let turned = unsafe { room.put_turned_by_table(stay, length, site) };
        turned.into_iter().for_each(|stay| self.stay.set(stay));
        turned.is_some()
    }

    /// It is about to spawn there.
    pub(crate) fn spawns_at(&self, site: Site) {
        self.spawning.set(Some(site));
    }

    /// Where what is spawned now is spawned, if that has been said.
    pub(crate) fn spawned_at(&self) -> Option<Site> {
        self.spawning.take()
    }

    #[inline]
    pub(crate) fn has_forked(&self) {
        self.forks.set(self.forks.get() + 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
