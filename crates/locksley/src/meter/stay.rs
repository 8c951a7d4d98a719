//! A path's stay at one place, which is what a fork notes of its course.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::course::{Course, KEPT, Part, Rest};
use super::path::Path;
use super::site::Site;

/// How long a path is, without its course.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Length {
    pub(crate) span: i64,
    pub(crate) burdened: i64,
}

impl Length {
    #[inline]
    pub(crate) fn of(path: &Path) -> Self {
        Self { span: path.span, burdened: path.burdened }
    }

    /// That of the longer of two.
    pub(crate) fn meet(self, other: Self) -> Self {
        Self { span: self.span.max(other.span), burdened: self.burdened.max(other.burdened) }
    }
}

/// All of a path's course that stays as it is while the path is at either of two places, and turns from one to the other as often as it may.
#[derive(Clone, Copy, Debug)]
struct Table {
    /// All places but the one where the path is. What is said of the [other](Stay::other) one is not so any more.
    parts: Rest,
    /// Which of these the other one is.
    other: usize,
    /// What all but these two have.
    rest: i64,
}

/// All of a path's course that stays as it is while the path stays at one place, however long that is: with the path's length it is the course.
///
/// Four words: that place, the other one, where the path was before, and the table of all others. Who turns to the other one exchanges the two, and
/// leaves the table where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    site: Option<Site>,
    /// How much of the path is not at that place.
    elsewhere: i64,
    /// The other place, which has what the table's others do not have of that.
    other: Option<Site>,
    table: *const Table,
}

impl Stay {
    /// That of no path: of a worker without a strand.
    pub(super) const NOWHERE: &'static Self = &Self {
        site: None,
        elsewhere: 0,
        other: None,
        table: &Table { parts: [Part { site: None, ticks: 0 }; KEPT - 1], other: 0, rest: 0 },
    };

    #[inline]
    pub(crate) fn site(&self) -> Option<Site> {
        self.site
    }

    /// That of the path when it has become so long there and goes on at that place, by the same table, if that is one of its two.
    ///
    /// # Safety
    /// It is noted.
    #[inline(always)]
    unsafe fn turned(&self, span: i64, site: Option<Site>) -> Option<Self> {
        let Self { site: its, elsewhere, other, table } = *self;
        if Site::are_one(its, site) {
            return Some(Self { site, elsewhere, other, table });
        }
        if !Site::are_one(other, site) {
            return None;
        }
        // SAFETY: where this is noted, or further out; or that of nowhere.
        let rest = unsafe { (*table).rest };
        Some(Self { site, elsewhere: span - elsewhere + rest, other: its, table })
    }

    /// Whether its table is that of the other, and lies where that is noted, or further out.
    #[inline]
    pub(crate) fn shares_table(&self, other: &Self) -> bool {
        self.table == other.table
    }

    /// The path that has become so long there.
    ///
    /// # Safety
    /// It is noted, and nobody writes there, or further out, meanwhile.
    pub(crate) unsafe fn path(&self, length: Length) -> Path {
        // SAFETY: as the caller promises.
        let course = unsafe { self.course(length) };
        Path { span: length.span, burdened: length.burdened, course }
    }

    /// # Safety
    /// As for [`path`](Self::path).
    unsafe fn course(&self, length: Length) -> Course {
        // SAFETY: where this is noted, or further out; or that of nowhere.
        let table = unsafe { &*self.table };
        let mut before = table.parts;
        before[table.other] = Part { site: self.other, ticks: self.elsewhere - table.rest };
        Course::of(Part { site: self.site, ticks: length.span - self.elsewhere }, before)
    }
}

/// Room for a stay in the frame of a join's half, or of what else a strand runs in.
///
/// A strand that turns to another place, or goes on after a join along a path that has been elsewhere, notes its new stay in the room of the innermost
/// such frame. So nothing that runs has noted where that room is but what has been called there and has returned, and what is noted may be
/// written over; and it stays what it is for all that are called there, until they return, and for all halves that are forked by those. Thus a fork notes
/// where its stay lies, and not the stay; and whoever steals its second half copies that, before anything else, to a room of its own.
///
/// A stay's table lies in the room where the stay is noted, or in one further out, which is not written over either as long as the stay is known. Who notes it
/// further out, when its frame ends, copies the table with it, unless that lies there already, or further out.
///
/// Whoever makes a room the innermost one sees to it that it is so no longer when its frame ends: also if that is by a panic.
#[derive(Debug)]
pub(crate) struct Room(UnsafeCell<MaybeUninit<Note>>);

