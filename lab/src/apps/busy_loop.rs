//! `loop(tasks,steps)`: tasks that compute and do nothing else, each so many steps of xorshift64:
//! the leaf of `rounds`. Its static version is LOOP of the BWS paper (section 5.1: as many threads
//! as the machine has processors, each in a busy loop), but of a fixed amount of work: no memory,
//! no phases, nothing to steal.

use crate::apps::prelude::*;
use crate::leaf;

/// The most steps of all tasks together: about an hour of them.
const MOST_STEPS: u128 = 1 << 42;

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
        reduce(fork, &mut self.ends[..], 1, |ends| run(steps, ends), |(), ()| ());
    });

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        let (steps, shares) = (self.steps, team.divide(&mut self.ends, 1));
        Some(team.run(shares, |_, ends, _| run(steps, ends)).0)
    }

    fn check(&self) -> Result<(), String> {
        ends(self.expected, &self.ends)
    }
}

/// Runs a task for each place, one after the other.
fn run(steps: u64, ends: &mut [u64]) {
    ends.fill_with(|| leaf::run(steps));
}

/// Whether all `found` are the `expected` one: where a task that ran alone has ended.
fn ends(expected: u64, found: &[u64]) -> Result<(), String> {
    match found.iter().position(|&end| end != expected) {
        Some(task) => {
            Err(format!("task {task} ended with {:#x} instead of {expected:#x}", found[task]))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three shifts as Marsaglia gives them ("Xorshift RNGs", 2003), in a form of their own.
    #[test]
    fn a_task_takes_as_many_steps_as_it_should() {
        for steps in [1u64, 2, 1000] {
            let step = |x: u64| {
                let x = x ^ x.wrapping_mul(1 << 13);
                let x = x ^ (x / (1 << 7));
                x ^ x.wrapping_mul(1 << 17)
            };
            let expected = (0..steps).fold(steps | 1, |x, _| step(x));
            assert_eq!(leaf::run(steps), expected);
        }
    }

    #[test]
    fn a_task_that_did_less_is_rejected() {
        let expected = leaf::run(50);
        assert!(ends(expected, &[expected; 3]).is_ok());
        assert!(ends(expected, &[expected, expected, leaf::run(49)]).is_err());
        assert!(ends(expected, &[0, expected]).unwrap_err().contains("task 0"));
    }
}
