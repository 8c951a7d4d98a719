//! `msort(n)`: merge sort of n random 32-bit integers between two arrays. Both the sorting of the
//! halves and their merging are divided, so the critical path is short.

pub(super) mod fork_join;
mod intervals;
pub(super) mod kernel;

use crate::apps::prelude::*;
use crate::random::mix;

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
            let content = content(&input);
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
        pool.install(|_| intervals::sort(&mut self.data, &mut self.scratch, kernel::Into::Data));
        Some(())
    }

    fork_join!(self, fork => {
        fork_join::sort(fork, &mut self.data, &mut self.scratch, kernel::Into::Data);
    });

    fn check(&self) -> Result<(), String> {
        sorted(&self.data, self.content)
    }
}

/// A sum over all integers that does not depend on their order and that a lost, a doubled or a
/// changed one alters.
pub(crate) fn content(data: &[u32]) -> u64 {
    data.iter().fold(0, |sum: u64, &value| sum.wrapping_add(mix(u64::from(value) + 1)))
}

/// Whether `data` is in order and has the content that the input had.
pub(crate) fn sorted(data: &[u32], expected: u64) -> Result<(), String> {
    if let Some(at) = data.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(format!("{} stands before {} at {at}", data[at], data[at + 1]));
    }
    if content(data) != expected {
        return Err("the integers are in order but not those of the input".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disorder_and_changed_content_are_rejected() {
        let data = [0, 0, 3, 3, 8, 90, u32::MAX];
        let expected = content(&[3, 90, 0, u32::MAX, 8, 0, 3]);
        assert!(sorted(&data, expected).is_ok());
        assert!(sorted(&[0, 0, 3, 8, 3, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 0, 3, 3, 8, 91, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 0, 0, 3, 8, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[0, 3, 3, 8, 90, u32::MAX], expected).is_err());
        assert!(sorted(&[], expected).is_err());
    }
}
