//! The settings of this process.

use std::env;
use std::sync::OnceLock;

use super::places::find_libgomp;
use super::settings::Settings;
use super::{display, read};
use crate::uncancelled::uncancelled;

/// The settings of this process. The first call reads the environment, and prints them if
/// OMP_DISPLAY_ENV says so.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    // Not within `get_or_init`: a child that is forked meanwhile would wait for this thread. If
    // two threads come first, both tell of faults.
    SETTINGS.get().unwrap_or_else(|| {
        let settings = uncancelled(read_and_announce);
        SETTINGS.get_or_init(|| settings)
    })
}

/// The library is loaded. Reads the environment now if the program is linked with libgomp, which
/// reads it then. Otherwise plugins that use OpenMP are opened later, and each has its library read
/// the environment as the program, such as a Python script, has set it by then. (But where threads
/// are to be bound, that library has bound this thread by then, and its affinity tells too little.)
pub(crate) fn read_if_linked() {
    let is_linked = find_libgomp();
    let binds = ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"];
    if is_linked || binds.iter().any(|name| env::var_os(name).is_some()) {
        settings();
    }
}

fn read_and_announce() -> Settings {
    let settings = read::settings();
    if let Some(is_verbose) = read::display() {
        display(&settings, is_verbose);
    }
    settings
}
