//! Calls from a thread outside of a pool that has no work, beside a round trip by futex.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use crate::experiment::prelude::*;
use locksley::Pool;

/// Longer than an idle worker looks for work.
const IDLE: Duration = Duration::from_millis(1);

/// The seconds that so many calls take, each of which finds the pool idle.
///
/// # Errors
///
/// [`Fault::Input`] if there is no such runtime, or it cannot start.
pub(super) fn measure(runtime: &str, workers: usize, calls: usize) -> Outcome<f64> {
    let cannot = |why: String| Fault::input(format!("{runtime} cannot start: {why}"));
    match runtime {
        "locksley" => {
            let pool = Pool::new(workers).map_err(|error| cannot(error.to_string()))?;
            Ok(time(calls, || pool.install(|_| black_box(()))))
        }
        "rayon" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
            let pool = pool.map_err(|error| cannot(error.to_string()))?;
            Ok(time(calls, || pool.install(|| black_box(()))))
        }
        "futex" => {
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
            Ok(seconds)
        }
        _ => Err(Fault::input(format!("{runtime} has no calls; there are locksley, rayon, futex"))),
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
