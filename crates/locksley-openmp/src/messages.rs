//! Messages on standard error, in libgomp's form.

use std::io::Write;

use crate::uncancelled::uncancelled;

/// Prints a message as libgomp does.
pub(crate) fn warn(message: &str) {
    print(&format!("\nlibgomp: {message}\n"));
}

/// Prints a message and ends the program, as libgomp does.
pub(crate) fn fatal(message: &str) -> ! {
    warn(message);
    std::process::exit(1);
}

/// Prints on standard error.
pub(crate) fn print(text: &str) {
    // One write keeps the text whole. A failure cannot be reported.
    let _ = uncancelled(|| std::io::stderr().write_all(text.as_bytes()));
}
