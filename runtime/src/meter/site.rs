//! Places in the program: where somebody has forked, spawned or called.

use std::fmt;
use std::panic::Location;
use std::ptr;

/// A place in the program that is metered.
///
/// It is known by its address. The compiler may have several for one place, so who shows them puts those together that say the same.
#[derive(Clone, Copy)]
pub(crate) struct Site(&'static Location<'static>);

impl Site {
    /// Where the function was called that calls this.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self(Location::caller())
    }

    /// Whether it lies in the same folder as that file.
    pub(crate) fn is_beside(self, file: &str) -> bool {
        let folder = |path: &str| path.rfind(['/', '\\']).map_or(0, |end| end + 1);
        let own = self.0.file();
        own[..folder(own)] == file[..folder(file)]
    }

    pub(crate) fn location(self) -> &'static Location<'static> {
        self.0
    }
}

impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Site {}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }
}
