//! One measurement, in a process of its own: the hidden command `turnkey-once`.

mod account;
mod app;
mod beside;
mod groups;
mod moved;
mod phases;
mod quota;
mod subject;

use super::contestant::Contestant;
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

/// Measures what `of` makes of `subject`; and, if that is measured in turn, what others do `against` whom it is measured, in the same process.
pub fn measure(
    subject: &Subject,
    of: &Contestant,
    against: &[Contestant],
    seconds: f64,
    seeds: Seeds,
) -> Outcome<Reading> {
    let time = std::time::Duration::from_secs_f64(seconds);
    if !against.is_empty() && !subject.is_measured_in_turn() {
        return Err(Fault::input("this is not measured in turn"));
    }
    match subject {
        Subject::App { app, size, setting } => {
            let all: Vec<Contestant> = std::iter::once(of).chain(against).cloned().collect();
            app::measure(app, size, *setting, &all, time, seeds)
        }
        Subject::Phases => phases::measure(of, time),
        Subject::Quota { hundredths } => quota::measure(*hundredths, of, time),
        Subject::Moved => moved::measure(of, time),
    }
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
