//! Messages of the `error` directive, and errors that end the program.

use std::ffi::c_char;

use crate::messages::{fatal, warn};

/// The message of a directive. The length is that of the string, or all ones if it ends with 0.
fn message(prefix: &str, text: *const c_char, length: usize) -> String {
    if text.is_null() {
        return format!("{prefix}error directive encountered");
    }
    let bytes = if length == usize::MAX {
        // SAFETY: the program's string ends with a zero.
        unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes()
    } else {
        // SAFETY: the compiler passes the length.
        unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) }
    };
    format!("{prefix}error directive encountered: {}", String::from_utf8_lossy(bytes))
}

/// What an `error` directive does.
pub(super) fn report(is_fatal: bool, text: *const c_char, length: usize) {
    if is_fatal {
        fatal(&message("fatal error: ", text, length));
    }
    warn(&message("", text, length));
}

export! {
    GOMP_warning(text: *const c_char, length: usize) -> () {
        report(false, text, length);
    }

    GOMP_error(text: *const c_char, length: usize) -> () {
        report(true, text, length);
    }
}
