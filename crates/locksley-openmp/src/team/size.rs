//! How many threads a region gets (OpenMP 5.0, section 2.6.1).

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use locksley_sys::primitive::CachePadded;

use super::Member;
use crate::icv::Icvs;
use crate::waiting::{grant, sample};

/// The threads that are in teams beside those that began them. An estimate: relaxed. Each region
/// changes it, so no waiting thread may read words beside it.
static BUSY: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

thread_local! {
    /// The most threads that the calling thread could have when it last called [`most_threads`],
    /// and the answer.
    static TOLD: Cell<Option<(u32, u32)>> = const { Cell::new(None) };
}

/// The size of the teams that the calling member begins without a clause, until it asks again.
/// Libraries divide work by it, and may hang in a smaller team (OpenBLAS: its jobs wait for one
/// another). They compare what several threads are told, so other teams make no difference.
pub(crate) fn most_threads(member: &Member) -> u32 {
    let icvs = member.with_task(|it| it.icvs());
    // In a region, programs size arrays by it that the team uses.
    if !is_dynamic(&icvs) || member.team().active_level > 0 {
        return icvs.threads;
    }
    sample();
    let granted = grant(most(&icvs), 0).min(icvs.thread_limit);
    TOLD.set(Some((most(&icvs), granted)));
    granted
}

/// The largest size of a dynamic team: none, if nothing was stated. What was allowed when the
/// program began is no limit, since a quota may be raised.
fn most(icvs: &Icvs) -> u32 {
    if icvs.has_default_threads { u32::MAX } else { icvs.threads }
}

fn is_dynamic(icvs: &Icvs) -> bool {
    icvs.is_dynamic && !icvs.is_insisted
}

fn told(member: &Member, icvs: &Icvs) -> Option<u32> {
    let told = TOLD.get().filter(|_| member.team().active_level == 0);
    told.filter(|it| it.0 == most(icvs)).map(|it| it.1)
}

fn granted(member: &Member, icvs: &Icvs) -> u32 {
    let granted = grant(most(icvs), BUSY.load(Ordering::Relaxed));
    // The program has asked for nested regions.
    let least = if member.team().active_level > 0 { 2 } else { 1 };
    granted.max(most(icvs).min(least))
}

/// The size of a region's team that the calling member begins, and whether the region can do with
/// less. `clause` is what `num_threads` or an `if` clause says, or 0. The threads count as busy
/// until [`release`].
pub(super) fn reserve(member: &Member, clause: u32) -> (u32, bool) {
    let icvs = member.with_task(|it| it.icvs());
    if clause == 1 || member.team().active_level >= icvs.active_levels {
        return (1, false);
    }
    sample();
    let is_dynamic = clause == 0 && is_dynamic(&icvs);
    let wanted = match clause {
        0 if is_dynamic => told(member, &icvs).unwrap_or_else(|| granted(member, &icvs)),
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
