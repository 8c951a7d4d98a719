//! The recorder's clock: the time-stamp counter if it is reliable, or else the monotonic clock.

/// A clock that is read in some nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time-stamp counter of x86-64.
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// The system's monotonic clock, in nanoseconds.
    Monotonic,
}

impl Clock {
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if locksley_sys::counter::is_reliable() {
            return Self::Counter;
        }
        Self::Monotonic
    }

    #[inline]
    pub(crate) fn now(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => locksley_sys::counter::read() as u64,
            Self::Monotonic => monotonic(),
        }
    }

    /// Ticks per nanosecond, measured in a millisecond.
    pub(crate) fn rate(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => locksley_sys::counter::rate(),
            Self::Monotonic => 1.0,
        }
    }

    /// One moment on this clock and on the monotonic one: the shortest of a few readings, since the
    /// thread may be preempted in one.
    pub(crate) fn sync(self) -> (u64, u64) {
        let reading = || {
            let (before, nanos, after) = (self.now(), monotonic(), self.now());
            let took = after.wrapping_sub(before);
            (took, before.wrapping_add(took / 2), nanos)
        };
        let readings = [reading(), reading(), reading()];
        let (_, ticks, nanos) =
            readings.into_iter().min_by_key(|&(took, ..)| took).expect("there are three");
        (ticks, nanos)
    }
}

#[cfg(target_os = "linux")]
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(not(target_os = "linux"))]
fn monotonic() -> u64 {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now() -> u64 {
    monotonic()
}
