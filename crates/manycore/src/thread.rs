//! As [`std::thread`]: virtual threads.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic as host;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use crate::atomic::{AtomicBool, AtomicU32, AtomicUsize};
pub use crate::engine::locals::AccessError;
use crate::engine::{engine, here};
pub use crate::ids::ThreadId;
pub use crate::local_key::LocalKey;
use crate::os::{futex_wait, futex_wake};
use crate::time::nanos;

/// As [`std::thread::Result`].
pub type Result<T> = std::result::Result<T, Box<dyn Any + Send + 'static>>;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;
const NO_ID: u32 = u32::MAX;

#[derive(Debug)]
struct Inner {
    /// The token of `park`.
    token: AtomicU32,
    name: Option<String>,
    /// The number, or `NO_ID` before the thread exists.
    id: host::AtomicU32,
    has_ended: AtomicU32,
}

/// As [`std::thread::Thread`].
#[derive(Clone, Debug)]
pub struct Thread(Arc<Inner>);

impl Thread {
    fn new(name: Option<String>) -> Self {
        let (token, has_ended) = (AtomicU32::new(EMPTY), AtomicU32::new(0));
        let id = host::AtomicU32::new(NO_ID);
        Self(Arc::new(Inner { token, name, id, has_ended }))
    }

    /// Lets the thread's present or next `park` return.
    pub fn unpark(&self) {
        if self.0.token.swap(NOTIFIED, Release) == PARKED {
            futex_wake(&self.0.token, 1);
        }
    }

    /// The thread's number.
    pub fn id(&self) -> ThreadId {
        match self.0.id.load(Acquire) {
            NO_ID => here().get().current,
            id => ThreadId(id),
        }
    }

    /// The thread's name.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    fn park(&self, timeout: Option<Duration>) {
        let token = &self.0.token;
        if token.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok()
            || token.compare_exchange(EMPTY, PARKED, Acquire, Acquire).is_err()
        {
            token.store(EMPTY, Relaxed);
            return;
        }
        loop {
            futex_wait(token, PARKED, timeout);
            if timeout.is_some() {
                token.swap(EMPTY, Acquire);
                return;
            }
            if token.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok() {
                return;
            }
        }
    }
}

crate::thread_local! {
    static CURRENT: Cell<Option<Thread>> = const { Cell::new(None) };
}

/// The handle of this thread.
pub fn current() -> Thread {
    CURRENT.with(|current| {
        let thread = current.take().unwrap_or_else(|| {
            let thread = Thread::new(None);
            let id = engine().map_or(NO_ID, |here| here.get().current.0);
            thread.0.id.store(id, Release);
            thread
        });
        current.set(Some(thread.clone()));
        thread
    })
}

/// Blocks until this thread is unparked.
pub fn park() {
    current().park(None);
}

/// Blocks until this thread is unparked, and not longer than `time`.
pub fn park_timeout(time: Duration) {
    current().park(Some(time));
}

/// Blocks for `time`.
pub fn sleep(time: Duration) {
    here().sleep(nanos(time));
}

/// Lets other threads of this processor run, as the kernel's `sched_yield` does.
pub fn yield_now() {
    crate::os::sched_yield();
}

/// Whether this thread unwinds.
///
/// All virtual threads share the host's counter of panics. So this is exact only while at most one
/// of them unwinds: another one may read true too late, or false while it unwinds. A thread that is
/// forgotten while it unwinds leaves the counter to later runs of this host thread.
pub fn panicking() -> bool {
    match engine() {
        Some(here) => here.get().is_unwinding(std::thread::panicking()),
        None => std::thread::panicking(),
    }
}

/// How many processors this thread may run on.
///
/// # Errors
/// None: the result is std's.
pub fn available_parallelism() -> io::Result<NonZeroUsize> {
    let count = engine().map_or(1, |_| crate::os::affinity(current().id()).len());
    Ok(NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
}

/// What a thread leaves for the one that joins it.
struct Packet<T> {
    result: UnsafeCell<Option<Result<T>>>,
    /// The scope that waits for the thread.
    scope: Option<Arc<ScopeData>>,
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let result = self.result.get_mut().take();
        let is_unhandled = matches!(result, Some(Err(_)));
        // What the result borrows is gone before the scope ends.
        drop(result);
        if let Some(scope) = &self.scope {
            scope.leave(is_unhandled);
        }
    }
}

// SAFETY: the thread writes the result before it ends, and the one that joins takes it after.
unsafe impl<T: Send> Sync for Packet<T> {}

impl<T> Packet<T> {
    fn set(&self, result: Result<T>) {
        // SAFETY: the thread has not ended, so that no other one reads, and it calls this once.
        unsafe { *self.result.get() = Some(result) };
    }

