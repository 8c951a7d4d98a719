//! Linux, by its system calls.

mod affinity;
#[cfg(not(loom))]
mod barrier;
mod board;
mod clock;
mod delay;
mod door;
mod file;
mod floating_point;
mod fork;
#[cfg(not(loom))]
mod futex;
mod groups;
mod niceness;
mod perf_ring;
mod preempt;
mod progress;
mod rseq;
mod runnable;
mod settings;
mod stack;
mod switch_log;
mod switches;
mod time_slice;
mod usage;
mod watch;

pub(super) use affinity::process_affinity;
pub use affinity::{
    ThreadAffinity, bind_this_thread, current_processor, move_to_process_affinity,
    online_processors, unbind_this_thread,
};
#[cfg(not(loom))]
pub use barrier::{heavy_barrier, heavy_barrier_works};
pub(super) use board::seats;
pub(super) use clock::monotonic_time;
pub use clock::{ThreadClock, process_time};
pub use delay::ThreadDelay;
pub use fork::{generation, watch_for_forks};
#[cfg(not(loom))]
pub use futex::Futex;
pub use groups::QuotaWatch;
pub use niceness::{niceness, set_niceness};
pub use preempt::preempt_all;
pub use progress::ThreadProgress;
pub use runnable::runnable_threads;
pub use settings::ThreadSettings;
pub use stack::stack;
pub use switch_log::SwitchLog;
pub use time_slice::shorten_time_slice;
pub use usage::{involuntary_switches, process_involuntary_switches};
pub use watch::ThreadWatch;

/// Tries the assist of that name.
pub(super) fn probe(assist: &str) -> Result<(), String> {
    match assist {
        #[cfg(not(loom))]
        "futex" => futex::probe(),
        "affinity" => affinity::probe(),
        #[cfg(not(loom))]
        "membarrier" => barrier::probe(),
        "run state" => watch::probe(),
        "switch records" => switches::probe(),
        "short time slices" => time_slice::probe(),
        "runnable threads" => runnable::probe(),
        "board" => board::probe(),
        "thread clocks" => clock::probe(),
        _ => Err("modelled".to_owned()),
    }
}

fn this_thread() -> libc::pid_t {
    // Not `libc::gettid`, which older C libraries than glibc 2.30 lack.
    // SAFETY: no memory is involved.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    number as libc::pid_t
}

fn main_thread() -> libc::pid_t {
    std::process::id() as libc::pid_t
}

/// What the last failed system call of this thread said.
fn last_error() -> String {
    std::io::Error::last_os_error().to_string()
}
