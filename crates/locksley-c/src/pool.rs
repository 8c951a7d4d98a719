//! Pools and their workers.

use std::ffi::{CStr, c_char};
use std::mem::{offset_of, size_of};
use std::ptr;

use locksley::task::JoinHandle;
use locksley::{BuildError, Pool, PoolBuilder, Worker, extend};

use crate::error::{code_of, locksley_error, value_of};

/// A pool of worker threads.
pub struct locksley_pool(pub(crate) Pool);

/// Options of a pool. `LOCKSLEY_POOL_OPTIONS_INIT` has the defaults.
#[repr(C)]
pub struct locksley_pool_options {
    /// `sizeof(locksley_pool_options)`, by which later versions know which members there are.
    pub size: usize,
    /// The number of workers, up to 65,534. 0: what the environment variable `LOCKSLEY_WORKERS`
    /// says, or else as many as affinity and quotas grant, also when these change.
    pub workers: usize,
    /// The stack size of each worker in bytes, at least 65,536. 0: 2 MiB. (The environment variable
    /// `RUST_MIN_STACK` has another default.)
    pub stack_size: usize,
    /// The name of the threads, to which "-" and an index are added: UTF-8, copied. NULL:
    /// "locksley".
    pub thread_name: *const c_char,
    /// If true, callbacks run on workers only. If false, a short call of a thread outside of the
    /// pool may run its callbacks on that thread, which is then a guest of the pool.
    pub own_threads_only: bool,
}

/// The macro LOCKSLEY_NO_INDEX of cbindgen.toml: cbindgen does not know `usize::MAX`.
const NO_INDEX: usize = usize::MAX;

/// Creates a pool.
///
/// `workers` is the number of workers, up to 65,534. If it is 0, the pool follows the system: see
/// `locksley_pool_options`. `*pool` is set to the pool, or to NULL on an error. The caller owns it:
/// `locksley_pool_destroy`.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `pool` is NULL, or `workers` is too large.
/// - LOCKSLEY_ERROR_ENVIRONMENT: an environment variable has a wrong value.
/// - LOCKSLEY_ERROR_THREAD: a thread could not be started.
///
/// # Safety
/// `pool` is NULL, or points to a pointer that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_pool_create(
    workers: usize,
    pool: *mut *mut locksley_pool,
) -> locksley_error {
    // SAFETY: as the caller promises.
    code_of(|| unsafe { create(pool, || Ok((builder_for(workers), workers))) })
}

/// Creates a pool as `options` say, or with the defaults if that is NULL. Else the same as
/// `locksley_pool_create`.
///
/// # Errors
/// - Those of `locksley_pool_create`.
/// - LOCKSLEY_ERROR_ARGUMENT, also: `options->size` is not the size that this version knows, or
///   `options->thread_name` is not UTF-8.
///
/// # Safety
/// `pool` is NULL, or points to a pointer that may be written. `options` is NULL, or points to
/// options whose `thread_name` is NULL or a string that ends with a null character.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_pool_create_with(
    options: *const locksley_pool_options,
    pool: *mut *mut locksley_pool,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let builder = || unsafe { builder_of(options) };
        // SAFETY: as the caller promises.
        unsafe { create(pool, builder) }
    })
}

/// Waits until everything that the pool has accepted has run, ends its threads and destroys it.
/// NULL is ignored.
///
/// If the caller is a worker of this pool, it does not wait: the tasks run and the threads end
/// afterwards. Tasks that were spawned with a handle can be joined after this call, too. Tasks that
/// still run name this pool by NULL.
///
/// # Errors
/// None of its own.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed. No other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_pool_destroy(pool: *mut locksley_pool) -> locksley_error {
    code_of(|| {
        if !pool.is_null() {
            // SAFETY: made by `create`; the caller gives it back.
            drop(unsafe { Box::from_raw(pool) });
        }
        Ok(())
    })
}

/// Returns the number of workers of a pool, or 0 if `pool` is NULL and the global pool cannot be
/// built. Fewer may be active.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_pool_workers(pool: *const locksley_pool) -> usize {
    value_of(|| {
        // SAFETY: as the caller promises.
        Ok(match unsafe { Target::of(pool) }? {
            Target::Given(locksley_pool(pool)) | Target::Global(pool) => pool.workers(),
            current => current.run(Worker::workers),
        })
    })
    .unwrap_or(0)
}

/// Returns the number of indices of a pool: the workers, and the most guests that the pool has at a
/// time. An array with one element for each index has this many. 0 if `pool` is NULL and the global
/// pool cannot be built.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_pool_indices(pool: *const locksley_pool) -> usize {
    value_of(|| {
        // SAFETY: as the caller promises.
        Ok(match unsafe { Target::of(pool) }? {
            Target::Given(locksley_pool(pool)) | Target::Global(pool) => pool.indices(),
            current => current.run(Worker::indices),
        })
    })
    .unwrap_or(0)
}

