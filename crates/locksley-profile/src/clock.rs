//! What tasks are timed by: the processor's own counter where it ticks evenly, or else the system's
//! monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use locksley_sys::os::ThreadDelay;

/// A clock. Its ticks are compared only with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time-stamp counter of x86-64: 9 ns a reading on a virtual EPYC.
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// The system's monotonic clock, in nanoseconds.
    Monotonic,
    /// Each thread's own. It shows what the test says.
    #[cfg(test)]
    Set,
}

impl Clock {
    /// The cheapest that is right here.
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

    /// For how long the calling thread could have run so far, and had no processor. `None` where
    /// the system does not tell.
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

    /// Ticks in a nanosecond. It takes a millisecond at first, to find that out.
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

    /// After so long a time the rate is known to a thousandth: a reading of both clocks takes some
    /// ten nanoseconds.
    const LONG_ENOUGH: Duration = Duration::from_millis(1);

    /// Whether the counter ticks at one rate, whatever the processor's frequency, and while the
    /// processor is idle; and agrees with those of the other processors.
    pub(super) fn is_fit() -> bool {
        const HIGHEST: u32 = 0x8000_0000;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        static IS_IT: OnceLock<bool> = OnceLock::new();
        *IS_IT.get_or_init(|| {
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

    /// Ticks in a nanosecond, by the monotonic clock. The error shrinks with the time since the
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

    /// One moment on both clocks: of a few readings the one that was interrupted least.
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

    /// What the calling thread's clock shows from now on.
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
    fn ticks_are_as_long_as_the_rate_says() {
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
