//! How many tasks a worker processes before it looks whether to split them.

use std::time::Duration;

/// How long a chunk takes, about.
const TIME: Duration = Duration::from_micros(50);
/// The most tasks of one chunk: the next ones may take longer.
const LARGEST: usize = 1024;

/// The number of tasks of the next chunk, after one of `length` tasks that has taken `time`.
pub(crate) fn next_length(length: usize, time: Duration) -> usize {
    if time < TIME / 2 {
        (length * 2).min(LARGEST)
    } else if time > TIME * 2 {
        (length / 2).max(1)
    } else {
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_shrink_until_they_take_their_time() {
        for task in [1, 91, 1000, 40_000, 1_000_000].map(Duration::from_nanos) {
            for start in [1, 1024] {
                let step = |length: &usize| Some(next_length(*length, task * *length as u32));
                let lengths: Vec<_> = std::iter::successors(Some(start), step).take(20).collect();
                let last = lengths[19];
                assert_eq!(lengths[18], last);
                let time = task * last as u32;
                assert!(time >= TIME / 2 || last == LARGEST, "{time:?}");
                assert!(time <= TIME * 2 || last == 1, "{time:?}");
            }
        }
    }
}
