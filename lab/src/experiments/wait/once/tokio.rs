//! tokio.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinError;

use super::runtime::{Countdown, Permits, Runtime, Tasks};

pub(super) struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    /// The scheduler for one thread, which is the calling one.
    pub(super) fn of_one() -> Result<Tokio, String> {
        Tokio::built(&mut Builder::new_current_thread())
    }

    /// The scheduler for several threads.
    pub(super) fn of_several(workers: usize) -> Result<Tokio, String> {
        Tokio::built(Builder::new_multi_thread().worker_threads(workers))
    }

    fn built(builder: &mut Builder) -> Result<Tokio, String> {
        builder.build().map(Tokio).map_err(|error| error.to_string())
    }
}

impl Runtime for Tokio {
    type Tasks = OnTokio;

    fn tasks(&self) -> OnTokio {
        OnTokio
    }

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        finished(self.0.block_on(self.0.spawn(main)))
    }
}

pub(super) struct OnTokio;

impl Tasks for OnTokio {
    type Countdown = Latch;
    type Permits = Semaphore;

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        let handle = tokio::spawn(future);
        async move { finished(handle.await) }
    }

    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(future));
    }
}

/// What a task has returned. Nobody cancels any, so one that has not has panicked.
fn finished<T>(end: Result<T, JoinError>) -> T {
    end.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

impl Permits for Semaphore {
    fn none() -> Semaphore {
        Semaphore::new(0)
    }

    async fn take(&self) {
        self.acquire().await.expect("nobody closes it").forget();
    }

    fn give(&self, number: usize) {
        self.add_permits(number);
    }
}

/// A counter whose last signal notifies.
pub(super) struct Latch {
    left: AtomicUsize,
    done: Notify,
}

impl Countdown for Latch {
    fn of(signals: usize) -> Latch {
        Latch { left: AtomicUsize::new(signals), done: Notify::new() }
    }

    fn signal(&self) {
        // Each signal is released to the last one, which passes all of them on.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }

    async fn all(&self) {
        // A notification that comes before is kept.
        self.done.notified().await;
    }
}
