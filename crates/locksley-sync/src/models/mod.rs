//! Loom models: a few waits, releases and cancellations, with a bounded number of preemptions.
//!
//! A lost wake-up is a deadlock. Loom reports it, and also a node that is read after it was freed,
//! and a waker that two threads access at once. Run with `--cfg loom` (see CONTRIBUTING.md).

mod barrier;
mod condvar;
mod mutex;
mod once_cell;
mod semaphore;
mod wait_queue;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::cell::UnsafeCell;
use loom::sync::{Condvar as LoomCondvar, Mutex as LoomMutex};

use super::Semaphore;

/// A thread that blocks until it is woken.
struct Blocked {
    woken: LoomMutex<bool>,
    condvar: LoomCondvar,
}

impl Wake for Blocked {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.condvar.notify_one();
    }
}

impl Blocked {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: LoomMutex::new(false), condvar: LoomCondvar::new() })
    }

    fn wait(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.condvar.wait(woken).unwrap();
        }
        *woken = false;
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let blocked = Blocked::new();
    let waker = Waker::from(Arc::clone(&blocked));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => blocked.wait(),
        }
    }
}

/// A wait that was polled once, and may continue in another thread, with another waker.
struct Begun<T>(Pin<Box<dyn Future<Output = T> + Send>>);

impl<T> Begun<T> {
    fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "it has to wait");
        Self(future)
    }

    fn end(self) -> T {
        block_on(self.0)
    }
}

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    // Making a semaphore with a queue takes many steps.
    model.max_branches = 4_000;
    model.check(check);
}

/// Acquires permits, and forgets them.
fn keep(semaphore: &Arc<Semaphore>, permits: usize) -> impl Future<Output = ()> + Send + use<> {
    let semaphore = Arc::clone(semaphore);
    async move { semaphore.acquire_many(permits).await.unwrap().forget() }
}

/// A number for which loom reports concurrent access.
struct Watched(UnsafeCell<usize>);

// SAFETY: loom checks what the models do with it.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add_one(&self) {
        // SAFETY: loom checks that no other thread accesses it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> usize {
        // SAFETY: loom checks that no other thread writes it.
        self.0.with(|number| unsafe { *number })
    }
}
