//! The clock that all processes of a machine share, and the date.

use std::time::SystemTime;

pub use system::{now, sleep_until};

/// From `earlier` to `later`, in seconds; 0 if that is not the order.
pub fn seconds(earlier: u64, later: u64) -> f64 {
    later.saturating_sub(earlier) as f64 / 1e9
}

/// The date and time, in UTC, as `2000-12-31 23:59:59 UTC`.
pub fn date() -> String {
    utc(SystemTime::now())
}

fn utc(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::thread::clock_nanosleep_absolute;
    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// Nanoseconds since a moment that is the same for all processes that run on the machine: by
    /// the monotonic clock, which is never set.
    pub fn now() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        // It is not negative, and its nanoseconds are less than a second.
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// Sleeps until `moment`; not at all if it has passed. What passes between reading the clock
    /// and falling asleep does not add up.
    pub fn sleep_until(moment: u64) {
        let Ok(moment) = Timespec::try_from(Duration::from_nanos(moment)) else { return };
        while clock_nanosleep_absolute(ClockId::Monotonic, &moment) == Err(Errno::INTR) {}
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    /// Nanoseconds since 1970.
    pub fn now() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64
    }

    /// Sleeps until `moment`.
    pub fn sleep_until(moment: u64) {
        std::thread::sleep(Duration::from_nanos(moment.saturating_sub(now())));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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

    #[test]
    fn known_dates() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(1_704_067_199), "2023-12-31 23:59:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }
}
