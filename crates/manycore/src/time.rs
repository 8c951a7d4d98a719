//! As [`std::time`]: the virtual clock.

use std::ops::{Add, AddAssign, Sub, SubAssign};
pub use std::time::Duration;

use crate::engine::engine;
use crate::ids::Nanos;

/// A time of the virtual clock. Outside of a machine, the clock stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Nanos);

impl Instant {
    /// The time now.
    pub fn now() -> Self {
        let Some(here) = engine() else { return Self(0) };
        let engine = here.get();
        let cost = engine.settings.system.clock;
        engine.note_clock();
        here.charge(cost);
        Self(here.get().clock)
    }

    /// Nanoseconds since the machine started.
    pub fn as_nanos(self) -> Nanos {
        self.0
    }

    /// How long ago this was.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// How much later this is than `earlier`, or zero.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// How much later this is than `earlier`, or `None` if it is earlier.
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_nanos)
    }

    /// How much later this is than `earlier`, or zero.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// A later time, or `None` if the clock does not go so far.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(nanos(time)).map(Self)
    }

    /// An earlier time, or `None` if the machine had not started.
    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(nanos(time)).map(Self)
    }
}

/// A duration in nanoseconds; one that is too long is the longest.
pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        self.checked_add(time).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        *self = *self + time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        self.checked_sub(time).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, time: Duration) {
        *self = *self - time;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
