//! When one worker rests, so that a quota lasts to the end of its period.

use std::time::Duration;

/// What a quota is measured out by, in this pace: how far the process is ahead of it.
///
/// The account is a leaky bucket (Turner, "New Directions in Communications", 1986): what is used flows in, and the quota flows out.
#[derive(Debug)]
pub(super) struct Pace {
    /// In processors.
    quota: f64,
    /// In seconds.
    period: f64,
    /// How much of the quota the process goes for: less than all of it, if it has been kept from running all the same.
    share: f64,
    /// Processor time beyond what the quota had given by the last look, in seconds; less than nothing if some was left.
    ahead: f64,
    /// When that was, on any clock, and how much processor time had been used until then.
    last: Option<(Duration, Duration)>,
    rests: bool,
    /// The number of periods in which the quota was used up.
    used_up: Option<u64>,
}

/// How far ahead the process may get: this part of what a period gives. The kernel then keeps it from running for as long as that at the most,
/// divided by the number of its threads.
const SLACK: f64 = 1.0 / 64.0;
/// And so much that was not used may be used later: less, since the period may end before.
const CREDIT: f64 = 1.0 / 128.0;
/// By so much of the quota the process goes for less when it was used up in a period all the same, and for more after each time of looking in which it was not.
const LESS: f64 = 0.01;
const MORE: f64 = 0.002;
/// It goes for at least that.
const LEAST: f64 = 0.75;

impl Pace {
    /// Of so many processors, measured out by that period.
    pub(super) fn new(quota: f64, period: Duration) -> Self {
        let period = period.as_secs_f64();
        Self { quota, period, share: 1.0, ahead: 0.0, last: None, rests: false, used_up: None }
    }

    /// How many workers it takes to use it up.
    pub(super) fn workers(&self) -> usize {
        self.quota.ceil() as usize
    }

    /// Whether one of these is to rest, `now` that the process has used so much since it began.
    pub(super) fn look(&mut self, now: Duration, used: Duration) -> bool {
        let (before, used_before) = self.last.replace((now, used)).unwrap_or((now, used));
        let elapsed = now.saturating_sub(before).as_secs_f64();
        let used = used.saturating_sub(used_before).as_secs_f64();
        let given = self.quota * self.period;
        self.ahead += used - self.quota * self.share * elapsed;
        // Nor can it be further ahead than the kernel allows: that was not the pool's doing, or a new quota.
        self.ahead = self.ahead.clamp(-CREDIT * given, given);
        self.rests = self.ahead > if self.rests { 0.0 } else { SLACK * given };
        self.rests
    }

    /// So long after one look the process cannot be ahead by much of the slack: one worker more than the quota allows is not awake.
    pub(super) fn between_looks(&self) -> Duration {
        Duration::from_secs_f64(SLACK * self.quota * self.period / 4.0)
    }

    /// For how long the rest has to last, from the last look on, if all others work.
    pub(super) fn rest(&self) -> Duration {
        let others = self.workers().saturating_sub(1) as f64;
        let gain = self.quota * self.share - others;
        let seconds = if gain > 0.0 { self.ahead / gain } else { self.period };
        Duration::from_secs_f64(seconds.clamp(0.0, self.period))
    }

