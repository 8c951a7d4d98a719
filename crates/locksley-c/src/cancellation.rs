//! Tokens that keep work from beginning.

use locksley::Cancellation;

use crate::error::{code_of, locksley_error, reference};

/// A token that cancels loops and scopes: once it is cancelled, nothing more of them begins.
pub struct locksley_cancellation(pub(crate) Cancellation);

/// Makes a token. It is destroyed by `locksley_cancellation_destroy`. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn locksley_cancellation_create() -> *mut locksley_cancellation {
    Box::into_raw(Box::new(locksley_cancellation(Cancellation::new())))
}

/// Cancels a token, which cannot be undone. A thread that finds the token cancelled sees what the
/// caller has written before. Must not be called in a signal handler.
///
/// # Errors
/// - LOCKSLEY_ERROR_ARGUMENT: `token` is NULL.
///
/// # Safety
/// `token` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_cancellation_cancel(
    token: *const locksley_cancellation,
) -> locksley_error {
    code_of(|| {
        // SAFETY: as the caller promises.
        unsafe { reference(token) }?.0.cancel();
        Ok(())
    })
}

/// Returns whether a token was cancelled; false for NULL. A long callback calls it regularly.
///
/// # Safety
/// `token` is NULL, or was created and is not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_cancellation_is_cancelled(
    token: *const locksley_cancellation,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe { token.as_ref() }.is_some_and(|token| token.0.is_cancelled())
}

/// Destroys a token. NULL is ignored.
///
/// # Safety
/// `token` is NULL, or was created and is not destroyed. No other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn locksley_cancellation_destroy(token: *mut locksley_cancellation) {
    if !token.is_null() {
        // SAFETY: made by `locksley_cancellation_create`; the caller gives it back.
        drop(unsafe { Box::from_raw(token) });
    }
}
