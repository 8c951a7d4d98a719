//! Futures that tests poll.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts how often it is called.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// A future, and the waker of its last poll.
pub(super) struct Polled<'f, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'f>>,
    counter: Arc<Counter>,
}

impl<'f, T> Polled<'f, T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'f) -> Self {
        Self { future: Box::pin(future), counter: Arc::default() }
    }

    /// Polls with the same waker as the last time.
    pub(super) fn poll(&mut self) -> Poll<T> {
        let waker = Waker::from(Arc::clone(&self.counter));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls with a new waker.
    pub(super) fn poll_anew(&mut self) -> Poll<T> {
        self.counter = Arc::default();
        self.poll()
    }

    /// Polls once, and asserts that it waits.
    pub(super) fn waiting(future: impl Future<Output = T> + Send + 'f) -> Self {
        let mut waiting = Self::new(future);
        assert!(waiting.poll().is_pending(), "it waits");
        waiting
    }

    /// True if the current waker was called.
    pub(super) fn is_woken(&self) -> bool {
        self.counter.0.load(Ordering::Acquire) > 0
    }

    /// Asserts that it was woken and is ready, and returns the result.
    #[track_caller]
    pub(super) fn finish(&mut self) -> T {
        assert!(self.is_woken(), "not woken");
        match self.poll() {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("a spurious wake-up"),
        }
    }
}