#[derive(Debug)]
#[repr(C)]
struct Note {
    stay: Stay,
    /// Its own, or that of stays that are noted further in; or nothing yet.
    table: MaybeUninit<Table>,
}

impl Room {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    fn note(&self) -> *mut Note {
        self.0.get().cast()
    }

    /// Where the stay is from now on that has the path where it ends.
    ///
    /// # Safety
    /// Nobody else reads what was there before, or will, nor writes there.
    pub(crate) unsafe fn put(&self, path: &Path) -> NonNull<Stay> {
        // SAFETY: as the caller promises.
        unsafe { self.put_course(&path.course, path.span, 0) }
    }

    /// The same, of a path with that course, which is so long. It is likely to turn to the place of that number next, of those where it was before.
    ///
    /// # Safety
    /// The same.
    unsafe fn put_course(&self, course: &Course, span: i64, other: usize) -> NonNull<Stay> {
        let (here, parts) = (course.here(), *course.before());
        let elsewhere = span - here.ticks;
        let table = Table { parts, other, rest: elsewhere - parts[other].ticks };
        let note = self.note();
        // SAFETY: of this room.
        let at = unsafe { &raw mut (*note).table };
        // SAFETY: the caller alone uses it now.
        unsafe { at.write(MaybeUninit::new(table)) };
        let stay = Stay { site: here.site, elsewhere, other: parts[other].site, table: at.cast() };
        // SAFETY: as above.
        unsafe { self.put_stay(stay) }
    }

    /// # Safety
    /// As for [`put`](Self::put); and its table lies here, or further out.
    #[inline(always)]
    unsafe fn put_stay(&self, Stay { site, elsewhere, other, table }: Stay) -> NonNull<Stay> {
        // SAFETY: of this room.
        let at = unsafe { &raw mut (*self.note()).stay };
        // SAFETY: the caller alone uses it now.
        unsafe { at.write(Stay { site, elsewhere, other, table }) };
        // SAFETY: it is not null.
        unsafe { NonNull::new_unchecked(at) }
    }

    /// The same, of another stay of which only what is noted here may be known afterwards.
    ///
    /// # Safety
    /// As for [`put`](Self::put), and that one is noted elsewhere, where nobody writes meanwhile, or further out.
    pub(crate) unsafe fn put_copy(&self, from: NonNull<Stay>) -> NonNull<Stay> {
        // SAFETY: noted, as the caller promises.
        let from = unsafe { from.as_ref() };
        let length = Length { span: from.elsewhere, burdened: 0 };
        // SAFETY: as above.
        let course = unsafe { from.course(length) };
        // SAFETY: as above.
        let other = unsafe { &*from.table }.other;
        // SAFETY: as the caller promises.
        unsafe { self.put_course(&course, length.span, other) }
    }

    /// The same, of the path that has become so long at the stay that is noted there, and goes on at that place, by the same table; `None`, and nothing is
    /// done, if that is none of its two.
    ///
    /// # Safety
    /// As for [`put`](Self::put); and that stay is noted elsewhere, or in this very room, where it is written over. Its table is here, or further out.
    #[inline(always)]
    pub(crate) unsafe fn put_turned_by_table(
        &self,
        from: NonNull<Stay>,
        length: Length,
        site: Option<Site>,
    ) -> Option<NonNull<Stay>> {
        // SAFETY: noted, as the caller promises.
        let from = *unsafe { from.as_ref() };
        // SAFETY: as above.
        let stay = unsafe { from.turned(length.span, site) }?;
        // SAFETY: as the caller promises.
        Some(unsafe { self.put_stay(stay) })
    }

    /// The same, whatever place that is, with a table of its own.
    ///
    /// # Safety
    /// As for [`put`](Self::put); and that stay is noted elsewhere, or in this very room, where it is written over, with its table or without.
    pub(crate) unsafe fn put_turned(
        &self,
        from: NonNull<Stay>,
        length: Length,
        site: Option<Site>,
    ) -> NonNull<Stay> {
        // SAFETY: noted, as the caller promises.
        let from = *unsafe { from.as_ref() };
        // SAFETY: of this room.
        let at = unsafe { &raw mut (*self.note()).table }.cast::<Table>();
        if from.table != at {
            // SAFETY: noted where that stay is, or further out; and the caller alone uses what is here.
            unsafe { at.copy_from_nonoverlapping(from.table, 1) };
        }
        let own = Stay { table: at, ..from };
        // SAFETY: as above.
        if let Some(stay) = unsafe { own.turned(length.span, site) } {
            // SAFETY: as the caller promises.
            return unsafe { self.put_stay(stay) };
        }
        // SAFETY: as above.
        let table = unsafe { &mut *at };
        table.parts[table.other] = Part { site: own.other, ticks: own.elsewhere - table.rest };
        let Some(found) = table.parts.iter().position(|part| Site::are_one(part.site, site)) else {
            // SAFETY: as the caller promises.
            return unsafe { self.put_new(own, length, site) };
        };
        let elsewhere = length.span - table.parts[found].ticks;
        table.other = found;
        table.rest = elsewhere - (length.span - own.elsewhere);
        // SAFETY: as the caller promises.
        unsafe { self.put_stay(Stay { site, elsewhere, other: own.site, table: at }) }
    }

