//! Linux, by its system calls.

mod affinity;
#[cfg(not(loom))]
mod barrier;
mod clock;
mod delay;
mod fork;
#[cfg(not(loom))]
mod futex;
mod groups;
#[cfg(not(loom))]
mod mask;
mod memory;
mod priority;
mod rseq;
mod runnable;
mod slice;
mod switches;
mod watch;

pub(super) use affinity::probe as probe_affinity;
pub(super) use affinity::process_affinity;
pub use affinity::{
    Affinities, ThreadAffinity, bind_this_thread, move_this_thread, move_to_process_affinity,
    moves_threads, online, unbind_this_thread,
};
#[cfg(not(loom))]
pub(super) use barrier::probe as probe_heavy_barrier;
#[cfg(not(loom))]
pub use barrier::{heavy_barrier, works as heavy_barrier_works};
pub(super) use clock::probe as probe_thread_clock;
pub use clock::{ThreadClock, process_time};
pub use delay::ThreadDelay;
pub use fork::{generation, watch_for_forks};
#[cfg(not(loom))]
pub use futex::Futex;
#[cfg(not(loom))]
pub(super) use futex::probe as probe_futex;
pub use groups::QuotaWatch;
pub(crate) use groups::{Groups, Limits};
#[cfg(not(loom))]
pub use mask::{SleepersMask, current_processor};
pub(crate) use memory::{ask_for_huge_pages, huge_page, page, place as place_memory};
pub(super) use priority::probe as probe_lowered_priority;
pub use priority::{LoweredPriority, works as lowered_priority_works};
pub(super) use runnable::probe as probe_runnable_threads;
pub use runnable::runnable_threads;
pub(super) use slice::probe as probe_slice;
pub use slice::shorten as shorten_turns;
pub use watch::ThreadWatch;
pub(super) use watch::{probe_run_state, probe_switch_records};

#[cfg(loom)]
pub(super) fn probe_futex() -> Result<(), String> {
    Err("modelled".to_owned())
}

#[cfg(loom)]
pub(super) fn probe_heavy_barrier() -> Result<(), String> {
    Err("modelled".to_owned())
}

/// What the last failed system call of this thread said.
fn last_error() -> String {
    std::io::Error::last_os_error().to_string()
}
