//! Joins of strands: the first half runs on, and the second carries the path of the fork to whoever takes it.
//!
//! The job in the join's frame is the same as of any join. But it is given another kind, which lies in the same frame, and has whoever
//! takes the job run it as a strand of its own. So all but a little of a metered join (`join_metered`) does not depend on what is joined.
//!
//! Each of the three things that are done for a fork is there thrice: as it is mostly; where the path turns to another place; and on a closer look, where the
//! clock must be seen to, too. The one gives way to the other before it has done anything, by a call that is its last: so it keeps nothing for
//! afterwards, and saves no registers.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::fork::Waiting;
use crate::job::{self, Job, Kind};
use crate::latch::Flag;
use crate::meter::{Footing, Length, Path, Region, Room, Site, Stay};
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// What a join knows of its fork, in its frame. Who takes the second half reads what does not change, when it begins, and writes `end` and the room for it;
/// all else is the worker's that has forked.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Half<'r> {
    /// Instead of the job's own. The first field: who has the job finds the rest by it.
    kind: Kind,
    own: &'static Kind,
    region: &'r Arc<Region>,
    /// Where the second half begins.
    from: Length,
    stay: NonNull<Stay>,
    /// The place where the strand goes on after the join.
    outer: Option<Site>,
    /// Where its stays are noted then.
    outer_room: NonNull<Room>,
    /// Where the second half was pushed.
    index: i64,
    /// The path to the end of the first one.
    first: Cell<Length>,
    first_stay: Cell<NonNull<Stay>>,
    /// Where whoever has taken the second one leaves how long the path to its end is, and whether its stay is that of the fork; or else that is in the second
    /// room.
    end: Cell<Option<(Length, bool)>>,
    /// For the first half; and for the second one: what the worker itself notes while it runs that, or else its last stay, which whoever has taken it leaves
    /// there. (If the first has left its room empty, and the second comes back at once, that goes on in the first.)
    rooms: [Room; 2],
}

/// Where a half is to lie, in its join's frame.
#[derive(Debug)]
pub(crate) struct HalfRoom<'r>(UnsafeCell<MaybeUninit<Half<'r>>>);

impl<'r> HalfRoom<'r> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    /// A strand has [forked](Worker::forks) there.
    #[inline]
    pub(crate) unsafe fn half(&self) -> &Half<'r> {
        // SAFETY: written when it forked, and only shared references were made since.
        let half = unsafe { &*self.0.get() };
        // SAFETY: as above.
        unsafe { half.assume_init_ref() }
    }

    /// # Safety
    /// Nobody has a reference to what is there.
    #[inline]
    unsafe fn put(&self, half: Half<'r>) -> &Half<'r> {
        // SAFETY: as the caller promises.
        let room = unsafe { &mut *self.0.get() };
        room.write(half);
        // SAFETY: just written.
        unsafe { self.half() }
    }
}

impl<'r> Half<'r> {
    /// Where the second one was pushed.
    #[inline]
    pub(crate) fn index(&self) -> i64 {
        self.index
    }

    /// The path to the end of the first half.
    ///
    /// # Safety
    /// It has ended, and the join is not over.
    unsafe fn first(&self) -> Path {
        // SAFETY: noted in the first room, or where the join began; and not written over before the join is over (`Room`).
        let stay = unsafe { self.first_stay.get().as_ref() };
        // SAFETY: as above; and so is its table.
        unsafe { stay.path(self.first.get()) }
    }

    /// Where the second half begins on the worker that has forked.
    fn second(&self) -> Footing {
        Footing { length: self.from, stay: self.stay, room: NonNull::from(&self.rooms[1]) }
    }

    /// Whoever has taken the second half has come to its end.
    ///
    /// # Safety
    /// The caller has taken it, and has not said yet that it has ended. `stays` only if the path's stay is that of the fork.
    unsafe fn ends(&self, path: &Path, stays: bool) {
        // Most halves have not been anywhere else, and what is not written here need not be fetched from there.
        if !stays {
            // SAFETY: who has forked writes there only if the second half has come back, and reads it when that has been said.
            unsafe { self.rooms[1].put(path) };
        }
        self.end.set(Some((Length::of(path), stays)));
    }

    /// How long the path is on which the strand goes on when others have run the second half, if neither half has been elsewhere, and its stay is that of
    /// the fork again.
    fn length_if_it_stays(&self) -> Option<Length> {
        // SAFETY: noted where the join began, or further out; and not written over before the join is over (`Room`).
        let site = unsafe { self.stay.as_ref() }.site();
        let stays = self.first_stay.get() == self.stay && Site::are_one(site, self.outer);
        match self.end.get() {
            Some((end, true)) if stays => Some(self.first.get().meet(end)),
            _ => None,
        }
    }