/// Returns the index of the calling worker in its pool, or `LOCKSLEY_NO_INDEX` on a thread that is
/// not a worker.
///
/// A task keeps its index, under which tasks that it waits for may run meanwhile. Two other tasks
/// of a pool that run at the same time have different indices. There is one exception: if a task
/// could go on after a wait, and the one that got the index meanwhile makes no progress for 100 ms,
/// both have it. Tasks that a function called by `locksley_blocking` forks have the index of its
/// caller, under which other tasks run meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn locksley_worker_index() -> usize {
    Worker::with_current(|current| current.map_or(NO_INDEX, Worker::index))
}

/// The library itself needs about half of this.
const LEAST_STACK: usize = 64 << 10;

/// A builder of a pool with this number of workers. 0 is the default.
fn builder_for(workers: usize) -> PoolBuilder {
    let builder = Pool::builder();
    if workers == 0 { builder } else { builder.workers(workers) }
}

/// # Safety
/// That of [`locksley_pool_create_with`].
unsafe fn builder_of(
    options: *const locksley_pool_options,
) -> Result<(PoolBuilder, usize), locksley_error> {
    if options.is_null() {
        return Ok((Pool::builder(), 0));
    }
    // The other members may not be there.
    const { assert!(offset_of!(locksley_pool_options, size) == 0) };
    // SAFETY: the caller's options begin with their size.
    let size = unsafe { options.cast::<usize>().read() };
    if size != size_of::<locksley_pool_options>() {
        return Err(locksley_error::LOCKSLEY_ERROR_ARGUMENT);
    }
    // SAFETY: they have the size of this type, which is plain data.
    let options = unsafe { options.read() };
    let mut builder = builder_for(options.workers);
    if options.stack_size > 0 {
        builder = builder.stack_size(options.stack_size.max(LEAST_STACK));
    }
    if !options.thread_name.is_null() {
        // SAFETY: a string, as the caller promises.
        let name = unsafe { CStr::from_ptr(options.thread_name) }.to_str();
        let name = name.map_err(|_| locksley_error::LOCKSLEY_ERROR_ARGUMENT)?.to_owned();
        builder = builder.thread_name(move |index| format!("{name}-{index}"));
    }
    let builder = if options.own_threads_only { builder.own_threads_only() } else { builder };
    Ok((builder, options.workers))
}

/// The code for an error of a pool of this number of workers. 0 is the default.
fn code_for(error: BuildError, workers: usize) -> locksley_error {
    match error {
        // The number is that of `LOCKSLEY_WORKERS`.
        BuildError::TooManyWorkers { .. } if workers == 0 => {
            locksley_error::LOCKSLEY_ERROR_ENVIRONMENT
        }
        error => error.into(),
    }
}

/// The builder is given with its number of workers.
///
/// # Safety
/// `pool` is null, or may be written.
unsafe fn create(
    pool: *mut *mut locksley_pool,
    builder: impl FnOnce() -> Result<(PoolBuilder, usize), locksley_error>,
) -> Result<(), locksley_error> {
    if pool.is_null() {
        return Err(locksley_error::LOCKSLEY_ERROR_ARGUMENT);
    }
    // SAFETY: not null, so it may be written.
    unsafe { pool.write(ptr::null_mut()) };
    let (builder, workers) = builder()?;
    let built = builder.build().map_err(|error| code_for(error, workers))?;
    let built = Box::new(locksley_pool(built));
    // SAFETY: as above.
    unsafe { pool.write(Box::into_raw(built)) };
    Ok(())
}

/// The pool that a call is for.
pub(crate) enum Target<'p> {
    Given(&'p locksley_pool),
    /// That of the calling worker.
    Current,
    Global(&'static Pool),
}

impl<'p> Target<'p> {
    /// The pool that a pointer means. Builds the global one if it is needed.
    ///
    /// # Safety
    /// The pointer is null, or was created and is not destroyed during `'p`.
    pub(crate) unsafe fn of(pool: *const locksley_pool) -> Result<Self, locksley_error> {
        // SAFETY: as the caller promises.
        if let Some(pool) = unsafe { pool.as_ref() } {
            return Ok(Self::Given(pool));
        }
        if Worker::with_current(|current| current.is_some()) {
            return Ok(Self::Current);
        }
        if extend::global().is_none() {
            match Pool::builder().build_global() {
                Ok(()) | Err(BuildError::GlobalPoolExists) => {}
                Err(error) => return Err(code_for(error, 0)),
            }
        }
        Ok(Self::Global(Pool::global()))
    }

    /// Runs a task on a worker or guest of the pool, and waits for it.
    pub(crate) fn run<R: Send>(self, task: impl FnOnce(&Worker) -> R + Send) -> R {
        match self {
            Self::Given(pool) => pool.0.install(task),
            Self::Current => Worker::with_current(|current| task(current.expect("a worker"))),
            Self::Global(pool) => pool.install(task),
        }
    }

    /// Spawns a detached task.
    pub(crate) fn spawn(self, task: impl FnOnce() + Send + 'static) {
        match self {
            Self::Given(pool) => pool.0.spawn(|_| task()),
            Self::Current => locksley::spawn(task),
            Self::Global(pool) => pool.spawn(|_| task()),
        }
    }

    /// Spawns a task with a handle.
    pub(crate) fn spawn_task(self, task: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        match self {
            Self::Given(pool) => pool.0.spawn_task(task),
            Self::Current => extend::spawn_task(task),
            Self::Global(pool) => pool.spawn_task(task),
        }
    }
}
