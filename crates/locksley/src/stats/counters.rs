//! The counters of one worker. Only the worker writes them; any thread reads them.

use super::WorkerStats;
use crate::primitive::Ordering;
use crate::primitive::plain::AtomicU64;

/// A number that one thread increases and others read. An increment is no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.read() + amount, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Defines the counters of a worker, each of which is a field of [`WorkerStats`], too.
macro_rules! counters {
    ($($name:ident)*) => {
        /// The counters of a worker: see [`WorkerStats`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Count,)*
        }

        impl Counters {
            /// The counters, without times.
            pub(crate) fn read(&self) -> WorkerStats {
                WorkerStats { $($name: self.$name.read(),)* ..WorkerStats::default() }
            }
        }

        impl WorkerStats {
            /// The times of this, and the counters of both, combined by `count`.
            pub(super) fn with_counters(self, other: &Self, count: fn(u64, u64) -> u64) -> Self {
                Self { $($name: count(self.$name, other.$name),)* ..self }
            }
        }
    };
}

counters! {
    tasks steals failed_steals received yields sleeps wakeups hand_overs out_of_place
}
