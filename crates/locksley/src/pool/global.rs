//! The global pool: the one of programs that do not build their own.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::PoisonError;

use super::{BuildError, Pool};
use crate::os;
use crate::primitive::plain::{AtomicPtr, Mutex, OnceLock};
use crate::primitive::{Ordering, thread_local};

/// The global pool of this process. Never freed. A forked child replaces it, since a thread that
/// the child does not have may hold the lock.
static GLOBAL: AtomicPtr<Global> = AtomicPtr::new(ptr::null_mut());

struct Global {
    generation: u32,
    pool: OnceLock<&'static Pool>,
    /// Held while the global pool is being built, so that one thread builds it.
    building: Mutex<()>,
}

thread_local! {
    /// The process in which this thread runs code that the build of the global pool waits for.
    static BUILDS_IN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// True if the build of the global pool waits for what the calling thread does.
pub(super) fn is_in_build() -> bool {
    BUILDS_IN.with(Cell::get) == Some(os::generation())
}

/// Runs code that cannot use the global pool: its build waits for the code.
pub(super) fn run_in_build<R>(code: impl FnOnce() -> R) -> R {
    struct Restore(Option<u32>);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUILDS_IN.with(|builds_in| builds_in.set(self.0));
        }
    }
    let now = Some(os::generation());
    let _before = Restore(BUILDS_IN.with(|builds_in| builds_in.replace(now)));
    code()
}

fn global() -> &'static Global {
    let mut current = GLOBAL.load(Ordering::Acquire);
    loop {
        // SAFETY: null, or allocated below and never freed.
        let known = unsafe { current.as_ref() };
        let generation = os::generation();
        if let Some(global) = known.filter(|global| global.generation == generation) {
            return global;
        }
        // A pool that was ready before the fork goes on, with new threads. One that was being built
        // is lost.
        let pool = known.and_then(|global| global.pool.get()).copied();
        let pool = pool.map_or_else(OnceLock::new, OnceLock::from);
        let new = Box::into_raw(Box::new(Global { generation, pool, building: Mutex::new(()) }));
        // Release pairs with the acquire here and above: a thread that finds it sees its content.
        match GLOBAL.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => current = new,
            Err(now) => {
                // SAFETY: allocated above, and not published.
                drop(unsafe { Box::from_raw(new) });
                current = now;
            }
        }
    }
}

/// The global pool, if it has been built.
///
/// For libraries that build it in a way of their own at its first use
/// ([`PoolBuilder::build_global`](crate::PoolBuilder::build_global)).
///
/// # Examples
/// ```
/// assert!(locksley::extend::global().is_none());
/// assert_eq!(locksley::join(|| 1, || 2), (1, 2));
/// assert!(locksley::extend::global().is_some());
/// ```
#[must_use]
pub fn built() -> Option<&'static Pool> {
    global().pool.get().copied()
}

pub(super) fn get() -> &'static Pool {
    let global = global();
    if let Some(pool) = global.pool.get() {
        return pool;
    }
    let built = set(|| Pool::builder().build().or_else(without_threads));
    // Built here or by another thread.
    global.pool.get().unwrap_or_else(|| {
        let error = built.expect_err("a pool that was built is there");
        panic!("the global pool could not be built: {error}")
    })
}

/// On a system without threads, the calling thread becomes the only worker.
fn without_threads(error: BuildError) -> Result<Pool, BuildError> {
    match error {
        BuildError::Thread { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
            Pool::builder().workers(1).with_current_thread().build()
        }
        other => Err(other),
    }
}

/// Builds the global pool, unless it exists.
pub(super) fn set(pool: impl FnOnce() -> Result<Pool, BuildError>) -> Result<(), BuildError> {
    let global = global();
    assert!(!is_in_build(), "a hook cannot use the global pool while it is being built");
    let _building = global.building.lock().unwrap_or_else(PoisonError::into_inner);
    if global.pool.get().is_some() {
        return Err(BuildError::GlobalPoolExists);
    }
    let pool = Box::leak(Box::new(run_in_build(pool)?));
    global.pool.get_or_init(|| pool);
    Ok(())
}
