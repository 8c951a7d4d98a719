//! How many threads a region gets (OpenMP 5.0, section 2.6.1).

use std::sync::atomic::{AtomicU32, Ordering};

use locksley_sys::primitive::CachePadded;

use super::Member;
use crate::waiting::{grant, sample};

/// The threads that are in teams beside those that began them. An estimate: relaxed. Each region
/// changes it, so no waiting thread may read words beside it.
static BUSY: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

/// The size of a region's team that the calling member begins, and whether the region can do with
/// less. `clause` is what `num_threads` or an `if` clause says, or 0. The threads count as busy
/// until [`release`].
pub(super) fn reserve(member: &Member, clause: u32) -> (u32, bool) {
    let icvs = member.with_task(|it| it.icvs());
    if clause == 1 || member.team().active_level >= icvs.active_levels {
        return (1, false);
    }
    sample();
    let busy = BUSY.load(Ordering::Relaxed);
    let is_dynamic = clause == 0 && icvs.is_dynamic && !icvs.is_insisted;
    let wanted = match clause {
        // The program has asked for nested regions.
        0 if is_dynamic && member.team().active_level > 0 => {
            grant(icvs.threads, busy).max(icvs.threads.min(2))
        }
        0 if is_dynamic => grant(icvs.threads, busy),
        0 => icvs.threads,
        clause => clause,
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
    (size, is_dynamic)
}

/// `count` threads of a contention group are no longer busy.
pub(super) fn release(group: &AtomicU32, count: u32) {
    group.fetch_sub(count, Ordering::Relaxed);
    BUSY.fetch_sub(count, Ordering::Relaxed);
}

/// In a forked child no team has other threads.
pub(super) fn forget() {
    BUSY.store(0, Ordering::Relaxed);
}
