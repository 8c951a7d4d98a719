//! How tasks are placed: the variants of LASSI's study (Weibel, "An Advanced Scheduler for
//! Intervals", 2010, "Best and Worst Locality"), and one without places.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use locksley::{Pool, Spawn, Worker};

use super::{MS, OUT_OF_PLACE, TASKS};
use crate::experiment::{Readings, named};
use crate::random::{Random, mix};

pub(super) const BEST: &str = "best";
pub(super) const WORST: &str = "worst";
pub(super) const RANDOM: &str = "random";
pub(super) const SHARED_DEQUES: &str = "shared-deques";
pub(super) const IGNORANT: &str = "ignorant";
pub(super) const UNDIVIDED: &str = "undivided";

/// The placements, each with what it is, in the order of their turns.
pub(super) const PLACEMENTS: [(&str, &str); 6] = [
    (BEST, "tasks that use the same data go to the same place"),
    (WORST, "tasks that use the same data go to different places"),
    (RANDOM, "tasks go to random places"),
    (SHARED_DEQUES, "as best, by a scheduler with one deque for each place (LASSI)"),
    (IGNORANT, "no place is named; tasks are spawned in a random order; workers are bound"),
    (UNDIVIDED, "as ignorant, in a pool of one place, with workers that are not bound"),
];

/// A task that waits for no other.
pub(super) type Task<'t> = Box<dyn FnOnce() + Send + 't>;

type Deque<'t> = Mutex<VecDeque<Task<'t>>>;

/// The best place of a task; and a number that differs for tasks that use the same data one after
/// the other: by so many places behind the best one it is placed worst.
pub(super) type Where = (usize, usize);

/// A task that waits for no other.
pub(super) struct Placed<'t> {
    pub(super) place: Where,
    pub(super) task: Task<'t>,
}

