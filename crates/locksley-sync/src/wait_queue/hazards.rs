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

/// Hazard pointers of one operation: the right to read queue nodes until this is dropped.
///
/// If a waker panics, the panic is kept, and resumes when this is dropped, so that the waiters
/// behind are served first. A waker that uses queues itself gets a `Hazards` of its own.
pub(crate) struct Hazards<'d> {
    /// `None` only while this is dropped.
    record: Option<Record<'d>>,
    queue: PhantomData<&'d WaitQueue>,
    panic: Cell<Option<Payload>>,
}

impl<'d> Hazards<'d> {
    fn new(record: Record<'d>) -> Self {
        Self { record: Some(record), queue: PhantomData, panic: Cell::new(None) }
    }

    /// Calls a waker. Keeps the first of several panics.
    pub(super) fn call_waker(&self, wake: impl FnOnce()) {
        if let Err(payload) = unwind::catch(wake) {
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
        self.record.as_ref().expect("taken only by the destructor")
    }
}

impl Drop for Hazards<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            put_back(record);
        }
        if let Some(payload) = self.panic.take() {
            unwind::resume_unless_panicking(payload);
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
fn put_back(record: Holder<'_, Waiter>) {
    drop(record);
}

#[cfg(not(loom))]
use shared::put_back;

#[cfg(not(loom))]
mod shared {
    use std::cell::Cell;

    use super::{Hazards, Holder, WaitQueue, Waiter};
    use locksley_sys::primitive::hazard::Domain;
    use locksley_sys::primitive::thread_local;

    static DOMAIN: Domain<Waiter> = Domain::new();

    thread_local! {
        /// This thread's record, while it is not in use.
        static RECORD: Cell<Option<Holder<'static, Waiter>>> = const { Cell::new(None) };
    }

    impl WaitQueue {
        pub(crate) fn hazards(&self) -> Hazards<'static> {
            // During thread exit there is no thread-local record. Then the domain has one.
            let record = RECORD.try_with(Cell::take).ok().flatten();
            Hazards::new(record.unwrap_or_else(|| DOMAIN.hold()))
        }
    }

    pub(super) fn put_back(record: Holder<'static, Waiter>) {
        record.clear();
        // If a nested operation has put its record here, that one goes back to the domain.
        let _ = RECORD.try_with(|kept| drop(kept.replace(Some(record))));
    }
}
