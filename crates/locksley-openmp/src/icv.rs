//! Internal control variables (OpenMP 5.0, section 2.5) that each task has of its own.

/// The data environment's variables: a task gets its parent's, and changes only its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Icvs {
    /// `nthreads-var`: the size of a team without a `num_threads` clause.
    pub(crate) threads: u32,
    /// `dyn-var`: stated sizes are the largest, and teams follow what is granted.
    pub(crate) is_dynamic: bool,
    /// `run-sched-var`: what `schedule(runtime)` means.
    pub(crate) schedule: Schedule,
    /// `max-active-levels-var`.
    pub(crate) active_levels: u32,
    /// `thread-limit-var`.
    pub(crate) thread_limit: u32,
    /// `bind-var`, as `omp_get_proc_bind` reports it.
    pub(crate) bind: i32,
    /// `default-device-var`.
    pub(crate) device: i32,
    /// `def-allocator-var`, a number of `omp_allocator_handle_t`.
    pub(crate) allocator: usize,
}

/// How many nested active regions are supported.
pub(crate) const SUPPORTED_LEVELS: u32 = 255;

/// A schedule of loops, and the size of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) kind: Kind,
    pub(crate) is_monotonic: bool,
    /// 0 stands for one chunk for each thread.
    pub(crate) chunk: u64,
}

/// The kinds of schedules, numbered as in `omp_sched_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Static = 1,
    Dynamic = 2,
    Guided = 3,
    Auto = 4,
}

/// The bit of `omp_sched_t` that stands for the modifier `monotonic`.
pub(crate) const MONOTONIC: u32 = 0x8000_0000;

impl Kind {
    /// The kind of that number, the modifier's bit aside.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        match number & !MONOTONIC {
            1 => Some(Self::Static),
            2 => Some(Self::Dynamic),
            3 => Some(Self::Guided),
            4 => Some(Self::Auto),
            _ => None,
        }
    }
}

impl Schedule {
    /// A schedule with a chunk size that the program gave: those below 1 stand for the default.
    pub(crate) fn new(kind: Kind, is_monotonic: bool, chunk: i64) -> Self {
        let least = match kind {
            Kind::Static | Kind::Auto => 0,
            Kind::Dynamic | Kind::Guided => 1,
        };
        Self { kind, is_monotonic, chunk: chunk.max(least) as u64 }
    }

    /// The number that `omp_get_schedule` reports.
    pub(crate) fn number(self) -> u32 {
        self.kind as u32 | if self.is_monotonic { MONOTONIC } else { 0 }
    }
}