/// How a computation places its tasks.
pub(super) struct Case<'p> {
    pub(super) pool: &'p Pool,
    pub(super) placement: &'p str,
    pub(super) places: usize,
    pub(super) seed: u64,
    tasks: AtomicU64,
    /// Tasks that shared deques had run in other places.
    elsewhere: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'p> Case<'p> {
    pub(super) fn new(pool: &'p Pool, placement: &'p str, places: usize, seed: u64) -> Case<'p> {
        let [tasks, elsewhere] = [0, 0].map(AtomicU64::new);
        Case { pool, placement, places, seed, tasks, elsewhere }
    }

    /// The time of `compute`, its tasks, and those of them that were taken out of a place.
    fn time(&self, compute: impl FnOnce()) -> Readings {
        let now = || {
            let by_pool = self.pool.stats().total().out_of_place;
            let out_of_place = by_pool + self.elsewhere.load(Ordering::Relaxed);
            [self.tasks.load(Ordering::Relaxed), out_of_place]
        };
        let ([tasks, out], start) = (now(), Instant::now());
        compute();
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let [all_tasks, all_out] = now();
        let (tasks, out) = ((all_tasks - tasks) as f64, (all_out - out) as f64);
        named([(MS, ms), (TASKS, tasks), (OUT_OF_PLACE, out)])
    }

    /// The place that is named for a task, if any is.
    pub(super) fn place(&self, (best, turn): Where) -> Option<usize> {
        let random = || mix(self.seed ^ mix((best as u64) << 32 | turn as u64));
        match self.placement {
            BEST | SHARED_DEQUES => Some(best),
            WORST => Some((best + turn) % self.places),
            RANDOM => Some((random() % self.places as u64) as usize),
            _ => None,
        }
    }

    /// Runs tasks that wait for no other, in the placement's order, and times that.
    pub(super) fn run(&self, mut tasks: Vec<Placed<'_>>) -> Readings {
        if let IGNORANT | UNDIVIDED = self.placement {
            Random::new(mix(self.seed)).shuffle(&mut tasks);
        }
        let compute = || match self.placement {
            SHARED_DEQUES => self.share(tasks),
            _ => locksley::in_place_scope(|scope| {
                self.tasks.fetch_add(tasks.len() as u64, Ordering::Relaxed);
                for Placed { place, task } in tasks {
                    match self.place(place) {
                        Some(place) => scope.spawn_with(Spawn::Near(place), |_, _| task()),
                        None => scope.spawn(|_| task()),
                    }
                }
            }),
        };
        self.time(compute)
    }

    /// LASSI's scheduler ("Work-Stealing Places"): one deque for each place, which its workers
    /// share, and random victims among the other places.
    fn share(&self, tasks: Vec<Placed<'_>>) {
        self.tasks.fetch_add(tasks.len() as u64, Ordering::Relaxed);
        let deques: Vec<_> = (0..self.places).map(|_| Deque::default()).collect();
        for Placed { place: (best, _), task, .. } in tasks {
            lock(&deques[best]).push_back(task);
        }
        let serve = |worker: &Worker| {
            let mut random = Random::new(worker.index() as u64);
            loop {
                let newest = lock(&deques[worker.place()]).pop_back();
                if let Some(task) = newest {
                    task();
                    continue;
                }
                let first = (random.next_u64() % deques.len() as u64) as usize;
                // Its own deque is empty for good.
                let mut victims = deques[first..].iter().chain(&deques[..first]);
                let Some(oldest) = victims.find_map(|victim| lock(victim).pop_front()) else {
                    return;
                };
                self.elsewhere.fetch_add(1, Ordering::Relaxed);
                oldest();
            }
        };
        let serve = &serve;
        locksley::in_place_scope(|scope| scope.spawn_broadcast(move |worker, _| serve(worker)));
    }

    /// Writes data for the first time, in parts. Memory comes from next to the processor that
    /// writes it first (Linux, "NUMA memory policy"), so each part is filled by a worker of the
    /// place that the placement names for it; by any worker if none is named, or it has none.
    pub(super) fn touch<'t>(&self, parts: impl Iterator<Item = (Where, Task<'t>)>) {
        let any = self.places;
        let queues: Vec<_> = (0..=any).map(|_| Deque::default()).collect();
        for (place, fill) in parts {
            lock(&queues[self.place(place).unwrap_or(any)]).push_back(fill);
        }
        let fill = |queue: usize| {
            while let Some(fill) = { lock(&queues[queue]).pop_front() } {
                fill();
            }
        };
        let fill = &fill;
        locksley::in_place_scope(|scope| {
            scope
                .spawn_broadcast(move |worker, _| [worker.place(), any].into_iter().for_each(fill));
        });
        (0..any).for_each(fill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::places::Places;

    /// A case of two places on four processors.
    fn with_case(placement: &str, workers: usize, test: impl FnOnce(&Case<'_>) + Send) {
        let sets = ["0-1", "2-3"].map(|set| set.parse().unwrap());
        let places = Places::given(&(0..4).collect(), sets).unwrap();
        let pool = Pool::builder().workers(workers).places(places).build().unwrap();
        let case = Case::new(&pool, placement, 2, 7);
        pool.install(|_| test(&case));
    }

    #[test]
    fn the_best_stays_the_worst_goes_round_and_random_is_even() {
        let places = |placement: &str, best| -> Vec<_> {
            let mut places = Vec::new();
            with_case(placement, 1, |case| {
                places = (0..3000).map(|turn| case.place((best, turn))).collect();
            });
            places
        };
        for best in 0..2 {
            for placement in [BEST, SHARED_DEQUES] {
                assert!(places(placement, best).iter().all(|&place| place == Some(best)));
            }
            assert!(places(WORST, best).windows(2).all(|two| two[0] != two[1]));
            let random = places(RANDOM, best);
            let first = random.iter().filter(|&&it| it == Some(0)).count();
            assert!((1350..1650).contains(&first), "{first}");
            for placement in [IGNORANT, UNDIVIDED] {
                assert!(places(placement, best).iter().all(Option::is_none));
            }
        }
    }

    #[test]
    fn each_part_is_filled_once_and_where_its_placement_says() {
        for (workers, placement) in [(4, BEST), (4, WORST), (4, RANDOM), (4, IGNORANT), (1, BEST)] {
            with_case(placement, workers, |case| {
                let filled = Mutex::new(Vec::new());
                let parts = (0..200).map(|number| {
                    let (place, filled) = ((number % 2, number), &filled);
                    let fill = move || {
                        let here = Worker::with_current(|worker| worker.unwrap().place());
                        lock(filled).push((number, place, here));
                    };
                    (place, Box::new(fill) as Task<'_>)
                });
                case.touch(parts);
                let mut filled = filled.into_inner().unwrap();
                filled.sort_unstable();
                assert!(filled.iter().map(|part| part.0).eq(0..200), "{placement}");
                for (_, place, here) in filled {
                    let wanted = case.place(place).filter(|_| workers == 4);
                    assert!(wanted.is_none_or(|wanted| wanted == here), "{placement}");
                }
            });
        }
    }

    #[test]
    fn a_shuffle_is_everything_in_another_order() {
        let in_order: Vec<usize> = (0..1000).collect();
        let mut first = vec![0_u32; 10];
        for seed in 0..1000 {
            let mut shuffled = in_order.clone();
            Random::new(mix(seed)).shuffle(&mut shuffled);
            first[shuffled[0] / 100] += 1;
            shuffled.sort_unstable();
            assert_eq!(shuffled, in_order);
        }
        assert!(first.iter().all(|times| (50..200).contains(times)), "{first:?}");
    }
}
