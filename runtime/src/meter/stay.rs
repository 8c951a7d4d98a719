//! A path's stay at one place, which is what a fork notes of its course.

use std::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};
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

/// All of a path's course that stays as it is while the path stays at one place, however long that is: with the path's length it is the course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    site: Option<Site>,
    /// How much of the path is not at that place.
    elsewhere: i64,
    before: Rest,
    /// Which of these it was at last, if that is known: who turns back needs not look for it.
    last: usize,
}

impl Stay {
    /// Where nothing is that is metered.
    pub(super) const NOWHERE: &'static Self = &Self {
        site: None,
        elsewhere: 0,
        before: [Part { site: None, ticks: 0 }; KEPT - 1],
        last: 0,
    };

    /// That of a path where it ends.
    pub(crate) fn of(path: &Path) -> Self {
        let here = path.course.here();
        let (elsewhere, before) = (path.span - here.ticks, *path.course.before());
        Self { site: here.site, elsewhere, before, last: 0 }
    }

    #[inline]
    pub(crate) fn site(&self) -> Option<Site> {
        self.site
    }

    /// The path that has become so long there.
    pub(crate) fn path(&self, length: Length) -> Path {
        Path { span: length.span, burdened: length.burdened, course: self.course(length) }
    }

    #[inline]
    fn course(&self, length: Length) -> Course {
        let here = Part { site: self.site, ticks: length.span - self.elsewhere };
        Course::of(here, self.before)
    }

    /// The path that has become so long there goes on at that place, if that is another one.
    #[inline]
    fn turns_to(&mut self, site: Option<Site>, length: Length) {
        if Site::are_one(self.site, site) {
            return;
        }
        let here = Part { site: self.site, ticks: length.span - self.elsewhere };
        // Each place is there once. (But one that is not known may be where nothing is.)
        let is_last = |last: &&mut Part| site.is_some() && Site::are_one(last.site, site);
        let its = |part: &&mut Part| Site::are_one(part.site, site);
        let part = match self.before.get_mut(self.last).filter(is_last) {
            Some(last) => last,
            None => match self.before.iter_mut().enumerate().find(|(_, part)| its(part)) {
                Some((found, part)) => {
                    self.last = found;
                    part
                }
                None => return self.turns_elsewhere(site, length),
            },
        };
        let next = mem::replace(part, here);
        (self.site, self.elsewhere) = (site, length.span - next.ticks);
    }

    #[cold]
    #[inline(never)]
    fn turns_elsewhere(&mut self, site: Option<Site>, length: Length) {
        let mut course = self.course(length);
        let last = course.turn_elsewhere(site).unwrap_or(0);
        let here = course.here();
        let elsewhere = length.span - here.ticks;
        *self = Self { site: here.site, elsewhere, before: *course.before(), last };
    }
}

/// Room for a stay in the frame of a join's half, or of what else a strand runs in.
///
/// A strand that turns to another place, or goes on after a join along a path that has been elsewhere, notes its new stay in the room of the innermost
/// such frame. So nothing that runs has noted where that room is but what has been called there and has returned, and what is noted may be
/// written over; and it stays what it is for all that are called there, until they return, and for all halves that are forked by those. Thus a fork notes
/// where its stay lies, and not the stay; and whoever steals its second half copies that, before anything else, to a room of its own.
///
/// Whoever makes a room the innermost one sees to it that it is so no longer when its frame ends: also if that is by a panic.
#[derive(Debug)]
pub(crate) struct Room(UnsafeCell<MaybeUninit<Stay>>);

impl Room {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Where the stay is from now on.
    ///
    /// # Safety
    /// Nobody else reads what was there before, or will, nor writes there.
    pub(crate) unsafe fn put(&self, stay: Stay) -> NonNull<Stay> {
        // SAFETY: the caller alone uses it now.
        let room = unsafe { &mut *self.0.get() };
        NonNull::from(room.write(stay))
    }

    /// The same, of the path that has become so long at the stay that is noted there, and goes on at that place.
    ///
    /// # Safety
    /// The same; and that stay is noted elsewhere, or in this very room, where it is written over.
    #[inline]
    pub(crate) unsafe fn put_turned(
        &self,
        from: NonNull<Stay>,
        length: Length,
        site: Option<Site>,
    ) -> NonNull<Stay> {
        let here = self.0.get().cast::<Stay>();
        if from.as_ptr() != here {
            // SAFETY: noted, as the caller promises.
            let Stay { site, elsewhere, before, last } = *unsafe { from.as_ref() };
            // Part by part: all at once, it is a call.
            // SAFETY: the caller alone uses it now.
            unsafe { here.write(Stay { site, elsewhere, before, last }) };
        }
        // SAFETY: the caller alone uses it now, and a stay is there: it was, or was copied.
        let stay = unsafe { &mut *here };
        stay.turns_to(site, length);
        NonNull::from(stay)
    }

    /// What was put there.
    ///
    /// # Safety
    /// Something was, and nobody puts anything there meanwhile.
    pub(crate) unsafe fn noted(&self) -> &Stay {
        // SAFETY: as the caller promises.
        let room = unsafe { &*self.0.get() };
        // SAFETY: as the caller promises.
        unsafe { room.assume_init_ref() }
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

    /// Whether it remembers where it was or not, and wherever it is noted, what it says is what a course says that turns by itself.
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
            let (rooms, mut length) = ([Room::new(), Room::new()], Length::default());
            let mut path = Path::default();
            // SAFETY: it is new.
            let mut stay = unsafe { rooms[0].put(Stay::of(&path)) };
            let mut before = 0;
            for step in 0..2000 {
                let ticks = below(50) as i64 - 1;
                length.span += ticks;
                // SAFETY: noted, and nobody writes there.
                path = unsafe { stay.as_ref() }.path(length);
                // There and back, for some of the time.
                let next = if step % 3 == 0 { before } else { below(places) };
                let site = sites[next];
                before = sites.iter().position(|&its| its == path.site()).expect("one of these");
                let mut course = path.course;
                course.turn_to(site);
                // SAFETY: noted; and what was noted in that room before, if it is another one, nobody reads any more.
                stay = unsafe { rooms[below(2)].put_turned(stay, length, site) };
                // SAFETY: as above.
                assert_eq!(unsafe { stay.as_ref() }.path(length).course, course, "step {step}");
            }
        }
    }
}
