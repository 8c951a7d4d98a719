//! Waiting for a future in code that is not `async`.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::hooks;
use crate::os;
use crate::scheduler::Shared;
use crate::scheduler::Worker;
use crate::scheduler::latch::Flag;

/// Waits for a future in code that is not `async`, and returns its output.
///
/// The calling thread blocks. If it is a worker of any pool, a replacement worker takes its slot
/// during the wait, so that all workers of the pool stay at work. The future may be a
/// [`task`](crate::task), come from `locksley-sync`, or be one of any other crate.
///
/// To wake a replacement takes some tens of microseconds: code that waits often should be a
/// future. At the limit of replacements
/// ([`PoolBuilder::replacements`](crate::PoolBuilder::replacements)) the thread blocks without
/// one. Dropping a [pool](crate::Pool) waits for closures that wait here, for as long as they do.
///
/// In a forked child, a wait for an event that another thread of the parent was to cause never
/// ends. The handles of tasks panic instead.
///
/// # Panics
/// If the future panics.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(1)?;
/// let answer = pool.install(|worker| {
///     let task = worker.spawn_future(async { 42 });
///     // One worker is enough: its replacement runs the task.
///     locksley::block_on(task).unwrap()
/// });
/// assert_eq!(answer, 42);
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    Worker::with_current(|current| match current {
        Some(worker) => wait(future, Signal::of(worker), |signal| signal.wait(worker)),
        None => wait(future, ThreadSignal::of_this_thread(), ThreadSignal::wait),
    })
}

/// Polls the future until it is ready, and waits for the signal between two polls.
fn wait<F, S>(future: F, signal: S, mut wait: impl FnMut(&S)) -> F::Output
where
    F: Future,
    S: Wake + Send + Sync + 'static,
{
    let signal = Arc::new(signal);
    let waker = Waker::from(Arc::clone(&signal));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => wait(&signal),
        }
    }
}

/// Unblocks a worker, as a waker unblocks a future.
///
/// Any thread may give it, any number of times, even after its worker's wait.
pub struct Signal {
    flag: Flag,
    waiter: usize,
    home: Arc<Shared>,
}

impl Signal {
    /// A signal that `waiter` can wait for.
    #[must_use]
    pub fn of(waiter: &Worker) -> Self {
        Self { flag: Flag::new(), waiter: waiter.slot_index(), home: Arc::clone(waiter.shared()) }
    }

    /// True if a wait would end at once.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.flag.is_set()
    }

    /// Waits until the signal is given, and resets it. `waiter` is the worker that it was made for.
    pub fn wait(&self, waiter: &Worker) {
        if self.is_given() {
            self.yield_to_tasks(waiter);
        }
        waiter.wait_until(&self.flag);
        self.flag.clear();
    }

    /// Yields after the future has woken itself. Every so many times, a replacement gets time to
    /// run tasks: the future may wait for one of them without ever blocking.
    fn yield_to_tasks(&self, waiter: &Worker) {
        hooks::pause();
        os::yield_now();
        if waiter.count_poll() {
            let _replaced = waiter.replace();
            thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.flag.set();
        self.home.unpark(self.waiter);
    }
}

/// A signal for a thread that is no worker.
struct ThreadSignal {
    flag: Flag,
    waiter: Thread,
}

impl ThreadSignal {
    fn of_this_thread() -> Self {
        Self { flag: Flag::new(), waiter: thread::current() }
    }

    fn wait(&self) {
        while !self.flag.is_set() {
            thread::park();
        }
        self.flag.clear();
    }
}

impl Wake for ThreadSignal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.flag.set();
        self.waiter.unpark();
    }
}
