//! What strands are timed by: the processor's own counter where it ticks evenly, or else the system's monotonic clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::os;

/// A clock. Its ticks are compared only with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time-stamp counter of x86-64: 9 ns a reading on a virtual EPYC, 26 ns on a virtual Xeon, where the system's clock takes more.
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// The system's monotonic clock, in nanoseconds.
    Monotonic,
    /// Each thread's own, which stands still but for what the thread [spends](virtually::spend). Unless a test says otherwise, no strand is
    /// long on it.
    #[cfg(all(test, not(loom)))]
    Virtual,
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

    /// How many ticks are long for a strand, if so many nanoseconds are.
    pub(super) fn long(self, nanos: i64) -> i64 {
        #[cfg(all(test, not(loom)))]
        if self == Self::Virtual {
            return virtually::shown().long;
        }
        self.ticks(nanos)
    }

    /// For how long the calling thread could have run so far, and did not; `None` where the system does not tell.
    pub(super) fn delay(self) -> Option<Duration> {
        #[cfg(all(test, not(loom)))]
        if self == Self::Virtual {
            return virtually::delay();
        }
        os::own_delay()
    }

    #[inline]
    pub(crate) fn now(self) -> i64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => counter::read(),
            Self::Monotonic => monotonic(),
            #[cfg(all(test, not(loom)))]
            Self::Virtual => virtually::now(),
        }
    }

    /// What it shows, if it can be read without a call.
    #[inline(always)]
    pub(super) fn at_a_glance(self) -> Option<i64> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => Some(counter::read()),
            Self::Monotonic => None,
            #[cfg(all(test, not(loom)))]
            Self::Virtual => virtually::at_a_glance(),
        }
    }

    /// Sees to it that what follows takes no time for finding out how fast it ticks.
    pub(crate) fn get_ready(self) {
        let _ = self.rate();
    }

    /// How many ticks so many nanoseconds are.
    pub(crate) fn ticks(self, nanos: i64) -> i64 {
        (nanos as f64 * self.rate()) as i64
    }

    /// How long each of these is, at one rate. What is less than nothing (counters of two processors that do not quite agree) is nothing.
    pub(crate) fn durations<const N: usize>(self, ticks: [i64; N]) -> [Duration; N] {
        let rate = self.rate();
        ticks.map(|ticks| Duration::from_nanos((ticks.max(0) as f64 / rate) as u64))
    }

    /// Ticks a nanosecond.
    fn rate(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Counter => counter::rate(),
            Self::Monotonic => 1.0,
            #[cfg(all(test, not(loom)))]
            Self::Virtual => 1.0,
        }
    }
}

/// Nanoseconds since this was first asked.
pub(super) fn monotonic() -> i64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as i64
}

/// The time-stamp counter (Intel, "Software Developer's Manual", volume 3, "Time-Stamp Counter"; AMD, "Architecture Programmer's
/// Manual", volume 3, CPUID Fn8000_0007).
#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use crate::os;

    /// After so long a time the rate is known to a thousandth: a reading of both clocks takes some ten nanoseconds.
    const LONG_ENOUGH: Duration = Duration::from_millis(1);

    /// Whether it ticks at one rate, whatever the processor's frequency, and while it is idle; and may be read, and agrees with those of the other
    /// processors.
    pub(super) fn is_fit() -> bool {
        const HIGHEST: u32 = 0x8000_0000;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        static IS_IT: OnceLock<bool> = OnceLock::new();
        *IS_IT.get_or_init(|| {
            os::trusts_counter()
                && cpuid(HIGHEST).eax >= POWER_MANAGEMENT
                && cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
        })
    }

    #[allow(unused_unsafe, reason = "older compilers want it")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every processor of this architecture has the instruction, and this leaf, or a lower one in its place.
        unsafe { __cpuid(leaf) }
    }

    #[inline(always)]
    pub(super) fn read() -> i64 {
        // SAFETY: every processor of this architecture has the counter; and where the system forbids it to be read, nobody asks.
        unsafe { _rdtsc() as i64 }
    }

    /// Ticks a nanosecond, by the monotonic clock: the better known the longer ago this was first asked.
    pub(super) fn rate() -> f64 {
        static FIRST: OnceLock<(Instant, i64)> = OnceLock::new();
        let &(then, ticks_then) = FIRST.get_or_init(both);
        while then.elapsed() < LONG_ENOUGH {
            std::hint::spin_loop();
        }
        let (now, ticks) = both();
        (ticks - ticks_then) as f64 / (now - then).as_nanos() as f64
    }

    /// A moment on both clocks: of a few readings that for which the thread was interrupted least.
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

