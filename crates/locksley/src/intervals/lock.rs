//! Locks that intervals hold from their start to their end.

use std::cell;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic;
use std::task::{self, Poll, Wake, Waker};

use super::context::Context;
use super::interval::Header;
use super::occurrence;
use crate::meter::{Path, Region};
use crate::primitive::{AtomicU32, Ordering, UnsafeCell};
use crate::strand::Known;
use crate::sync::{Acquire, Semaphore, TryAcquireError};
use crate::worker::Worker;

/// Data that belongs to one interval at a time.
///
/// An interval names its locks in its [builder](super::Builder::lock), which gives it a [`Key`] for each. It gets them after its start
/// has occurred, all of them before its body begins, in a fixed order; who came first is served first. It holds them until its
/// end, so while its children run too. An interval that waits for locks takes up no worker.
///
/// With locks, too, a graph always ends: who holds any waits for nothing that comes from outside. Hence an interval inside of
/// a holder names no locks, and an edge from outside goes to the holder's start ([`Refusal`](super::Refusal)).
///
/// This holds for one root, and what the bodies in it wait for in their own way is not seen. A root that is run in a body must name
/// no lock that anything outside of it names too, while holders of that lock may wait (by [`join`](crate::join), by a scope, by a
/// root of their own): one in the body of a holder of that lock waits for ever; and one in any other body may run on top of a
/// holder's wait, on the same worker's stack, and then each waits for the other.
///
/// # Examples
/// ```
/// use locksley::intervals::{self, Lock};
///
/// let sum = Lock::new(0);
/// intervals::run("sum", |root| {
///     for n in 1..=10 {
///         let mut add = root.interval("add");
///         let mut key = add.lock(&sum);
///         add.spawn(move |cx| *key.write(cx) += n);
///     }
/// })?;
/// assert_eq!(sum.into_inner(), 55);
/// # Ok::<(), intervals::Cancelled>(())
/// ```
pub struct Lock<T: ?Sized> {
    turns: Turns,
    data: cell::UnsafeCell<T>,
}

// SAFETY: one interval at a time reaches the data, and by `&mut` or `&` of its one key.
unsafe impl<T: ?Sized + Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock that nobody holds.
    ///
    /// # Examples
    /// See [`Lock`].
    #[must_use]
    pub fn new(data: T) -> Self {
        Self { turns: Turns::new(), data: cell::UnsafeCell::new(data) }
    }

    /// The data.
    ///
    /// # Examples
    /// See [`Lock`].
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Lock<T> {
    /// The data, while no interval has the lock.
    ///
    /// # Examples
    /// ```
    /// let mut lock = locksley::intervals::Lock::new(1);
    /// *lock.get_mut() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    pub(super) fn turns(&self) -> NonNull<Turns> {
        NonNull::from(&self.turns)
    }
}

impl<T: ?Sized> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_held = self.turns.permits.available_permits() == 0;
        f.debug_struct("Lock").field("is_held", &is_held).finish_non_exhaustive()
    }
}

/// Opens a [`Lock`] to the interval that has named it.
///
/// The interval's children do not get at the data, though the lock is held while they run: they would have to agree among
/// themselves. In its body the holder may divide the data, and work on the parts by [`join`](crate::join).
///
/// # Examples
/// ```
/// use locksley::intervals::{self, Lock};
///
/// let words = Lock::new(vec![String::from("robin")]);
/// intervals::run("root", |root| {
///     let mut add = root.interval("add");
///     let mut key = add.lock(&words);
///     add.spawn(move |cx| {
///         assert_eq!(key.read(cx).len(), 1);
///         key.write(cx).push(String::from("marian"));
///     });
/// })?;
/// assert_eq!(words.into_inner(), ["robin", "marian"]);
/// # Ok::<(), intervals::Cancelled>(())
/// ```
///
/// It opens the lock to nobody else:
/// ```should_panic
/// use locksley::intervals::{self, Lock};
///
/// let lock = Lock::new(0);
/// intervals::run("root", |root| {
///     let mut one = root.interval("one");
///     let key = one.lock(&lock);
///     one.spawn(|_| ());
///     root.interval("other").spawn(move |cx| *key.read(cx)); // panics
/// })?;
/// # Ok::<(), intervals::Cancelled>(())
/// ```
pub struct Key<'g, T: ?Sized> {
    lock: &'g Lock<T>,
    serial: u64,
    data: PhantomData<&'g mut T>,
}

