//! The settings of this process, read once.

use std::sync::OnceLock;

use super::places::is_libgomp_loaded;
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

/// The library is loaded. Reads the environment now if libgomp does so, with which the program is
/// linked. Otherwise a plugin that uses OpenMP is opened later, and its library would read the
/// environment then: as the program, such as a Python script, has set it.
pub(crate) fn read_if_linked() {
    if is_libgomp_loaded() {
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
