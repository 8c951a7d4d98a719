//! Decides when one worker rests, so that the CPU quota of a control group lasts until the end of
//! its period.

use std::time::Duration;

/// Compares the processor time that the process uses with the quota of its control group.
///
/// It is a leaky bucket (Turner, "New Directions in Communications", 1986): usage flows in, and the
/// quota flows out.
#[derive(Debug)]
pub(super) struct Pace {
    /// In processors: seconds of processor time per second.
    quota: f64,
    /// In seconds. The kernel grants the quota for one period at a time.
    period: f64,
    /// The fraction of the quota that the process aims for. Less than 1 after throttling.
    share: f64,
    /// The content of the bucket, in seconds of processor time: usage minus quota so far. Negative
    /// if some of the quota is unused.
    excess: f64,
    last: Option<UsageSample>,
    is_resting: bool,
    /// The number of periods in which the kernel has throttled the control group.
    throttled: Option<u64>,
}

/// The processor time that the process had used at one time of an arbitrary clock.
#[derive(Clone, Copy, Debug)]
struct UsageSample {
    at: Duration,
    used: Duration,
}

/// A rest begins at this excess, as a fraction of the quota of one period. If the period ends
/// during an excess, the kernel has throttled the process: by at most the excess, divided by the
/// number of running threads.
const SLACK: f64 = 1.0 / 64.0;

/// The process may use this much unused quota later, as a fraction of the quota of one period. Less
/// than the slack, because the kernel discards unused quota when the period ends.
const CREDIT: f64 = 1.0 / 128.0;

/// One worker too many uses up the slack in this many update intervals.
const UPDATES_PER_SLACK: f64 = 4.0;

/// The share falls by this much if the kernel has throttled since the last reading.
const SHARE_DOWN: f64 = 0.01;

/// The share rises by this much if the kernel has not throttled since the last reading.
const SHARE_UP: f64 = 0.002;

/// The process gives up at most a quarter of its quota.
const MIN_SHARE: f64 = 0.75;

impl Pace {
    /// `quota` is in processors.
    pub(super) fn new(quota: f64, period: Duration) -> Self {
        Self {
            quota,
            period: period.as_secs_f64(),
            share: 1.0,
            excess: 0.0,
            last: None,
            is_resting: false,
            throttled: None,
        }
    }

    /// The number of workers that use up the quota.
    pub(super) fn workers(&self) -> usize {
        self.quota.ceil() as usize
    }

    /// Records the processor time `used` until `now`. Returns true if one worker should rest.
    pub(super) fn update(&mut self, now: Duration, used: Duration) -> bool {
        let sample = UsageSample { at: now, used };
        let last = self.last.replace(sample).unwrap_or(sample);
        let elapsed = now.saturating_sub(last.at).as_secs_f64();
        let newly_used = used.saturating_sub(last.used).as_secs_f64();
        let granted = self.quota * self.period;
        self.excess += newly_used - self.quota * self.share * elapsed;
        // The kernel allows no excess above the quota of one period. A larger one has another
        // cause, such as a new quota.
        self.excess = self.excess.clamp(-CREDIT * granted, granted);
        // Hysteresis: a rest begins above the slack, and ends when the excess is 0.
        let threshold = if self.is_resting { 0.0 } else { SLACK * granted };
        self.is_resting = self.excess > threshold;
        self.is_resting
    }

    /// The time between two updates.
    pub(super) fn update_interval(&self) -> Duration {
        Duration::from_secs_f64(SLACK * self.quota * self.period / UPDATES_PER_SLACK)
    }

    /// The time from the last update to the end of the rest, if all other workers are busy.
    pub(super) fn rest_duration(&self) -> Duration {
        let busy = self.workers().saturating_sub(1) as f64;
        let drain_rate = self.quota * self.share - busy;
        let seconds = if drain_rate > 0.0 { self.excess / drain_rate } else { self.period };
        Duration::from_secs_f64(seconds.clamp(0.0, self.period))
    }

