//! How many threads a region gets (OpenMP 5.0, section 2.6.1).
//!
//! While `dyn-var` is false, a region gets the threads that its clause or `nthreads-var` states,
//! whatever happens beside it: programs divide work and allocate memory by these numbers.

use std::sync::atomic::{AtomicU32, Ordering};

use locksley_sys::primitive::CachePadded;

use super::Member;
use crate::waiting::share;

/// The threads that are in teams beside those that began them. An estimate: relaxed. Each region
/// changes it, so no waiting thread may read words beside it.
static BUSY: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

/// The size of a region's team that the calling member begins. `clause` is what `num_threads` or an
/// `if` clause says, or 0. The threads count as busy until [`release`].
pub(super) fn reserve(member: &Member, clause: u32) -> u32 {
    let icvs = member.with_task(|it| it.icvs());
    if clause == 1 || member.team().active_level >= icvs.active_levels {
        return 1;
    }
    let stated = if clause == 0 { icvs.threads } else { clause };
    let wanted = if icvs.is_dynamic {
        let busy = BUSY.load(Ordering::Relaxed);
        dynamic(stated, share(stated.saturating_add(busy)), busy)
    } else {
        stated
    };
    // Relaxed: a limit, which orders nothing.
    let group = &member.team().group_size;
    let mut size = wanted;
    let add = |others: u32| {
        size = wanted.min(icvs.thread_limit.saturating_sub(others)).max(1);
        Some(others + size - 1)
    };
    let _ = group.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    BUSY.fetch_add(size - 1, Ordering::Relaxed);
    size
}

/// The size of a dynamic team: this process's share of the processors that it is granted, without
/// those that other teams have.
///
/// Threads of programs that do not divide the processors do not count: the kernel divides
/// processors among threads, so that a team which makes room for them gets less than its share.
fn dynamic(stated: u32, granted: u32, busy: u32) -> u32 {
    granted.saturating_sub(busy).min(stated).max(1)
}

/// `count` threads of a contention group are no longer busy. `is_counted`: they have become so in
/// this process, and not before a fork.
pub(super) fn release(group: &AtomicU32, count: u32, is_counted: bool) {
    group.fetch_sub(count, Ordering::Relaxed);
    if is_counted {
        BUSY.fetch_sub(count, Ordering::Relaxed);
    }
}

/// In a forked child no team has other threads.
pub(super) fn forget() {
    BUSY.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_team_gets_the_processors_that_other_teams_leave() {
        assert_eq!(dynamic(16, 2, 0), 2);
        assert_eq!(dynamic(16, 8, 3), 5);
        assert_eq!(dynamic(3, 8, 0), 3, "never more than is stated");
        assert_eq!(dynamic(16, 8, 8), 1, "other teams have the processors");
        assert_eq!(dynamic(4, 1, 9), 1);
    }
}
