//! The pool for whoever does not make one.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::{BuildError, Pool, PoolBuilder};

static GLOBAL: OnceLock<Pool> = OnceLock::new();
/// Held while the global pool is being built, so that only one is.
static BUILDING: Mutex<()> = Mutex::new(());

pub(super) fn get() -> &'static Pool {
    if let Some(pool) = GLOBAL.get() {
        return pool;
    }
    match build(PoolBuilder::default()) {
        Ok(pool) => pool,
        Err((_, Some(pool))) => pool,
        Err((error, None)) => panic!("the global pool could not be built: {error}"),
    }
}

pub(super) fn set(builder: PoolBuilder) -> Result<(), BuildError> {
    build(builder).map(drop).map_err(|(error, _)| error)
}

/// The pool built by this call; or why not, and the one that is there instead.
fn build(builder: PoolBuilder) -> Result<&'static Pool, (BuildError, Option<&'static Pool>)> {
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = GLOBAL.get() {
        return Err((BuildError::GlobalPoolExists, Some(pool)));
    }
    let pool = builder.build().map_err(|error| (error, None))?;
    Ok(GLOBAL.get_or_init(|| pool))
}
