//! Two tasks, loops, and calls that block.

use std::ffi::c_void;
use std::iter;
use std::ops::Range;

use locksley::loops::{Parts, par};
use locksley::{Cancellation, Cancelled};

use crate::callback::{Callback, locksley_fn, locksley_range_fn};
use crate::cancellation::locksley_cancellation;
use crate::error::{code_of, locksley_error, reference};
use crate::pool::{Target, locksley_pool};

/// Calls `f(f_data)` and `g(g_data)`, possibly at the same time, and returns when both have
/// returned.
///
/// On a worker of the pool, `f` is called at once, on the calling thread. If no other worker steals
/// the call of `g` meanwhile, that comes next, for little more than the price of a call. Elsewhere,
/// the calling thread waits.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `f` or `g` is NULL.
/// - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed. Any thread may call `f` with `f_data`, and
/// `g` with `g_data`, also at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_join(
    pool: *const locksley_pool,
    f: locksley_fn,
    f_data: *mut c_void,
    g: locksley_fn,
    g_data: *mut c_void,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let f = unsafe { Callback::new(f, f_data) }?;
        // SAFETY: as the caller promises.
        let g = unsafe { Callback::new(g, g_data) }?;
        // SAFETY: as the caller promises.
        let target = unsafe { Target::of(pool) }?;
        // SAFETY: any thread may call it.
        let call =
            |f: Callback<_>| f.call(|f: unsafe extern "C-unwind" fn(_), data| unsafe { f(data) });
        target.run(|worker| worker.join(|_| call(f), |_| call(g)));
        Ok(())
    })
}

/// Runs the iterations from `begin` up to `end`, without `end`, in parallel: divides them into
/// disjoint ranges, and calls `body` once for each range, in any order and at the same time.
/// Returns when all calls have returned.
///
/// The library divides by halves, and other workers steal halves. `grain` is the most iterations of
/// a call. If it is 0, the library measures the calls, and chooses the ranges so that a call takes
/// about 5 µs.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `body` is NULL, or `begin` is larger than `end`.
/// - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
///
/// # Safety
/// `pool` is NULL, or was created and is not destroyed. Any thread may call `body` with `data`,
/// several at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_for(
    pool: *const locksley_pool,
    begin: usize,
    end: usize,
    grain: usize,
    body: locksley_range_fn,
    data: *mut c_void,
) -> locksley_error {
    // SAFETY: as the caller promises.
    code_of(|| unsafe { run_loop(pool, None, begin..end, grain, body, data) })
}

/// `locksley_for` with a token: no call of `body` begins once `token` is cancelled. Those that have
/// begun end first.
///
/// # Errors
/// - LOCKSLEY_ERROR_CANCELLED: some iterations were left out.
/// - LOCKSLEY_ERROR_ARGUMENT, also: `token` is NULL.
/// - Those of `locksley_for`.
///
/// # Safety
/// That of `locksley_for`. `token` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_for_until(
    pool: *const locksley_pool,
    token: *const locksley_cancellation,
    begin: usize,
    end: usize,
    grain: usize,
    body: locksley_range_fn,
    data: *mut c_void,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        let token = &unsafe { reference(token) }?.0;
        // SAFETY: as the caller promises.
        unsafe { run_loop(pool, Some(token), begin..end, grain, body, data) }
    })
}

/// # Safety
/// That of [`locksley_for`].
unsafe fn run_loop(
    pool: *const locksley_pool,
    token: Option<&Cancellation>,
    range: Range<usize>,
    grain: usize,
    body: locksley_range_fn,
    data: *mut c_void,
) -> Result<(), locksley_error> {
    // SAFETY: as the caller promises.
    let body = unsafe { Callback::new(body, data) }?;
    if range.start > range.end {
        return Err(locksley_error::LOCKSLEY_ERROR_ARGUMENT);
    }
    if range.is_empty() {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    let target = unsafe { Target::of(pool) }?;
    let body = |part: Range<usize>| {
        // SAFETY: any thread may call it.
        body.call(|body, data| unsafe { body(part.start, part.end, data) });
    };
    let iterations = par(Iterations(range));
    let iterations = if grain > 0 { iterations.grain(grain) } else { iterations };
    let ended: Result<(), Cancelled> = target.run(|_| match token {
        Some(token) => iterations.cancel(token).for_each(body),
        None => {
            iterations.for_each(body);
            Ok(())
        }
    });
    Ok(ended?)
}

/// Iterations that a loop divides. The body gets those of a leaf at once.
struct Iterations(Range<usize>);

impl Parts for Iterations {
    type Item = Range<usize>;
    fn len(&self) -> usize {
        ExactSizeIterator::len(&self.0)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let middle = self.0.start + middle;
        (Self(self.0.start..middle), Self(middle..self.0.end))
    }
    fn into_items(self) -> impl Iterator<Item = Range<usize>> {
        iter::once(self.0)
    }
}

/// Calls `f(data)`, which may block: another thread works under the index of the calling worker
/// meanwhile. On a thread that is not a worker, it is only a call.
///
/// Use it for system calls and the like that take more than about 0.1 ms.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `f` is NULL.
///
/// # Safety
/// `f` may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_blocking(f: locksley_fn, data: *mut c_void) -> locksley_error {
    code_of(|| {
        // SAFETY: it is called here only, as the caller promises.
        let f = unsafe { Callback::new(f, data) }?;
        // SAFETY: as above.
        locksley::blocking(|| f.call(|f, data| unsafe { f(data) }));
        Ok(())
    })
}
