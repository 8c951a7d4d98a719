//! Reading the environment, and a warning for each value that makes no sense.

use std::env;

use super::settings::Settings;
use super::text::{self, ScheduleFault};
use super::{places, warn};
use crate::icv::{Icvs, Kind, SUPPORTED_LEVELS, Schedule};

const AFFINITY_FORMAT: &str = "level %L thread %i affinity %A";

const ALLOCATORS: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

/// Reads a variable if it is set. Warns if its value is invalid.
fn variable<T>(name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let value = env::var_os(name)?;
    let parsed = value.to_str().and_then(parse);
    if parsed.is_none() {
        invalid(name);
    }
    parsed
}

fn invalid(name: &str) {
    warn_once(&format!("Invalid value for environment variable {name}"));
}

/// Warns, unless libgomp itself is loaded, too, and has warned: the program is linked with it, and
/// this library is preloaded.
fn warn_once(message: &str) {
    if !is_libgomp_loaded() {
        warn(message);
    }
}

/// True if the dynamic linker has loaded libgomp, too.
pub(super) fn is_libgomp_loaded() -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| line.contains("/libgomp.so"))
}

fn schedule() -> Schedule {
    let default = Schedule::new(Kind::Dynamic, false, 1);
    let Some(value) = env::var_os("OMP_SCHEDULE") else { return default };
    match text::schedule(value.to_str().unwrap_or_default()) {
        Ok(schedule) => schedule,
        Err(fault) => {
            warn_once(match fault {
                ScheduleFault::Kind => "Unknown value for environment variable OMP_SCHEDULE",
                ScheduleFault::Chunk => {
                    "Invalid value for chunk size in environment variable OMP_SCHEDULE"
                }
            });
            default
        }
    }
}

/// A number that fits an `int`, and is at least `least`.
fn int(name: &str, least: u64) -> Option<i32> {
    variable(name, |it| text::number(it, least).and_then(|it| i32::try_from(it).ok()))
}

fn word(name: &str, words: &[&str]) -> Option<usize> {
    variable(name, |it| words.iter().position(|word| word.eq_ignore_ascii_case(it.trim())))
}

/// The places to which threads are bound: none if OMP_PROC_BIND is false, or no variable names any.
fn places(binds: Option<&[i32]>) -> Vec<Vec<usize>> {
    if is_libgomp_loaded() {
        return places::of_libgomp();
    }
    let stated = variable("OMP_PLACES", places::parse)
        .or_else(|| variable("GOMP_CPU_AFFINITY", places::parse_processors));
    match binds {
        Some([0, ..]) => Vec::new(),
        Some(_) => stated.unwrap_or_else(places::of_processors),
        None => stated.unwrap_or_default(),
    }
}

pub(super) fn settings() -> Settings {
    let threads = variable("OMP_NUM_THREADS", text::numbers).unwrap_or_default();
    let binds = variable("OMP_PROC_BIND", text::binds);
    let is_nested = variable("OMP_NESTED", text::boolean);
    let places = places(binds.as_deref());
    let has_lists = threads.len() > 1 || binds.as_ref().is_some_and(|it| it.len() > 1);
    let active_levels = int("OMP_MAX_ACTIVE_LEVELS", 0);
    let active_levels = active_levels
        .map_or(if is_nested.unwrap_or(has_lists) { SUPPORTED_LEVELS } else { 1 }, |levels| {
            levels.cast_unsigned().min(SUPPORTED_LEVELS)
        });
    let thread_limit = variable("OMP_THREAD_LIMIT", |it| text::number(it, 1))
        .and_then(|it| u32::try_from(it).ok());
    let is_dynamic = variable("OMP_DYNAMIC", text::boolean);
    // Read for their warnings.
    let _ = variable("OMP_TARGET_OFFLOAD", |it| {
        ["default", "mandatory", "disabled"].contains(&it.to_ascii_lowercase().trim()).then_some(())
    });
    let _ = variable("GOMP_SPINCOUNT", |it| {
        let is_endless = ["infinite", "infinity"].contains(&it.to_ascii_lowercase().trim());
        (is_endless || text::number(it.trim_end_matches(['k', 'M', 'G', 'T']), 0).is_some())
            .then_some(())
    });
    let icvs = Icvs {
        threads: threads.first().copied().unwrap_or_else(|| places::processors(&places)),
        is_dynamic: is_dynamic.unwrap_or(true),
        is_insisted: false,
        schedule: schedule(),
        active_levels,
        thread_limit: thread_limit.unwrap_or(u32::MAX),
        bind: binds.as_ref().map_or(i32::from(!places.is_empty()), |it| it[0]),
        device: int("OMP_DEFAULT_DEVICE", 0).unwrap_or(0),
        allocator: word("OMP_ALLOCATOR", &ALLOCATORS).map_or(1, |it| it + 1),
    };
    Settings {
        icvs,
        threads,
        binds: binds.unwrap_or_default(),
        places,
        stack: variable("OMP_STACKSIZE", text::size)
            .or_else(|| variable("GOMP_STACKSIZE", text::size)),
        is_passive: word("OMP_WAIT_POLICY", &["active", "passive"]) == Some(1),
        is_dynamic_stated: is_dynamic == Some(true),
        is_cancellable: variable("OMP_CANCELLATION", text::boolean).unwrap_or(false),
        max_task_priority: int("OMP_MAX_TASK_PRIORITY", 0).unwrap_or(0),
        teams: int("OMP_NUM_TEAMS", 1).unwrap_or(0),
        teams_thread_limit: int("OMP_TEAMS_THREAD_LIMIT", 1).unwrap_or(0),
        displays_affinity: variable("OMP_DISPLAY_AFFINITY", text::boolean).unwrap_or(false),
        affinity_format: env::var("OMP_AFFINITY_FORMAT").unwrap_or_else(|_| AFFINITY_FORMAT.into()),
    }
}

/// The name of an allocator.
pub(super) fn allocator_name(handle: usize) -> &'static str {
    handle.checked_sub(1).and_then(|it| ALLOCATORS.get(it)).copied().unwrap_or("NULL")
}
