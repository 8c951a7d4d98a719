//! When one worker rests, so that a quota lasts to the end of its period.

use std::time::Duration;

/// An account of a quota: how far the process's usage is ahead of it.
///
/// It is a leaky bucket (Turner, "New Directions in Communications", 1986): usage flows in, and the
/// quota flows out.
#[derive(Debug)]
pub(super) struct Pace {
    /// In processors.
    quota: f64,
    /// In seconds.
    period: f64,
    /// The part of the quota that the process aims for. Less than 1 if it has been throttled.
    share: f64,
    /// Processor time, in seconds, by which the usage exceeds the quota so far. Negative if some of
    /// the quota is left.
    ahead: f64,
    /// The time of the last update, on any clock, and the usage until then.
    last: Option<(Duration, Duration)>,
    is_resting: bool,
    /// The number of periods in which the kernel has throttled the process's group.
    throttled: Option<u64>,
}

/// How far ahead the process may get, as a part of a period's quota. The kernel then throttles it
/// for at most this time, divided by the number of its threads.
const SLACK: f64 = 1.0 / 64.0;
/// How much unused quota may be used later. Less than the slack, since the period may end before.
const CREDIT: f64 = 1.0 / 128.0;
/// How much the share falls after a reading with throttling, and rises after one without.
const SHARE_DOWN: f64 = 0.01;
const SHARE_UP: f64 = 0.002;
const MIN_SHARE: f64 = 0.75;

impl Pace {
    /// The account of a quota in processors, which the kernel grants in each period.
    pub(super) fn new(quota: f64, period: Duration) -> Self {
        let period = period.as_secs_f64();
        let (share, ahead, is_resting) = (1.0, 0.0, false);
        Self { quota, period, share, ahead, last: None, is_resting, throttled: None }
    }

    /// How many workers use up the quota.
    pub(super) fn workers(&self) -> usize {
        self.quota.ceil() as usize
    }

    /// Enters the usage of the process until `now`. True if one worker should rest.
    pub(super) fn update(&mut self, now: Duration, used: Duration) -> bool {
        let (before, used_before) = self.last.replace((now, used)).unwrap_or((now, used));
        let elapsed = now.saturating_sub(before).as_secs_f64();
        let used = used.saturating_sub(used_before).as_secs_f64();
        let granted = self.quota * self.period;
        self.ahead += used - self.quota * self.share * elapsed;
        // The kernel does not let the pool get further ahead: more has another cause, such as a new
        // quota.
        self.ahead = self.ahead.clamp(-CREDIT * granted, granted);
        self.is_resting = self.ahead > if self.is_resting { 0.0 } else { SLACK * granted };
        self.is_resting
    }

