//! Static partitioning: each thread keeps a strip of rows, and a barrier ends each step.
//!
//! A strip is its thread's own, in both grids; what its neighbours need of it, its first and its
//! last row, they find in a pair of buffers beside it. There are two pairs, for even and for odd
//! steps, so one barrier a step suffices: a strip writes the pair of step t + 2 only after all have
//! passed the barrier of step t + 1, and no thread reads that of step t any more. The locks are
//! never contended for that reason.

use std::mem;
use std::sync::{Barrier, PoisonError, RwLock};

use super::kernel::relax_strip;
use super::{Grids, Plate};
use crate::apps::prelude::*;

/// The first and last rows of a strip.
#[derive(Clone)]
struct Edges {
    first: Vec<f64>,
    last: Vec<f64>,
}

/// The edges of each strip that has rows, from top to bottom, for even and odd steps.
type Published = [Vec<RwLock<Edges>>; 2];

/// One thread's rows in both grids.
struct Strip<'a> {
    /// Its place among the strips that have rows.
    place: usize,
    now: &'a mut [f64],
    next: &'a mut [f64],
}

/// All steps; says how long they took.
pub(super) fn spread(team: &Team, grids: &mut Grids, plate: &Plate) -> Duration {
    let columns = plate.columns;
    let (mut strips, mut places) = (Vec::new(), 0);
    let nexts = team.divide(&mut grids.next, columns);
    for (now, next) in team.divide(&mut grids.now, columns).into_iter().zip(nexts) {
        // With more threads than rows, some have nothing to do but to come to the barrier.
        let has_rows = !now.is_empty();
        strips.push(has_rows.then_some(Strip { place: places, now, next }));
        places += usize::from(has_rows);
    }
    let blank = Edges { first: vec![0.0; columns], last: vec![0.0; columns] };
    let published: Published =
        [(); 2].map(|()| (0..places).map(|_| RwLock::new(blank.clone())).collect());
    let (time, _) = team.run(strips, |_, strip, barrier| match strip {
        Some(strip) => steps(strip, &published, plate, barrier),
        None => (0..plate.steps).for_each(|_| _ = barrier.wait()),
    });
    // The threads swapped their own halves of the grids; after an odd number of steps the answer is
    // in the other one.
    if plate.steps % 2 == 1 {
        grids.swap();
    }
    time
}

fn steps(strip: Strip<'_>, published: &Published, plate: &Plate, barrier: &Barrier) {
    let Strip { place, mut now, mut next } = strip;
    let columns = plate.columns;
    for step in 0..plate.steps {
        let edges = &published[step % 2];
        {
            let mut mine = edges[place].write().unwrap_or_else(PoisonError::into_inner);
            mine.first.copy_from_slice(&now[..columns]);
            mine.last.copy_from_slice(&now[now.len() - columns..]);
        }
        barrier.wait();
        let neighbour = |place: usize| edges[place].read().unwrap_or_else(PoisonError::into_inner);
        let above = place.checked_sub(1).map(neighbour);
        let below = (place + 1 < edges.len()).then(|| neighbour(place + 1));
        relax_strip(
            now,
            next,
            above.as_ref().map(|e| &e.last[..]),
            below.as_ref().map(|e| &e.first[..]),
            columns,
        );
        mem::swap(&mut now, &mut next);
    }
}