    /// The path on which the strand goes on when others have run the second half, to its end.
    ///
    /// # Safety
    /// Both have ended: the caller has run the first, and seen that the second one's job says so. The join is not over.
    unsafe fn met(&self) -> Path {
        // SAFETY: as the caller promises.
        let first = unsafe { self.first() };
        self.end.get().map_or(first, |(length, stays)| {
            let stay = if stays {
                // SAFETY: noted where the join began, or further out; and not written over before the join is over (`Room`).
                unsafe { self.stay.as_ref() }
            } else {
                // SAFETY: noted there by `ends`, before that was said; and it was seen to have been said.
                unsafe { self.rooms[1].noted() }
            };
            // SAFETY: as above; and so is its table.
            first.meet(unsafe { stay.path(length) })
        })
    }
}

/// A second half, as whoever has taken it knows it; in the frame where that runs it.
#[derive(Debug)]
pub(crate) struct Taken<'h> {
    half: *const Half<'h>,
    /// Where it has its copy of the fork's stay.
    stay: NonNull<Stay>,
}

/// Runs a second half that somebody has taken, as a strand.
///
/// The strand stands on a copy of its stay, in this frame, and has a reference of its own to its region: so it looks into the frames of who has forked when it
/// begins, and when it ends, and never between. If the process forks in it, who has forked the half may not be there (`pool/README.md`, "After a fork").
unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
    // SAFETY: as the caller promises.
    let kind = unsafe { job::kind(job) };
    // SAFETY: the kind is that of a `Half`, whose first field it is, and which is alive as long as the job: until that says that it has
    // ended. Who forked touches nothing of it meanwhile but what is its own.
    let half = unsafe { &*kind.cast::<Half<'_>>() };
    let (own, region) = (half.own, Arc::clone(half.region));
    // Nothing else is noted in the first: as long as the strand has its stay there, that is the fork's.
    let rooms = [Room::new(), Room::new()];
    // SAFETY: it is new; and the other is noted where the join began, or further out, and not written over before the half has ended (`Room`).
    let stay = unsafe { rooms[0].put_copy(half.stay) };
    let footing = Footing { length: half.from, stay, room: NonNull::from(&rooms[1]) };
    let taken = Taken { half, stay };
    worker.while_aside(|| {
        // SAFETY: what it stands on lies in this frame, and the strand ends before that does: by the job, before it says that it has ended.
        unsafe { worker.begins_strand(&region, &raw const taken, footing) };
        // SAFETY: as the caller promises; it is the job's own kind.
        unsafe { own.execute(job, worker, from) };
    });
}

/// A join, as it goes on after its first half: with a half if it is metered, and whether its second one has come back.
pub(crate) type Halves<'h> = Option<(&'h Half<'h>, bool)>;

