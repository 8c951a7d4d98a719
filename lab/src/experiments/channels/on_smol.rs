//! async-executor, which smol runs on, with async-lock's semaphore and event-listener; it has no
//! channels of its own.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use async_executor::Executor;
use async_lock::Semaphore;
use event_listener::Event;
use futures_lite::future::block_on;

use super::runtime::Runtime;

/// The executor: one for all, as smol has it.
static EXECUTOR: Executor<'static> = Executor::new();
/// Has permits when the threads are to end.
static STOP: Semaphore = Semaphore::new(0);
/// Locked while there are threads.
static ALONE: Mutex<()> = Mutex::new(());

/// The threads that run the executor.
pub(super) struct Smol {
    threads: Vec<JoinHandle<()>>,
    _alone: MutexGuard<'static, ()>,
}

impl Smol {
    pub(super) fn start(workers: usize) -> Result<Smol, String> {
        let start =
            || thread::Builder::new().spawn(|| block_on(EXECUTOR.run(Smol::acquire(&STOP))));
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut smol = Smol { threads: Vec::new(), _alone };
        for _ in 0..workers {
            smol.threads.push(start().map_err(|error| error.to_string())?);
        }
        Ok(smol)
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        STOP.add_permits(self.threads.len());
        for thread in self.threads.drain(..) {
            // The panic of a task does not end it: that goes to the task which awaits that one.
            let _ = thread.join();
        }
    }
}

impl Runtime for Smol {
    type Semaphore = Semaphore;
    type Countdown = (AtomicUsize, Event);

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        block_on(EXECUTOR.spawn(main))
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        EXECUTOR.spawn(future)
    }

    fn detach(future: impl Future<Output = ()> + Send + 'static) {
        EXECUTOR.spawn(future).detach();
    }

    fn semaphore() -> Semaphore {
        Semaphore::new(0)
    }

    async fn acquire(semaphore: &Semaphore) {
        semaphore.acquire().await.forget();
    }

    fn add_permits(semaphore: &Semaphore, number: usize) {
        semaphore.add_permits(number);
    }

    fn countdown(signals: usize) -> (AtomicUsize, Event) {
        (AtomicUsize::new(signals), Event::new())
    }

    fn signal((left, done): &(AtomicUsize, Event)) {
        // Each signal is released to the last one, and by it to the waiter.
        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
            done.notify(1);
        }
    }

    async fn wait((left, done): &(AtomicUsize, Event)) {
        while left.load(Ordering::Acquire) > 0 {
            let listener = done.listen();
            if left.load(Ordering::Acquire) > 0 {
                listener.await;
            }
        }
    }
}
