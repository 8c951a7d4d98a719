//! PA: the average number of processors that the system granted during an interval.

use std::time::Duration;

use locksley_sys::os::{self, Processors};
use locksley_sys::primitive::Instant;

use crate::proc;

/// Measures PA, the average number of processors that the system granted to this process.
///
/// Without other programs, a program with P workers has PA = min(P, processors allowed). With other
/// programs, PA = min(P, processors allowed − processors used by other programs and the
/// hypervisor), as in Hood ("Hood: A User-Level Threads Library for Multiprogrammed
/// Multiprocessors", 1998, section 5.2). Time that this process leaves unused counts as granted.
///
/// The system counts in clock ticks (10 ms): measure half a second or more.
///
/// # Examples
/// ```
/// use locksley_profile::GrantMeter;
///
/// let meter = GrantMeter::start();
/// // ... run something with 4 workers ...
/// let grant = meter.finish(4);
/// assert!(grant.processors > 0.0 && grant.processors <= 4.0);
/// ```
#[derive(Debug)]
pub struct GrantMeter {
    processors: Processors,
    began: Instant,
    at_start: Option<Usage>,
}

/// The processors that were granted during an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Grant {
    /// The length of the interval.
    pub wall: Duration,
    /// Processor time that this process used.
    pub own: Option<Duration>,
    /// Processor time that other programs and the hypervisor used on the processors allowed. `None`
    /// if the system does not tell.
    pub others: Option<Duration>,
    /// PA without other programs: the number of processors allowed, or of workers, if that is less.
    pub allowed: f64,
    /// The number of processors in the affinity of the process. A quota may allow less.
    pub affinity: usize,
    /// PA. If the use of other programs is unknown, it is taken as zero.
    pub processors: f64,
}

/// How PA was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantBasis {
    /// From the system's clock ticks.
    Ticks,
    /// From the time in which the workers waited for a processor, because the interval was too
    /// short for ticks. The time of a hypervisor is not included. Two workers that share one
    /// processor while another is idle look as if another program used that one.
    Waits,
    /// The same with more workers than processors, which may have waited for each other. Only the
    /// part above that is certain, so PA is at most this.
    WaitsOfTooMany,
    /// The use of other programs is unknown: PA is the number of processors allowed.
    Allowance,
}

/// The processor time and the waits of a pool's workers, divided by the length of the interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) used: f64,
    pub(crate) waited: f64,
}

#[derive(Clone, Copy, Debug)]
struct Usage {
    own: Duration,
    all: Duration,
}

impl Usage {
    fn now(processors: &Processors) -> Option<Self> {
        let own = os::process_time()?;
        let all = proc::busy_time(processors.ids())?;
        Some(Self { own, all })
    }
}

impl GrantMeter {
    /// Begins a measurement.
    #[must_use]
    pub fn start() -> Self {
        let processors = Processors::allowed();
        let at_start = Usage::now(&processors);
        Self { processors, began: Instant::now(), at_start }
    }

    /// Returns the processors granted since [`start`](Self::start) to a program with `workers`
    /// workers.
    #[must_use]
    pub fn finish(self, workers: usize) -> Grant {
        self.so_far(workers)
    }

    pub(crate) fn so_far(&self, workers: usize) -> Grant {
        let wall = self.began.elapsed();
        let at_end = Usage::now(&self.processors);
        let used = self.at_start.zip(at_end).map(|(start, end)| Usage {
            own: end.own.saturating_sub(start.own),
            all: end.all.saturating_sub(start.all),
        });
        let own = used.map(|used| used.own);
        let others = used.map(|used| used.all.saturating_sub(used.own));
        let taken = others.unwrap_or_default().as_secs_f64() / wall.as_secs_f64().max(1e-9);
        let machine = self.machine();
        let processors = machine.granted(workers, taken);
        let (allowed, affinity) = (machine.granted(workers, 0.0), machine.number);
        Grant { wall, own, others, allowed, affinity, processors }
    }

    /// PA from the workers' waits, for intervals that are too short for ticks.
    pub(crate) fn granted_by(&self, workers: usize, told: Told) -> (f64, GrantBasis) {
        self.machine().granted_by(workers, told)
    }

    fn machine(&self) -> Machine {
        let number = self.processors.ids().len().max(1);
        Machine { number, capacity: self.processors.capacity() }
    }
}

/// The least PA: the kernel runs every thread at times.
const LEAST: f64 = 0.01;

