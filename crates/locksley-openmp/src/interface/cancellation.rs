//! Cancellation, if OMP_CANCELLATION allows it.

use std::ffi::c_int;

use crate::environment::settings;
use crate::team::{Member, current};

const PARALLEL: c_int = 1;
const LOOP: c_int = 2;
const SECTIONS: c_int = 4;
const TASKGROUP: c_int = 8;

/// True if what encloses the calling member has been cancelled.
fn is_cancelled(member: &Member, what: c_int) -> bool {
    if what & (LOOP | SECTIONS) != 0 && member.team().is_share_cancelled(member) {
        return true;
    }
    let of_group = || {
        what & TASKGROUP != 0
            && member.with_task(|it| it.group()).is_some_and(|it| it.is_cancelled())
    };
    of_group() || member.team().is_cancelled()
}

/// Cancels what encloses the calling member. True if it is cancelled.
pub(super) fn cancel(what: c_int, is_requested: bool) -> bool {
    if !settings().is_cancellable {
        return false;
    }
    let member = current();
    if !is_requested {
        return is_cancelled(member, what);
    }
    if what & (LOOP | SECTIONS) != 0 {
        member.team().cancel_share(member);
    } else if what & TASKGROUP != 0 {
        if let Some(group) = member.with_task(|it| it.group()) {
            group.cancel();
        }
    } else if what & PARALLEL != 0 {
        member.team().cancel();
    }
    true
}

export! {
    GOMP_cancel(what: c_int, is_requested: bool) -> bool {
        cancel(what, is_requested)
    }

    GOMP_cancellation_point(what: c_int) -> bool {
        cancel(what, false)
    }

    omp_get_cancellation omp_get_cancellation_() -> c_int {
        c_int::from(settings().is_cancellable)
    }
}
