//! The services of the operating system that pools use, and which of them this machine has.
//!
//! Each *assist* of the kernel is optional: it is probed once, has a portable fallback, and is
//! listed by [`assists`]. Use this module to see what a machine offers, or to build a pool without
//! some assists ([`PoolBuilder::assists`](crate::PoolBuilder::assists)). Compile with `--cfg
//! locksley_portable` to use the fallbacks on Linux, too.
//!
//! # Examples
//! ```
//! for assist in locksley::os::assists() {
//!     println!("{}: {:?}", assist.name, assist.state);
//! }
//! ```

pub use locksley_sys::os::{
    Assist, Assists, LimitFault, Processors, Quota, RunState, UnknownAssist, assists,
};

pub(crate) use locksley_sys::os::{
    Board, Futex, PARTS, Progress, QuotaWatch, ThreadAffinity, ThreadClock, ThreadDelay,
    ThreadProgress, ThreadSettings, ThreadWatch, bind_this_thread, generation, heavy_barrier,
    heavy_barrier_works, light_barrier, move_to_process_affinity, online_processors, preempt_all,
    runnable_threads, shorten_time_slice, stack, unbind_this_thread, watch_for_forks, yield_now,
};