    /// The time between two updates in which one worker too many uses only a part of the slack.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs_f64(SLACK * self.quota * self.period / 4.0)
    }

    /// How long the rest lasts from the last update on, if all other workers work.
    pub(super) fn rest(&self) -> Duration {
        let others = self.workers().saturating_sub(1) as f64;
        let gain = self.quota * self.share - others;
        let seconds = if gain > 0.0 { self.ahead / gain } else { self.period };
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

    const TICK: Duration = Duration::from_micros(100);
    /// The kernel's own tick.
    const CLOCK: Duration = Duration::from_millis(4);

    /// A kernel that enforces a quota by periods (Documentation/scheduler/sched-bwc): when the
    /// quota of a period is used up, no thread runs until the next one.
    struct Kernel {
        quota: f64,
        period: Duration,
        now: Duration,
        used: Duration,
        /// What the process's clock shows if it is not updated.
        shown: Duration,
        left: f64,
        throttled_periods: u64,
        stalls: Vec<Duration>,
    }

    impl Kernel {
        fn new(quota: f64, period: Duration) -> Self {
            let left = quota * period.as_secs_f64();
            let (now, used, shown) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            Self { quota, period, now, used, shown, left, throttled_periods: 0, stalls: Vec::new() }
        }

        /// Runs this many threads during the next tick, if the quota lasts.
        fn tick(&mut self, threads: u32) {
            let is_new = self.now.as_nanos().is_multiple_of(self.period.as_nanos());
            if is_new {
                self.left = self.quota * self.period.as_secs_f64();
            }
            let wanted = f64::from(threads) * TICK.as_secs_f64();
            if self.left > 1e-9 {
                self.left -= wanted;
                self.used += TICK * threads;
                if self.left <= 1e-9 {
                    self.throttled_periods += 1;
                    self.stalls.push(Duration::ZERO);
                }
            } else if let Some(stall) = self.stalls.last_mut() {
                *stall += TICK;
            }
            self.now += TICK;
            if self.now.as_nanos().is_multiple_of(CLOCK.as_nanos()) {
                self.shown = self.used;
            }
        }

        fn longest_stall(&self) -> Duration {
            self.stalls.iter().max().copied().unwrap_or_default()
        }
    }

    /// Runs all workers for ten seconds. Every `once_in` ticks, one of them polls the usage.
    fn run(
        mut pace: Option<&mut Pace>,
        kernel: &mut Kernel,
        once_in: u32,
        used: fn(&Kernel) -> Duration,
    ) {
        let workers = kernel.quota.ceil() as u32;
        let mut rests = false;
        for tick in 0..100_000_u32 {
            if let Some(pace) = &mut pace {
                if tick.is_multiple_of(1000) {
                    pace.record_throttled(kernel.throttled_periods);
                }
                if tick.is_multiple_of(once_in) {
                    rests = pace.update(kernel.now, used(kernel));
                }
            }
            kernel.tick(workers - u32::from(rests));
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
            let given = quota * with.now.as_secs_f64();
            assert!((without.used.as_secs_f64() / given - 1.0).abs() < 0.01, "{quota}");
            assert!(with.used.as_secs_f64() / given > 0.98, "{quota}: {:?} of {given}", with.used);
            let (before, after) = (without.longest_stall(), with.longest_stall());
            assert!(after <= (before / 4).max(period / 40), "{quota}: {before:?} {after:?}");
        }
    }

    /// The reason why clocks are updated first: usage that is not shown yet looks like unused
    /// quota, of which only a little is kept.
    #[test]
    fn with_a_clock_that_lags_behind_quota_is_wasted() {
        let period = Duration::from_millis(100);
        for quota in [1.5, 1.9] {
            let mut kernel = Kernel::new(quota, period);
            run(Some(&mut Pace::new(quota, period)), &mut kernel, 15, |kernel| kernel.shown);
            let given = quota * kernel.now.as_secs_f64();
            assert!(kernel.used.as_secs_f64() / given < 0.95, "{:?} of {given}", kernel.used);
        }
    }

    #[test]
    fn polls_are_as_rare_as_the_slack_allows() {
        let between = |quota| Pace::new(quota, Duration::from_millis(100)).interval();
        assert_eq!(between(1.28), Duration::from_micros(500));
        assert_eq!(between(64.0), Duration::from_millis(25));
    }

    #[test]
    fn a_quota_that_is_whole_needs_no_rest() {
        let period = Duration::from_millis(100);
        for quota in [1.0, 2.0, 4.0] {
            let (mut kernel, mut pace) = (Kernel::new(quota, period), Pace::new(quota, period));
            for _ in 0..1000 {
                assert!(!pace.update(kernel.now, kernel.used), "{quota}");
                (0..10).for_each(|_| kernel.tick(quota as u32));
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
        // The unused quota of that second is gone: two workers may be busy while slack and credit
        // last.
        let rests_at =
            (1000..2000).find(|&n| pace.update(millis(n), millis(1000 + (n - 1000) * 2)));
        let most = 150.0 * (SLACK + CREDIT) / 0.5;
        assert!(rests_at.is_some_and(|n| (n as f64) < 1000.0 + most + 2.0), "{rests_at:?}");
    }

    #[test]
    fn a_rest_ends_when_the_account_is_even() {
        let millis = Duration::from_millis;
        let mut pace = Pace::new(1.5, millis(100));
        pace.update(millis(0), millis(0));
        assert!(!pace.update(millis(4), millis(8)), "2 ms ahead");
        assert!(pace.update(millis(10), millis(20)), "5 ms ahead");
        // The other worker uses half a millisecond less than the quota in each.
        assert!((pace.rest().as_secs_f64() - 0.010).abs() < 1e-6, "{:?}", pace.rest());
        assert!(pace.update(millis(19), millis(29)), "half a millisecond ahead");
        assert!(!pace.update(millis(21), millis(31)));
    }

    /// Other processes of the control group also use its quota.
    #[test]
    fn a_process_that_is_throttled_anyway_aims_for_less() {
        let period = Duration::from_millis(100);
        let mut pace = Pace::new(1.5, period);
        let mut throttled = 0;
        let mut share_after = |pace: &mut Pace, more| {
            throttled += more;
            pace.record_throttled(throttled);
            pace.share
        };
        assert_eq!(share_after(&mut pace, 7), 1.0, "before there was a pool");
        let less = share_after(&mut pace, 1);
        assert!(less < 1.0);
        assert!(share_after(&mut pace, 0) > less);
        (0..1000).for_each(|_| assert!(share_after(&mut pace, 1) >= MIN_SHARE));
        (0..1000).for_each(|_| assert!(share_after(&mut pace, 0) <= 1.0));
        assert_eq!(pace.share, 1.0);
    }

    #[test]
    fn inconsistent_times_keep_the_account_finite() {
        let mut pace = Pace::new(1.5, Duration::from_millis(100));
        let (late, early) = (Duration::from_secs(1_000_000), Duration::ZERO);
        for (now, used) in [(late, early), (early, late), (late, late), (early, early)] {
            let _ = pace.update(now, used);
            assert!(pace.ahead.is_finite() && pace.rest() <= Duration::from_millis(100));
        }
        // Other processes use the whole quota: the rest ends with the period.
        let mut pace = Pace::new(2.0, Duration::from_millis(100));
        pace.share = 0.4;
        pace.update(early, early);
        assert!(pace.update(Duration::from_secs(1), Duration::from_secs(2)));
        assert_eq!(pace.rest(), Duration::from_millis(100));
    }
}
