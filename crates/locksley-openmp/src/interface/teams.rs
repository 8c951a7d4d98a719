//! Leagues of teams: the calling thread executes one team after the other.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::environment::settings;
use crate::tasks::Function;
use crate::team::{Member, current};

// What the program sets of `nteams-var` and `teams-thread-limit-var`. Relaxed: they order nothing.
static TEAMS: AtomicI32 = AtomicI32::new(NOT_SET);
static THREAD_LIMIT: AtomicI32 = AtomicI32::new(NOT_SET);
/// What the environment says holds.
const NOT_SET: i32 = -1;

/// `nteams-var`: 0 if there is no number.
fn teams_stated() -> c_int {
    read(&TEAMS, settings().teams)
}

/// `teams-thread-limit-var`: 0 if there is none.
fn thread_limit_stated() -> c_int {
    read(&THREAD_LIMIT, settings().teams_thread_limit)
}

fn read(variable: &AtomicI32, of_environment: i32) -> c_int {
    match variable.load(Ordering::Relaxed) {
        NOT_SET => of_environment,
        value => value,
    }
}

/// How many teams a league has that states no number, with libgomp.
const DEFAULT_TEAMS: c_uint = 3;

pub(super) fn limit_threads(member: &Member, limit: c_uint) {
    if limit != 0 {
        let limit = if limit > c_int::MAX.cast_unsigned() { u32::MAX } else { limit };
        member.with_task(|it| it.change_icvs(|it| it.thread_limit = limit));
    }
}

/// Begins the first or the next team of a league. False if there is none.
fn next(member: &Member, teams: c_uint, limit: c_uint, is_first: bool) -> bool {
    let league = &member.team().league;
    let (count, number) = league.get();
    if is_first {
        limit_threads(member, limit);
        league.set((teams.max(1), 0));
    } else if number + 1 >= count {
        return false;
    } else {
        league.set((count, number + 1));
    }
    true
}

/// Executes a function once for each team of a league. 0 stands for what no clause says. A league
/// for which the environment says nothing either has as many teams as with the compiler's own
/// library.
///
/// # Safety
/// The function and its data belong together.
pub(super) unsafe fn run(
    function: Function,
    data: *mut c_void,
    (teams, limit): (c_uint, c_uint),
    default_teams: c_uint,
) {
    let member = current();
    let (before, icvs) = (member.team().league.get(), member.with_task(|it| it.icvs()));
    let limit = if limit == 0 { thread_limit_stated().cast_unsigned() } else { limit };
    limit_threads(member, limit);
    let count = match (teams, teams_stated().cast_unsigned()) {
        (0, 0) => default_teams,
        (0, stated) => stated,
        (stated, _) => stated,
    };
    let of_a_team = member.with_task(|it| it.icvs());
    for number in 0..count {
        member.team().league.set((count, number));
        member.with_task(|it| it.change_icvs(|it| *it = of_a_team));
        // SAFETY: as the caller promises.
        unsafe { function(data) };
    }
    member.team().league.set(before);
    member.with_task(|it| it.change_icvs(|it| *it = icvs));
}

/// Sets a variable, unless the value is negative.
fn set(variable: &AtomicI32, value: c_int) {
    if value >= 0 {
        variable.store(value, Ordering::Relaxed);
    }
}

of_a_number! { () =>
    omp_set_num_teams omp_set_num_teams_ omp_set_num_teams_8_
        |value| set(&TEAMS, value);
    omp_set_teams_thread_limit omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_
        |value| set(&THREAD_LIMIT, value);
}

nullary! { c_int;
    omp_get_num_teams omp_get_num_teams_ => current().team().league.get().0.cast_signed();
    omp_get_team_num omp_get_team_num_ => current().team().league.get().1.cast_signed();
    omp_get_max_teams omp_get_max_teams_ => teams_stated();
    omp_get_teams_thread_limit omp_get_teams_thread_limit_ => thread_limit_stated();
}

export! {
    GOMP_teams(teams: c_uint, limit: c_uint) -> () {
        next(current(), teams, limit, true);
    }

    GOMP_teams4(least: c_uint, _most: c_uint, limit: c_uint, is_first: bool) -> bool {
        next(current(), least, limit, is_first)
    }

    GOMP_teams_reg(
        function: Function, data: *mut c_void, teams: c_uint, limit: c_uint,
    ) -> () {
        // SAFETY: the compiler's function and its data.
        unsafe { run(function, data, (teams, limit), DEFAULT_TEAMS) };
    }
}