    /// Waits for the thread's end, which comes after its locals were dropped.
    fn take(&self, thread: &Thread) -> Result<T> {
        let has_ended = &thread.0.has_ended;
        while has_ended.load(Acquire) == 0 {
            futex_wait(has_ended, 0, None);
        }
        // SAFETY: the thread has ended, and the one handle that takes the result is consumed.
        unsafe { &mut *self.result.get() }.take().expect("one thread joins")
    }
}

/// As [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    packet: Arc<Packet<T>>,
    thread: Thread,
    scope: PhantomData<&'scope ()>,
}

/// As [`std::thread::JoinHandle`].
pub type JoinHandle<T> = ScopedJoinHandle<'static, T>;

impl<T> std::fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread's handle.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread's end.
    ///
    /// # Errors
    /// The payload, if the thread has panicked.
    pub fn join(self) -> Result<T> {
        self.packet.take(&self.thread)
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.0.has_ended.load(Acquire) != 0
    }
}

/// As [`std::thread::Builder`].
#[derive(Debug, Default)]
#[must_use = "a builder makes a thread when `spawn` is called"]
pub struct Builder {
    name: Option<String>,
    stack_bytes: Option<usize>,
}

impl Builder {
    /// Settings of a thread.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the thread.
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Asks for a stack of at least this many bytes.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_bytes: Some(bytes), ..self }
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// If there is no memory for its stack.
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: the closure and its result borrow nothing.
        unsafe { self.start(None, body) }
    }

    /// Starts a thread that ends before the scope does.
    ///
    /// # Errors
    /// If there is no memory for its stack.
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        body: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.data.running.fetch_add(1, Relaxed);
        // SAFETY: the scope waits for the thread before what the closure borrows ends.
        unsafe { self.start(Some(Arc::clone(&scope.data)), body) }
    }

    /// # Safety
    /// What `body` and its result borrow does not end before the thread does.
    unsafe fn start<'scope, F, T>(
        self,
        scope: Option<Arc<ScopeData>>,
        body: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + 'scope,
        T: 'scope,
    {
        let packet = Arc::new(Packet { result: UnsafeCell::new(None), scope });
        let theirs = Arc::clone(&packet);
        let body: Box<dyn FnOnce() + 'scope> = Box::new(move || {
            theirs.set(catch_unwind(AssertUnwindSafe(body)));
        });
        // SAFETY: the caller's promise.
        let body = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Box<dyn FnOnce() + 'static>>(body)
        };
        let thread = Thread::new(self.name);
        let (own, ending) = (thread.clone(), thread.clone());
        let body = Box::new(move || {
            own.0.id.store(here().get().current.0, Release);
            CURRENT.set(Some(own));
            body();
        });
        let at_exit = Box::new(move || {
            ending.0.has_ended.store(1, Release);
            futex_wake(&ending.0.has_ended, usize::MAX);
        });
        let name = thread.name().map(str::to_owned);
        let id = here().spawn(name.as_deref(), self.stack_bytes, body, at_exit);
        thread.0.id.store(id.ok_or(io::ErrorKind::OutOfMemory)?.0, Release);
        Ok(ScopedJoinHandle { packet, thread, scope: PhantomData })
    }
}

/// Starts a thread.
///
/// # Panics
/// If there is no memory for its stack.
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(body).expect("there is memory for a stack")
}

#[derive(Debug)]
struct ScopeData {
    running: AtomicUsize,
    has_panicked: AtomicBool,
    main: Thread,
}

impl ScopeData {
    fn leave(&self, has_panicked: bool) {
        if has_panicked {
            self.has_panicked.store(true, Relaxed);
        }
        if self.running.fetch_sub(1, Release) == 1 {
            self.main.unpark();
        }
    }
}

/// As [`std::thread::Scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    data: Arc<ScopeData>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread that ends before the scope does.
    ///
    /// # Panics
    /// If there is no memory for its stack.
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, body).expect("there is memory for a stack")
    }
}

/// Runs a closure, and then waits for the threads that were started in its scope.
///
/// # Panics
/// If the closure or a thread that was not joined has panicked.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let data = ScopeData {
        running: AtomicUsize::new(0),
        has_panicked: AtomicBool::new(false),
        main: current(),
    };
    let scope = Scope { data: Arc::new(data), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    while scope.data.running.load(Acquire) != 0 {
        park();
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if scope.data.has_panicked.load(Relaxed) => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// Declares values that each virtual thread has for itself, as std's macro of this name.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$meta:meta])* $visibility:vis static $name:ident: $t:ty = $init:expr);* $(;)?) => {$(
        $(#[$meta])* $visibility static $name: $crate::thread::LocalKey<$t> =
            $crate::thread::LocalKey::new(|| $init);
    )*};
}
