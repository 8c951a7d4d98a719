//! Messages of the `error` directive, and errors that end the program.

use std::ffi::c_char;

use super::read_text;
use crate::messages::{fatal, warn};

/// The message of a directive. The length is that of the string, or all ones if it ends with 0.
fn message(prefix: &str, text: *const c_char, length: usize) -> String {
    if text.is_null() {
        return format!("{prefix}error directive encountered");
    }
    let text = read_text(text, Some(length).filter(|&it| it != usize::MAX));
    format!("{prefix}error directive encountered: {text}")
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
