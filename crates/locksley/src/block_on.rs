//! Waiting for a future in code that is not `async`.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::header::Flag;
use crate::hooks;
use crate::numbers::Slot;
use crate::os;
use crate::primitive::thread;
use crate::shared::Shared;
use crate::sleep::Parker;
use crate::worker::Worker;

/// Waits for a future in code that is not `async`, and returns its output.
///
/// The calling thread blocks. If it is a worker of any pool, a replacement works under its index
/// during the wait, so that the pool has as many threads at work as before. The future may be a
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
/// let answer = pool.install(|_| {
///     let task = locksley::task::spawn(async { 42 });
///     // One worker is enough: its replacement runs the task.
///     locksley::block_on(task).unwrap()
/// });
/// assert_eq!(answer, 42);
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    // Here, since each closure that it is passed on in may copy it, and it may be large.
    let mut future = pin!(future);
    Worker::with_current(|current| {
        let signal = Arc::new(Signal::awaited_by(current));
        let waker = Waker::from(Arc::clone(&signal));
        let mut context = Context::from_waker(&waker);
        loop {
            match (future.as_mut().poll(&mut context), current) {
                (Poll::Ready(output), _) => return output,
                (Poll::Pending, Some(worker)) => signal.wait(worker),
                (Poll::Pending, None) => {
                    while !signal.flag.is_set() {
                        signal.block();
                    }
                    signal.flag.clear();
                }
            }
        }
    })
}

/// Unblocks a worker, as a waker unblocks a future.
///
/// Any thread may give it, any number of times, even after its worker's wait.
pub struct Signal {
    pub(crate) flag: Flag,
    waiter: Waiter,
}

/// The thread that waits for a signal.
enum Waiter {
    /// A worker: its slot and its pool.
    Worker(Slot, Arc<Shared>),
    /// Any other thread blocks here.
    Thread(Parker),
}

impl Signal {
    /// A signal that `waiter` can wait for.
    #[must_use]
    pub fn of(waiter: &Worker) -> Self {
        Self::awaited_by(Some(waiter))
    }

    /// A signal that the calling thread can wait for, which may be the worker `current`.
    fn awaited_by(current: Option<&Worker>) -> Self {
        let worker = |it: &Worker| Waiter::Worker(it.slot(), Arc::clone(it.shared()));
        let waiter = current.map_or_else(|| Waiter::Thread(Parker::default()), worker);
        Self { flag: Flag::default(), waiter }
    }

    /// Blocks a thread that is no worker, until the signal is given. May return before.
    fn block(&self) {
        if let Waiter::Thread(parker) = &self.waiter {
            parker.park(|| self.flag.is_set(), None);
        }
    }

    /// Waits until the signal is given, and resets it. `waiter` is the worker that it was made for.
    pub fn wait(&self, waiter: &Worker) {
        if self.flag.is_set() {
            // The future may have woken itself. Every so many times, a replacement gets time to run
            // tasks: the future may wait for one of them without ever blocking.
            hooks::pause();
            os::yield_now();
            if waiter.count_poll() {
                let _away = waiter.release_index(true);
                thread::sleep(Duration::from_micros(100));
            }
        }
        waiter.wait_until(&self.flag);
        self.flag.clear();
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.flag.set();
        match &self.waiter {
            Waiter::Worker(slot, pool) => pool.unpark(*slot),
            Waiter::Thread(parker) => _ = parker.unpark(),
        }
    }
}
