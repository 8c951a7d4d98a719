//! Strands: what a worker runs between two forks, joins or waits, as the meter sees it.
//!
//! While a worker runs a strand, its pushes are diverted: each comes to where the rare cases are told apart, and there it
//! is seen that the job has to carry the path with it. A worker that runs no strand knows nothing of this. See the README of
//! `meter/`.

mod carried;
mod followed;
mod gathering;
mod half;
mod point;
mod rendezvous;
mod signals;
#[cfg(all(test, not(loom)))]
mod tests;
mod told;

pub(crate) use carried::{carried_from, run_as_strand};
pub(crate) use followed::Followed;
pub(crate) use gathering::Gathering;
pub(crate) use half::{Half, HalfRoom, Halves, Taken};
pub(crate) use point::{Known, PointPath};
pub(crate) use rendezvous::{Rendezvous, carried_to};
pub(crate) use signals::SignalPaths;
pub(crate) use told::{poll_told, settle_here};

use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::{mem, slice};

use crate::meter::{Clock, Figures, Footing, Length, Meeting, Path, Region, Room, Site, Told};
use crate::unwind::{self, AbortOnUnwind, Payload};
use crate::worker::Worker;

/// A strand that was put aside: it waits, or its worker is about something else. Neither its path nor its work grow meanwhile. If it is not
/// taken up, but dropped by a panic, the process ends: the joins that it is in would find another strand, or none.
#[derive(Debug)]
#[must_use = "who puts a strand aside takes it up again"]
pub(crate) struct Aside<'w> {
    region: &'w Arc<Region>,
    half: *const Taken<'w>,
    footing: Footing,
    is_counted: bool,
    told: Told,
    untaken: Untaken,
}

/// Ends the process if dropped.
#[derive(Debug)]
struct Untaken;

impl Drop for Untaken {
    fn drop(&mut self) {
        drop(AbortOnUnwind("a panic has kept what is metered from going on"));
    }
}

impl Aside<'_> {
    /// It goes on there.
    fn stands(self, footing: Footing) -> Self {
        Self { footing, ..self }
    }

    /// It goes on along that path, in another frame, where that room is.
    ///
    /// # Safety
    /// As for [`Room::put`], and the room is there.
    unsafe fn goes_on(self, path: &Path, room: NonNull<Room>) -> Self {
        // SAFETY: as the caller promises.
        let its = unsafe { room.as_ref() };
        // SAFETY: as the caller promises.
        let stay = unsafe { its.put(path) };
        self.stands(Footing { length: Length::of(path), stay, room })
    }
}

impl Worker {
    /// The region of the strand that it runs, and where a task begins that this is about to spawn, which the region counts from now on.
    #[cold]
    pub(crate) fn path_of_what_is_spawned(&self) -> Option<(Arc<Region>, Path)> {
        let region = self.region().filter(|region| !region.is_over())?;
        region.hands_over(self.seat_index());
        Some((Arc::clone(region), self.settles(region).along(region.burden())))
    }

    /// Whether it runs a strand.
    #[inline]
    pub(crate) fn is_metered(&self) -> bool {
        !self.running().region().is_null()
    }

    /// The region of the strand that it runs.
    #[inline]
    pub(crate) fn region(&self) -> Option<&Arc<Region>> {
        // SAFETY: null, or borrowed by a frame below the caller's, who sets it to null before it ends; and what is put aside is not here. (Whoever keeps the
        // reference longer than the strand runs does so in a frame above that one.)
        unsafe { self.running().region().as_ref() }
    }

    /// The same, if that has the same beginning as this one.
    #[inline]
    pub(crate) fn region_one_with(&self, region: &Region) -> Option<&Arc<Region>> {
        self.region().filter(|its| its.is_one_with(region))
    }

    /// Whether that is a strand of this region, or of one whose paths have the same beginning.
    pub(crate) fn is_in(&self, region: &Region) -> bool {
        self.region().is_some_and(|its| its.is_one_with(region))
    }

    /// The path to this moment of the strand that it runs.
    pub(crate) fn path(&self) -> Option<Path> {
        self.is_metered().then(|| self.running().path(self.running().now()))
    }

    /// Runs `what` as a strand, at the end of a path; returns the path to its own end, too. Whatever this worker runs waits meanwhile.
    pub(crate) fn as_strand<R>(
        &self,
        region: &Arc<Region>,
        from: &Path,
        what: impl FnOnce() -> R,
    ) -> (Result<R, Payload>, Path) {
        self.as_strand_to(region, from, what, |path| *path)
    }

