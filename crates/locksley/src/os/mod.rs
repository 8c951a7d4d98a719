//! What Locksley asks of the operating system: Linux, and a portable fallback with the same names.
//!
//! Every assist is optional (law 7): it is probed once, has a fallback that keeps all laws, and is listed by
//! [`assists`]. Compile with `--cfg locksley_portable` to get the fallback on Linux as well.

mod assist;
mod assists;
#[cfg(all(target_os = "linux", not(locksley_portable)))]
mod door;
mod limits;
#[cfg(loom)]
mod loom;
mod processors;
mod standing;

#[cfg(all(target_os = "linux", not(locksley_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(locksley_portable)))]
use linux as system;

#[cfg(not(all(target_os = "linux", not(locksley_portable))))]
mod portable;
#[cfg(not(all(target_os = "linux", not(locksley_portable))))]
use portable as system;

pub use assist::{Assist, AssistState, assists};
pub use assists::{Assists, UnknownAssist};
pub use limits::LimitFault;
pub(crate) use limits::Quota;
pub use processors::Processors;

#[cfg(loom)]
pub(crate) use self::loom::{
    Futex, SleepersMask, current_processor, heavy_barrier, heavy_barrier_works, light_barrier,
};
pub use standing::Standing;
#[cfg(target_arch = "x86_64")]
pub(crate) use system::trusts_counter;
pub(crate) use system::{
    Affinities, LoweredPriority, QuotaWatch, ThreadAffinity, ThreadClock, ThreadDelay, ThreadWatch,
    ask_for_huge_pages, at_exit, bind_this_thread, busy_time, generation, huge_page,
    lowered_priority_works, move_this_thread, move_to_process_affinity, moves_threads, online,
    own_delay, page, place_memory, process_time, runnable_threads, shorten_turns, throttled,
    unbind_this_thread, watch_for_forks,
};
#[cfg(not(loom))]
pub(crate) use system::{
    Futex, SleepersMask, current_processor, heavy_barrier, heavy_barrier_works,
};

/// Lets other threads run on this processor, if any are ready.
pub(crate) fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    ::loom::thread::yield_now();
}

/// The light side of an asymmetric barrier: what comes before it is ordered with what comes after it, as seen by a thread
/// that makes a [`heavy_barrier`], which pays for both. It orders nothing with anybody else.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn light_barrier() {
    use crate::primitive::Ordering::SeqCst;
    #[cfg(not(test))]
    std::sync::atomic::compiler_fence(SeqCst);
    // A step of the stall harness.
    #[cfg(test)]
    crate::primitive::fence(SeqCst);
}
