//! Scopes: any number of tasks, for all of which one call waits.

use std::ffi::c_void;
use std::ptr;

use locksley::{Scope, scope, scope_until};

use crate::callback::Callback;
use crate::cancellation::locksley_cancellation;
use crate::error::{code_of, locksley_error, reference};
use crate::pool::{Target, locksley_pool};

/// A scope: the tasks for which a call of `locksley_scope_run` waits. It belongs to that call, and
/// is valid until it returns.
pub struct locksley_scope {
    _scope: Scope<'static>,
}

/// A task of a scope, which may spawn more tasks in it.
pub type locksley_scope_fn =
    Option<unsafe extern "C-unwind" fn(scope: *const locksley_scope, data: *mut c_void)>;

type Task = Callback<unsafe extern "C-unwind" fn(*const locksley_scope, *mut c_void)>;

/// Calls `body(scope, data)` on a worker or guest, and returns when it and all tasks that were
/// spawned in the scope have returned.
///
/// Use it if running tasks discover more tasks. Tasks may use the caller's variables.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `body` is NULL.
/// - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed. Any thread may call `body` with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_scope_run(
    pool: *const locksley_pool,
    body: locksley_scope_fn,
    data: *mut c_void,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let body = unsafe { Callback::new(body, data) }?;
        // SAFETY: as the caller promises.
        let target = unsafe { Target::of(pool) }?;
        target.run(|_| scope(|scope| run_task(body, scope)));
        Ok(())
    })
}

/// `locksley_scope_run` with a token: neither the body nor a task begins once `token` is cancelled.
/// Those that have begun end first. The `data` of a task that does not begin is not used any more
/// when this returns.
///
/// # Errors
/// - LOCKSLEY_ERROR_CANCELLED: the body or a task did not begin.
/// - LOCKSLEY_ERROR_ARGUMENT, also: `token` is NULL.
/// - Those of `locksley_scope_run`.
///
/// # Safety
/// That of `locksley_scope_run`. `token` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_scope_run_until(
    pool: *const locksley_pool,
    token: *const locksley_cancellation,
    body: locksley_scope_fn,
    data: *mut c_void,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let token = &unsafe { reference(token) }?.0;
        // SAFETY: as the caller promises.
        let body = unsafe { Callback::new(body, data) }?;
        // SAFETY: as the caller promises.
        let target = unsafe { Target::of(pool) }?;
        Ok(target.run(|_| scope_until(token, |scope| run_task(body, scope)))?)
    })
}

/// Spawns a task in a scope: a worker calls `task(scope, data)`.
///
/// It may be called in the body and the tasks of the scope, and by other threads, if the call
/// returns while one of these still runs. A worker begins with the newest of the tasks that it has
/// spawned.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `scope` or `task` is NULL.
///
/// # Safety
/// `scope` is NULL, or the argument of the body or a task, of which one has not returned. Any
/// thread may call `task` with `data`, until the call that waits for the scope returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_scope_spawn(
    scope: *const locksley_scope,
    task: locksley_scope_fn,
    data: *mut c_void,
) -> locksley_error {
    code_of(|| {
        // SAFETY: made from such a reference by `run_task`. It is alive, as the caller promises.
        // What the task captures lives for ever, so it does in each lifetime.
        let scope = unsafe { reference(scope.cast::<Scope<'static>>()) }?;
        // SAFETY: as the caller promises.
        let task = unsafe { Callback::new(task, data) }?;
        // That of the body, which lives until `locksley_scope_run` returns.
        scope.spawn(move |_| run_task(task, scope));
        Ok(())
    })
}

fn run_task(task: Task, scope: &Scope<'static>) {
    // SAFETY: any thread may call it.
    task.call(|task, data| unsafe { task(ptr::from_ref(scope).cast(), data) });
}
