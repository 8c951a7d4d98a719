//! Locks that intervals hold from their start to their end.

use std::cell;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic;
use std::task::{self, Poll, Wake, Waker};

use locksley::Worker;
use locksley_sync::{Acquire, Semaphore, TryAcquireError};
use locksley_sys::primitive::{AtomicU32, Ordering, UnsafeCell};

use crate::graph::context::Context;
use crate::graph::interval::Header;
use crate::graph::occurrence;

/// Data that belongs to one interval at a time.
///
/// An interval names its locks in its [builder](crate::Builder::lock), which gives it a [`Key`] for
/// each. It gets them after its start has occurred, all of them before its body begins, in a fixed
/// order; first come, first served. It holds them until its end, so while its children run too. An
/// interval that waits for locks takes up no worker.
///
/// With locks, too, a graph always ends: a holder waits for nothing that comes from outside. Hence
/// an interval inside of a holder names no locks, and an edge from outside goes to the holder's
/// start ([`Refusal`](crate::Refusal)).
///
/// This holds for one root, and what bodies wait for in other ways is not seen. A root that is run
/// in a body must name no lock that anything outside of it names too, while holders of that lock
/// may wait (by [`join`](locksley::join), by a scope, by a root of their own). In the body of a
/// holder it would wait for ever.
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, IntervalLock};
///
/// let sum = IntervalLock::new(0);
/// intervals::run("sum", |root| {
///     for n in 1..=10 {
///         let mut add = root.interval("add");
///         let mut key = add.lock(&sum);
///         add.spawn(move |cx| *key.write(cx) += n);
///     }
/// })?;
/// assert_eq!(sum.into_inner(), 55);
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct IntervalLock<T: ?Sized> {
    permit: Semaphore,
    data: cell::UnsafeCell<T>,
}

// SAFETY: one interval at a time reaches the data, and by `&mut` or `&` of its one key.
unsafe impl<T: ?Sized + Send> Sync for IntervalLock<T> {}

impl<T> IntervalLock<T> {
    /// A lock that no interval holds.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    #[must_use]
    pub fn new(data: T) -> Self {
        Self { permit: Semaphore::new(1), data: cell::UnsafeCell::new(data) }
    }

    /// The data.
    ///
    /// # Examples
    /// See [`IntervalLock`].
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> IntervalLock<T> {
    /// The data, while no interval has the lock.
    ///
    /// # Examples
    /// ```
    /// let mut lock = locksley_intervals::IntervalLock::new(1);
    /// *lock.get_mut() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The lock without its data.
    pub(crate) fn permit(&self) -> NonNull<Semaphore> {
        NonNull::from(&self.permit)
    }
}

impl<T: ?Sized> fmt::Debug for IntervalLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_held = self.permit.available_permits() == 0;
        f.debug_struct("IntervalLock").field("is_held", &is_held).finish_non_exhaustive()
    }
}

/// Opens an [`IntervalLock`] to the interval that has named it.
///
/// The interval's children do not get at the data, though the lock is held while they run: nothing
/// orders them. In its body the holder may divide the data, and work on the parts by
/// [`join`](locksley::join).
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, IntervalLock};
///
/// let words = IntervalLock::new(vec![String::from("robin")]);
/// intervals::run("root", |root| {
///     let mut add = root.interval("add");
///     let mut key = add.lock(&words);
///     add.spawn(move |cx| {
///         assert_eq!(key.read(cx).len(), 1);
///         key.write(cx).push(String::from("marian"));
///     });
/// })?;
/// assert_eq!(words.into_inner(), ["robin", "marian"]);
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
///
/// It opens the lock to no other interval:
/// ```should_panic
/// use locksley_intervals::{self as intervals, IntervalLock};
///
/// let lock = IntervalLock::new(0);
/// intervals::run("root", |root| {
///     let mut one = root.interval("one");
///     let key = one.lock(&lock);
///     one.spawn(|_| ());
///     root.interval("other").spawn(move |cx| *key.read(cx)); // panics
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
pub struct Key<'g, T: ?Sized> {
    lock: &'g IntervalLock<T>,
    serial: u64,
    data: PhantomData<&'g mut T>,
}

