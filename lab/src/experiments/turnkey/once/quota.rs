//! Rounds under a quota, beside a thread that wakes every millisecond.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::groups::Ground;
use super::pool;
use crate::experiments::turnkey::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::rounds::Round;
use crate::runtimes::Crew;

/// As `rounds` has it: leaves of some microseconds.
const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };
/// From one wake-up to the next.
const BETWEEN: Duration = Duration::from_millis(1);
/// So long the rounds have gone on before anything is measured.
const WARM_UP: Duration = Duration::from_millis(300);

pub(super) fn measure(hundredths: u64, workers: usize, time: Duration) -> Outcome<Reading> {
    let ground = Ground::find().map_err(Fault::run)?;
    let group = ground.group("quota", Some(hundredths))?;
    let crew = Crew::Locksley(pool(workers)?);
    ROUND.repeat_on(&crew, WARM_UP)?;
    let (before, begun) = (group.throttled()?, Instant::now());
    let stop = AtomicBool::new(false);
    let (rate, mut late) = thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep_and_wake(&stop));
        let rate = ROUND.repeat_on(&crew, time);
        stop.store(true, Ordering::Release);
        (rate, sleeper.join().expect("it does not panic"))
    });
    let (after, wall) = (group.throttled()?, begun.elapsed().as_secs_f64());
    late.sort_unstable();
    let at = |share: f64| late[(((late.len() - 1) as f64) * share) as usize].as_secs_f64() * 1e3;
    Ok(Reading::Quota {
        rounds_per_s: rate?.per_second(),
        median_late_ms: at(0.5),
        p99_late_ms: at(0.99),
        worst_late_ms: at(1.0),
        throttled_per_s: (after.1 - before.1) as f64 / wall,
    })
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
