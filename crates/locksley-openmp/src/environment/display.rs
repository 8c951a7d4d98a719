//! What OMP_DISPLAY_ENV and `omp_display_env` print.

use std::fmt::Write as _;

use super::settings::{ALLOCATORS, OFFLOADS, Settings};
use crate::icv::{Icvs, Kind};
use crate::messages::print;

const CAPPED: &str = "  [locksley] OMP_NUM_THREADS is reduced to the processors that are granted; \
     OMP_DYNAMIC=false turns this off\n";

/// Prints the settings on standard error, in libgomp's form. `is_verbose` adds the variables of
/// libgomp alone.
pub(crate) fn display(settings: &Settings, is_verbose: bool) {
    let icvs = &settings.icvs;
    let mut text = String::from("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n");
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name} = '{value}'");
    };
    line("_OPENMP", "201511");
    line("OMP_DYNAMIC", boolean(icvs.is_dynamic));
    line("OMP_NESTED", boolean(icvs.active_levels > 1));
    let rest = settings.threads.iter().skip(1).map(u32::to_string);
    let threads: Vec<_> = [icvs.threads.to_string()].into_iter().chain(rest).collect();
    line("OMP_NUM_THREADS", &threads.join(","));
    line("OMP_SCHEDULE", &schedule(icvs));
    let binds: Vec<_> = match settings.binds.as_slice() {
        [] => vec![bind(icvs.bind)],
        list => list.iter().map(|&it| bind(it)).collect(),
    };
    line("OMP_PROC_BIND", &binds.join(","));
    let places: Vec<_> = settings.places.iter().map(|it| place(it)).collect();
    line("OMP_PLACES", &places.join(","));
    let stack = settings.stack.unwrap_or(0).to_string();
    line("OMP_STACKSIZE", &stack);
    line("OMP_WAIT_POLICY", if settings.policy == Some(0) { "ACTIVE" } else { "PASSIVE" });
    line("OMP_THREAD_LIMIT", &icvs.thread_limit.to_string());
    line("OMP_MAX_ACTIVE_LEVELS", &icvs.active_levels.to_string());
    line("OMP_NUM_TEAMS", &settings.teams.to_string());
    line("OMP_TEAMS_THREAD_LIMIT", &settings.teams_thread_limit.to_string());
    line("OMP_CANCELLATION", boolean(settings.is_cancellable));
    line("OMP_DEFAULT_DEVICE", &icvs.device.to_string());
    line("OMP_MAX_TASK_PRIORITY", &settings.max_task_priority.to_string());
    line("OMP_DISPLAY_AFFINITY", boolean(settings.displays_affinity));
    line("OMP_AFFINITY_FORMAT", &settings.affinity_format);
    line("OMP_ALLOCATOR", allocator(icvs.allocator));
    line("OMP_TARGET_OFFLOAD", OFFLOADS[settings.offload]);
    if is_verbose {
        line("GOMP_CPU_AFFINITY", "");
        line("GOMP_STACKSIZE", &stack);
        line("GOMP_SPINCOUNT", "0");
    }
    // If libgomp is loaded, too, it has printed settings of its own.
    text.push_str(concat!("  [locksley] version ", env!("CARGO_PKG_VERSION"), "\n"));
    if settings.is_capped {
        text.push_str(CAPPED);
    }
    text.push_str("OPENMP DISPLAY ENVIRONMENT END\n");
    print(&text);
}

fn boolean(is_true: bool) -> &'static str {
    if is_true { "TRUE" } else { "FALSE" }
}

fn schedule(icvs: &Icvs) -> String {
    let schedule = icvs.schedule;
    let kind = match schedule.kind {
        Kind::Static => "STATIC",
        Kind::Dynamic => "DYNAMIC",
        Kind::Guided => "GUIDED",
        Kind::Auto => "AUTO",
    };
    // The modifier is shown where it is not the default.
    let modifier = match (schedule.is_monotonic, schedule.kind == Kind::Static) {
        (true, false) => "MONOTONIC:",
        (false, true) => "NONMONOTONIC:",
        _ => "",
    };
    let is_default = match schedule.kind {
        Kind::Static => schedule.chunk == 0,
        Kind::Dynamic | Kind::Guided => schedule.chunk == 1,
        Kind::Auto => true,
    };
    let chunk = if is_default { String::new() } else { format!(",{}", schedule.chunk) };
    format!("{modifier}{kind}{chunk}")
}

fn bind(number: i32) -> &'static str {
    ["FALSE", "TRUE", "MASTER", "CLOSE", "SPREAD"][usize::try_from(number).unwrap_or(0).min(4)]
}

fn allocator(handle: usize) -> &'static str {
    handle.checked_sub(1).and_then(|it| ALLOCATORS.get(it)).copied().unwrap_or("NULL")
}

fn place(processors: &[usize]) -> String {
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        run => format!("{}:{}", run[0], run.len()),
    };
    let runs: Vec<_> = processors.chunk_by(|a, b| a + 1 == *b).map(run).collect();
    format!("{{{}}}", runs.join(","))
}
