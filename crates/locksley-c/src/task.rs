//! Tasks with and without handles.

use std::ffi::c_void;
use std::ptr;

use locksley::task::JoinHandle;

use crate::callback::{Callback, locksley_fn};
use crate::error::{code_of, locksley_error};
use crate::pool::{Target, locksley_pool};

/// The handle of a task.
pub struct locksley_task(JoinHandle<()>);

/// Spawns a task: a worker calls `f(data)`. Returns without waiting for that.
///
/// If `task` is not NULL, `*task` is set to a handle of the task, or to NULL on an error. The
/// caller owns it, and gives it to `locksley_task_join` or `locksley_task_detach`.
///
/// The task may run, and return, before `*task` is written. A pool that is destroyed runs its tasks
/// first, and what they spawn: during that they name it by NULL. The global pool is not destroyed:
/// a task that has not returned when the process ends is lost.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `f` is NULL.
/// - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed. Any thread may call `f` with `data`, at any
/// time. `task` is NULL, or points to a pointer that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_spawn(
    pool: *const locksley_pool,
    f: locksley_fn,
    data: *mut c_void,
    task: *mut *mut locksley_task,
) -> locksley_error {
    code_of(|| {
        if !task.is_null() {
            // SAFETY: not null, so it may be written.
            unsafe { task.write(ptr::null_mut()) };
        }
        // SAFETY: as the caller promises.
        let f = unsafe { Callback::new(f, data) }?;
        // SAFETY: as the caller promises.
        let target = unsafe { Target::of(pool) }?;
        // SAFETY: any thread may call it.
        let run = move || f.call(|f, data| unsafe { f(data) });
        if task.is_null() {
            target.spawn(run);
        } else {
            let handle = Box::new(locksley_task(target.spawn_task(run)));
            // SAFETY: as above.
            unsafe { task.write(Box::into_raw(handle)) };
        }
        Ok(())
    })
}

/// Waits until a task has returned, and destroys its handle. A task that waits for itself, or for a
/// task that waits for it, waits for ever.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `task` is NULL.
/// - LOCKSLEY_ERROR_CANCELLED: the pool had been destroyed when the task was spawned, so the task
///   has not run.
///
/// # Safety
/// `task` is NULL, or a handle that is not destroyed. No other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_task_join(task: *mut locksley_task) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let handle = unsafe { take(task) }?.0;
        handle.join().map_err(|error| match error.is_cancelled() {
            true => locksley_error::LOCKSLEY_ERROR_CANCELLED,
            false => locksley_error::LOCKSLEY_ERROR_PANIC,
        })
    })
}

/// Destroys the handle of a task, which runs nevertheless.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `task` is NULL.
///
/// # Safety
/// `task` is NULL, or a handle that is not destroyed. No other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_task_detach(task: *mut locksley_task) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        drop(unsafe { take(task) }?);
        Ok(())
    })
}

/// # Safety
/// `task` is null, or a handle that no other call uses.
unsafe fn take(task: *mut locksley_task) -> Result<Box<locksley_task>, locksley_error> {
    if task.is_null() {
        return Err(locksley_error::LOCKSLEY_ERROR_ARGUMENT);
    }
    // SAFETY: made by `locksley_spawn`; the caller gives it back.
    Ok(unsafe { Box::from_raw(task) })
}
