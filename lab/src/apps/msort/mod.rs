//! `msort(n)`: merge sort of n random 32-bit integers between two arrays. Both the sorting of the
//! halves and their merging are divided, so the critical path is short.

use crate::apps::prelude::*;

pub(crate) mod check;
pub(super) mod fork_join;
mod intervals;
pub(super) mod kernel;
pub(super) mod split;

/// The application.
pub static APP: App = App {
    name: "msort",
    about: "merge sort of N random integers (N, NK or NM), with a merge that is parallel as well",
    syntax: "N",
    paper_size: "32M",
    quick_size: "1M",
    has_intervals: true,
    problem: |parameters| {
        let (digits, unit) = match parameters.as_bytes().last() {
            Some(b'K') => (&parameters[..parameters.len() - 1], 1 << 10),
            Some(b'M') => (&parameters[..parameters.len() - 1], 1 << 20),
            _ => (parameters, 1),
        };
        let [number] = size::numbers::<1>(digits, 'x', 1)?;
        let number =
            number.checked_mul(unit).ok_or_else(|| format!("'{parameters}' is too large"))?;
        // The input, the array that is sorted, and the one beside it.
        let bytes = size::product(&[3, number, size_of::<u32>()]);
        Ok(Problem::new(bytes, move |seed| {
            let input = Random::new(seed).integers(number);
            let content = check::content(&input);
            // A copy, not zeros: memory that was never written costs a page fault in the first
            // computation.
            let (data, scratch) = (input.clone(), input.clone());
            Sorting { input, data, scratch, content }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Sorting {
    input: Vec<u32>,
    data: Vec<u32>,
    scratch: Vec<u32>,
    content: u64,
}

impl Instance for Sorting {
    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        pool.install(|_| intervals::sort(&mut self.data, &mut self.scratch, split::Into::Data));
        Some(())
    }

    fork_join!(self, fork => {
        fork_join::sort(fork, &mut self.data, &mut self.scratch, split::Into::Data);
    });

    fn check(&self) -> Result<(), String> {
        check::sorted(&self.data, self.content)
    }
}
