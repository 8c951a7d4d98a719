//! First touch: memory comes from next to the processor that writes it first (Linux, "NUMA memory policy"), so data is filled in parallel, each
//! part where the placement would have a task that uses it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use locksley::Worker;

use super::Case;
use super::shared_deques::Task;
use crate::random::Random;

/// Elements that are filled at once: some pages.
pub(super) const PIECE: usize = 1 << 14;

/// Fills all parts, each with the two numbers of [`Case::spawn`]: by a worker of the place that the placement names for it, and by nobody else;
/// by who comes first where it names none, or one without workers.
pub(super) fn touch<'t>(
    worker: &Worker,
    case: &Case<'_>,
    parts: impl Iterator<Item = ((usize, usize), Task<'t>)>,
) {
    let mut queues: Vec<VecDeque<Task<'t>>> = Vec::new();
    queues.resize_with(case.places + 1, VecDeque::new);
    let nobody = case.places;
    for ((best, turn), fill) in parts {
        queues[case.place(best, turn).unwrap_or(nobody)].push_back(fill);
    }
    let queues: Vec<Mutex<VecDeque<Task<'t>>>> = queues.into_iter().map(Mutex::new).collect();
    let fill = |queue: usize| {
        loop {
            let next = queues[queue].lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(fill) = next else { break };
            fill();
        }
    };
    let fill = &fill;
    worker.scope(|_, scope| {
        scope.spawn_broadcast(move |worker, _| {
            fill(worker.place());
            fill(nobody);
        });
    });
    (0..nobody).for_each(fill);
}

/// Fills a part with what is `made` of random numbers: those that a sequence with that seed has from the `first` one on.
pub(super) fn with_random<T>(part: &mut [T], seed: u64, first: usize, made: fn(u64) -> T) {
    let mut random = Random::new(seed).ahead(first as u64);
    part.fill_with(|| made(random.next_u64()));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

    use locksley::Pool;
    use locksley::places::Places;

    use super::super::Placement;
    use super::*;

    #[test]
    fn each_part_is_filled_once_and_where_its_placement_says() {
        for (workers, placement) in [
            (4, Placement::Best),
            (4, Placement::Worst),
            (4, Placement::Random),
            (4, Placement::Ignorant),
            (1, Placement::Best),
        ] {
            let sets = ["0-1", "2-3"].map(|set| set.parse().unwrap());
            let places = Places::given(&(0..4).collect(), sets).unwrap();
            let pool = Pool::builder().workers(workers).places(places).build().unwrap();
            let (counters, elsewhere) = (Mutex::new(None), AtomicU64::new(0));
            let case = Case { pool: &pool, placement, places: 2, seed: 3, elsewhere, counters };
            let filled = Mutex::new(Vec::new());
            pool.install(|worker| {
                let parts = (0..200).map(|number| {
                    let (where_to, filled) = ((number % 2, number), &filled);
                    let fill = move || {
                        let here = Worker::with_current(|worker| worker.unwrap().place());
                        filled.lock().unwrap().push((number, where_to, here));
                    };
                    (where_to, Box::new(fill) as Task<'_>)
                });
                touch(worker, &case, parts);
            });
            let mut filled = filled.into_inner().unwrap();
            filled.sort_unstable();
            assert!(filled.iter().map(|part| part.0).eq(0..200), "{placement:?}");
            for (_, (best, turn), here) in filled {
                let wanted = case.place(best, turn).filter(|_| workers == 4);
                assert!(wanted.is_none_or(|wanted| wanted == here), "{placement:?}");
            }
        }
    }

    #[test]
    fn parts_are_filled_with_what_all_of_it_would_be_filled_with() {
        let (mut all, mut parts) = ([0; 100], [0; 100]);
        with_random(&mut all, 7, 0, |number| number as u32);
        for (number, part) in parts.chunks_mut(17).enumerate() {
            with_random(part, 7, number * 17, |number| number as u32);
        }
        assert_eq!(all, parts);
        assert!(all.windows(2).all(|two| two[0] != two[1]), "it is no constant");
    }
}
