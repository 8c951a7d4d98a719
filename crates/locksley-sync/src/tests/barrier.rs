//! The barrier against its oracle: a count.

use std::task::Poll;

use super::Choices;
use super::polled::Polled;
use crate::{Barrier, BarrierWaitResult};

#[test]
fn the_barrier_agrees_with_its_oracle() {
    for seed in 0..300 {
        let mut choices = Choices(seed);
        let parties = choices.below(6);
        let barrier = Barrier::new(parties);
        let mut arrived = 0;
        let mut waiting: Vec<Polled<'_, BarrierWaitResult>> = Vec::new();
        let mut dismissed: Vec<Polled<'_, BarrierWaitResult>> = Vec::new();
        for _ in 0..200 {
            match choices.below(5) {
                0 | 1 => {
                    let mut wait = Polled::new(barrier.wait());
                    arrived += 1;
                    let is_last = arrived >= parties;
                    match wait.poll() {
                        Poll::Ready(result) => assert!(is_last && result.is_leader()),
                        Poll::Pending => {
                            assert!(!is_last);
                            waiting.push(wait);
                        }
                    }
                    if is_last {
                        arrived = 0;
                        dismissed.append(&mut waiting);
                    }
                }
                // A cancelled wait takes its arrival back.
                2 => arrived -= usize::from(choices.take(&mut waiting).is_some()),
                // One that was dismissed does not.
                3 => drop(choices.take(&mut dismissed)),
                _ => {
                    if let Some(mut wait) = choices.take(&mut dismissed) {
                        assert!(!wait.finish().is_leader());
                    }
                }
            }
            assert!(waiting.iter_mut().all(|wait| !wait.is_woken() && wait.poll().is_pending()));
            assert!(dismissed.iter().all(|wait| wait.is_woken()));
        }
    }
}
