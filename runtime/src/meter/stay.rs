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

/// All of a path's course that stays as it is while the path stays at one place, however long that is: with the path's length it is the course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    site: Option<Site>,
    /// How much of the path is not at that place.
    elsewhere: i64,
    before: Rest,
}

impl Stay {
    /// Where nothing is that is metered.
    pub(super) const NOWHERE: &'static Self =
        &Self { site: None, elsewhere: 0, before: [Part { site: None, ticks: 0 }; KEPT - 1] };

    /// That of a path where it ends.
    pub(crate) fn of(path: &Path) -> Self {
        let here = path.course.here();
        Self { site: here.site, elsewhere: path.span - here.ticks, before: *path.course.before() }
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

    /// That of the path that has become so long there, and goes on at that place.
    pub(crate) fn turned(&self, site: Option<Site>, length: Length) -> Self {
        let mut course = self.course(length);
        course.turn_to(site);
        let here = course.here();
        let elsewhere = length.span - here.ticks;
        Self { site: here.site, elsewhere, before: *course.before() }
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
    /// Nobody reads what was there before, or will, nor does anybody else write there.
    pub(crate) unsafe fn put(&self, stay: Stay) -> NonNull<Stay> {
        // SAFETY: the caller alone uses it now.
        let room = unsafe { &mut *self.0.get() };
        NonNull::from(room.write(stay))
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
