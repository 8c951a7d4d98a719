//! A member of a computation: a future, and what is known of it.

use std::future::Future;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::account::{Doing, Paused};
use super::common::Common;
use super::waker;
use crate::latch::{CountLatch, Latch};
use crate::strand;
use crate::unwind::{self, Payload};

/// What is known of a member.
pub(super) struct Record {
    name: Arc<str>,
    common: Arc<Common>,
    doing: Doing,
    /// Wakes the task.
    task: OnceLock<Waker>,
    /// What it waits for of what belongs to the computation. Nobody waits for this lock.
    waits_for: Mutex<Vec<Arc<str>>>,
    /// What it panicked with. Belongs to who runs it, and to who waits for all when it has ended.
    panic: Mutex<Option<Payload>>,
}

impl Record {
    pub(super) fn new(name: Arc<str>, common: Arc<Common>) -> Arc<Self> {
        Arc::new(Self {
            name,
            common,
            doing: Doing::new(),
            task: OnceLock::new(),
            waits_for: Mutex::new(Vec::new()),
            panic: Mutex::new(None),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rests(&self) -> bool {
        self.doing.rests()
    }

    /// What it waits for, of those that are known.
    pub(super) fn waits_for(&self) -> Vec<String> {
        self.waits_for.try_lock().map_or_else(
            |_| Vec::new(),
            |names| names.iter().map(|name| String::from(&**name)).collect(),
        )
    }

    pub(super) fn take_panic(&self) -> Option<Payload> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep_panic(&self, payload: Payload) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            None => *kept = Some(payload),
            Some(_) => unwind::discard(payload), // the first is the one to be seen
        }
    }

    /// Whether it belongs to that computation.
    pub(super) fn is_of(&self, common: *const Common) -> bool {
        ptr::eq(Arc::as_ptr(&self.common), common)
    }

    pub(super) fn doing(&self) -> &Doing {
        &self.doing
    }

    /// Wakes it; by a member, or by whoever was given its waker.
    pub(super) fn wake(&self) {
        if self.doing.wake(self.common.able()) {
            self.have_polled();
        }
    }

    /// There is one waker less.
    ///
    /// Whoever drops it may be outside, where the computation may end meanwhile: so it looks at nothing but this record, of
    /// which it has a share. If nobody is left outside, the member finds that in its next poll.
    pub(super) fn waker_is_gone(&self) {
        if self.doing.waker_is_gone() {
            self.have_polled();
        }
    }

    fn have_polled(&self) {
        if let Some(task) = self.task.get() {
            task.wake_by_ref();
        }
    }

    /// It was polled, and waits.
    fn pause(&self) {
        if self.doing.pause(self.common.able()) == Paused::LastOfAll {
            self.common.nobody_can_go_on();
        }
    }
}

/// A note of what a member waits for, to name it.
pub(super) struct Note<'n> {
    name: &'n Arc<str>,
    of: Option<Arc<Record>>,
}

impl<'n> Note<'n> {
    pub(super) fn new(name: &'n Arc<str>) -> Self {
        Self { name, of: None }
    }

    pub(super) fn make(&mut self, record: Arc<Record>) {
        if let Ok(mut names) = record.waits_for.try_lock() {
            names.push(Arc::clone(self.name));
        }
        self.of = Some(record);
    }

    /// To be called before the wait is polled again.
    pub(super) fn take_back(&mut self) {
        if let Some(record) = self.of.take()
            && let Ok(mut names) = record.waits_for.try_lock()
            && let Some(at) = names.iter().position(|name| Arc::ptr_eq(name, self.name))
        {
            names.swap_remove(at);
        }
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        self.take_back();
    }
}

type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The future that is spawned for a member.
pub(super) struct Member {
    body: Option<Body>,
    record: Arc<Record>,
    /// In the frame that waits for all members.
    unfinished: Unfinished,
}

/// Of a frame that is not left before all who were counted there have ended.
#[derive(Clone, Copy)]
pub(super) struct Unfinished(NonNull<CountLatch<'static>>);

// SAFETY: a latch is shared by reference only, and made to be set by any thread.
unsafe impl Send for Unfinished {}
// SAFETY: as above.
unsafe impl Sync for Unfinished {}

impl Unfinished {
    /// Whoever counts on it is a member, or the body.
    pub(super) fn of(latch: &CountLatch<'_>) -> Self {
        Self(NonNull::from(latch).cast())
    }

    fn latch(&self) -> &CountLatch<'_> {
        // SAFETY: alive until all who are counted have ended; who asks has not.
        unsafe { self.0.cast().as_ref() }
    }
}

impl Member {
    /// A member that is counted from now on.
    ///
    /// # Safety
    /// The caller is a member that has not ended, or the body. What `body` borrows is there until the latch has been waited for.
    pub(super) unsafe fn new<'c>(
        body: impl Future<Output = ()> + Send + 'c,
        record: Arc<Record>,
        unfinished: Unfinished,
    ) -> Self {
        let body: Pin<Box<dyn Future<Output = ()> + Send + 'c>> = Box::pin(body);
        // SAFETY: only the lifetime differs; it is dropped before the latch is told that this member has ended.
        let body: Body = unsafe { std::mem::transmute(body) };
        unfinished.latch().begin();
        record.common.able().add_one();
        Self { body: Some(body), record, unfinished }
    }

    fn poll_body(&mut self) -> Poll<()> {
        let Some(body) = &mut self.body else { return Poll::Ready(()) };
        let waker = waker::lent(&self.record);
        match unwind::halt(|| body.as_mut().poll(&mut Context::from_waker(&waker))) {
            Ok(polled) => polled,
            Err(payload) => {
                self.record.keep_panic(payload);
                Poll::Ready(())
            }
        }
    }

    fn drop_body(&mut self) {
        let body = self.body.take();
        if let Err(payload) = unwind::halt(|| drop(body)) {
            self.record.keep_panic(payload);
        }
    }
}

impl Future for Member {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.record.task.get_or_init(|| context.waker().clone());
        this.record.doing.begin();
        if !this.record.common.is_stuck() && this.poll_body().is_pending() {
            this.record.pause();
            return Poll::Pending;
        }
        this.drop_body();
        Poll::Ready(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.body.is_some() {
            // The pool is being closed.
            self.record.common.was_cancelled();
            self.drop_body();
        }
        if self.record.doing.end(self.record.common.able()) {
            self.record.common.nobody_can_go_on();
        }
        // Before anybody may learn of the end: that its task has ended is told after this is dropped.
        strand::settle_here();
        let latch = NonNull::from(self.unfinished.latch());
        // SAFETY: alive until all have ended, of which this is one.
        unsafe { CountLatch::set(latch) };
    }
}