    /// The same, at a place where it has not been, as far as its table knows.
    ///
    /// # Safety
    /// The same.
    #[cold]
    #[inline(never)]
    unsafe fn put_new(&self, from: Stay, length: Length, site: Option<Site>) -> NonNull<Stay> {
        // SAFETY: as the caller promises.
        let mut course = unsafe { from.course(length) };
        let other = course.turn_elsewhere(site).unwrap_or(0);
        // SAFETY: as the caller promises.
        unsafe { self.put_course(&course, length.span, other) }
    }

    /// What was put there.
    ///
    /// # Safety
    /// Something was, and nobody puts anything there meanwhile.
    pub(crate) unsafe fn noted(&self) -> &Stay {
        // SAFETY: of this room, as the caller promises.
        unsafe { &(*self.note()).stay }
    }
}

/// Where a strand is: how long its path is, its stay, and where the next one is to be noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footing {
    pub(crate) length: Length,
    pub(crate) stay: NonNull<Stay>,
    pub(crate) room: NonNull<Room>,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Each on a line of its own.
    #[rustfmt::skip]
    fn sites() -> [Option<Site>; 11] {
        [
            None,
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
            Some(Site::here()),
        ]
    }

    /// Wherever it and its table are noted, turned and copied, and whatever becomes of the rooms where they were before, what it says is what a course says
    /// that turns by itself.
    #[test]
    fn a_stay_turns_as_its_course_does() {
        let mut random = 7_u64;
        let mut below = |n: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % n as u64) as usize
        };
        let sites = sites();
        for places in 2..=sites.len() {
            let (rooms, mut length) = ([(); 3].map(|()| Room::new()), Length::default());
            let mut path = Path::default();
            // SAFETY: it is new.
            let mut stay = unsafe { rooms[0].put(&path) };
            let (mut at, mut before) = (0, 0);
            for step in 0..4000 {
                let ticks = below(50) as i64 - 1;
                length.span += ticks;
                // SAFETY: noted, and nobody writes there.
                let its = unsafe { stay.as_ref() };
                // SAFETY: as above.
                path = unsafe { its.path(length) };
                // There and back, for some of the time.
                let next = if step % 3 == 0 { before } else { below(places) };
                let mut site = sites[next];
                let mut course = path.course;
                let room = below(rooms.len());
                // Whether only what is there is known afterwards.
                let ends = below(4) == 0;
                if ends && room != at && below(2) == 0 {
                    site = path.site();
                    // SAFETY: noted elsewhere; and what was noted in that room before, nobody reads any more.
                    stay = unsafe { rooms[room].put_copy(stay) };
                } else {
                    before =
                        sites.iter().position(|&its| its == path.site()).expect("one of these");
                    course.turn_to(site);
                    let by_table = || {
                        // SAFETY: noted; and what was noted in that room before, if it is another one, nobody reads any more but for the table.
                        unsafe { rooms[room].put_turned_by_table(stay, length, site) }
                    };
                    let turned = if ends { None } else { by_table() };
                    // SAFETY: as above; and if that one's table is to end, this has its own.
                    let anew = || unsafe { rooms[room].put_turned(stay, length, site) };
                    stay = turned.unwrap_or_else(anew);
                }
                at = room;
                for other in (0..rooms.len()).filter(|&other| ends && other != room) {
                    // SAFETY: nobody knows what is there any more.
                    unsafe { rooms[other].put(&Path::default().along(7)) };
                }
                // SAFETY: noted, and nobody writes there.
                let its = unsafe { stay.as_ref() };
                assert_eq!(its.site(), site, "step {step}");
                // SAFETY: as above.
                assert_eq!(unsafe { its.course(length) }, course, "step {step}");
            }
        }
    }
}
