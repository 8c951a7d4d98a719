//! What a hunter leaves alone for a moment: the only task of a worker that probably runs it next.

use std::time::{Duration, Instant};

use crate::pool::Seat;

/// What an interrupted hand-over costs, and more than most polls take that wake a task: to be taken by another worker, a task waits
/// for about as long.
const MOMENT: Duration = Duration::from_micros(2);

/// Since when tasks have been left alone.
#[derive(Debug)]
pub(super) struct Forbearance {
    /// The marks of each deque in which there was such a task, and when it was first seen.
    seen: Vec<Option<((i64, i64), Instant)>>,
}

impl Forbearance {
    pub(super) fn new(seats: usize) -> Self {
        Self { seen: vec![None; seats] }
    }

    /// Whether the hunter passes by: there is one task only, which became ready by the one that the worker runs, and this was first
    /// seen a moment ago.
    pub(super) fn passes_by(&mut self, victim: usize, seat: &Seat) -> bool {
        let seen = &mut self.seen[victim];
        let Some(marks) = seat.is_about_to_run() else {
            *seen = None;
            return false;
        };
        match *seen {
            Some((before, since)) if before == marks => since.elapsed() < MOMENT,
            _ => {
                *seen = Some((marks, Instant::now()));
                true
            }
        }
    }
}
