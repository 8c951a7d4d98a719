//! How long a waiting worker spins, yields and sleeps while it finds nothing.

use std::time::Duration;

use crate::os;
use crate::primitive::{Instant, spin_loop, thread};

/// For how long a waiting worker spins before it yields.
const SPIN: Duration = Duration::from_micros(20);
/// For how long a waiting worker spins and yields before it parks. To wake a replacement and later
/// this worker takes about 100 µs, so a shorter wait should not park. If a yield gives the
/// processor to another thread, fewer attempts fit into this time.
const SPIN_AND_YIELD: Duration = Duration::from_micros(200);
/// The sleeps of the last unblocked thread, which must not park, between two searches.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// Spins, then yields, while a waiting worker finds nothing.
#[derive(Default)]
pub(super) struct Backoff {
    /// When the first pause began. A worker that finds a task at once does not read the clock.
    began: Option<Instant>,
    /// True if the last pause was a yield.
    pub(super) is_yielding: bool,
    sleeps: u32,
}

/// The length of the sleep after so many sleeps in a row.
fn sleep_after(sleeps: u32) -> Duration {
    (SHORTEST_SLEEP * (1 << sleeps.min(8))).min(LONGEST_SLEEP)
}

impl Backoff {
    /// Spins or yields once. Returns false once `SPIN_AND_YIELD` has passed: the worker parks if it
    /// finds nothing then.
    pub(super) fn snooze(&mut self) -> bool {
        let began = *self.began.get_or_insert_with(Instant::now);
        self.snooze_after(began.elapsed())
    }

    fn snooze_after(&mut self, elapsed: Duration) -> bool {
        self.is_yielding = elapsed >= SPIN;
        if self.is_yielding {
            os::yield_now();
        } else {
            (0..16).for_each(|_| spin_loop());
        }
        elapsed < SPIN_AND_YIELD
    }

    /// Sleeps, for longer each time.
    pub(super) fn sleep(&mut self) {
        thread::sleep(sleep_after(self.sleeps));
        self.sleeps += 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_spins_for_20_us_and_yields_until_it_parks_after_200() {
        let expected = [
            (0, false, true),
            (19_999, false, true),
            (20_000, true, true),
            (199_999, true, true),
            (200_000, true, false),
            (u64::MAX, true, false),
        ];
        for (nanos, yields, is_patient) in expected {
            let mut backoff = Backoff::default();
            assert_eq!(backoff.snooze_after(Duration::from_nanos(nanos)), is_patient, "{nanos} ns");
            assert_eq!(backoff.is_yielding, yields, "{nanos} ns");
        }
    }

    #[test]
    fn a_wait_is_patient_until_it_parks() {
        let hour = Duration::from_secs(3600);
        // No time has passed, however long this thread is suspended.
        let mut backoff = Backoff { began: Some(Instant::now() + hour), ..Backoff::default() };
        assert!(!backoff.is_yielding && backoff.snooze());
        assert!(!backoff.is_yielding);
        backoff.began = Instant::now().checked_sub(SPIN_AND_YIELD);
        assert!(!backoff.snooze() && backoff.is_yielding);
    }

    #[test]
    fn the_last_thread_sleeps_from_50_us_to_10_ms() {
        let millis = |sleeps| sleep_after(sleeps).as_secs_f64() * 1000.0;
        assert_eq!([0, 1, 2, 7, 8, 9].map(millis), [0.05, 0.1, 0.2, 6.4, 10.0, 10.0]);
        assert_eq!(sleep_after(u32::MAX), LONGEST_SLEEP);
        let mut backoff = Backoff::default();
        (0..2).for_each(|_| backoff.sleep());
        assert_eq!(backoff.sleeps, 2);
    }
}