/// A clock for tests: what a strand costs is what the test says.
#[cfg(all(test, not(loom)))]
pub(crate) mod virtually {
    use std::cell::Cell;
    use std::time::Duration;

    /// What there is to the calling thread's clock.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Clockwork {
        pub(crate) now: i64,
        /// How long a reading takes.
        pub(crate) reading: i64,
        /// One glance in so many fails: both ways are to be gone. 0: none does.
        pub(crate) one_fails_in: u32,
        pub(crate) glances: u32,
        /// Readings that were no glances.
        pub(crate) looks: u32,
        /// Which strands are long.
        pub(crate) long: i64,
        /// What the thread has waited for, if the system tells.
        pub(crate) delay: Option<Duration>,
        /// How many times it was asked for that.
        pub(crate) asked: u32,
        /// So many times more the thread waits when it has just asked, and for how many ticks each time.
        pub(crate) interruptions: (u32, i64),
    }

    const NEW: Clockwork = Clockwork {
        now: 0,
        reading: 0,
        one_fails_in: 3,
        glances: 0,
        looks: 0,
        long: i64::MAX,
        delay: Some(Duration::ZERO),
        asked: 0,
        interruptions: (0, 0),
    };

    thread_local! {
        static CLOCK: Cell<Clockwork> = const { Cell::new(NEW) };
    }

    /// The calling thread's.
    pub(crate) fn shown() -> Clockwork {
        CLOCK.get()
    }

    /// Changes it.
    pub(crate) fn adjust<R>(change: impl FnOnce(&mut Clockwork) -> R) -> R {
        let mut clock = shown();
        let result = change(&mut clock);
        CLOCK.set(clock);
        result
    }

    impl Clockwork {
        fn read(&mut self) -> i64 {
            self.now += self.reading;
            self.now - self.reading
        }

        /// The thread could run, and does not.
        pub(crate) fn wait(&mut self, ticks: i64) {
            self.now += ticks;
            self.delay = self.delay.map(|delay| delay + Duration::from_nanos(ticks as u64));
        }
    }

    /// The strand that runs here takes so long.
    pub(crate) fn spend(ticks: i64) {
        adjust(|clock| clock.now += ticks);
    }

    pub(super) fn now() -> i64 {
        adjust(|clock| {
            clock.looks += 1;
            clock.read()
        })
    }

    pub(super) fn at_a_glance() -> Option<i64> {
        adjust(|clock| {
            clock.glances = clock.glances.wrapping_add(1);
            let fails = clock.one_fails_in > 0 && clock.glances.is_multiple_of(clock.one_fails_in);
            (!fails).then(|| clock.read())
        })
    }

    pub(super) fn delay() -> Option<Duration> {
        adjust(|clock| {
            clock.asked += 1;
            let told = clock.delay;
            if clock.interruptions.0 > 0 {
                clock.interruptions.0 -= 1;
                clock.wait(clock.interruptions.1);
            }
            told
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_about_as_long_as_they_are_said_to_be() {
        for clock in [Clock::best(), Clock::Monotonic] {
            let (begin, ticks) = (Instant::now(), clock.now());
            std::thread::sleep(Duration::from_millis(20));
            let [by_clock] = clock.durations([clock.now() - ticks]);
            let elapsed = begin.elapsed();
            assert!(
                by_clock <= elapsed.mul_f64(1.01) + Duration::from_millis(1),
                "{clock:?}: {by_clock:?}"
            );
            assert!(by_clock >= Duration::from_millis(19), "{clock:?}: {by_clock:?}");
            let there_and_back = clock.durations([clock.ticks(1_000_000)])[0].as_nanos();
            assert!((990_000..1_010_000).contains(&there_and_back), "{clock:?}: {there_and_back}");
        }
    }

    #[test]
    fn less_than_nothing_is_nothing() {
        assert_eq!(Clock::Monotonic.durations([-5]), [Duration::ZERO]);
    }
}
