//! async-executor, which smol runs on, with async-lock and event-listener.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use async_executor::Executor;
use async_lock::Semaphore;
use event_listener::Event;
use futures_lite::future::block_on;

use super::runtime::{Countdown, Permits, Runtime, Tasks};

/// An executor and the threads that run it.
pub(super) struct Smol {
    executor: Arc<Executor<'static>>,
    /// Has permits when the threads are to end.
    stop: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
}

impl Smol {
    pub(super) fn start(workers: usize) -> Result<Smol, String> {
        let mut smol = Smol {
            executor: Arc::new(Executor::new()),
            stop: Arc::new(Semaphore::new(0)),
            threads: Vec::new(),
        };
        for _ in 0..workers {
            let (executor, stop) = (smol.executor.clone(), smol.stop.clone());
            let thread = thread::Builder::new()
                .spawn(move || block_on(executor.run(stop.take())))
                .map_err(|error| error.to_string())?;
            smol.threads.push(thread);
        }
        Ok(smol)
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        self.stop.give(self.threads.len());
        for thread in self.threads.drain(..) {
            // A task's panic does not end them: it goes to whoever awaits the task.
            let _ = thread.join();
        }
    }
}

impl Runtime for Smol {
    type Tasks = OnSmol;

    fn tasks(&self) -> OnSmol {
        OnSmol(self.executor.clone())
    }

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        block_on(self.executor.spawn(main))
    }
}

pub(super) struct OnSmol(Arc<Executor<'static>>);

impl Tasks for OnSmol {
    type Countdown = Latch;
    type Permits = Semaphore;

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        self.0.spawn(future)
    }

    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }
}

impl Permits for Semaphore {
    fn none() -> Semaphore {
        Semaphore::new(0)
    }

    async fn take(&self) {
        self.acquire().await.forget();
    }

    fn give(&self, number: usize) {
        self.add_permits(number);
    }
}

/// A counter whose last signal notifies.
pub(super) struct Latch {
    left: AtomicUsize,
    done: Event,
}

impl Countdown for Latch {
    fn of(signals: usize) -> Latch {
        Latch { left: AtomicUsize::new(signals), done: Event::new() }
    }

    fn signal(&self) {
        // Each signal is released to the last one, and by it to the waiter, which looks again before it waits.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify(1);
        }
    }

    async fn all(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            let listener = self.done.listen();
            if self.left.load(Ordering::Acquire) > 0 {
                listener.await;
            }
        }
    }
}
