//! `sections`, `single` and `scope`.

use std::ffi::{c_uint, c_void};
use std::ptr;

use super::parallel;
use super::reductions::{NO_EXTRAS, begin_share};
use crate::icv::Kind;
use crate::shares::{Iterations, Plan, Preparation};
use crate::tasks::Function;
use crate::team::{self, Member, Region, current};

fn plan(count: c_uint) -> Plan {
    let iterations = Iterations::counted(u64::from(count));
    Plan { iterations, kind: Kind::Dynamic, chunk: 1, is_monotonic: true }
}

/// The number of the next section, from 1; 0 if there is none.
fn next() -> c_uint {
    let member = current();
    let position = &member.position;
    let section = position.current().next(member.number, &position.cursor);
    section.map_or(0, |(from, _)| from as c_uint + 1)
}

/// Hands a pointer that one member has to all others.
pub(super) fn hand_to_all(member: &Member, pointer: Option<*mut c_void>) -> *mut c_void {
    let (team, position) = (member.team(), &member.position);
    team.shares.advance(position, Preparation::default);
    if let Some(pointer) = pointer {
        position.current().publish(pointer);
    }
    team.wait_at_barrier(member);
    position.current().published()
}

export! {
    GOMP_sections_start(count: c_uint) -> c_uint {
        begin_share(current(), Some(plan(count)), None, NO_EXTRAS);
        next()
    }

    GOMP_sections2_start(
        count: c_uint, reductions: *mut usize, memory: *mut *mut c_void,
    ) -> c_uint {
        begin_share(current(), Some(plan(count)), None, (reductions, memory));
        next()
    }

    GOMP_sections_next() -> c_uint {
        next()
    }

    GOMP_parallel_sections_start(
        function: Function, data: *mut c_void, threads: c_uint, count: c_uint,
    ) -> () {
        let share = Some(plan(count).into());
        team::start(Region { function, data, threads, bind: 0, share }, |_| None);
    }

    GOMP_parallel_sections(
        function: Function, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint,
    ) -> () {
        let share = Some(plan(count).into());
        // SAFETY: the compiler's function and its data.
        unsafe { parallel::run(function, data, (threads, flags), share, |_| None) };
    }

    GOMP_single_start() -> bool {
        let member = current();
        member.team().take_single(member)
    }

    GOMP_single_copy_start() -> *mut c_void {
        let member = current();
        if member.team().shares.advance(&member.position, Preparation::default) {
            return ptr::null_mut();
        }
        member.team().wait_at_barrier(member);
        member.position.current().published()
    }

    GOMP_single_copy_end(data: *mut c_void) -> () {
        let member = current();
        member.position.current().publish(data);
        member.team().wait_at_barrier(member);
    }

    GOMP_scope_start(reductions: *mut usize) -> () {
        begin_share(current(), None, None, (reductions, ptr::null_mut()));
    }
}