impl<'g, T: ?Sized> Key<'g, T> {
    pub(super) fn new(lock: &'g Lock<T>, serial: u64) -> Self {
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
        // SAFETY: the interval, whose body runs as long as `cx` is borrowed, holds the lock; this is the only key, which cannot
        // be used by `write` meanwhile.
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

/// A number that no other interval's locks have: what keys know their interval by.
pub(super) fn new_serial() -> u64 {
    static NEXT: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, atomic::Ordering::Relaxed)
}

/// A lock without its data.
#[derive(Debug)]
pub(super) struct Turns {
    permits: Semaphore,
    /// The path to the end of the last metered interval that has held it. Belongs to the holder.
    left: UnsafeCell<Option<Box<Left>>>,
}

/// A path, and its region.
#[derive(Debug)]
struct Left {
    region: Arc<Region>,
    path: Path,
}

impl Turns {
    fn new() -> Self {
        Self { permits: Semaphore::new(1), left: UnsafeCell::new(None) }
    }

    /// # Safety
    /// The caller has the lock.
    #[cold]
    unsafe fn leaves(&self, path: Known<'_>, region: &Arc<Region>) {
        // SAFETY: it is the holder's, as the caller promises. It is handed over as the data is.
        self.left.with_mut(|left| match unsafe { &mut *left } {
            Some(left) if Arc::ptr_eq(&left.region, region) => left.path = path.path(),
            Some(left) => {
                let new = Left { region: Arc::clone(region), path: path.path() };
                let before = std::mem::replace(&mut **left, new).region;
                // Whoever of that one comes next does not find it.
                if !before.is_one_with(region) && !before.is_over() {
                    before.has_uncarried();
                }
            }
            none => {
                let region = Arc::clone(region);
                *none = Some(Box::new(Left { region, path: path.path() }));
            }
        });
    }

    /// # Safety
    /// The caller has the lock.
    unsafe fn path_left(&self, region: &Region) -> Option<Path> {
        // SAFETY: it is the holder's, as the caller promises.
        let left = self.left.with(|left| unsafe { &*left }.as_deref());
        left.filter(|it| it.region.is_one_with(region)).map(|it| it.path)
    }
}

/// The locks of one interval.
#[derive(Debug)]
pub(super) struct Holding {
    holder: NonNull<Header>,
    serial: u64,
    /// In the order in which all intervals take them: that of their addresses.
    locks: Box<[NonNull<Turns>]>,
    /// Belongs to whoever has the right to take the next one: who has the interval's start occur, then who has its job.
    progress: UnsafeCell<Progress>,
}

#[derive(Debug)]
struct Progress {
    taken: usize,
    waits: Option<(Acquire<'static>, Arc<Turn>)>,
}

impl Holding {
    /// Room for the locks of an interval that will be made; `None` if they name one twice.
    pub(super) fn new(serial: u64, mut locks: Vec<NonNull<Turns>>) -> Option<Box<Self>> {
        locks.sort_unstable();
        if locks.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let progress = UnsafeCell::new(Progress { taken: 0, waits: None });
        let locks = locks.into();
        Some(Box::new(Self { holder: NonNull::dangling(), serial, locks, progress }))
    }

    /// Says whose they are.
    ///
    /// # Safety
    /// Nobody else knows of them yet.
    pub(super) unsafe fn belong_to(this: NonNull<Self>, holder: NonNull<Header>) {
        // SAFETY: alive, and nobody else's.
        unsafe { &mut *this.as_ptr() }.holder = holder;
    }

    pub(super) fn holder(&self) -> NonNull<Header> {
        self.holder
    }

    /// Whether the other names all of these locks.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        self.locks.iter().all(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Whether both name the same lock.
    pub(super) fn shares_one_with(&self, other: &Self) -> bool {
        self.locks.iter().any(|lock| other.locks.binary_search(lock).is_ok())
    }

