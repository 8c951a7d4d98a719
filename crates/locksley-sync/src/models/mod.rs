//! What the model checker runs: a few waits, gifts and departures, interleaved with up to two or
//! three preemptions, under every outcome that the memory model allows. A wake-up that is lost is a
//! deadlock; a place that is read after it was freed, or a waker that two touch at once, is
//! reported by loom. Run with `--cfg loom` (see CONTRIBUTING.md).

mod barrier;
mod condvar;
mod join_counter;
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
    bell: LoomCondvar,
}

impl Wake for Blocked {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

impl Blocked {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: LoomMutex::new(false), bell: LoomCondvar::new() })
    }

    fn wait(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.bell.wait(woken).unwrap();
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

/// A wait that has begun, and may go on in another thread, with another waker.
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
    // A semaphore that has a line from before takes a good many steps to make.
    model.max_branches = 4_000;
    model.check(check);
}

/// Takes permits for good.
fn keep(semaphore: &Arc<Semaphore>, permits: usize) -> impl Future<Output = ()> + Send + use<> {
    let semaphore = Arc::clone(semaphore);
    async move { semaphore.acquire_many(permits).await.unwrap().forget() }
}

/// A number that loom sees two threads touch at once.
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
        // SAFETY: loom checks that nobody else touches it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> usize {
        // SAFETY: loom checks that nobody else writes it.
        self.0.with(|number| unsafe { *number })
    }
}
