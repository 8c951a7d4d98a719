//! The pool for whoever does not make one.

use std::cell::Cell;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use super::{BuildError, Pool, PoolBuilder};

static GLOBAL: OnceLock<Pool> = OnceLock::new();
/// Held while the global pool is being built, so that only one is.
static BUILDING: Mutex<()> = Mutex::new(());

thread_local! {
    static IN_A_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Runs a hook of a pool that is being built. If that is the global one, the hook cannot wait for it.
pub(super) fn in_a_hook<R>(hook: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_A_HOOK.set(self.0);
        }
    }
    let _restore = Restore(IN_A_HOOK.replace(true));
    hook()
}

pub(super) fn get() -> &'static Pool {
    if let Some(pool) = GLOBAL.get() {
        return pool;
    }
    match build(|| usual().build().or_else(alone)) {
        Ok(pool) => pool,
        Err((_, Some(pool))) => pool,
        Err((error, None)) => panic!("the global pool could not be built: {error}"),
    }
}

/// In a program written for rayon tasks may count on it that what runs while they wait runs on top of them, and so ends first.
fn usual() -> PoolBuilder {
    let usual = Pool::builder();
    if cfg!(feature = "rayon-variables") { usual.waiting_stacks(0) } else { usual }
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
    build(pool).map(drop).map_err(|(error, _)| error)
}

/// The pool built by this call; or why not, and the one that is there instead.
fn build(
    pool: impl FnOnce() -> Result<Pool, BuildError>,
) -> Result<&'static Pool, (BuildError, Option<&'static Pool>)> {
    let is_being_built = || matches!(BUILDING.try_lock(), Err(TryLockError::WouldBlock));
    assert!(
        !(IN_A_HOOK.get() && is_being_built()),
        "a hook cannot use the global pool while that is being built"
    );
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = GLOBAL.get() {
        return Err((BuildError::GlobalPoolExists, Some(pool)));
    }
    let pool = pool().map_err(|error| (error, None))?;
    Ok(GLOBAL.get_or_init(|| pool))
}
