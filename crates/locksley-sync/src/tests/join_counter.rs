//! The join counter against its oracle, a number.

use super::Choices;
use super::polled::Polled;
use crate::JoinCounter;

#[test]
fn the_join_counter_agrees_with_a_number() {
    for seed in 0..200 {
        let mut choices = Choices(seed);
        let mut missing = choices.below(10);
        let counter = JoinCounter::new(missing);
        let mut waiting = Vec::new();
        while missing > 0 {
            assert!(!counter.is_complete());
            match choices.below(5) {
                0 => waiting.push(Polled::waiting(counter.wait())),
                1 => drop(choices.take(&mut waiting)),
                _ => {
                    counter.signal();
                    missing -= 1;
                }
            }
            assert_eq!(counter.missing.left(), missing);
            assert!(missing == 0 || waiting.iter_mut().all(|w| w.poll().is_pending()));
        }
        waiting.iter_mut().for_each(Polled::finish);
        assert!(Polled::new(counter.wait()).poll().is_ready());
    }
}

#[test]
#[should_panic(expected = "more signals than it waits for")]
fn one_signal_too_many() {
    JoinCounter::new(0).signal();
}
