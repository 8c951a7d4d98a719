//! `loop(tasks,steps)`: tasks that compute and do nothing else, each so many steps of xorshift64:
//! the leaf of `rounds`. Its static version is LOOP of the BWS paper (section 5.1: as many threads
//! as the machine has processors, each in a busy loop), but of a fixed amount of work: no memory,
//! no phases, nothing to steal.

mod check;

use std::time::Duration;

use super::{App, Instance, Problem, size};
use crate::fork::Rows;
use crate::leaf;
use crate::team::Team;

/// The most steps of all tasks together: about an hour of them.
const MOST_STEPS: u128 = 1 << 42;

/// How finely the parallel versions divide: to one task.
const ONE: Rows = Rows { of: 1, leaf: 1 };

/// The application.
pub static APP: App = App {
    name: "loop",
    about: "TASKS busy loops of STEPS steps of xorshift64 each",
    syntax: "TASKSxSTEPS",
    paper_size: "32x24000000",
    quick_size: "32x1500000",
    has_static: true,
    problem: |parameters| {
        let [tasks, steps] = size::numbers(parameters, 'x', 1)?;
        if size::product(&[tasks, steps]) > MOST_STEPS {
            return Err(format!("these are more than {MOST_STEPS} steps"));
        }
        let bytes = size::product(&[tasks, size_of::<u64>()]);
        let steps = steps as u64;
        Ok(Problem::new(bytes, move |_| Looping {
            steps,
            expected: leaf::run(steps),
            ends: vec![0; tasks],
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Looping {
    steps: u64,
    expected: u64,
    /// Where each task's sequence ended.
    ends: Vec<u64>,
}

impl Instance for Looping {
    fn reset(&mut self) {
        // Not a state of xorshift, which leaves zero to itself.
        self.ends.fill(0);
    }

    fork_join!(self, fork => {
        let steps = self.steps;
        ONE.halve(fork, &mut self.ends, |_, ends| run(steps, ends));
    });

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        let (steps, total) = (self.steps, self.ends.len());
        let mut rest = &mut self.ends[..];
        let share = |rank| rest.split_off_mut(..team.share(total, rank).len()).unwrap_or_default();
        let shares = (0..team.workers()).map(share).collect();
        Some(team.run(shares, |_, ends, _| run(steps, ends)))
    }

    fn check(&self) -> Result<(), String> {
        check::ends(self.expected, &self.ends)
    }
}

/// Runs a task for each place, one after the other.
fn run(steps: u64, ends: &mut [u64]) {
    ends.fill_with(|| leaf::run(steps));
}
