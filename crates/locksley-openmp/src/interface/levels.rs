//! Where the calling thread is: team, number, nesting level.

use std::ffi::c_int;

use crate::team::{Member, current, member};

/// What `number` says of the calling member's ancestor at a nesting level; -1 if there is none.
fn of_ancestor(level: c_int, number: impl FnOnce(&Member) -> u32) -> c_int {
    let member = current();
    let ancestor = u32::try_from(level).ok().and_then(|it| member.team().ancestor(member, it));
    ancestor.map_or(-1, |it| number(it).cast_signed())
}

nullary! { c_int;
    omp_get_thread_num omp_get_thread_num_ => member().map_or(0, |it| it.number.cast_signed());
    omp_get_num_threads omp_get_num_threads_ =>
        member().map_or(1, |it| it.team().size.cast_signed());
    omp_in_parallel omp_in_parallel_ =>
        c_int::from(member().is_some_and(|it| it.team().active_level > 0));
    omp_get_level omp_get_level_ => member().map_or(0, |it| it.team().level.cast_signed());
    omp_get_active_level omp_get_active_level_ =>
        member().map_or(0, |it| it.team().active_level.cast_signed());
}

of_a_number! { c_int =>
    omp_get_ancestor_thread_num omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_
        |level| of_ancestor(level, |it| it.number);
    omp_get_team_size omp_get_team_size_ omp_get_team_size_8_
        |level| of_ancestor(level, |it| it.team().size);
}
