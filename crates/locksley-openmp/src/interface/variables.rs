//! Internal control variables that programs read and change.

use std::ffi::{c_double, c_int};

use super::{narrow, read, write};
use crate::environment::{display, settings};
use crate::icv::{Icvs, Kind, MONOTONIC, SUPPORTED_LEVELS, Schedule};
use crate::team::{current, with_task};
use crate::waiting::granted;

fn icvs() -> Icvs {
    with_task(|it| it.icvs())
}

fn change(change: impl FnOnce(&mut Icvs)) {
    with_task(|it| it.change_icvs(change));
}

fn int(value: u32) -> c_int {
    value.min(i32::MAX.cast_unsigned()).cast_signed()
}

of_a_number! { () =>
    omp_set_num_threads omp_set_num_threads_ omp_set_num_threads_8_
        |value: c_int| change(|it| it.threads = value.max(1).cast_unsigned());
    omp_set_dynamic omp_set_dynamic_ omp_set_dynamic_8_
        |value: c_int| change(|it| it.is_dynamic = value != 0);
    omp_set_nested omp_set_nested_ omp_set_nested_8_ set_nested;
    omp_set_max_active_levels omp_set_max_active_levels_ omp_set_max_active_levels_8_
        set_max_active_levels;
    omp_set_default_device omp_set_default_device_ omp_set_default_device_8_
        |value: c_int| change(|it| it.device = value.max(0));
    omp_display_env omp_display_env_ omp_display_env_8_
        |is_verbose: c_int| display(settings(), is_verbose != 0);
}

fn set_nested(value: c_int) {
    change(|it| match (value != 0, it.active_levels) {
        (true, levels) if levels <= current().team().active_level + 1 => {
            it.active_levels = SUPPORTED_LEVELS;
        }
        (false, levels) if levels > 1 => it.active_levels = 1,
        _ => (),
    });
}

fn set_max_active_levels(value: c_int) {
    if let Ok(levels) = u32::try_from(value) {
        change(|it| it.active_levels = levels.min(SUPPORTED_LEVELS));
    }
}

fn set_schedule(kind: u32, chunk: i64) {
    if let Some(kind_only) = Kind::from_number(kind) {
        change(|it| {
            let chunk = if kind_only == Kind::Auto { it.schedule.chunk as i64 } else { chunk };
            it.schedule = Schedule::new(kind_only, kind & MONOTONIC != 0, chunk);
        });
    }
}

nullary! { c_int;
    omp_get_max_threads omp_get_max_threads_ => int(icvs().threads);
    omp_get_num_procs omp_get_num_procs_ => int(granted());
    omp_get_dynamic omp_get_dynamic_ => c_int::from(icvs().is_dynamic);
    omp_get_thread_limit omp_get_thread_limit_ => int(icvs().thread_limit);
    omp_get_max_active_levels omp_get_max_active_levels_ => int(icvs().active_levels);
    omp_get_supported_active_levels omp_get_supported_active_levels_ => int(SUPPORTED_LEVELS);
    omp_get_default_device omp_get_default_device_ => icvs().device;
    omp_get_max_task_priority omp_get_max_task_priority_ => settings().max_task_priority;
}

export! {
    omp_get_nested omp_get_nested_() -> c_int {
        let levels = icvs().active_levels;
        c_int::from(levels > 1 && levels > current().team().active_level)
    }

    omp_set_schedule(kind: u32, chunk: c_int) -> () {
        set_schedule(kind, i64::from(chunk));
    }

    omp_set_schedule_(kind: *const u32, chunk: *const i32) -> () {
        set_schedule(read(kind), i64::from(read(chunk)));
    }

    omp_set_schedule_8_(kind: *const u32, chunk: *const i64) -> () {
        set_schedule(read(kind), i64::from(narrow(read(chunk))));
    }

    omp_get_schedule(kind: *mut u32, chunk: *mut i32) -> () {
        let schedule = icvs().schedule;
        write(kind, schedule.number());
        write(chunk, schedule.chunk as i32);
    }

    // Fortran does not know the modifier.
    omp_get_schedule_(kind: *mut u32, chunk: *mut i32) -> () {
        let schedule = icvs().schedule;
        write(kind, schedule.kind as u32);
        write(chunk, schedule.chunk as i32);
    }

    omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) -> () {
        let schedule = icvs().schedule;
        write(kind, schedule.kind as u32);
        write(chunk, schedule.chunk.cast_signed());
    }

    omp_get_wtime omp_get_wtime_() -> c_double {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as c_double + now.tv_nsec as c_double * 1e-9
    }

    omp_get_wtick omp_get_wtick_() -> c_double {
        1e-9
    }
}