    /// Adapts the share to the number of throttled periods so far.
    pub(super) fn record_throttled(&mut self, periods: u64) {
        let before = self.throttled.replace(periods).unwrap_or(periods);
        let change = if periods > before { -SHARE_DOWN } else { SHARE_UP };
        self.share = (self.share + change).clamp(MIN_SHARE, 1.0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The simulation advances in steps of this length.
    const STEP: Duration = Duration::from_micros(100);
    /// The kernel updates the process's clock this often.
    const CLOCK_UPDATE_INTERVAL: Duration = Duration::from_millis(4);

    /// A kernel that enforces a quota by periods (Documentation/scheduler/sched-bwc): when the
    /// quota of a period is used up, no thread runs until the next one.
    #[derive(Default)]
    struct Kernel {
        quota: f64,
        period: Duration,
        now: Duration,
        used: Duration,
        /// The process's clock, which lags behind `used`.
        clock: Duration,
        /// The quota that is left in this period, in seconds of processor time.
        left: f64,
        throttled_periods: u64,
        stalls: Vec<Duration>,
    }

    impl Kernel {
        fn new(quota: f64, period: Duration) -> Self {
            let left = quota * period.as_secs_f64();
            Self { quota, period, left, ..Self::default() }
        }

        /// Runs this many threads for one step, if the quota lasts.
        fn step(&mut self, threads: u32) {
            let is_new_period = self.now.as_nanos().is_multiple_of(self.period.as_nanos());
            if is_new_period {
                self.left = self.quota * self.period.as_secs_f64();
            }
            let wanted = f64::from(threads) * STEP.as_secs_f64();
            if self.left > 1e-9 {
                self.left -= wanted;
                self.used += STEP * threads;
                if self.left <= 1e-9 {
                    self.throttled_periods += 1;
                    self.stalls.push(Duration::ZERO);
                }
            } else if let Some(stall) = self.stalls.last_mut() {
                *stall += STEP;
            }
            self.now += STEP;
            if self.now.as_nanos().is_multiple_of(CLOCK_UPDATE_INTERVAL.as_nanos()) {
                self.clock = self.used;
            }
        }

        fn longest_stall(&self) -> Duration {
            self.stalls.iter().max().copied().unwrap_or_default()
        }
    }

    /// Runs all workers for ten seconds. A worker polls the usage once in `poll_every` steps.
    fn run(
        mut pace: Option<&mut Pace>,
        kernel: &mut Kernel,
        poll_every: u32,
        used: fn(&Kernel) -> Duration,
    ) {
        let workers = kernel.quota.ceil() as u32;
        let mut rests = false;
        for step in 0..100_000_u32 {
            if let Some(pace) = &mut pace {
                if step.is_multiple_of(1000) {
                    pace.record_throttled(kernel.throttled_periods);
                }
                if step.is_multiple_of(poll_every) {
                    rests = pace.update(kernel.now, used(kernel));
                }
            }
            kernel.step(workers - u32::from(rests));
        }
    }

    #[test]
    fn a_pool_whose_workers_rest_is_not_throttled() {
        let period = Duration::from_millis(100);
        for quota in [1.05, 1.25, 1.5, 1.9, 2.5, 7.3] {
            let mut without = Kernel::new(quota, period);
            run(None, &mut without, 1, |kernel| kernel.used);
            let mut with = Kernel::new(quota, period);
            // A worker polls every 1.5 ms.
            run(Some(&mut Pace::new(quota, period)), &mut with, 15, |kernel| kernel.used);
            let granted = quota * with.now.as_secs_f64();
            assert!((without.used.as_secs_f64() / granted - 1.0).abs() < 0.01, "{quota}");
            assert!(with.used.as_secs_f64() / granted > 0.98, "{quota}: {:?}", with.used);
            let (before, after) = (without.longest_stall(), with.longest_stall());
            assert!(after <= (before / 4).max(period / 40), "{quota}: {before:?} {after:?}");
        }
    }

    /// The reason why workers update their clocks before a poll: usage that the clock does not show
    /// yet looks like unused quota, and the account keeps only a little of that.
    #[test]
    fn a_clock_that_lags_behind_wastes_quota() {
        let period = Duration::from_millis(100);
        for quota in [1.5, 1.9] {
            let mut kernel = Kernel::new(quota, period);
            run(Some(&mut Pace::new(quota, period)), &mut kernel, 15, |kernel| kernel.clock);
            let granted = quota * kernel.now.as_secs_f64();
            assert!(kernel.used.as_secs_f64() / granted < 0.95, "{:?} of {granted}", kernel.used);
        }
    }

    #[test]
    fn polls_are_as_rare_as_the_slack_allows() {
        let interval = |quota| Pace::new(quota, Duration::from_millis(100)).update_interval();
        assert_eq!(interval(1.28), Duration::from_micros(500));
        assert_eq!(interval(64.0), Duration::from_millis(25));
    }

    #[test]
    fn a_whole_number_of_processors_needs_no_rest() {
        let period = Duration::from_millis(100);
        for quota in [1.0, 2.0, 4.0] {
            let (mut kernel, mut pace) = (Kernel::new(quota, period), Pace::new(quota, period));
            for _ in 0..1000 {
                assert!(!pace.update(kernel.now, kernel.used), "{quota}");
                (0..10).for_each(|_| kernel.step(quota as u32));
            }
        }
    }

    #[test]
    fn a_pool_below_its_quota_does_not_rest_and_saves_little() {
        let mut pace = Pace::new(1.5, Duration::from_millis(100));
        let millis = Duration::from_millis;
        for n in 0..1000 {
            assert!(!pace.update(millis(n), millis(n)));
        }
        // Most of the unused quota of the first second is lost. Two workers may be busy until they
        // have used up the slack and the credit.
        let rests_at =
            (1000..2000).find(|&n| pace.update(millis(n), millis(1000 + (n - 1000) * 2)));
        let most = 150.0 * (SLACK + CREDIT) / 0.5;
        assert!(rests_at.is_some_and(|n| (n as f64) < 1000.0 + most + 2.0), "{rests_at:?}");
    }

    #[test]
    fn a_rest_ends_when_the_excess_is_gone() {
        let millis = Duration::from_millis;
        let mut pace = Pace::new(1.5, millis(100));
        pace.update(millis(0), millis(0));
        assert!(!pace.update(millis(4), millis(8)), "an excess of 2 ms");
        assert!(pace.update(millis(10), millis(20)), "an excess of 5 ms");
        // In each millisecond, the other worker uses half a millisecond less than the quota.
        let rest = pace.rest_duration().as_secs_f64();
        assert!((rest - 0.010).abs() < 1e-6, "{rest}");
        assert!(pace.update(millis(19), millis(29)), "an excess of 0.5 ms");
        assert!(!pace.update(millis(21), millis(31)));
    }

    /// Other processes of the control group also use its quota.
    #[test]
    fn a_process_that_is_throttled_aims_for_less() {
        let period = Duration::from_millis(100);
        let mut pace = Pace::new(1.5, period);
        let mut throttled = 0;
        let mut share_after = |pace: &mut Pace, more| {
            throttled += more;
            pace.record_throttled(throttled);
            pace.share
        };
        assert_eq!(share_after(&mut pace, 7), 1.0, "throttled before the pool existed");
        let less = share_after(&mut pace, 1);
        assert!(less < 1.0);
        assert!(share_after(&mut pace, 0) > less);
        (0..1000).for_each(|_| assert!(share_after(&mut pace, 1) >= MIN_SHARE));
        (0..1000).for_each(|_| assert!(share_after(&mut pace, 0) <= 1.0));
        assert_eq!(pace.share, 1.0);
    }

    #[test]
    fn inconsistent_times_keep_the_excess_finite() {
        let mut pace = Pace::new(1.5, Duration::from_millis(100));
        let (late, early) = (Duration::from_secs(1_000_000), Duration::ZERO);
        for (now, used) in [(late, early), (early, late), (late, late), (early, early)] {
            let _ = pace.update(now, used);
            assert!(pace.excess.is_finite() && pace.rest_duration() <= Duration::from_millis(100));
        }
        // Other processes use the whole quota, so the excess does not drain. A rest lasts a period.
        let mut pace = Pace::new(2.0, Duration::from_millis(100));
        pace.share = 0.4;
        pace.update(early, early);
        assert!(pace.update(Duration::from_secs(1), Duration::from_secs(2)));
        assert_eq!(pace.rest_duration(), Duration::from_millis(100));
    }
}