/// The processors of the affinity, and the number of them that a quota allows.
#[derive(Clone, Copy, Debug)]
struct Machine {
    number: usize,
    capacity: f64,
}

impl Machine {
    /// `taken` is the number of processors that other programs used.
    fn granted(self, workers: usize, taken: f64) -> f64 {
        let left = (self.number as f64 - taken).max(LEAST);
        left.min(self.capacity).min(workers as f64)
    }

    /// While `w` of `a` awake workers wait, all `n` processors are in use: `a - w` by the workers
    /// that run, and the other `n - a + w` by other programs. That is `w` or more unless more
    /// workers than processors are awake, and otherwise at least `w` less the excess. A quota keeps
    /// workers waiting, too, so it is not subtracted again.
    fn granted_by(self, workers: usize, told: Told) -> (f64, GrantBasis) {
        let excess = workers.saturating_sub(self.number);
        let taken = (told.waited - excess as f64).max(0.0);
        let basis = if excess == 0 { GrantBasis::Waits } else { GrantBasis::WaitsOfTooMany };
        let left = workers.min(self.number) as f64 - taken;
        (left.max(told.used).max(LEAST).min(self.granted(workers, 0.0)), basis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(number: usize, quota: Option<f64>) -> Machine {
        Machine { number, capacity: quota.unwrap_or(number as f64) }
    }

    #[test]
    fn without_other_programs_pa_is_the_smaller_of_workers_and_processors() {
        assert_eq!(machine(2, None).granted(4, 0.0), 2.0);
        assert_eq!(machine(2, None).granted(1, 0.0), 1.0);
    }

    #[test]
    fn the_use_of_other_programs_is_subtracted() {
        assert_eq!(machine(2, None).granted(4, 0.5), 1.5);
        assert_eq!(machine(2, None).granted(1, 0.5), 1.0);
        assert!(machine(2, None).granted(4, 10.0) > 0.0);
    }

    #[test]
    fn a_quota_limits_the_remainder() {
        assert_eq!(machine(64, Some(1.5)).granted(8, 40.0), 1.5);
        assert_eq!(machine(4, Some(3.0)).granted(8, 2.0), 2.0);
    }

    fn by(workers: usize, machine: Machine, used: f64, waited: f64) -> (f64, GrantBasis) {
        machine.granted_by(workers, Told { used, waited })
    }

    #[test]
    fn waits_of_workers_are_the_use_of_other_programs() {
        let two = machine(2, None);
        assert_eq!(by(2, two, 1.9, 0.0), (2.0, GrantBasis::Waits));
        assert_eq!(by(2, two, 1.5, 0.5), (1.5, GrantBasis::Waits));
        // Processors that they did not use count as granted.
        assert_eq!(by(2, two, 0.3, 0.5), (1.5, GrantBasis::Waits));
        assert_eq!(by(1, two, 0.25, 0.75), (0.25, GrantBasis::Waits));
        assert_eq!(by(3, machine(8, None), 0.5, 1.0), (2.0, GrantBasis::Waits));
    }

    #[test]
    fn pa_is_at_least_the_use_and_at_most_the_allowance() {
        let two = machine(2, None);
        // Two workers wait for each other while a processor is idle.
        assert_eq!(by(2, two, 1.2, 1.4).0, 1.2);
        assert_eq!(by(2, two, 2.5, 0.0).0, 2.0);
        assert_eq!(by(1, two, 1.5, 0.0).0, 1.0);
        assert_eq!(by(2, two, 0.0, 7.0).0, LEAST);
    }

    /// If 4 workers are awake on 2 processors, two of them wait for the others.
    #[test]
    fn waits_of_workers_for_each_other_are_not_subtracted() {
        let two = machine(2, None);
        assert_eq!(by(4, two, 2.0, 2.0), (2.0, GrantBasis::WaitsOfTooMany));
        assert_eq!(by(4, two, 1.0, 1.5), (2.0, GrantBasis::WaitsOfTooMany));
        assert_eq!(by(4, two, 0.5, 3.5), (0.5, GrantBasis::WaitsOfTooMany));
    }

    /// Two workers that have 1.5 processors wait for half of one.
    #[test]
    fn throttled_time_is_subtracted_once() {
        assert_eq!(by(2, machine(2, Some(1.5)), 1.5, 0.5).0, 1.5);
        assert_eq!(by(2, machine(2, Some(1.5)), 0.2, 0.0).0, 1.5);
        assert_eq!(by(2, machine(2, Some(1.5)), 0.2, 1.0).0, 1.0);
    }
}
