//! The clock that all processes of a machine share.

/// Nanoseconds since a moment that is the same for all processes that run on the machine.
pub fn now() -> u64 {
    system::now()
}

/// Sleeps until `moment`; not at all if it has passed. What passes between reading the clock and
/// falling asleep does not add up.
pub fn sleep_until(moment: u64) {
    system::sleep_until(moment);
}

/// From `earlier` to `later`, in seconds; 0 if that is not the order.
pub fn seconds(earlier: u64, later: u64) -> f64 {
    later.saturating_sub(earlier) as f64 / 1e9
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::thread::clock_nanosleep_absolute;
    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// The monotonic clock: it is never set.
    pub(super) fn now() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        // It is not negative, and its nanoseconds are less than a second.
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    pub(super) fn sleep_until(moment: u64) {
        let Ok(moment) = Timespec::try_from(Duration::from_nanos(moment)) else { return };
        while clock_nanosleep_absolute(ClockId::Monotonic, &moment) == Err(Errno::INTR) {}
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    pub(super) fn now() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64
    }

    pub(super) fn sleep_until(moment: u64) {
        std::thread::sleep(Duration::from_nanos(moment.saturating_sub(now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward() {
        let before = now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = seconds(before, now());
        assert!((0.002..60.0).contains(&passed), "{passed}");
        assert_eq!(seconds(5, 3), 0.0);
    }

    #[test]
    fn no_sleep_ends_early() {
        let moment = now() + 3_000_000;
        sleep_until(moment);
        assert!(now() >= moment);
        sleep_until(moment); // has passed
    }
}
