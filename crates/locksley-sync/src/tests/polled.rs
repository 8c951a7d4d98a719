//! Futures that are polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often it is woken.
#[derive(Debug, Default)]
pub(super) struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// A future, and the bell that its last poll left.
pub(super) struct Polled<'f, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'f>>,
    bell: Arc<Bell>,
}

impl<'f, T> Polled<'f, T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'f) -> Self {
        Self { future: Box::pin(future), bell: Arc::default() }
    }

    /// Polls with the bell that it had the last time.
    pub(super) fn poll(&mut self) -> Poll<T> {
        let waker = Waker::from(Arc::clone(&self.bell));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls with a new bell: only that one rings then.
    pub(super) fn poll_anew(&mut self) -> Poll<T> {
        self.bell = Arc::default();
        self.poll()
    }

    /// Polled once, and it has to wait.
    pub(super) fn waiting(future: impl Future<Output = T> + Send + 'f) -> Self {
        let mut waiting = Self::new(future);
        assert!(waiting.poll().is_pending(), "it has to wait");
        waiting
    }

    /// Whether the bell has rung since it was last replaced.
    pub(super) fn is_woken(&self) -> bool {
        self.bell.0.load(Ordering::Acquire) > 0
    }

    /// It was woken, and is ready.
    #[track_caller]
    pub(super) fn finish(&mut self) -> T {
        assert!(self.is_woken(), "nobody woke it");
        match self.poll() {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("woken for nothing"),
        }
    }
}
