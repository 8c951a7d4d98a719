//! A barrier on all running threads of the process at once (`man 2 membarrier`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::last_error;

const REGISTER: libc::c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
const EXPEDITED: libc::c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;

/// Whether one has failed though they worked when they were probed.
static FORBIDDEN_SINCE: AtomicBool = AtomicBool::new(false);

/// Whether heavy barriers work here, and have not failed yet.
pub fn heavy_barrier_works() -> bool {
    probe().is_ok() && !FORBIDDEN_SINCE.load(Ordering::Relaxed)
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    PROBE.get_or_init(|| call(REGISTER).and_then(|()| call(EXPEDITED))).clone()
}

/// Every thread of the process has made a full barrier when this returns, between two of its
/// instructions: the heavy side of an asymmetric barrier. It costs the caller about 2 µs, and 1 µs
/// each other thread that runs. Returns whether it was made; it fails where it does not
/// [work](heavy_barrier_works), and if it was forbidden since.
pub fn heavy_barrier() -> bool {
    #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
    crate::primitive::stepped::step();
    let made = call(EXPEDITED).is_ok();
    if !made {
        FORBIDDEN_SINCE.store(true, Ordering::Relaxed);
    }
    made
}

fn call(command: libc::c_int) -> Result<(), String> {
    // SAFETY: no memory is involved.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}