impl Worker {
    /// The strand that it runs forks at that place, or at its own, and pushes `job`, whose kind is `own`, for its second half.
    ///
    /// What follows is a call of [`turns_to_second`](Self::turns_to_second), when the first half has ended, by returning or by a panic; if that says
    /// that the job has not come back, one of [`waits_for_half`](Self::waits_for_half); and if either says that it has, one of
    /// [`joins_halves`](Self::joins_halves), when the second half has ended, in whichever way.
    ///
    /// # Safety
    /// It runs a strand. Nobody has the job's word, and the job and the half are alive until it has ended, or come back. The room is used for nothing else. The
    /// caller's frame does not end before what follows has been called.
    // So that it is there once, and not in each join.
    #[inline(never)]
    pub(crate) unsafe fn forks<'r>(
        &'r self,
        room: &HalfRoom<'r>,
        job: NonNull<Job>,
        own: &'static Kind,
        site: Option<Site>,
    ) {
        let outer = self.running().site();
        let stays = site.is_none() || Site::are_one(site, outer);
        match self.running().at_a_glance_if(stays) {
            // SAFETY: as the caller promises.
            Some(now) => unsafe { self.forks_at(now, room, job, own, outer) },
            // SAFETY: as the caller promises.
            None => unsafe { self.forks_elsewhere(room, job, own, site) },
        }
    }

    /// The same, at another place than that where the strand is.
    #[cold]
    #[inline(never)]
    unsafe fn forks_elsewhere<'r>(
        &'r self,
        room: &HalfRoom<'r>,
        job: NonNull<Job>,
        own: &'static Kind,
        site: Option<Site>,
    ) {
        let running = self.running();
        let outer = running.site();
        let turns = site.is_some() && !Site::are_one(site, outer);
        match running.at_a_glance_if(turns) {
            Some(now) if running.turns_by_table(site, now) => {
                // SAFETY: as the caller promises.
                unsafe { self.forks_at(now, room, job, own, outer) }
            }
            // SAFETY: as the caller promises.
            Some(now) => unsafe { self.forks_anywhere(room, job, own, site, now) },
            // SAFETY: as the caller promises.
            None => unsafe { self.forks_on_a_closer_look(room, job, own, site) },
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn forks_on_a_closer_look<'r>(
        &'r self,
        room: &HalfRoom<'r>,
        job: NonNull<Job>,
        own: &'static Kind,
        site: Option<Site>,
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.forks_anywhere(room, job, own, site, self.running().now()) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn forks_anywhere<'r>(
        &'r self,
        room: &HalfRoom<'r>,
        job: NonNull<Job>,
        own: &'static Kind,
        site: Option<Site>,
        now: i64,
    ) {
        let running = self.running();
        let outer = running.site();
        if site.is_some() {
            running.turns_to(site, now);
        }
        // SAFETY: as the caller promises.
        unsafe { self.forks_at(now, room, job, own, outer) }
    }

    #[inline(always)]
    unsafe fn forks_at<'r>(
        &'r self,
        now: i64,
        room: &HalfRoom<'r>,
        job: NonNull<Job>,
        own: &'static Kind,
        outer: Option<Site>,
    ) {
        let running = self.running();
        running.has_forked();
        let Footing { length, stay, room: outer_room } = running.footing(now);
        let from = Length { burdened: length.burdened + running.burden(), ..length };
        let half = Half {
            kind: Kind::of_forks(execute),
            own,
            region: self.region().expect("it runs a strand"),
            from,
            stay,
            outer,
            outer_room,
            index: self.deque_end(),
            first: Cell::new(Length::default()),
            first_stay: Cell::new(stay),
            end: Cell::new(None),
            rooms: [Room::new(), Room::new()],
        };
        // SAFETY: nobody has forked there.
        let half = unsafe { room.put(half) };
        // SAFETY: the innermost frame is that of the half now; who joins turns the strand to the one around it, before this one ends. Others write to the
        // second room only.
        unsafe { running.has_room(NonNull::from(&half.rooms[0])) };
        // SAFETY: as the caller promises; and this kind runs any that is of forks.
        unsafe { job::becomes(job, ptr::from_ref(half).cast()) };
        self.push_in_truth(job);
    }

    /// The first half has ended, and the second is about to begin here, if nobody has taken it. Says whether its job, which has that header, has
    /// come back.
    ///
    /// # Safety
    /// This worker runs the strand that has [forked](Self::forks) there, and calls what follows in turn. It is in no join further in.
    #[inline(never)]
    pub(crate) unsafe fn turns_to_second(&self, half: &Half<'_>, header: &Flag) -> bool {
        self.must_note_in(&half.rooms[..1]);
        let running = self.running();
        // Most halves have not been anywhere else.
        match running.at_a_glance_if(running.stay() == half.stay) {
            Some(now) => {
                half.first.set(running.length(now));
                running.goes_to_length(half.from, now);
                header.is_untouched() && self.takes_back(half.index)
            }
            None => self.turns_from_elsewhere(half, header),
        }
    }

    /// The same, if the first half has been elsewhere.
    #[cold]
    #[inline(never)]
    fn turns_from_elsewhere(&self, half: &Half<'_>, header: &Flag) -> bool {
        match self.running().at_a_glance() {
            Some(now) => self.turns_at(now, half, header),
            None => self.turns_on_a_closer_look(half, header),
        }
    }

    #[cold]
    #[inline(never)]
    fn turns_on_a_closer_look(&self, half: &Half<'_>, header: &Flag) -> bool {
        self.turns_at(self.running().now(), half, header)
    }

    #[inline(always)]
    fn turns_at(&self, now: i64, half: &Half<'_>, header: &Flag) -> bool {
        let running = self.running();
        half.first.set(running.length(now));
        half.first_stay.set(running.stay());
        let footing = Footing { length: half.from, stay: half.stay, ..running.footing(now) };
        // SAFETY: of the fork, and there; the room is the one that the strand has.
        unsafe { running.stands(footing, now) };
        let is_back = header.is_untouched() && self.takes_back(half.index);
        if is_back {
            // Not before: whoever has the job writes to the second room.
            // SAFETY: the job has come back, so that room is this worker's; and it is in the frame of the first.
            unsafe { running.has_room(half.second().room) };
        }
        is_back
    }

    /// This worker has run both halves itself, and the strand goes on after the later one.
    ///
    /// # Safety
    /// As for [`turns_to_second`](Self::turns_to_second).
    #[inline(never)]
    pub(crate) unsafe fn joins_halves(&self, half: &Half<'_>) {
        self.must_note_in(&half.rooms);
        let running = self.running();
        // If neither half has noted another stay, both have that of the fork.
        let stays =
            running.stay() == half.first_stay.get() && Site::are_one(running.site(), half.outer);
        match running.at_a_glance_if(stays) {
            Some(now) => {
                running.goes_on_after(half.first.get(), now);
                // SAFETY: where it noted its stays when it forked; it is in that frame again, and its stay is that of the fork.
                unsafe { running.has_room(half.outer_room) };
            }
            // SAFETY: as the caller promises.
            None => unsafe { self.joins_from_elsewhere(half) },
        }
    }

    /// The same, if a half has been elsewhere, or the strand goes on elsewhere.
    ///
    /// # Safety
    /// As for [`joins_halves`](Self::joins_halves).
    #[cold]
    #[inline(never)]
    unsafe fn joins_from_elsewhere(&self, half: &Half<'_>) {
        match self.running().at_a_glance() {
            // SAFETY: as the caller promises.
            Some(now) => unsafe { self.joins_at(now, half) },
            // SAFETY: as the caller promises.
            None => unsafe { self.joins_on_a_closer_look(half) },
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn joins_on_a_closer_look(&self, half: &Half<'_>) {
        // SAFETY: as the caller promises.
        unsafe { self.joins_at(self.running().now(), half) };
    }

    /// # Safety
    /// As for [`joins_halves`](Self::joins_halves).
    #[inline(always)]
    unsafe fn joins_at(&self, now: i64, half: &Half<'_>) {
        let running = self.running();
        let (first, mut second) = (half.first.get(), running.length(now));
        second.burdened += running.burden();
        let stay = if second.span > first.span { running.stay() } else { half.first_stay.get() };
        let length = first.meet(second);
        running.goes_to_length(length, now);
        // SAFETY: where it noted its stays when it forked; it is in that frame again, and notes its next stay there at once.
        unsafe { running.has_room(half.outer_room) };
        // A table that was made in a half lies in its room, which ends with this frame.
        // SAFETY: noted in one of the rooms, or where the join began, and not written over before the join is over (`Room`).
        let its = unsafe { stay.as_ref() };
        // SAFETY: noted where the join began, or further out; as above.
        if its.shares_table(unsafe { half.stay.as_ref() })
            // SAFETY: as above; and where the table of the fork's stay lies, the strand has its room now, or that is further out.
            && unsafe { running.stays_by_table(stay, length, half.outer) }
        {
            return;
        }
        // SAFETY: as above.
        unsafe { running.stays_after(stay, length, half.outer) };
    }

    /// Waits for the second half, which others may have, or gets it back. Says whether it did that.
    ///
    /// # Safety
    /// As for [`turns_to_second`](Self::turns_to_second); and what is to be recovered is the half's job.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn waits_for_half(
        &self,
        half: &Half<'_>,
        recover: (NonNull<Job>, &Flag),
        how: (i64, Option<Waiting>),
    ) -> bool {
        // Others may have the job, which lies in the caller's frame.
        let abort = AbortOnUnwind("a panic came out of a join's wait");
        self.must_note_in(&half.rooms[..1]);
        let aside = self.put_aside().expect("a half is one of a strand");
        let is_back = self.recover_as(recover, how);
        let aside = if is_back {
            aside.stands(half.second())
        } else if let Some(length) = half.length_if_it_stays() {
            aside.stands(Footing { length, stay: half.stay, room: half.outer_room })
        } else {
            // SAFETY: as the caller promises; and the second one's end was seen.
            let path = unsafe { half.met() }.at(half.outer);
            // SAFETY: both halves have ended, and none that is further in refers to what is there.
            unsafe { aside.goes_on(&path, half.outer_room) }
        };
        // SAFETY: put aside here. Either the job has come back, so both rooms are this worker's; or the strand is in the frame again in which it has forked.
        unsafe { self.take_up(aside) };
        abort.disarm();
        is_back
    }

    /// The second half of a join has ended, which this worker has taken. To be said before its worker may learn of it; its frame may be
    /// gone then.
    #[inline]
    pub(crate) fn second_half_ends(&self) {
        if self.is_metered() {
            self.taken_half_ends();
        }
    }

    #[cold]
    fn taken_half_ends(&self) {
        let taken: *const Taken<'_> = self.running().half().cast();
        // SAFETY: null, or in a frame below, which does not end before the job has said that it has ended.
        let Some((taken, region)) = unsafe { taken.as_ref() }.zip(self.region()) else { return };
        let stays = self.running().stay() == taken.stay;
        let path = self.ends_strand(region).along(region.burden());
        // SAFETY: alive, as its job has not said that it has ended.
        let half = unsafe { &*taken.half };
        // SAFETY: the strand was that half; and it notes its stays elsewhere than where that of the fork is.
        unsafe { half.ends(&path, stays) };
    }
}
