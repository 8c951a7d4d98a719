//! Reading the environment, and a warning for each value that makes no sense.

use std::env;
use std::os::unix::ffi::OsStrExt;

use locksley_sys::os::Assists;

use super::places;
use super::places::is_libgomp_loaded;
use super::settings::{ALLOCATORS, MIN_STACK, OFFLOADS, Settings};
use super::text::{self, Text};
use crate::icv::{Icvs, SUPPORTED_LEVELS, Schedule};
use crate::messages::warn;

const AFFINITY_FORMAT: &str = "locksley: level %L thread %i affinity %A";

/// Reads a variable if it is set. Warns if its value is invalid.
fn variable<T>(name: &str, parse: impl FnOnce(&mut Text<'_>) -> Option<T>) -> Option<T> {
    let value = env::var_os(name)?;
    let mut text = Text(value.as_bytes());
    let parsed = parse(&mut text).filter(|_| text.is_over());
    if parsed.is_none() {
        // As libgomp spells it.
        let kind = if name == "GOMP_CPU_AFFINITY" { "enviroment" } else { "environment" };
        let message = format!("Invalid value for {kind} variable {name}");
        // libgomp does not know ours.
        if name.starts_with("LOCKSLEY_") { warn(&message) } else { warn_once(&message) }
    }
    parsed
}

/// Warns, unless libgomp itself is loaded, too, and has warned.
fn warn_once(message: &str) {
    if !is_libgomp_loaded() {
        warn(message);
    }
}

fn schedule() -> Schedule {
    let value = env::var_os("OMP_SCHEDULE").unwrap_or_else(|| "dynamic".into());
    let (schedule, fault) = text::schedule(&mut Text(value.as_bytes()));
    fault.unwrap_or_else(warn_once);
    schedule
}

fn boolean(name: &str) -> Option<bool> {
    variable(name, text::boolean)
}

/// A number that fits an `int`, and is at least `least`.
fn int(name: &str, least: u64) -> Option<i32> {
    variable(name, |it| it.number_from(least).and_then(|it| i32::try_from(it).ok()))
}

/// The number of one of these words.
fn word(name: &str, words: &[&str]) -> Option<usize> {
    let numbered: Vec<_> = words.iter().zip(0..).map(|(&word, number)| (word, number)).collect();
    variable(name, |it| it.word(&numbered))
}

/// The places to which threads are bound: none if OMP_PROC_BIND is false, or no variable names any.
fn places(binds: Option<&[i32]>) -> Vec<Vec<usize>> {
    if is_libgomp_loaded() {
        return places::of_libgomp();
    }
    let is_ignored = matches!(binds, Some([0, ..]));
    let stated = variable("OMP_PLACES", places::stated).filter(|_| !is_ignored);
    let find = |it| places::find(it).map_err(|message| warn(&message)).unwrap_or_default();
    let places = stated.map(find).unwrap_or_default();
    let listed = variable("GOMP_CPU_AFFINITY", places::of_list).filter(|_| !is_ignored);
    match (places, listed) {
        (places, _) if !places.is_empty() || is_ignored => places,
        (_, Some(listed)) if !listed.is_empty() => listed,
        _ => binds.map(|_| places::of_processors()).unwrap_or_default(),
    }
}

/// `max-active-levels-var`. `is_nested_by_default`: a list has values for inner levels.
fn active_levels(is_nested_by_default: bool) -> u32 {
    let stated = variable("OMP_MAX_ACTIVE_LEVELS", |it| it.number_from(0));
    let nested = || boolean("OMP_NESTED").unwrap_or(is_nested_by_default);
    let levels = stated.unwrap_or_else(|| if nested() { u64::MAX } else { 1 });
    levels.min(SUPPORTED_LEVELS.into()) as u32
}

/// Reduces the sizes to at most `granted`. True if one was larger.
fn cap(threads: &mut [u32], granted: u32) -> bool {
    let is_larger = threads.iter().any(|&it| it > granted);
    threads.iter_mut().for_each(|it| *it = granted.min(*it));
    is_larger
}

/// The stack of a thread.
fn stack() -> Option<usize> {
    let size = |name| variable(name, text::size);
    let stated = size("OMP_STACKSIZE").or_else(|| size("GOMP_STACKSIZE"))?;
    if stated < MIN_STACK {
        warn_once(&format!("Stack size less than minimum of {}k", MIN_STACK >> 10));
    }
    Some(stated)
}

/// In libgomp's order, which is that of its warnings.
pub(super) fn settings() -> Settings {
    let schedule = schedule();
    let is_dynamic = boolean("OMP_DYNAMIC");
    let is_cancellable = boolean("OMP_CANCELLATION").unwrap_or(false);
    let displays_affinity = boolean("OMP_DISPLAY_AFFINITY").unwrap_or(false);
    let device = int("OMP_DEFAULT_DEVICE", 0).unwrap_or(0);
    let offload = word("OMP_TARGET_OFFLOAD", &OFFLOADS).unwrap_or(0);
    let max_task_priority = int("OMP_MAX_TASK_PRIORITY", 0).unwrap_or(0);
    let allocator = word("OMP_ALLOCATOR", &ALLOCATORS).map_or(1, |it| it + 1);
    let thread_limit = variable("OMP_THREAD_LIMIT", |it| it.number_from(1));
    int("GOMP_DEBUG", 0);
    let mut threads = variable("OMP_NUM_THREADS", text::numbers).unwrap_or_default();
    let teams = int("OMP_NUM_TEAMS", 1).unwrap_or(0);
    let teams_thread_limit = int("OMP_TEAMS_THREAD_LIMIT", 1).unwrap_or(0);
    let binds = variable("OMP_PROC_BIND", text::binds);
    let has_lists = threads.len() > 1 || binds.as_ref().is_some_and(|it| it.len() > 1);
    let active_levels = active_levels(has_lists);
    let places = places(binds.as_deref());
    let policy = word("OMP_WAIT_POLICY", &["active", "passive"]);
    variable("GOMP_SPINCOUNT", text::spins);
    let (all, granted) = places::processors(&places);
    let is_capped = is_dynamic.is_none() && cap(&mut threads, granted);
    let is_dynamic = is_dynamic.unwrap_or(false);
    // With dynamic sizes it is an upper bound, and the quota may be raised.
    let default = if is_dynamic { all } else { granted };
    let icvs = Icvs {
        threads: threads.first().copied().unwrap_or(default),
        is_dynamic,
        schedule,
        active_levels,
        thread_limit: thread_limit
            .and_then(|it| i32::try_from(it).ok())
            .map_or(u32::MAX, i32::cast_unsigned),
        bind: binds.as_ref().map_or(i32::from(!places.is_empty()), |it| it[0]),
        device,
        allocator,
    };
    Settings {
        icvs,
        threads,
        binds: binds.unwrap_or_default(),
        places,
        stack: stack(),
        policy,
        is_capped,
        is_cancellable,
        max_task_priority,
        teams,
        teams_thread_limit,
        displays_affinity,
        affinity_format: env::var("OMP_AFFINITY_FORMAT").unwrap_or_else(|_| AFFINITY_FORMAT.into()),
        offload,
        has_board: variable("LOCKSLEY_ASSISTS", text::assists)
            .is_some_and(|it| it.has(Assists::BOARD)),
        is_verbose: env::var_os("LOCKSLEY_VERBOSE").is_some_and(|it| it == "1"),
    }
}

/// How OMP_DISPLAY_ENV asks for the settings: not at all, or whether in full.
pub(super) fn display() -> Option<bool> {
    const WORDS: [(&str, Option<bool>); 3] =
        [("true", Some(false)), ("false", None), ("verbose", Some(true))];
    let mut asked = None;
    // A fault behind the word does not take it back.
    variable("OMP_DISPLAY_ENV", |it| {
        asked = it.word(&WORDS);
        asked
    });
    asked.flatten()
}
