//! The settings of this process, read once.

use std::sync::OnceLock;

use super::settings::Settings;
use super::{display, read};

/// The settings of this process.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(read::settings)
}

/// Reads the environment, and prints the settings if OMP_DISPLAY_ENV says so.
pub(crate) fn announce() {
    let settings = settings();
    if let Some(is_verbose) = read::display() {
        display(settings, is_verbose);
    }
}
