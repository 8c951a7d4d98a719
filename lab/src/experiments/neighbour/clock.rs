//! Sleeping until a moment, rather than for a while: what passes between reading the clock and falling asleep does not
//! add up.

use std::time::Duration;

/// Time since some moment in the past, by a clock that is never set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(Duration);

impl Moment {
    /// The moment `time` after this one.
    pub(super) fn plus(self, time: Duration) -> Moment {
        Moment(self.0 + time)
    }

    /// How long after `earlier` this is; 0 if it is not.
    pub(super) fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::thread::clock_nanosleep_absolute;
    use rustix::time::{ClockId, Timespec, clock_gettime};

    pub(super) fn now() -> Duration {
        let now = clock_gettime(ClockId::Monotonic);
        // The monotonic clock is not negative, and its nanoseconds are less than a second.
        Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
    }

    pub(super) fn sleep_until(moment: Duration) {
        let Ok(moment) = Timespec::try_from(moment) else { return };
        while clock_nanosleep_absolute(ClockId::Monotonic, &moment) == Err(Errno::INTR) {}
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn now() -> Duration {
        START.elapsed()
    }

    pub(super) fn sleep_until(moment: Duration) {
        std::thread::sleep(moment.saturating_sub(now()));
    }
}

/// Now.
pub(super) fn now() -> Moment {
    Moment(system::now())
}

/// Sleeps until `moment`; not at all if it has passed.
pub(super) fn sleep_until(moment: Moment) {
    system::sleep_until(moment.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_early() {
        let deadline = now().plus(Duration::from_millis(3));
        sleep_until(deadline);
        assert!(now() >= deadline);
        sleep_until(deadline); // has passed
        assert_eq!(deadline.since(now()), Duration::ZERO);
    }
}
