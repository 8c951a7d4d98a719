//! One measurement, in a process of its own: the hidden command `turnkey-once`.

mod account;
mod app;
mod groups;
mod moved;
mod phases;
mod quota;
mod subject;

use ::locksley::Pool;

use super::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::random::Random;
pub use groups::Ground;
pub use phases::PHASES;
pub use subject::{Setting, Subject, TURNKEY};

/// What is random in a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    /// What all input follows from.
    pub input: u64,
    /// Which repetition it is: they compute the same, but not in the same order, nor beside the same.
    pub repeat: u64,
}

impl Seeds {
    /// What the order of turns follows from, and what another program does meanwhile.
    fn of_repetition(self) -> u64 {
        Random::new(self.input).ahead(self.repeat).next_u64()
    }
}

/// Measures `subject` on so many workers, or, if these are [`TURNKEY`], on as many as the pool finds right. If it can be measured `against` other
/// numbers in the same process, by turns, it is.
pub fn measure(
    subject: &Subject,
    workers: usize,
    against: &[usize],
    seconds: f64,
    seeds: Seeds,
) -> Outcome<Reading> {
    let time = std::time::Duration::from_secs_f64(seconds);
    if !against.is_empty() && !subject.is_measured_in_turn() {
        return Err(Fault::input("this is not measured by turns"));
    }
    match subject {
        Subject::App { app, size, setting } if subject.is_measured_in_turn() => {
            let numbers: Vec<usize> =
                std::iter::once(workers).chain(against.iter().copied()).collect();
            app::measure_in_turn(app, size, *setting, &numbers, time, seeds)
        }
        Subject::App { app, size, setting } => {
            app::measure(app, size, *setting, workers, time, seeds.input)
        }
        Subject::Phases => phases::measure(workers, time),
        Subject::Quota { hundredths } => quota::measure(*hundredths, workers, time),
        Subject::Moved => moved::measure(workers, time),
    }
}

/// A pool of so many workers; or one to which nobody says how many.
fn pool(workers: usize) -> Outcome<Pool> {
    let builder = Pool::builder();
    let builder = if workers == TURNKEY { builder } else { builder.workers(workers) };
    builder.build().map_err(|error| Fault::run(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_differ_in_all_but_their_input() {
        let of = |repeat| Seeds { input: 1998, repeat }.of_repetition();
        let all: std::collections::BTreeSet<u64> = (0..100).map(of).collect();
        assert_eq!((all.len(), of(7)), (100, of(7)));
    }
}