impl<'g, T: ?Sized> Key<'g, T> {
    pub(crate) fn new(lock: &'g IntervalLock<T>, serial: u64) -> Self {
        Self { lock, serial, data: PhantomData }
    }

    /// The data, to be read.
    ///
    /// # Panics
    /// If the calling interval is not the one for which the key was made.
    ///
    /// # Examples
    /// See [`Key`].
    pub fn read<'k>(&'k self, cx: &'k Context<'g, '_>) -> &'k T {
        self.check(cx);
        // SAFETY: the interval, whose body runs as long as `cx` is borrowed, holds the lock. This
        // is the only key, which cannot be used by `write` meanwhile.
        unsafe { &*self.lock.data.get() }
    }

    /// The data, to be changed.
    ///
    /// # Panics
    /// If the calling interval is not the one for which the key was made.
    ///
    /// # Examples
    /// See [`Key`].
    pub fn write<'k>(&'k mut self, cx: &'k Context<'g, '_>) -> &'k mut T {
        self.check(cx);
        // SAFETY: as above; and the key is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }

    fn check(&self, cx: &Context<'g, '_>) {
        let is_holder = cx.header().own_holding().is_some_and(|own| own.serial == self.serial);
        assert!(is_holder, "`{}` has no right to this key's lock", cx.name());
    }
}

impl<T: ?Sized> fmt::Debug for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// A number that no other interval's locks have, and no other root.
pub(crate) fn new_serial() -> u64 {
    static NEXT: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, atomic::Ordering::Relaxed)
}

/// The locks of one interval.
#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) holder: NonNull<Header>,
    /// Identifies the interval to its keys.
    pub(crate) serial: u64,
    /// In the order in which all intervals take them: that of their addresses.
    locks: Vec<NonNull<Semaphore>>,
    /// Belongs to the thread that may take the next one: the one that starts the interval, then the
    /// one that has its job.
    progress: UnsafeCell<Progress>,
}

#[derive(Debug)]
struct Progress {
    taken: usize,
    waits: Option<(Acquire<'static>, Arc<Turn>)>,
}

impl Holding {
    /// None yet, of an interval that will be made.
    pub(crate) fn new() -> Box<Self> {
        let progress = UnsafeCell::new(Progress { taken: 0, waits: None });
        let (holder, serial) = (NonNull::dangling(), new_serial());
        Box::new(Self { holder, serial, locks: Vec::new(), progress })
    }

    pub(crate) fn add(&mut self, lock: NonNull<Semaphore>) {
        self.locks.push(lock);
    }

