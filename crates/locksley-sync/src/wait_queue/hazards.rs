//! Hazard pointers to queue nodes, in one domain for all queues; and panics of wakers.
//!
//! A thread keeps its hazard record between operations, so that it does not search for one. Loom
//! has no statics, so under loom each queue has a domain of its own.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

use super::WaitQueue;
use super::waiter::Waiter;
use locksley_sys::primitive::hazard::Holder;
use locksley_sys::unwind::{self, Payload};

/// The right to read queue nodes, until it is dropped.
///
/// A panic of a waker is kept, and resumes when this is dropped, so that the waiters behind are
/// served first. A waker may use queues itself: then it has a `Hazards` of its own.
pub(crate) struct Hazards<'d> {
    /// `None` only while this is dropped.
    holder: Option<Record<'d>>,
    queue: PhantomData<&'d WaitQueue>,
    panic: Cell<Option<Payload>>,
}

impl<'d> Hazards<'d> {
    fn new(holder: Record<'d>) -> Self {
        Self { holder: Some(holder), queue: PhantomData, panic: Cell::new(None) }
    }

    /// Calls a waker. The first of several panics is kept.
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

impl<'d> Deref for Hazards<'d> {
    type Target = Record<'d>;

    fn deref(&self) -> &Self::Target {
        self.holder.as_ref().expect("taken only by the destructor")
    }
}

impl Drop for Hazards<'_> {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.take() {
            put_back(holder);
        }
        match self.panic.take() {
            None => {}
            Some(payload) if std::thread::panicking() => unwind::discard(payload),
            Some(payload) => unwind::resume(payload),
        }
    }
}

#[cfg(loom)]
type Record<'d> = Holder<'d, Waiter>;
#[cfg(not(loom))]
type Record<'d> = Holder<'static, Waiter>;

#[cfg(loom)]
pub(super) type Domain = locksley_sys::primitive::hazard::Domain<Waiter>;

#[cfg(loom)]
impl WaitQueue {
    pub(crate) fn hazards(&self) -> Hazards<'_> {
        Hazards::new(self.domain.hold())
    }
}

#[cfg(loom)]
fn put_back(holder: Holder<'_, Waiter>) {
    drop(holder);
}

#[cfg(not(loom))]
use shared::put_back;

#[cfg(not(loom))]
mod shared {
    use std::cell::Cell;

    use super::{Hazards, Holder, WaitQueue, Waiter};
    use locksley_sys::primitive::hazard::Domain;

    static DOMAIN: Domain<Waiter> = Domain::new();

    thread_local! {
        /// This thread's record, while it is not in use.
        static RECORD: Cell<Option<Holder<'static, Waiter>>> = const { Cell::new(None) };
    }

    impl WaitQueue {
        pub(crate) fn hazards(&self) -> Hazards<'static> {
            // During thread exit there is no thread-local record: take one from the domain.
            let record = RECORD.try_with(Cell::take).ok().flatten();
            Hazards::new(record.unwrap_or_else(|| DOMAIN.hold()))
        }
    }

    pub(super) fn put_back(holder: Holder<'static, Waiter>) {
        holder.clear();
        // A surplus record goes back to the domain when it is dropped.
        let _ = RECORD.try_with(|record| drop(record.replace(Some(holder))));
    }
}