    /// The same, of which the caller is told what `of_end` makes of the path to its end.
    pub(crate) fn as_strand_to<R, E>(
        &self,
        region: &Arc<Region>,
        from: &Path,
        what: impl FnOnce() -> R,
        of_end: impl FnOnce(&Path) -> E,
    ) -> (Result<R, Payload>, E) {
        let room = Room::new();
        // SAFETY: it is new.
        let stay = unsafe { room.put(from) };
        let footing = Footing { length: Length::of(from), stay, room: NonNull::from(&room) };
        self.while_aside(|| {
            // SAFETY: what it stands on lies in this frame, where the strand ends; and what runs meanwhile, on top or on other stacks, takes this one up
            // where it has put it aside.
            unsafe { self.begins_strand(region, ptr::null(), footing) };
            let result = unwind::halt(what);
            self.must_note_in(slice::from_ref(&room));
            (result, of_end(&self.ends_strand(region)))
        })
    }

    /// # Safety
    /// As for [`Running::begin`](crate::meter::Running::begin).
    unsafe fn begins_strand(&self, region: &Arc<Region>, half: *const Taken<'_>, footing: Footing) {
        // SAFETY: as the caller promises.
        unsafe { self.running().begin(region, half.cast(), footing) };
        self.divert();
    }

    /// Where debug assertions are on, ends the process if the strand that it runs does not note its stays in one of these rooms: then a frame that has
    /// ended has left its own behind. (A panic would go through frames that others have pointers into.)
    #[inline(always)]
    fn must_note_in(&self, rooms: &[Room]) {
        if cfg!(debug_assertions) && !self.running().notes_in(rooms) {
            drop(AbortOnUnwind("a frame that has ended has left its room to a strand"));
        }
    }

    /// A strand ends, or waits: however long the rest takes, the longest path is no shorter than what it has come to.
    fn ends_strand(&self, region: &Arc<Region>) -> Path {
        self.divert_no_more();
        let path = self.running().end(region, self.seat_index());
        region.ends(self.seat_index(), &path);
        path
    }

