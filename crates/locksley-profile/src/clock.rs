//! The clock for tasks: the processor's time-stamp counter if it is reliable, or else the system's
//! monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use locksley_sys::os::ThreadDelay;

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
        if counter::is_fit() {
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

/// The time-stamp counter (Intel, "Software Developer's Manual", volume 3, "Time-Stamp Counter";
/// AMD, "Architecture Programmer's Manual", volume 3, CPUID Fn8000_0007).
#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use crate::proc;

    /// The time after which the rate is exact to a thousandth: reading both clocks takes some ten
    /// nanoseconds.
    const LONG_ENOUGH: Duration = Duration::from_millis(1);

    /// True if the counter is invariant (one rate, at every frequency and while idle), and agrees
    /// with those of other processors.
    pub(super) fn is_fit() -> bool {
        const HIGHEST: u32 = 0x8000_0000;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        static IS_FIT: OnceLock<bool> = OnceLock::new();
        *IS_FIT.get_or_init(|| {
            proc::trusts_counter()
                && cpuid(HIGHEST).eax >= POWER_MANAGEMENT
                && cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
        })
    }

    #[allow(unused_unsafe, reason = "older compilers require it")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every processor of this architecture has the instruction, and this leaf, or a
        // lower one in its place.
        unsafe { __cpuid(leaf) }
    }

    #[inline(always)]
    pub(super) fn read() -> i64 {
        // SAFETY: every processor of this architecture has the counter. No memory is involved.
        unsafe { _rdtsc() as i64 }
    }

    /// Ticks per nanosecond, by the monotonic clock. The error shrinks with the time since the
    /// first call.
    pub(super) fn rate() -> f64 {
        static FIRST: OnceLock<(Instant, i64)> = OnceLock::new();
        let &(then, ticks_then) = FIRST.get_or_init(both);
        while then.elapsed() < LONG_ENOUGH {
            std::hint::spin_loop();
        }
        let (now, ticks) = both();
        (ticks - ticks_then) as f64 / (now - then).as_nanos() as f64
    }

    /// One moment on both clocks: the shortest of a few readings.
    fn both() -> (Instant, i64) {
        const READINGS: usize = 5;
        let reading = || {
            let (before, now, after) = (read(), Instant::now(), read());
            let took = after - before;
            (took, now, before + took / 2)
        };
        let mut readings = [(); READINGS].map(|()| reading());
        readings.sort_unstable_by_key(|&(took, ..)| took.unsigned_abs());
        let (_, now, ticks) = readings[0];
        (now, ticks)
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
