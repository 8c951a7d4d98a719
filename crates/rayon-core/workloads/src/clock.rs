//! When it is, and what this process has used: by the clocks that the laboratory reads as well.

pub(crate) use system::{now, processor_seconds};

#[cfg(target_os = "linux")]
mod system {
    use rustix::time::{ClockId, clock_gettime};

    /// Nanoseconds by the clock that all processes of the machine share and nobody sets.
    pub(crate) fn now() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        // It is not negative, and its nanoseconds are less than a second.
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// The processor time of all threads so far, in seconds, if the system tells.
    pub(crate) fn processor_seconds() -> Option<f64> {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::{SystemTime, UNIX_EPOCH};

    pub(crate) fn now() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64
    }

    pub(crate) fn processor_seconds() -> Option<f64> {
        None
    }
}
