//! `block_on`: to wait for a future in code that is not `async`.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::held::{self, Place, Wait};
use crate::kahn::ChannelWait;
use crate::latch::Flag;
use crate::pool::Shared;
use crate::worker::Worker;

/// Waits for a future, from code that is not `async`, and returns what it returns.
///
/// A worker, of whatever pool, works meanwhile: its task, with all its frames, keeps the stack that it is on, and the worker goes to
/// another one. It comes back when the future can go on, before it begins with anything else; but for a future that wakes itself
/// ([`task::yield_now`](crate::task::yield_now)), others have their turn. Any other thread blocks. So what is
/// in [`sync`](crate::sync), what other crates have for futures, and the handles of [`task`s](crate::task) can all be waited for.
///
/// What the worker runs meanwhile is any task. So do not hold a lock across this that is not made for futures, nor a borrow of a
/// `RefCell` that others use, as they may want it on the same thread. Values that are set in
/// [thread-locals](crate::PoolBuilder::waiting_stacks) for the time of a call must not be relied on across this. A
/// [pool](crate::Pool) that is dropped waits for closures that wait here, however long that
/// takes.
///
/// While a thread is unwinding, and where a pool has no [stack](crate::PoolBuilder::waiting_stacks) left, the worker stays on
/// its stack and runs what it finds on top of the waiting frame.
///
/// A destructor that waits here while its thread unwinds, for what a suspended stack of the same worker holds, never ends. Nor does, in
/// a child process that was made by `fork`, who waits for what another thread of the parent was to do, unless the future sees to that:
/// the handles of tasks do, by a panic.
///
/// # Panics
/// If the future does.
///
/// # Examples
/// ```
/// use locksley::block_on;
/// use locksley::sync::Semaphore;
///
/// let (permits, pool) = (Semaphore::new(0), locksley::Pool::new(1)?);
/// let answer = pool.run(|worker| {
///     // One worker is enough: the second task runs while the first waits.
///     worker.join(|_| block_on(permits.acquire()).is_ok(), |_| permits.add_permits(1)).0
/// });
/// assert!(answer);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let place = Place::here();
    Worker::with_current(|current| {
        held::tell(current, Wait::BlockOn, place);
        match current {
            Some(worker) if worker.is_metered() => wait_in_strand(future, worker),
            Some(worker) => wait(future, Signal::of(worker), |signal| signal.wait(worker)),
            None => wait(future, ThreadSignal::of_this_thread(), ThreadSignal::wait),
        }
    })
}

/// The same of a strand. It counts, once, if what it waits for or finds does not tell by itself what it comes after: whether it has to wait or not.
#[cold]
fn wait_in_strand<F: Future>(future: F, worker: &Worker) -> F::Output {
    let mut future = pin!(future);
    let mut is_counted = false;
    // It may be a part of a poll itself, which has told something before.
    let before = worker.running().told().take();
    let output = wait(
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            let is_told = worker.running().told().take().is_enough(polled.is_ready());
            if !is_told && !is_counted {
                worker.has_uncarried();
                is_counted = true;
            }
            polled
        }),
        Signal::of(worker),
        |signal| signal.wait(worker),
    );
    worker.running().told().set(before);
    output
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

/// Woken again and again, by anybody, and also when nobody waits any more.
pub(crate) struct Signal {
    flag: Flag,
    waiter: usize,
    home: Arc<Shared>,
}

impl Signal {
    /// One for which that worker waits, always on the same stack.
    pub(crate) fn of(waiter: &Worker) -> Self {
        Self { flag: Flag::new(), waiter: waiter.seat_index(), home: Arc::clone(waiter.shared()) }
    }

    /// Whether it would not have to wait.
    pub(crate) fn is_given(&self) -> bool {
        self.flag.is_set()
    }

    /// Waits until it is given, and takes it back. The caller is the waiter, and has said so if nobody knows of its path to what it waits for.
    pub(crate) fn wait(&self, waiter: &Worker) {
        self.give_way_if_given(waiter);
        waiter.while_aside(|| waiter.wait_until(&self.flag));
        self.flag.clear();
    }

    /// The same at a channel of the process that waits.
    pub(crate) fn wait_at_channel(&self, waiter: &Worker) {
        self.give_way_if_given(waiter);
        let _channel = ChannelWait::begin(waiter);
        waiter.work_or_leave_until(&self.flag);
        self.flag.clear();
    }

    /// It was given before the waiter waits, perhaps by itself, to give way. It might do that again and again: so it pays what it owes, and
    /// others have their turn.
    fn give_way_if_given(&self, waiter: &Worker) {
        if self.is_given() {
            waiter.payer().pay();
            waiter.let_others_go_first();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let stack = self.flag.set_for_stacks();
        self.home.wake(self.waiter, stack);
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
