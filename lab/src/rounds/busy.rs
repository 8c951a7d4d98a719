//! `loop`: threads that compute leaf after leaf and have nothing to do with each other. A
//! program beside them meets one that never waits and never gives way. A round is one leaf.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Rate, Round};
use crate::fault::{Fault, Outcome};

/// Its name among the runtimes of `rounds`.
pub const LOOP: &str = "loop";

/// Leaves between two looks at the clock.
const BETWEEN: u64 = 16;

/// So many threads compute leaves of so many steps until `time` is over: how many leaves they
/// completed together.
pub fn repeat(threads: usize, leaf: u64, time: Duration) -> Outcome<Rate> {
    let leaf = Round { leaf, chunks: 1, serial: 0 };
    let cannot = |error| Fault::run(format!("{LOOP} cannot start {threads} threads: {error}"));
    let all: Vec<(u64, Rate)> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, move || loops(leaf, time));
        let started: Vec<_> = (0..threads).map(start).collect::<Result<_, _>>().map_err(cannot)?;
        Ok(started.into_iter().map(|it| it.join().expect("a busy thread panicked")).collect())
    })?;
    let sum = all.iter().fold(0u64, |sum, one| sum.wrapping_add(one.0));
    let rounds = all.iter().map(|one| one.1.rounds).sum();
    let time = all.iter().map(|one| one.1.time).max().unwrap_or_default();
    leaf.checked(sum, Rate { rounds, time })
}

/// The sum of the leaves of one thread, and how many they were.
fn loops(leaf: Round, time: Duration) -> (u64, Rate) {
    let (sum, rate) = super::repeat(time, || leaf.in_a_row(BETWEEN));
    (sum, Rate { rounds: BETWEEN * rate.rounds, ..rate })
}

/// Runs `measured` while so many other threads of this process are busy.
pub fn beside<R>(threads: usize, measured: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..threads {
            // Relaxed: no other memory is read because of it.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = measured();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_threads_are_busy_as_often_as_asked() {
        for _ in 0..2 {
            let time = Duration::from_millis(3);
            let rate = repeat(3, 100, time).unwrap();
            assert!(rate.rounds >= 3 * BETWEEN && rate.rounds.is_multiple_of(BETWEEN), "{rate:?}");
            assert!(rate.time >= time);
        }
    }
}
