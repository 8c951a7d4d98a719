//! What Locksley asks of the operating system: Linux, and a portable fallback with the same names.
//!
//! Every assist is optional (law 7): it is probed once, has a fallback that keeps all laws, and is
//! listed by [`assists`]. Compile with `--cfg locksley_portable` to get the fallback on Linux as
//! well.

mod assist;
mod assists;
mod board;
mod limits;
mod processors;
mod progress;
mod run_state;
#[cfg(any(loom, shuttle))]
#[allow(missing_docs, reason = "documented in `linux`")]
mod simulated;
mod switch;

#[cfg(all(target_os = "linux", not(any(locksley_portable, shuttle, manycore))))]
mod linux;
#[cfg(all(target_os = "linux", not(any(locksley_portable, shuttle, manycore))))]
use linux as system;

#[cfg(manycore)]
#[allow(missing_docs, reason = "documented in `linux`")]
mod manycore;
#[cfg(manycore)]
use manycore as system;

#[cfg(not(any(
    manycore,
    all(target_os = "linux", not(any(locksley_portable, shuttle, manycore)))
)))]
#[allow(missing_docs, reason = "documented in `linux`")]
#[cfg_attr(any(loom, shuttle), allow(dead_code, unreachable_pub, unused_imports))]
mod portable;
#[cfg(not(any(
    manycore,
    all(target_os = "linux", not(any(locksley_portable, shuttle, manycore)))
)))]
use portable as system;

pub use assist::{Assist, assists};
pub use assists::{Assists, UnknownAssist};
pub use board::{Board, PARTS};
pub use limits::{LimitFault, Quota};
pub use processors::Processors;
pub use progress::Progress;
pub use run_state::RunState;
#[cfg(any(loom, shuttle))]
pub use simulated::{Futex, heavy_barrier, heavy_barrier_works, light_barrier};
pub use switch::{LoggedSwitch, Switch};
#[cfg(not(any(loom, shuttle)))]
pub use system::{Futex, heavy_barrier, heavy_barrier_works};
pub use system::{
    QuotaWatch, SwitchLog, ThreadAffinity, ThreadClock, ThreadDelay, ThreadProgress,
    ThreadSettings, ThreadWatch, bind_this_thread, current_processor, generation,
    involuntary_switches, move_to_process_affinity, niceness, online_processors, preempt_all,
    process_involuntary_switches, process_time, runnable_threads, set_niceness, shorten_time_slice,
    stack, unbind_this_thread, watch_for_forks,
};
#[cfg(manycore)]
pub use system::{light_barrier, shared_hardware};

/// Lets other threads run on this processor, if any are ready.
#[inline]
pub fn yield_now() {
    #[cfg(not(loom))]
    crate::primitive::thread::yield_now();
    #[cfg(loom)]
    ::loom::thread::yield_now();
}

/// The light side of an asymmetric barrier: what comes before it is ordered with what comes after
/// it, as seen by a thread that makes a [`heavy_barrier`], which pays for both. It orders nothing
/// with any other thread.
#[cfg(not(any(loom, shuttle, manycore)))]
#[inline(always)]
pub fn light_barrier() {
    use crate::primitive::Ordering::SeqCst;
    #[cfg(not(all(feature = "stepped", debug_assertions)))]
    std::sync::atomic::compiler_fence(SeqCst);
    // A step of the stall harness.
    #[cfg(all(feature = "stepped", debug_assertions))]
    crate::primitive::fence(SeqCst);
}