    /// Puts them in order. Returns `false` if one was added twice.
    pub(crate) fn sort(&mut self) -> bool {
        self.locks.sort_unstable();
        self.locks.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Says which interval holds them.
    ///
    /// # Safety
    /// It is alive, and seen by no other thread yet.
    pub(crate) unsafe fn set_holder(this: NonNull<Self>, holder: NonNull<Header>) {
        // SAFETY: as the caller promises.
        unsafe { (*this.as_ptr()).holder = holder };
    }

    /// Whether the other names all of these locks.
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        self.locks.iter().all(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Whether both name the same lock.
    pub(crate) fn shares_one_with(&self, other: &Self) -> bool {
        self.locks.iter().any(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Takes those that are missing. Returns `false` if one has to be waited for: then the
    /// interval's job is sent when its turn comes, and goes on from there. It may have run and
    /// ended when this returns.
    ///
    /// # Safety
    /// They are alive, and the caller may take the next one.
    pub(crate) unsafe fn take(this: NonNull<Self>) -> bool {
        loop {
            // SAFETY: alive until the turn is parked, as the caller promises.
            let Self { progress, locks, holder, .. } = unsafe { this.as_ref() };
            // SAFETY: the progress is the caller's, until the turn is parked.
            match progress.with_mut(|own| unsafe { &mut *own }.advance(locks, *holder)) {
                None => return true,
                Some(turn) if turn.park() => return false,
                Some(_) => {}
            }
        }
    }

    /// Gives back those that were taken: none, if the start has failed. Called once, at the end.
    pub(crate) fn give_back(&self) {
        // SAFETY: the end has occurred, so none is being taken any more.
        let taken = self.progress.with(|own| unsafe { (*own).taken });
        for lock in &self.locks[..taken] {
            // SAFETY: locks outlive the root.
            unsafe { lock.as_ref() }.add_permits(1);
        }
    }
}

impl Progress {
    /// Takes locks until one has to be waited for.
    fn advance(
        &mut self,
        locks: &[NonNull<Semaphore>],
        holder: NonNull<Header>,
    ) -> Option<Arc<Turn>> {
        while let Some(lock) = locks.get(self.taken) {
            // SAFETY: locks outlive the root, and the holder's end, by which this is forgotten.
            let lock: &'static Semaphore = unsafe { lock.as_ref() };
            if self.waits.is_none() {
                match lock.try_acquire() {
                    Ok(permit) => {
                        permit.forget();
                        self.taken += 1;
                        continue;
                    }
                    Err(TryAcquireError::NoPermits) => {}
                    Err(TryAcquireError::Closed) => unreachable!("no lock is closed"),
                }
            }
            let (acquire, turn) =
                self.waits.get_or_insert_with(|| (lock.acquire(), Turn::new(holder)));
            turn.begin();
            let waker = Waker::from(Arc::clone(turn));
            match Pin::new(acquire).poll(&mut task::Context::from_waker(&waker)) {
                Poll::Pending => return Some(Arc::clone(turn)),
                Poll::Ready(permit) => {
                    permit.expect("no lock is closed").forget();
                    self.waits = None;
                    self.taken += 1;
                }
            }
        }
        None
    }
}

/// An interval's turn at a lock, as a waker.
///
/// The semaphore may call it late and more than once: it lies apart from the interval, which may be
/// gone by then.
#[derive(Debug)]
pub(crate) struct Turn {
    state: AtomicU32,
    interval: NonNull<Header>,
}

// SAFETY: the interval is touched only by the thread that finds it parked, and then it is alive.
// All that is touched there is shared.
unsafe impl Send for Turn {}
// SAFETY: as above.
unsafe impl Sync for Turn {}

/// A thread is about to ask whether the turn has come.
const ASKS: u32 = 0;
/// It has come, and the thread that asks will see it.
const COME: u32 = 1;
/// No thread asks: when the turn comes, the interval's job is to be sent.
const PARKED: u32 = 2;

impl Turn {
    pub(crate) fn new(interval: NonNull<Header>) -> Arc<Self> {
        Arc::new(Self { state: AtomicU32::new(ASKS), interval })
    }

    pub(crate) fn begin(&self) {
        // Acquire pairs with the release in `come`: what has come by then is seen by the next poll.
        self.state.swap(ASKS, Ordering::Acquire);
    }

    /// Whether it is to be waited for. If so, the interval's locks now belong to the thread that
    /// calls [`come`](Self::come).
    pub(crate) fn park(&self) -> bool {
        // Release pairs with the acquire in `come`: the locks' progress is visible there. Acquire,
        // as in `begin`.
        let parked = self.state.compare_exchange(ASKS, PARKED, Ordering::AcqRel, Ordering::Acquire);
        parked.is_ok()
    }

    /// Says that it has come. Returns whether the interval's locks now belong to the caller.
    pub(crate) fn come(&self) -> bool {
        // AcqRel: see `begin` and `park`.
        self.state.swap(COME, Ordering::AcqRel) == PARKED
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.come() {
            // SAFETY: it waits for its locks, so it is alive, and its start has occurred well. One
            // thread finds it parked. It takes its remaining locks before the body begins.
            Worker::with_current(|worker| unsafe { occurrence::schedule(self.interval, worker) });
        }
    }
}
