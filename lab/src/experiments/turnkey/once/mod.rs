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
pub use groups::Ground;
pub use phases::PHASES;
pub use subject::{Setting, Subject, TURNKEY};

/// Measures `subject` on so many workers, or, if these are [`TURNKEY`], on as many as the pool finds right. If it can be measured `against` other
/// numbers in the same process, by turns, it is.
pub fn measure(
    subject: &Subject,
    workers: usize,
    against: &[usize],
    seconds: f64,
    seed: u64,
) -> Outcome<Reading> {
    let time = std::time::Duration::from_secs_f64(seconds);
    if !against.is_empty() && !subject.is_measured_in_turn() {
        return Err(Fault::input("this is not measured by turns"));
    }
    match subject {
        Subject::App { app, size, setting } if subject.is_measured_in_turn() => {
            let numbers: Vec<usize> =
                std::iter::once(workers).chain(against.iter().copied()).collect();
            app::measure_in_turn(app, size, *setting, &numbers, time, seed)
        }
        Subject::App { app, size, setting } => {
            app::measure(app, size, *setting, workers, time, seed)
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
