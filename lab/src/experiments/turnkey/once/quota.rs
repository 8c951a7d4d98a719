//! Rounds under a quota, beside a thread that wakes every millisecond.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::account::Account;
use super::groups::Ground;
use crate::experiments::turnkey::contestant::Contestant;
use crate::experiments::turnkey::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::rounds::Round;

/// As `rounds` has it: leaves of some microseconds.
const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };
/// From one wake-up to the next.
const BETWEEN: Duration = Duration::from_millis(1);
/// So long the rounds have gone on before anything is measured,
const WARM_UP: Duration = Duration::from_millis(200);
/// and then so long again and again, until one of the kernel's periods has ended: what is measured is whole periods.
const A_MOMENT: Duration = Duration::from_millis(1);

pub(super) fn measure(hundredths: u64, of: &Contestant, time: Duration) -> Outcome<Reading> {
    let ground = Ground::find().map_err(Fault::run)?;
    let group = ground.group("quota", Some(hundredths))?;
    let crew = of.start()?;
    ROUND.time_on(&crew, WARM_UP)?;
    let periods = group.kept()?.periods;
    while group.kept()?.periods == periods {
        ROUND.time_on(&crew, A_MOMENT)?;
    }
    let account = Account::begin(&group)?;
    let stop = AtomicBool::new(false);
    let (rounds, late) = thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep_and_wake(&stop));
        let rounds = ROUND.time_on(&crew, time);
        stop.store(true, Ordering::Release);
        (rounds, sleeper.join().expect("it does not panic"))
    });
    let throttling = account.end()?;
    let (rate, times) = rounds?;
    let [median_late_ms, p99_late_ms, worst_late_ms] = spread(late);
    Ok(Reading::Quota {
        rounds_per_s: rate.per_second(),
        median_late_ms,
        p99_late_ms,
        worst_late_ms,
        throttled_per_s: throttling.used_up_per_s,
        throttling: Some(throttling),
        round_ms: Some(spread(times)),
    })
}

/// In milliseconds: the median, all but one in a hundred, and the longest.
fn spread(mut times: Vec<Duration>) -> [f64; 3] {
    times.sort_unstable();
    let at = |share: f64| times[(((times.len() - 1) as f64) * share) as usize].as_secs_f64() * 1e3;
    [0.5, 0.99, 1.0].map(at)
}

/// How late each wake-up was, at least one.
fn sleep_and_wake(stop: &AtomicBool) -> Vec<Duration> {
    let mut late = Vec::new();
    while late.is_empty() || !stop.load(Ordering::Acquire) {
        let due = Instant::now() + BETWEEN;
        thread::sleep(BETWEEN);
        late.push(due.elapsed());
    }
    late
}
