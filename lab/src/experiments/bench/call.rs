//! Calls from a thread outside of a pool that has no work, beside a round trip by futex.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use crate::experiment::prelude::*;
use crate::runtimes::{self, Crew};

/// Longer than an idle worker looks for work.
const IDLE: Duration = Duration::from_millis(1);

/// The seconds that so many calls take, each of which finds the pool idle.
///
/// # Errors
///
/// [`Fault::Input`] if there is no such runtime, or it cannot start.
pub(super) fn measure(runtime: &str, workers: usize, calls: usize) -> Outcome<f64> {
    if runtime == "futex" {
        let caller = thread::current();
        let other = thread::spawn(move || {
            for _ in 0..calls {
                thread::park();
                caller.unpark();
            }
        });
        let seconds = time(calls, || {
            other.thread().unpark();
            thread::park();
        });
        other.join().map_err(|_| Fault::run("the other thread panicked"))?;
        return Ok(seconds);
    }
    match runtimes::find(runtime)?.start(workers).map_err(Fault::input)? {
        Crew::Locksley(pool) => Ok(time(calls, || pool.install(|_| black_box(())))),
        Crew::Rayon(pool) => Ok(time(calls, || pool.install(|| black_box(())))),
        _ => Err(Fault::input(format!("{runtime} has no calls"))),
    }
}

fn time(calls: usize, call: impl Fn()) -> f64 {
    let timed = |_| {
        thread::sleep(IDLE);
        let begun = Instant::now();
        call();
        begun.elapsed()
    };
    (0..calls).map(timed).sum::<Duration>().as_secs_f64()
}
