//! Places in the program: where somebody has forked, spawned or called.

use std::fmt;
use std::panic::Location;
use std::ptr::{self, NonNull};

/// A place in the program that is metered: a line, or a function. One word.
///
/// It is known by its address. The compiler may have several for one place, so who shows them puts those together that say the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site(NonNull<()>);

// SAFETY: a reference to something that is never changed, for ever.
unsafe impl Send for Site {}
// SAFETY: as above.
unsafe impl Sync for Site {}

/// The name of a type, which is in the program only if somebody asks.
type Name = fn() -> &'static str;

/// The word's lowest bit, if it leads to a name. What it leads to is aligned.
const NAMED: usize = 1;
const _: () = assert!(align_of::<Location<'_>>() > NAMED && align_of::<Name>() > NAMED);

/// A place, as it is shown.
///
/// # Examples
/// ```
/// use locksley::meter::Origin;
///
/// let pool = locksley::Pool::new(1)?;
/// let ((), report) = pool.metered(|_| (0..1000).for_each(|n| drop(std::hint::black_box(n))));
/// assert!(matches!(report.course[0].origin, Origin::Line(at) if at.line() == line!() - 1));
/// assert!(report.course[0].origin.to_string().starts_with("at "));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A line of the source.
    Line(&'static Location<'static>),
    /// Somewhere in the function with that path, as [`std::any::type_name`] has it.
    Function(&'static str),
}

impl Site {
    /// Where the function was called that calls this.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self(NonNull::from(Location::caller()).cast())
    }

    /// The function that a closure of that type is in.
    pub(crate) fn of<F>() -> Self {
        let name: &'static Name = const { &(std::any::type_name::<F> as Name) };
        Self(NonNull::from(name).cast().map_addr(|address| address | NAMED))
    }

    /// Whether two places are the same, or neither is known: a comparison of two words, which the derived one is not.
    #[inline(always)]
    pub(crate) fn are_one(one: Option<Self>, other: Option<Self>) -> bool {
        let word = |site: Option<Self>| site.map_or(ptr::null_mut(), |site| site.0.as_ptr());
        word(one) == word(other)
    }

    pub(crate) fn origin(self) -> Origin {
        let address = self.0.addr().get();
        if address & NAMED == 0 {
            // SAFETY: made of a reference to one, by `here`.
            return Origin::Line(unsafe { self.0.cast().as_ref() });
        }
        let name = self.0.as_ptr().map_addr(|address| address & !NAMED).cast_const();
        // SAFETY: made of a reference to one, by `of`.
        let name = unsafe { *name.cast::<Name>() }();
        Origin::Function(name.trim_end_matches("::{{closure}}"))
    }

    /// Whether it is a line of a file in the same folder as that file.
    pub(crate) fn is_beside(self, file: &str) -> bool {
        let folder = |path: &str| path.rfind(['/', '\\']).map_or(0, |end| end + 1);
        match self.origin() {
            Origin::Line(at) => at.file()[..folder(at.file())] == file[..folder(file)],
            Origin::Function(_) => false,
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(at) => write!(f, "at {}:{}", at.file(), at.line()),
            Self::Function(name) => write!(f, "in {name}"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of<F>(_: &F) -> Site {
        Site::of::<F>()
    }

    #[test]
    fn places_are_lines_or_functions() {
        let line = Site::here().origin();
        assert_eq!(line.to_string(), format!("at {}:{}", file!(), line!() - 1));
        let closure = || || ();
        for site in [of(&closure), of(&closure())] {
            let said = site.origin().to_string();
            assert!(said.ends_with("site::tests::places_are_lines_or_functions"), "{said}");
        }
        assert!(Site::here().is_beside(file!()) && !Site::here().is_beside("src/main.rs"));
    }
}
