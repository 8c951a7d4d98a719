//! Which tasks lie where nobody touches them: what a lookout looks for.

use crate::pool::Shared;

/// What lay in the deques when a lookout began its last naps.
#[derive(Debug)]
pub(super) struct Untouched(Vec<Place>);

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The index of the oldest task, and that of the next one to be pushed; `None` for a deque that does not tell.
    marks: Option<(i64, i64)>,
    /// For how many naps the oldest task has been the same.
    naps: u32,
    /// Which task was the oldest in the worker's inbox.
    sent: usize,
}

/// An owner that pushes and pops all the time never leaves the same marks. But the oldest task of all is one that it has not come to
/// for so many naps.
const LONG: u32 = 4;

impl Untouched {
    pub(super) fn new(seats: usize) -> Self {
        Self(vec![Place::default(); seats])
    }

    pub(super) fn note(&mut self, shared: &Shared) {
        for (worker, place) in self.0.iter_mut().enumerate().take(shared.seats_taken()) {
            let marks = shared.seat(worker).marks();
            let is_same = marks.map(|it| it.0) == place.marks.map(|it| it.0);
            let is_first = place.marks.is_none();
            let naps = if is_same && !is_first { place.naps.saturating_add(1) } else { 0 };
            *place = Place { marks, naps, sent: shared.seat(worker).inbox().mark() };
        }
    }

    /// Whether the deque of `worker` holds tasks and is as it was, or its oldest task has been there for long. One that does
    /// not tell counts as unchanged.
    pub(super) fn is_left_alone(&self, worker: usize, shared: &Shared) -> bool {
        let (seat, place) = (shared.seat(worker), &self.0[worker]);
        let now = seat.marks();
        let is_old = now.map(|it| it.0) == place.marks.map(|it| it.0) && place.naps >= LONG;
        !seat.is_empty() && (now == place.marks || is_old)
    }

    /// Whether nobody has taken anything from the inbox of `worker`.
    pub(super) fn is_inbox_left_alone(&self, worker: usize, shared: &Shared) -> bool {
        shared.seat(worker).inbox().mark() == self.0[worker].sent
    }
}
