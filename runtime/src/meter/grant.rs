//! PA: how many processors the system granted, on average over a stretch of time.

use std::time::{Duration, Instant};

use crate::os::{self, Processors};

/// Measures PA, the average number of processors that were there for this process, over a stretch of time.
///
/// On a machine of its own, a program with P workers has PA = min(P, processors allowed). On a shared one, others take
/// their part: PA = min(P, processors allowed − what other programs and the hypervisor took), which is how Hood
/// computed it beside its co-runner ("Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998,
/// section 5.2). What this process itself leaves unused counts as granted: it could have had it.
///
/// The system counts in clock ticks (10 ms): measure a second or more.
///
/// # Examples
/// ```
/// use locksley::meter::GrantMeter;
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

/// What was granted over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Grant {
    /// How long the stretch was.
    pub wall: Duration,
    /// Processor time that this process used.
    pub own: Option<Duration>,
    /// Processor time that others used on the processors allowed, the hypervisor included; `None` where the system
    /// does not tell.
    pub others: Option<Duration>,
    /// PA. Where the system does not tell what others took: as if nobody did.
    pub processors: f64,
}

#[derive(Clone, Copy, Debug)]
struct Usage {
    own: Duration,
    all: Duration,
}

impl Usage {
    fn now(processors: &Processors) -> Option<Self> {
        let own = os::process_time()?;
        let all = os::busy_time(processors.ids()).ok()?;
        Some(Self { own, all })
    }
}

impl GrantMeter {
    /// Begins to measure.
    #[must_use]
    pub fn start() -> Self {
        let processors = Processors::allowed_again();
        let at_start = Usage::now(&processors);
        Self { processors, began: Instant::now(), at_start }
    }

    /// What was granted since [`start`](Self::start) to a program with `workers` workers.
    #[must_use]
    pub fn finish(self, workers: usize) -> Grant {
        self.so_far(workers)
    }

    /// PA where nobody takes anything from so many workers.
    pub(crate) fn allowed(&self, workers: usize) -> f64 {
        granted(workers, &self.processors, 0.0)
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
        let processors = granted(workers, &self.processors, taken);
        Grant { wall, own, others, processors }
    }
}

/// `taken`: processors that others had. They took them from the affinity's, of which a quota may allow us only a part.
fn granted(workers: usize, processors: &Processors, taken: f64) -> f64 {
    // The kernel runs everybody a little, however many they are.
    const LEAST: f64 = 0.01;
    let left = (processors.ids().len() as f64 - taken).max(LEAST);
    left.min(processors.capacity()).min(workers as f64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn processors(number: usize, quota: Option<f64>) -> Processors {
        Processors::of((0..number).collect(), quota)
    }

    #[test]
    fn alone_it_is_the_smaller_of_workers_and_processors() {
        assert_eq!(granted(4, &processors(2, None), 0.0), 2.0);
        assert_eq!(granted(1, &processors(2, None), 0.0), 1.0);
    }

    #[test]
    fn others_take_their_part() {
        assert_eq!(granted(4, &processors(2, None), 0.5), 1.5);
        assert_eq!(granted(1, &processors(2, None), 0.5), 1.0);
        assert!(granted(4, &processors(2, None), 10.0) > 0.0);
    }

    #[test]
    fn a_quota_is_a_part_of_what_others_leave() {
        assert_eq!(granted(8, &processors(64, Some(1.5)), 40.0), 1.5);
        assert_eq!(granted(8, &processors(4, Some(3.0)), 2.0), 2.0);
    }
}