    /// Takes those that are missing. `false` if one has to be waited for: then the interval's job is sent when its turn comes, and
    /// goes on from there. It may have run and ended when this returns.
    ///
    /// # Safety
    /// They are alive, and the caller has the right to take the next one.
    pub(super) unsafe fn take(this: NonNull<Self>) -> bool {
        loop {
            // SAFETY: alive until we park, as the caller promises.
            let Self { progress, locks, holder, .. } = unsafe { this.as_ref() };
            // SAFETY: the right to this is ours, until we park.
            match progress.with_mut(|own| unsafe { &mut *own }.advance(locks, *holder)) {
                None => return true,
                Some(turn) if turn.park() => return false,
                Some(_) => {}
            }
        }
    }

    /// The longest of the paths to the ends of those who have had them before, if they are of that region.
    ///
    /// # Safety
    /// All are held, and have not been given back.
    #[cold]
    pub(super) unsafe fn path_left(&self, region: &Region) -> Option<Path> {
        let left = self.locks.iter().filter_map(|lock| {
            // SAFETY: locks outlive the root.
            let lock = unsafe { lock.as_ref() };
            // SAFETY: as the caller promises.
            unsafe { lock.path_left(region) }
        });
        left.reduce(Path::meet)
    }

    /// Gives back those that were taken: none, if the start has failed. Leaves a path there, if it is known.
    ///
    /// Called once, at the end.
    pub(super) fn give_back(&self, left: Option<(Known<'_>, &Arc<Region>)>) {
        // SAFETY: the end has occurred, so nobody takes any more.
        let taken = self.progress.with_mut(|own| unsafe { (*own).taken });
        for lock in &self.locks[..taken] {
            // SAFETY: locks outlive the root.
            let lock = unsafe { lock.as_ref() };
            if let Some((path, region)) = left {
                // SAFETY: it was taken, and is given back after this.
                unsafe { lock.leaves(path, region) };
            }
            lock.permits.add_permits(1);
        }
    }
}

impl Progress {
    /// Takes locks until one has to be waited for.
    fn advance(&mut self, locks: &[NonNull<Turns>], holder: NonNull<Header>) -> Option<Arc<Turn>> {
        while let Some(lock) = locks.get(self.taken) {
            // SAFETY: locks outlive the root, and the holder's end, by which this is forgotten.
            let lock: &'static Semaphore = &unsafe { lock.as_ref() }.permits;
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

/// An interval's turn at a lock, as the lock's line knows it.
///
/// It may be called late and more than once (`../sync/README.md`): it is apart from the interval, which may be gone by then.
#[derive(Debug)]
pub(super) struct Turn {
    state: AtomicU32,
    interval: NonNull<Header>,
}

// SAFETY: the interval is touched only by who finds it parked, and then it is alive; all there is shared.
unsafe impl Send for Turn {}
// SAFETY: as above.
unsafe impl Sync for Turn {}

/// Somebody is about to ask whether it has come.
const ASKS: u32 = 0;
/// It has come, and whoever asks will see it.
const COME: u32 = 1;
/// Nobody asks: when it comes, the interval's job is to be sent.
const PARKED: u32 = 2;

impl Turn {
    pub(super) fn new(interval: NonNull<Header>) -> Arc<Self> {
        Arc::new(Self { state: AtomicU32::new(ASKS), interval })
    }

    pub(super) fn begin(&self) {
        // Acquire pairs with the release in `wake`: what has come by then is seen by who asks next.
        self.state.swap(ASKS, Ordering::Acquire);
    }

    /// Whether it is to be waited for. If so, the right to the interval's locks is now that of who says that it has come.
    pub(super) fn park(&self) -> bool {
        // Release pairs with the acquire in `wake`: what we did to the locks' progress is seen. Acquire, as in `begin`.
        let parked = self.state.compare_exchange(ASKS, PARKED, Ordering::AcqRel, Ordering::Acquire);
        parked.is_ok()
    }

    /// Says that it has come. Whether the right to the interval's locks is the caller's.
    pub(super) fn come(&self) -> bool {
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
            // SAFETY: it waits for its locks, so it is alive. Its start has occurred well; whoever finds it parked sends it, and
            // that is one. It takes its remaining locks before the body begins.
            Worker::with_current(|worker| unsafe { occurrence::schedule(self.interval, worker) });
        }
    }
}
