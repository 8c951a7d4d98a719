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
    /// What PA is where nobody takes anything: the processors allowed, or the workers, if those are fewer.
    pub allowed: f64,
    /// On how many processors the process may run, of which a quota may allow it a part only.
    pub affinity: usize,
    /// PA. Where the system does not tell what others took: as if nobody did.
    pub processors: f64,
}

/// How PA was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantBasis {
    /// The system's clock ticks said what others had.
    Ticks,
    /// It was too short for those. The workers, who were no more than the processors, waited for a processor for so long, and others had it. What a hypervisor took
    /// is not seen; and workers of whom two shared a processor while another one had nothing to do look as if others had had that.
    Waits,
    /// The same, but more workers than processors could be awake, so that some may have waited for each other: only what was beyond that was taken by others for certain,
    /// and PA is at most this.
    WaitsOfTooMany,
    /// Nothing is known of what others had: PA is what was allowed.
    Allowance,
}

/// How many workers may be awake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crew {
    /// As many as are to share the work: P.
    pub(crate) size: usize,
    /// At most: one more where the pool [welcomes](crate::sleep::Sleep::welcomes_one_more) one.
    pub(crate) most: usize,
}

impl Crew {
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self { size: self.size.max(other.size), most: self.most.max(other.most) }
    }
}

/// What the workers of a pool have said of themselves, in processors: times through the time of the stretch.
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
    fn allowed(&self, workers: usize) -> f64 {
        granted(workers, &self.processors, 0.0)
    }

    /// PA by what so many workers have said, who say at least something.
    pub(crate) fn granted_by(&self, crew: Crew, told: Told) -> (f64, GrantBasis) {
        granted_by(crew, &self.processors, told)
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
        let (allowed, affinity) = (self.allowed(workers), self.processors.ids().len());
        Grant { wall, own, others, allowed, affinity, processors }
    }
}

/// `taken`: processors that others had. They took them from the affinity's, of which a quota may allow us only a part.
fn granted(workers: usize, processors: &Processors, taken: f64) -> f64 {
    let left = (processors.ids().len() as f64 - taken).max(LEAST);
    left.min(processors.capacity()).min(workers as f64)
}

/// Whenever some of the workers wait, all processors are in use: if `a` are awake and `w` of them wait, `a - w` of `n` processors are theirs, and others have
/// the remaining `n - a + w`. That is `w` or more as long as no more workers than processors are awake, and otherwise at least `w` less those that are too many.
/// What they have used they had. A quota takes its part of what others leave; what it kept them from is among their waits, and so not in its part again.
fn granted_by(crew: Crew, processors: &Processors, told: Told) -> (f64, GrantBasis) {
    let number = processors.ids().len().max(1);
    let too_many = crew.most.saturating_sub(number);
    let taken = (told.waited - too_many as f64).max(0.0);
    let basis = if too_many == 0 { GrantBasis::Waits } else { GrantBasis::WaitsOfTooMany };
    let allowed = granted(crew.size, processors, 0.0);
    let left = crew.size.min(number) as f64 - taken;
    // Somebody who has used nothing could have had a little.
    (left.max(told.used).max(LEAST).min(allowed), basis)
}

/// The kernel runs everybody a little, however many they are.
const LEAST: f64 = 0.01;

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

    /// So many workers, of whom as many may be awake.
    fn by(size: usize, processors: &Processors, used: f64, waited: f64) -> (f64, GrantBasis) {
        granted_by(Crew { size, most: size }, processors, Told { used, waited })
    }

    #[test]
    fn what_workers_wait_for_is_taken_by_others() {
        let two = processors(2, None);
        assert_eq!(by(2, &two, 1.9, 0.0), (2.0, GrantBasis::Waits));
        assert_eq!(by(2, &two, 1.5, 0.5), (1.5, GrantBasis::Waits));
        // What they do not want they could have had.
        assert_eq!(by(2, &two, 0.3, 0.5), (1.5, GrantBasis::Waits));
        assert_eq!(by(1, &two, 0.25, 0.75), (0.25, GrantBasis::Waits));
        assert_eq!(by(3, &processors(8, None), 0.5, 1.0), (2.0, GrantBasis::Waits));
    }

    #[test]
    fn it_is_no_less_than_was_used_and_no_more_than_is_allowed() {
        let two = processors(2, None);
        // Who waits for each other though a processor is idle.
        assert_eq!(by(2, &two, 1.2, 1.4).0, 1.2);
        assert_eq!(by(2, &two, 2.5, 0.0).0, 2.0);
        assert_eq!(by(1, &two, 1.5, 0.0).0, 1.0);
        assert_eq!(by(2, &two, 0.0, 7.0).0, LEAST);
    }

    /// Of 4 workers on 2 processors two wait for the others, if all are awake.
    #[test]
    fn an_excess_of_ones_own_is_nobody_elses_taking() {
        let two = processors(2, None);
        assert_eq!(by(4, &two, 2.0, 2.0), (2.0, GrantBasis::WaitsOfTooMany));
        assert_eq!(by(4, &two, 1.0, 1.5), (2.0, GrantBasis::WaitsOfTooMany));
        assert_eq!(by(4, &two, 0.5, 3.5), (0.5, GrantBasis::WaitsOfTooMany));
        // The one more that is welcome in company.
        let told = Told { used: 1.0, waited: 1.5 };
        let one_more = granted_by(Crew { size: 2, most: 3 }, &two, told);
        assert_eq!(one_more, (1.5, GrantBasis::WaitsOfTooMany));
        assert_eq!(granted_by(Crew { size: 2, most: 2 }, &two, told).0, 1.0);
    }

    /// Two workers that have 1.5 processors wait for half of one.
    #[test]
    fn what_a_quota_keeps_workers_from_is_taken_once() {
        assert_eq!(by(2, &processors(2, Some(1.5)), 1.5, 0.5).0, 1.5);
        assert_eq!(by(2, &processors(2, Some(1.5)), 0.2, 0.0).0, 1.5);
        assert_eq!(by(2, &processors(2, Some(1.5)), 0.2, 1.0).0, 1.0);
    }

    #[test]
    fn of_two_crews_each_number_is_the_larger() {
        let (one, other) = (Crew { size: 2, most: 3 }, Crew { size: 3, most: 3 });
        assert_eq!(one.or_more(other), other);
        assert_eq!(one.or_more(Crew::default()), one);
    }
}
