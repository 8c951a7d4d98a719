//! The settings of the process, read once.

use std::sync::OnceLock;

use super::{display, read, text};
use crate::icv::Icvs;

/// What the environment says, or the defaults.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The variables of the first task.
    pub(crate) icvs: Icvs,
    /// `nthreads-var` by nesting level; empty if the environment does not say.
    pub(crate) threads: Vec<u32>,
    /// `bind-var` by nesting level; empty if the environment does not say.
    pub(crate) binds: Vec<i32>,
    /// Processors by place; empty if there are no places.
    pub(crate) places: Vec<Vec<usize>>,
    /// The stack of a thread, in bytes; `None` for the system's default.
    pub(crate) stack: Option<usize>,
    /// True if OMP_WAIT_POLICY is PASSIVE: no wait spins.
    pub(crate) is_passive: bool,
    /// True if OMP_DYNAMIC is TRUE: a program that sets a size does not insist on it.
    pub(crate) is_dynamic_stated: bool,
    pub(crate) is_cancellable: bool,
    pub(crate) max_task_priority: i32,
    pub(crate) teams: i32,
    pub(crate) teams_thread_limit: i32,
    pub(crate) displays_affinity: bool,
    pub(crate) affinity_format: String,
}

/// The settings of this process.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(read::settings)
}

/// Reads the environment, and prints the settings if OMP_DISPLAY_ENV says so. If libgomp is loaded,
/// too, it has printed them.
pub(crate) fn announce() {
    let settings = settings();
    let value = std::env::var("OMP_DISPLAY_ENV").unwrap_or_default();
    let is_verbose = value.trim().eq_ignore_ascii_case("verbose");
    let is_wanted = is_verbose || text::boolean(&value).unwrap_or(false);
    if is_wanted && !read::is_libgomp_loaded() {
        display(settings, &settings.icvs, is_verbose);
    }
}
