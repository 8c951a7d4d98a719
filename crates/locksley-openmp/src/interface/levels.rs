//! Where the calling thread is: team, number, nesting level.

use std::ffi::c_int;

use crate::team::{current, member};

fn ancestor_number(level: i64) -> c_int {
    let member = current();
    let ancestor = u32::try_from(level).ok().and_then(|it| member.team().ancestor(member, it));
    ancestor.map_or(-1, |it| it.number.cast_signed())
}

fn team_size(level: i64) -> c_int {
    let member = current();
    let ancestor = u32::try_from(level).ok().and_then(|it| member.team().ancestor(member, it));
    ancestor.map_or(-1, |it| it.team().size.cast_signed())
}

export! {
    omp_get_thread_num omp_get_thread_num_() -> c_int {
        member().map_or(0, |it| it.number.cast_signed())
    }

    omp_get_num_threads omp_get_num_threads_() -> c_int {
        member().map_or(1, |it| it.team().size.cast_signed())
    }

    omp_in_parallel omp_in_parallel_() -> c_int {
        c_int::from(member().is_some_and(|it| it.team().active_level > 0))
    }

    omp_get_level omp_get_level_() -> c_int {
        member().map_or(0, |it| it.team().level.cast_signed())
    }

    omp_get_active_level omp_get_active_level_() -> c_int {
        member().map_or(0, |it| it.team().active_level.cast_signed())
    }

    omp_get_ancestor_thread_num(level: c_int) -> c_int {
        ancestor_number(i64::from(level))
    }

    omp_get_ancestor_thread_num_(level: *const i32) -> c_int {
        // SAFETY: Fortran passes it by reference.
        ancestor_number(i64::from(unsafe { *level }))
    }

    omp_get_ancestor_thread_num_8_(level: *const i64) -> c_int {
        // SAFETY: Fortran passes it by reference.
        ancestor_number(unsafe { *level })
    }

    omp_get_team_size(level: c_int) -> c_int {
        team_size(i64::from(level))
    }

    omp_get_team_size_(level: *const i32) -> c_int {
        // SAFETY: Fortran passes it by reference.
        team_size(i64::from(unsafe { *level }))
    }

    omp_get_team_size_8_(level: *const i64) -> c_int {
        // SAFETY: Fortran passes it by reference.
        team_size(unsafe { *level })
    }
}
