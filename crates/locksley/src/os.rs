//! What Locksley asks of the operating system: Linux, and a portable fallback.
//!
//! Every assist is optional (law 7): it is probed once, has a fallback that keeps all laws, and is
//! listed by [`assists`]. Compile with `--cfg locksley_portable` to get the fallback on Linux as
//! well.

pub use locksley_sys::os::{
    Assist, AssistState, Assists, LimitFault, Processors, Standing, UnknownAssist, assists,
};

pub(crate) use locksley_sys::os::{
    Affinities, Futex, LoweredPriority, Quota, QuotaWatch, SleepersMask, ThreadAffinity,
    ThreadClock, ThreadDelay, ThreadWatch, bind_this_thread, current_processor, generation,
    heavy_barrier, heavy_barrier_works, light_barrier, lowered_priority_works, move_this_thread,
    move_to_process_affinity, moves_threads, online, process_time, runnable_threads, shorten_turns,
    unbind_this_thread, watch_for_forks, yield_now,
};
