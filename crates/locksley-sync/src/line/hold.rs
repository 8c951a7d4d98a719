//! Hazard pointers to places in line, shared by all lines of the program; and what wakers panicked
//! with meanwhile.
//!
//! A mutex should be small, so it has none of its own; and a thread that has used a record keeps it
//! for the next time, so that threads do not meet where they look for one. Loom, which knows no
//! statics, gives each line its own.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

use super::Waiters;
use super::waiter::Waiter;
use locksley_sys::primitive::hazard::Holder;
use locksley_sys::unwind::{self, Payload};

/// The right to read places, until it is dropped.
///
/// Wakers that are called meanwhile may ask for another; and if they panic, that goes on when this
/// is dropped, so that it keeps nobody from being served who waits behind.
pub(crate) struct Hold<'d> {
    /// Until it is dropped.
    holder: Option<Kept<'d>>,
    line: PhantomData<&'d Waiters>,
    panic: Cell<Option<Payload>>,
}

impl<'d> Hold<'d> {
    fn new(holder: Kept<'d>) -> Self {
        Self { holder: Some(holder), line: PhantomData, panic: Cell::new(None) }
    }

    /// Calls a waker. Of several panics the first one goes on.
    pub(super) fn call(&self, wake: impl FnOnce()) {
        if let Err(payload) = unwind::halt(wake) {
            match self.panic.take() {
                None => self.panic.set(Some(payload)),
                Some(first) => {
                    self.panic.set(Some(first));
                    unwind::discard(payload);
                }
            }
        }
    }
}

impl<'d> Deref for Hold<'d> {
    type Target = Kept<'d>;

    fn deref(&self) -> &Self::Target {
        self.holder.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.take() {
            put_away(holder);
        }
        match self.panic.take() {
            None => {}
            Some(payload) if std::thread::panicking() => unwind::discard(payload),
            Some(payload) => unwind::resume(payload),
        }
    }
}

#[cfg(loom)]
type Kept<'d> = Holder<'d, Waiter>;
#[cfg(not(loom))]
type Kept<'d> = Holder<'static, Waiter>;

#[cfg(loom)]
pub(super) type Domain = locksley_sys::primitive::hazard::Domain<Waiter>;

#[cfg(loom)]
impl Waiters {
    /// The right to read places.
    pub(crate) fn hold(&self) -> Hold<'_> {
        Hold::new(self.hazards.hold())
    }
}

#[cfg(loom)]
fn put_away(holder: Holder<'_, Waiter>) {
    drop(holder);
}

#[cfg(not(loom))]
use shared::put_away;

#[cfg(not(loom))]
mod shared {
    use std::cell::Cell;

    use super::{Hold, Holder, Waiter, Waiters};
    use locksley_sys::primitive::hazard::Domain;

    static DOMAIN: Domain<Waiter> = Domain::new();

    thread_local! {
        /// This thread's record, while it does not use it.
        static MINE: Cell<Option<Holder<'static, Waiter>>> = const { Cell::new(None) };
    }

    impl Waiters {
        /// The right to read places.
        pub(crate) fn hold(&self) -> Hold<'static> {
            // A thread that is being torn down has no place to keep it, and asks each time.
            let mine = MINE.try_with(Cell::take).ok().flatten();
            Hold::new(mine.unwrap_or_else(|| DOMAIN.hold()))
        }
    }

    pub(super) fn put_away(holder: Holder<'static, Waiter>) {
        holder.clear();
        // Where there is one already, or no place for it, it is given back to all.
        let _ = MINE.try_with(|mine| drop(mine.replace(Some(holder))));
    }
}
