//! Which place each member of a team is bound to (OpenMP 5.0, section 2.6.2).
//!
//! Where the program has places, a worker binds itself when it enters a region in another place
//! than its last one, and an initial thread when it first uses OpenMP. The thread that begins a
//! region stays where it is.

use std::cell::Cell;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Numbers of `omp_proc_bind_t`. All other policies mean `close`.
const PRIMARY: i32 = 2;
const SPREAD: i32 = 4;

/// A place, and the places among which the member's own regions distribute their threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) number: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

thread_local! {
    /// The number of the place that the thread is bound to.
    static BOUND: Cell<Option<u32>> = const { Cell::new(None) };
}

impl Place {
    /// That of an initial thread, among all places: where it is bound already, or the first.
    pub(super) fn initial(places: usize) -> Self {
        Self { number: BOUND.get().unwrap_or(0), first: 0, count: places as u32 }
    }

    /// That of a team's member, from that of the member that begins the region.
    pub(super) fn of_member(parent: Self, policy: i32, number: u32, threads: u32) -> Self {
        let Self { first, count, .. } = parent;
        let offset = parent.number - first;
        if policy == PRIMARY {
            return parent;
        }
        if policy == SPREAD && threads <= count {
            let (each, longer) = (count / threads, count % threads);
            let start = |part: u32| part * each + part.min(longer);
            let own = (0..threads).rfind(|&it| start(it) <= offset).unwrap_or(0);
            let part = (own + number) % threads;
            let (first, count) = (first + start(part), each + u32::from(part < longer));
            let number = if number == 0 { parent.number } else { first };
            return Self { number, first, count };
        }
        let each = (threads / count).max(1);
        // Where the numbers do not divide, the last members have one more round.
        let step = if number < each * count { number / each } else { number - each * count };
        let number = first + (offset + step) % count;
        if policy == SPREAD {
            return Self { number, first: number, count: 1 };
        }
        Self { number, first, count }
    }

    /// Binds the calling thread. If the system refuses, it stays where it is.
    pub(super) fn bind(self, places: &[Vec<usize>]) {
        if BOUND.replace(Some(self.number)) == Some(self.number) {
            return;
        }
        let mut set = CpuSet::new();
        let processors = &places[self.number as usize];
        processors.iter().filter(|&&it| it < CpuSet::MAX_CPU).for_each(|&it| set.set(it));
        let _ = sched_setaffinity(None, &set);
    }
}

/// The calling thread may have been moved from its place: it binds itself again when it enters one.
pub(super) fn forget_place() {
    BOUND.set(None);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSE: i32 = 3;

    fn members(policy: i32, threads: u32, parent: (u32, u32, u32)) -> Vec<(u32, u32, u32)> {
        let parent = Place { number: parent.0, first: parent.1, count: parent.2 };
        let place = |number| Place::of_member(parent, policy, number, threads);
        (0..threads).map(place).map(|it| (it.number, it.first, it.count)).collect()
    }

    fn numbers(policy: i32, threads: u32, parent: (u32, u32, u32)) -> Vec<u32> {
        members(policy, threads, parent).into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn close_members_have_the_next_places_of_the_partition() {
        assert_eq!(members(CLOSE, 3, (5, 4, 3)), [(5, 4, 3), (6, 4, 3), (4, 4, 3)]);
        assert_eq!(numbers(CLOSE, 6, (1, 0, 3)), [1, 1, 2, 2, 0, 0]);
        assert_eq!(numbers(CLOSE, 5, (0, 0, 2)), [0, 0, 1, 1, 0]);
        assert_eq!(numbers(1, 2, (1, 0, 4)), [1, 2], "`true` means close");
        assert_eq!(members(PRIMARY, 2, (5, 4, 3)), [(5, 4, 3); 2]);
    }

    #[test]
    fn spread_members_have_a_part_of_the_partition() {
        assert_eq!(members(SPREAD, 3, (0, 0, 5)), [(0, 0, 2), (2, 2, 2), (4, 4, 1)]);
        // The first member stays in the second place of its part.
        assert_eq!(members(SPREAD, 2, (3, 0, 4)), [(3, 2, 2), (0, 0, 2)]);
        assert_eq!(members(SPREAD, 3, (1, 0, 2)), [(1, 1, 1), (0, 0, 1), (1, 1, 1)]);
    }
}
