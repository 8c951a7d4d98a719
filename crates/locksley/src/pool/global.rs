//! The pool for whoever does not make one.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use super::{BuildError, Pool};
use crate::os;

/// What there is in this process. Never freed. In a child another takes its place, since its lock may be held by a thread that
/// is not there.
static GLOBAL: AtomicPtr<Global> = AtomicPtr::new(ptr::null_mut());

struct Global {
    generation: u32,
    pool: OnceLock<&'static Pool>,
    /// Held while the global pool is being built, so that only one is.
    building: Mutex<()>,
}

thread_local! {
    /// How many hooks this thread is in. A number, since on stacks that wait they need not end in order.
    static IN_HOOKS: Cell<usize> = const { Cell::new(0) };
}

/// Runs a hook of a pool that is being built. If that is the global one, the hook cannot wait for it.
pub(super) fn in_a_hook<R>(hook: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            IN_HOOKS.set(IN_HOOKS.get() - 1);
        }
    }
    IN_HOOKS.set(IN_HOOKS.get() + 1);
    let _leave = Leave;
    hook()
}

fn global() -> &'static Global {
    let mut current = GLOBAL.load(Ordering::Acquire);
    loop {
        // SAFETY: null, or made below and never freed.
        let known = unsafe { current.as_ref() };
        let generation = os::generation();
        if let Some(global) = known
            && global.generation == generation
        {
            return global;
        }
        // A pool that was ready before the fork goes on, on new threads; one that was being built is lost.
        let pool = known.and_then(|global| global.pool.get()).copied();
        let pool = pool.map_or_else(OnceLock::new, OnceLock::from);
        let new = Box::into_raw(Box::new(Global { generation, pool, building: Mutex::new(()) }));
        // Release pairs with the acquire here and above: who finds it sees what is in it.
        match GLOBAL.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => current = new,
            Err(now) => {
                // SAFETY: made above, and not shown to anybody.
                drop(unsafe { Box::from_raw(new) });
                current = now;
            }
        }
    }
}

pub(super) fn get() -> &'static Pool {
    let global = global();
    if let Some(pool) = global.pool.get() {
        return pool;
    }
    match build(global, || Pool::builder().build().or_else(alone)) {
        Ok(pool) => pool,
        Err((_, Some(pool))) => pool,
        Err((error, None)) => panic!("the global pool could not be built: {error}"),
    }
}

/// Where the system has no threads at all, whoever first needs the pool is its only worker.
fn alone(error: BuildError) -> Result<Pool, BuildError> {
    match error {
        BuildError::Thread { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
            Pool::builder().workers(1).with_current_thread().build()
        }
        other => Err(other),
    }
}

pub(super) fn set(pool: impl FnOnce() -> Result<Pool, BuildError>) -> Result<(), BuildError> {
    build(global(), pool).map(drop).map_err(|(error, _)| error)
}

/// The pool built by this call; or why not, and the one that is there instead.
fn build(
    global: &Global,
    pool: impl FnOnce() -> Result<Pool, BuildError>,
) -> Result<&'static Pool, (BuildError, Option<&'static Pool>)> {
    let is_being_built = || matches!(global.building.try_lock(), Err(TryLockError::WouldBlock));
    assert!(
        !(IN_HOOKS.get() > 0 && is_being_built()),
        "a hook cannot use the global pool while that is being built"
    );
    let _building = global.building.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = global.pool.get() {
        return Err((BuildError::GlobalPoolExists, Some(pool)));
    }
    let pool = pool().map_err(|error| (error, None))?;
    Ok(global.pool.get_or_init(|| Box::leak(Box::new(pool))))
}