    /// Puts the strand aside that it runs, if it does.
    #[inline]
    pub(crate) fn put_aside(&self) -> Option<Aside<'_>> {
        self.region().map(|region| self.put_aside_of(region))
    }

    #[cold]
    fn put_aside_of<'w>(&self, region: &'w Arc<Region>) -> Aside<'w> {
        // What that makes ready comes after the strand.
        self.payer().pay();
        let (half, is_counted) = (self.running().half().cast(), self.running().is_counted().get());
        let told = self.running().told().get();
        // What it stands on stays where it is; its path is measured when what it has done is told.
        let Footing { stay, room, .. } = self.running().footing(0);
        let length = Length::of(&self.ends_strand(region));
        let footing = Footing { length, stay, room };
        Aside { region, half, footing, is_counted, told, untaken: Untaken }
    }

    /// Goes on with it.
    ///
    /// # Safety
    /// This worker has put it aside in the caller's frame, or in one that this has called, and not left the stack since for good; what the strand stands on
    /// now is as [`Running::stands`](crate::meter::Running::stands) wants it.
    #[cold]
    pub(crate) unsafe fn take_up(&self, aside: Aside<'_>) {
        let Aside { region, half, footing, is_counted, told, untaken } = aside;
        mem::forget(untaken);
        // SAFETY: the region is borrowed by a frame below, as before, and so is the rest as the caller promises.
        unsafe { self.begins_strand(region, half, footing) };
        self.running().is_counted().set(is_counted);
        self.running().told().set(told);
    }

    /// Runs `what`, which may run anything, while the strand waits. Its path does not grow meanwhile. If there is a strand, and `what` panics, the process
    /// ends.
    #[inline]
    pub(crate) fn while_aside<R>(&self, what: impl FnOnce() -> R) -> R {
        let aside = self.put_aside();
        let result = what();
        if let Some(aside) = aside {
            // SAFETY: put aside here, and it goes on where it was: what it stood on lies in frames below, none of which has ended.
            unsafe { self.take_up(aside) };
        }
        result
    }

    /// What it spawns next, it spawns there.
    #[inline]
    pub(crate) fn spawns_at(&self, site: Site) {
        if self.is_metered() {
            self.running().spawns_at(site);
        }
    }

    /// Runs `what` as a part of the strand that belongs to that place, `unless` it is to stay where it is. If it panics, what the strand
    /// does from there to the end of the join, or task, that it is in counts as that part, too.
    #[inline]
    pub(crate) fn in_name_of<R>(
        &self,
        site: Site,
        unless: impl FnOnce() -> bool,
        what: impl FnOnce() -> R,
    ) -> R {
        let before = self.is_metered().then(|| self.enters(site, unless()));
        let result = what();
        if let Some(before) = before {
            self.leaves_to(before);
        }
        result
    }

    #[cold]
    fn enters(&self, site: Site, stays: bool) -> Option<Site> {
        let running = self.running();
        running.turns_to(if stays { running.site() } else { Some(site) }, running.now())
    }

    #[cold]
    fn leaves_to(&self, before: Option<Site>) {
        if self.is_metered() {
            self.running().turns_to(before, self.running().now());
        }
    }

    /// What the strand that this worker runs has done is in the account of its region from now on, and so is the path that it has come to,
    /// which is returned.
    pub(crate) fn settles(&self, region: &Arc<Region>) -> Path {
        let now = self.running().now();
        self.running().settle(region, self.seat_index(), now);
        let path = self.running().path(now);
        region.ends(self.seat_index(), &path);
        path
    }

    /// The same, if it is one of that region, or of one whose paths have the same beginning: its region, too.
    pub(crate) fn settles_in(&self, region: &Region) -> Option<(&Arc<Region>, Path)> {
        let its = self.region_one_with(region)?;
        Some((its, self.settles(its)))
    }

    /// A task has come to its end, if it is the strand that this worker runs. To be said before anybody may learn of it. Returns the path.
    pub(crate) fn task_ends(&self, region: &Arc<Region>) -> Path {
        let path = self.settles(region);
        self.is_over(region);
        path
    }

    /// The region counts it no more.
    fn is_over(&self, region: &Region) {
        if self.running().is_counted().replace(false) {
            region.has_ended(self.seat_index());
        }
    }

    /// Does `what` says whether the task that is being run goes on here. If not, it may have gone on elsewhere, counted anew, and have ended there: so it
    /// is not counted here meanwhile.
    #[inline]
    pub(crate) fn counted_if_it_stays(&self, what: impl FnOnce() -> bool) -> bool {
        let counted = self.region().filter(|_| self.running().is_counted().get());
        counted.into_iter().for_each(|region| _ = self.task_ends(region));
        let stays = what();
        if let Some(region) = counted.filter(|_| stays) {
            region.hands_over(self.seat_index());
            self.running().is_counted().set(true);
        }
        stays
    }

    /// The same, if it is one of that region, or of one whose paths have the same beginning.
    pub(crate) fn task_ends_in(&self, region: &Region) -> Option<Path> {
        Some(self.task_ends(self.region_one_with(region)?))
    }

    /// A detached task has come to its end. To be said before anybody may learn of it.
    pub(crate) fn arrives(&self) {
        if let Some(region) = self.region() {
            self.task_ends(region);
        }
    }

    /// A task ends for which others wait at that meeting. To be said before they may learn of it.
    pub(crate) fn arrives_at(&self, meeting: &Meeting) {
        if let Some(region) = self.region() {
            meeting.arrive(&self.task_ends(region).along(region.burden()));
        }
    }

    /// The strand has waited for those that have arrived there.
    pub(crate) fn comes_after(&self, meeting: &Meeting) {
        if self.is_metered() {
            let now = self.running().now();
            if meeting.is_longer_than(self.running().length(now)) {
                let path = self.running().path(now);
                if let Some(longer) = meeting.longer_than(&path) {
                    self.running().go_on(&longer.at(path.site()), now);
                }
            }
        }
    }

    /// The strand that it runs comes after the end of that path, too.
    pub(crate) fn goes_on_after(&self, latest: &Path) {
        self.goes_on_after_at(latest, self.running().now());
    }

    /// The same at this moment. Its own path is not looked at, but its length, where that one is not longer.
    #[inline]
    pub(crate) fn goes_on_after_at(&self, latest: &Path, now: i64) {
        let running = self.running();
        let own = running.length(now);
        if latest.span > own.span {
            let site = running.site();
            running.go_on(latest, now);
            running.goes_to_length(own.meet(Length::of(latest)), now);
            running.turns_to(site, now);
        } else if latest.burdened > own.burdened {
            running.goes_to_length(own.meet(Length::of(latest)), now);
        }
    }

    /// The strand waits for something, or was waited for, in a way that carries no path.
    pub(crate) fn has_uncarried(&self) {
        if let Some(region) = self.region() {
            region.has_uncarried();
        }
    }

    /// Meters `task` as a region of its own, called for at that place, timed by `clock`; or, inside of another one that somebody will ask, by that one's
    /// clock and from its path on: then the other goes on where this task has come to.
    pub(crate) fn in_region<R>(
        &self,
        clock: Clock,
        site: Site,
        task: impl FnOnce(&Worker) -> R,
    ) -> (Result<R, Payload>, Figures) {
        let seats = self.shared().seats();
        let outer = self.region().filter(|outer| !outer.is_over());
        let region = Arc::new(match outer.zip(self.path()) {
            None => Region::new(clock, seats),
            Some((outer, from)) => Region::within(outer, from, seats),
        });
        region.runs_in(self.shared().address());
        let from = region.from().at(Some(site));
        let (result, path) = self.as_strand(&region, &from, || task(self));
        if outer.is_some() {
            // Not at the region's end: what it has spawned may go on longer, and was not waited for.
            self.running().go_on(&path.at(region.from().site()), self.running().now());
        }
        (result, region.last_figures(&path))
    }
}
