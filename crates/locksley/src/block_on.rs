//! `block_on`: to wait for a future in code that is not `async`.

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

/// Waits for a future, from code that is not `async`, and returns what it returns.
///
/// The calling thread blocks. If it is a worker, of whatever pool, a replacement worker takes its
/// slot meanwhile, so that as many as the pool has workers stay at work. What is in
/// [`task`](crate::task), what `locksley-sync` has, and futures of other crates can all be waited for.
///
/// To start or wake a replacement takes some tens of microseconds: code that waits often is better
/// written as a future. There are at most as many replacements as
/// [`PoolBuilder::replacements`](crate::PoolBuilder::replacements) says; at that limit the thread blocks all
/// the same, and nothing has its slot. A [pool](crate::Pool) that is dropped waits for closures that
/// wait here, however long that takes.
///
/// In a child process that was made by `fork`, a wait for what another thread of the parent was to do
/// never ends, unless the future sees to that: the handles of tasks do, by a panic.
///
/// # Panics
/// If the future does.
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

/// Polls until there is an answer; between two polls it waits for the signal.
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

/// Given again and again, by any thread, and also when its worker does not wait any more.
pub struct Signal {
    flag: Flag,
    waiter: usize,
    home: Arc<Shared>,
}

impl Signal {
    /// One for which that worker waits.
    #[must_use]
    pub fn of(waiter: &Worker) -> Self {
        Self { flag: Flag::new(), waiter: waiter.slot_index(), home: Arc::clone(waiter.shared()) }
    }

    /// Whether a wait would end at once.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.flag.is_set()
    }

    /// Waits until it is given, and takes it back. The caller is the worker for which it was made.
    pub fn wait(&self, waiter: &Worker) {
        if self.is_given() {
            self.give_way(waiter);
        }
        waiter.wait_until(&self.flag);
        self.flag.clear();
    }

    /// The future wakes itself to give way, maybe again and again, to what only a replacement can run
    /// now.
    fn give_way(&self, waiter: &Worker) {
        hooks::pause();
        os::yield_now();
        if waiter.counts_a_poll() {
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

/// The same for a thread that is no worker.
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