    /// In so many periods, all told, the quota was used up.
    pub(super) fn was_used_up(&mut self, periods: u64) {
        let before = self.used_up.replace(periods).unwrap_or(periods);
        let change = if periods > before { -LESS } else { MORE };
        self.share = (self.share + change).clamp(LEAST, 1.0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(100);
    /// From one of the kernel's own ticks to the next.
    const CLOCK: Duration = Duration::from_millis(4);

    /// A kernel that measures out a quota by periods (the kernel's document sched-bwc): what is used up ends the period for all.
    struct Kernel {
        quota: f64,
        period: Duration,
        now: Duration,
        used: Duration,
        /// What the process's clock shows, if nobody brings it up to date.
        shown: Duration,
        left: f64,
        periods_used_up: u64,
        stalls: Vec<Duration>,
    }

    impl Kernel {
        fn new(quota: f64, period: Duration) -> Self {
            let left = quota * period.as_secs_f64();
            let (now, used, shown) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            Self { quota, period, now, used, shown, left, periods_used_up: 0, stalls: Vec::new() }
        }

        /// So many threads want to run during the next tick.
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
                    self.periods_used_up += 1;
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

    /// All workers work for ten seconds; and once in so many ticks somebody looks, at what has been `used`.
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
                    pace.was_used_up(kernel.periods_used_up);
                }
                if tick.is_multiple_of(once_in) {
                    rests = pace.look(kernel.now, used(kernel));
                }
            }
            kernel.tick(workers - u32::from(rests));
        }
    }

    #[test]
    fn who_rests_from_time_to_time_is_not_kept_from_running() {
        let period = Duration::from_millis(100);
        for quota in [1.05, 1.25, 1.5, 1.9, 2.5, 7.3] {
            let mut without = Kernel::new(quota, period);
            run(None, &mut without, 1, |kernel| kernel.used);
            let mut with = Kernel::new(quota, period);
            // Somebody looks once in a millisecond or two, as thieves come along.
            run(Some(&mut Pace::new(quota, period)), &mut with, 15, |kernel| kernel.used);
            let given = quota * with.now.as_secs_f64();
            assert!((without.used.as_secs_f64() / given - 1.0).abs() < 0.01, "{quota}");
            assert!(with.used.as_secs_f64() / given > 0.98, "{quota}: {:?} of {given}", with.used);
            let (before, after) = (without.longest_stall(), with.longest_stall());
            assert!(after <= (before / 4).max(period / 40), "{quota}: {before:?} {after:?}");
        }
    }

    /// This is why clocks are brought up to date first: what is not shown yet looks like quota that nobody used, of which little can be kept.
    #[test]
    fn by_a_clock_that_lags_behind_quota_is_given_away() {
        let period = Duration::from_millis(100);
        for quota in [1.5, 1.9] {
            let mut kernel = Kernel::new(quota, period);
            run(Some(&mut Pace::new(quota, period)), &mut kernel, 15, |kernel| kernel.shown);
            let given = quota * kernel.now.as_secs_f64();
            assert!(kernel.used.as_secs_f64() / given < 0.95, "{:?} of {given}", kernel.used);
        }
    }

    #[test]
    fn looks_are_as_seldom_as_the_slack_allows() {
        let between = |quota| Pace::new(quota, Duration::from_millis(100)).between_looks();
        assert_eq!(between(1.28), Duration::from_micros(500));
        assert_eq!(between(64.0), Duration::from_millis(25));
    }

    #[test]
    fn a_quota_that_is_whole_needs_no_rest() {
        let period = Duration::from_millis(100);
        for quota in [1.0, 2.0, 4.0] {
            let (mut kernel, mut pace) = (Kernel::new(quota, period), Pace::new(quota, period));
            for _ in 0..1000 {
                assert!(!pace.look(kernel.now, kernel.used), "{quota}");
                (0..10).for_each(|_| kernel.tick(quota as u32));
            }
        }
    }

    #[test]
    fn who_uses_less_does_not_rest_and_saves_little() {
        let mut pace = Pace::new(1.5, Duration::from_millis(100));
        let millis = Duration::from_millis;
        for n in 0..1000 {
            assert!(!pace.look(millis(n), millis(n)));
        }
        // What was not used in a second is gone: two workers may be busy for as long as slack and credit last.
        let rests_at = (1000..2000).find(|&n| pace.look(millis(n), millis(1000 + (n - 1000) * 2)));
        let most = 150.0 * (SLACK + CREDIT) / 0.5;
        assert!(rests_at.is_some_and(|n| (n as f64) < 1000.0 + most + 2.0), "{rests_at:?}");
    }

    #[test]
    fn a_rest_is_as_long_as_it_has_to_be() {
        let millis = Duration::from_millis;
        let mut pace = Pace::new(1.5, millis(100));
        pace.look(millis(0), millis(0));
        assert!(!pace.look(millis(4), millis(8)), "2 ms ahead");
        assert!(pace.look(millis(10), millis(20)), "5 ms ahead");
        // One goes on, and falls behind by half a millisecond in each.
        assert!((pace.rest().as_secs_f64() - 0.010).abs() < 1e-6, "{:?}", pace.rest());
        assert!(pace.look(millis(19), millis(29)), "half a millisecond ahead");
        assert!(!pace.look(millis(21), millis(31)));
    }

    /// Others of the same control group use what they like.
    #[test]
    fn who_is_kept_from_running_all_the_same_goes_for_less() {
        let period = Duration::from_millis(100);
        let mut pace = Pace::new(1.5, period);
        let mut used_up = 0;
        let mut is_used_up = |pace: &mut Pace, more| {
            used_up += more;
            pace.was_used_up(used_up);
            pace.share
        };
        assert_eq!(is_used_up(&mut pace, 7), 1.0, "before there was a pool");
        let less = is_used_up(&mut pace, 1);
        assert!(less < 1.0);
        assert!(is_used_up(&mut pace, 0) > less);
        (0..1000).for_each(|_| assert!(is_used_up(&mut pace, 1) >= LEAST));
        (0..1000).for_each(|_| assert!(is_used_up(&mut pace, 0) <= 1.0));
        assert_eq!(pace.share, 1.0);
    }

    #[test]
    fn nothing_odd_comes_of_odd_times() {
        let mut pace = Pace::new(1.5, Duration::from_millis(100));
        let (late, early) = (Duration::from_secs(1_000_000), Duration::ZERO);
        for (now, used) in [(late, early), (early, late), (late, late), (early, early)] {
            let _ = pace.look(now, used);
            assert!(pace.ahead.is_finite() && pace.rest() <= Duration::from_millis(100));
        }
        // All of the quota goes to others: the rest ends with the period.
        let mut pace = Pace::new(2.0, Duration::from_millis(100));
        pace.share = 0.4;
        pace.look(early, early);
        assert!(pace.look(Duration::from_secs(1), Duration::from_secs(2)));
        assert_eq!(pace.rest(), Duration::from_millis(100));
    }
}
