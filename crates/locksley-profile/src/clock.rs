//! The clock for tasks: the processor's time-stamp counter if it is reliable, or else the system's
//! monotonic clock.

use std::time::Duration;

#[cfg(target_arch = "x86_64")]
use locksley_sys::counter;
use locksley_sys::os::ThreadDelay;
use locksley_sys::primitive::plain::OnceLock;
use locksley_sys::primitive::{Instant, thread_local};

/// A clock. Its ticks are compared only with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time-stamp counter of x86-64.
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// The system's monotonic clock, in nanoseconds.
    Monotonic,
    /// A clock per thread, which a test sets.
    #[cfg(test)]
    Set,
}

impl Clock {
    /// The cheapest clock that is reliable here.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if counter::is_reliable() {
            return Self::Counter;
        }
        Self::Monotonic
    }

    #[inline]
    pub(crate) fn now(self) -> i64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => counter::read(),
            Self::Monotonic => {
                static FIRST: OnceLock<Instant> = OnceLock::new();
                FIRST.get_or_init(Instant::now).elapsed().as_nanos() as i64
            }
            #[cfg(test)]
            Self::Set => set::now(),
        }
    }

    /// The time in which the calling thread was runnable and had no processor. `None` if the system
    /// does not tell.
    pub(crate) fn delay(self) -> Option<Duration> {
        #[cfg(test)]
        if self == Self::Set {
            return set::delay();
        }
        thread_local! {
            static DELAY: ThreadDelay = ThreadDelay::of_this_thread();
        }
        DELAY.try_with(ThreadDelay::read).ok().flatten()
    }

    /// Ticks per nanosecond. The first call takes a millisecond.
    pub(crate) fn rate(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => counter::rate(),
            _ => 1.0,
        }
    }
}

/// A clock for tests.
#[cfg(test)]
pub(crate) mod set {
    use std::cell::Cell;
    use std::time::Duration;

    thread_local! {
        static SHOWN: Cell<(i64, Option<Duration>)> = const { Cell::new((0, None)) };
    }

    /// Sets the calling thread's clock.
    pub(crate) fn show(now: i64, delay: Option<Duration>) {
        SHOWN.set((now, delay));
    }

    pub(super) fn now() -> i64 {
        SHOWN.get().0
    }

    pub(super) fn delay() -> Option<Duration> {
        SHOWN.get().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_agrees_with_the_system_clock() {
        for clock in [Clock::best(), Clock::Monotonic] {
            clock.rate();
            let (begin, ticks) = (Instant::now(), clock.now());
            std::thread::sleep(Duration::from_millis(20));
            let by_clock = (clock.now() - ticks) as f64 / clock.rate() / 1e6;
            let elapsed = begin.elapsed().as_secs_f64() * 1e3;
            assert!(by_clock <= elapsed * 1.01 + 1.0, "{clock:?}: {by_clock} ms of {elapsed}");
            assert!(by_clock >= 19.0, "{clock:?}: {by_clock} ms");
        }
    }
}
