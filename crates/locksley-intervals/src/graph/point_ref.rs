//! References to points.

use std::fmt;
use std::ptr::NonNull;

use crate::graph::interval::Header;
use crate::graph::point::PointState;

/// One of the two points of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The point before the body.
    Start,
    /// The point after the body and after the ends of all children.
    End,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::End => "end",
        })
    }
}

/// A reference to a point: the address of its interval, plus 1 for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PointRef(pub(crate) NonNull<()>);

// SAFETY: it is an address. Each dereference states why the interval is alive. Other threads access
// only atomics there.
unsafe impl Send for PointRef {}
// SAFETY: as above.
unsafe impl Sync for PointRef {}

const END: usize = Side::End as usize;
const _: () = assert!(align_of::<Header>() >= 4, "one bit for the side, one for `Edge`");

impl PointRef {
    #[inline]
    pub(crate) fn new(interval: NonNull<Header>, side: Side) -> Self {
        Self(interval.cast().map_addr(|address| address | side as usize))
    }

    #[inline]
    pub(crate) fn start(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::Start)
    }

    #[inline]
    pub(crate) fn end(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::End)
    }

    #[inline]
    pub(crate) fn side(self) -> Side {
        if self.0.addr().get() & END == 0 { Side::Start } else { Side::End }
    }

    #[inline]
    pub(crate) fn interval(self) -> NonNull<Header> {
        // SAFETY: `new` has added the offset.
        unsafe { self.0.byte_sub(self.side() as usize) }.cast()
    }

    /// # Safety
    /// The interval is alive while the result is used.
    #[inline]
    pub(crate) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: alive, as the caller promises; all references to it are shared.
        unsafe { self.interval().as_ref() }
    }

    /// # Safety
    /// The interval is alive while the result is used.
    #[inline]
    pub(crate) unsafe fn state<'a>(self) -> &'a PointState {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        header.point(self.side())
    }

    /// Returns a text like "the end of `root`".
    ///
    /// # Safety
    /// The interval is alive.
    pub(crate) unsafe fn describe(self) -> String {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        format!("the {} of `{}`", self.side(), header.name())
    }
}
