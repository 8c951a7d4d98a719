//! Hazard pointers to places in line, shared by all lines of the program.
//!
//! A mutex should be small, so it has none of its own; and a thread that has used a record keeps it for the next time, so
//! that threads do not meet where they look for one. Loom, which knows no statics, gives each line its own.

use super::Line;
use super::waiter::Waiter;
use crate::primitive::hazard::Holder;

#[cfg(loom)]
pub(super) type Domain = crate::primitive::hazard::Domain<Waiter>;

#[cfg(loom)]
impl Line {
    /// The right to read places.
    pub(in crate::sync) fn hold(&self) -> Holder<'_, Waiter> {
        self.hazards.hold()
    }
}

#[cfg(not(loom))]
mod shared {
    use std::cell::Cell;
    use std::ops::{Deref, DerefMut};

    use super::{Holder, Line, Waiter};
    use crate::primitive::hazard::Domain;

    static DOMAIN: Domain<Waiter> = Domain::new();

    thread_local! {
        /// This thread's record, while it does not use it.
        static MINE: Cell<Option<Holder<'static, Waiter>>> = const { Cell::new(None) };
    }

    /// The right to read places, until it is dropped.
    pub(in crate::sync) struct Hold(Option<Holder<'static, Waiter>>);

    impl Line {
        /// The right to read places. A waker that is called meanwhile may ask for another.
        pub(in crate::sync) fn hold(&self) -> Hold {
            // A thread that is being torn down has no place to keep it, and asks each time.
            let mine = MINE.try_with(Cell::take).ok().flatten();
            Hold(Some(mine.unwrap_or_else(|| DOMAIN.hold())))
        }
    }

    impl Deref for Hold {
        type Target = Holder<'static, Waiter>;

        fn deref(&self) -> &Self::Target {
            self.0.as_ref().expect("it is there until it is dropped")
        }
    }

    impl DerefMut for Hold {
        fn deref_mut(&mut self) -> &mut Self::Target {
            self.0.as_mut().expect("it is there until it is dropped")
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {
            if let Some(holder) = self.0.take() {
                holder.clear();
                // Where there is one already, or no place for it, it is given back to all.
                let _ = MINE.try_with(|mine| drop(mine.replace(Some(holder))));
            }
        }
    }
}
