//! How intervals are placed: the variants of LASSI's study (Weibel, "An Advanced Scheduler for
//! Intervals", 2010), its other designs, and one without places.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_classic::{Count, Machine};
use locksley_intervals::Root;

use super::{MS, OUT_OF_PLACE, TASKS, UNBOUND};
use crate::experiment::prelude::*;
use crate::random::{Random, mix};
use crate::topology;

pub(super) const BEST: &str = "best";
pub(super) const WORST: &str = "worst";
pub(super) const RANDOM: &str = "random";
pub(super) const ROUND_ROBIN: &str = "round-robin";
pub(super) const SHARED_DEQUES: &str = "shared-deques";
pub(super) const MAILBOXES: &str = "mailboxes";
pub(super) const IGNORANT: &str = "ignorant";
pub(super) const UNDIVIDED: &str = "undivided";
pub(super) const THREADS_BEST: &str = "threads-best";
pub(super) const THREADS_WORST: &str = "threads-worst";
pub(super) const THREADS_RANDOM: &str = "threads-random";
pub(super) const THREADS_IGNORANT: &str = "threads-ignorant";

/// The placements without a scheduler.
pub(super) const ON_THREADS: [&str; 4] =
    [THREADS_BEST, THREADS_WORST, THREADS_RANDOM, THREADS_IGNORANT];

/// The placements, each with what it is, in the order of their turns.
pub(super) const PLACEMENTS: [(&str, &str); 12] = [
    (BEST, "intervals that use the same data go to the same place"),
    (WORST, "intervals that use the same data go to different places"),
    (RANDOM, "intervals go to random places"),
    (SHARED_DEQUES, "as best, on LASSI's scheduler: a deque behind a mutex for each place"),
    (MAILBOXES, "as best, on its alternative: a deque and a mailbox for each worker"),
    (ROUND_ROBIN, "no place is named, on LASSI's scheduler: places take turns; a random order"),
    (IGNORANT, "no place is named; intervals are made in a random order; workers are bound"),
    (UNDIVIDED, "as ignorant, in a pool of one place, with workers that are not bound"),
    (THREADS_BEST, "as best, by 8 threads bound to each processor, without a scheduler"),
    (
        THREADS_WORST,
        "as threads-best, but a processor's threads use the data of all places in turn",
    ),
    (THREADS_RANDOM, "as threads-best, but each thread uses the data of a random place"),
    (THREADS_IGNORANT, "as threads-random, with threads that are not bound"),
];

/// A task that waits for no other.
pub(super) type Task<'t> = Box<dyn FnOnce() + Send + 't>;

type Deque<'t> = Mutex<VecDeque<Task<'t>>>;

/// Threads of the study on a processor.
pub(super) const THREADS: usize = 8;

/// The best place of a task; and a number that differs for tasks that use the same data one after
/// the other: by so many places behind the best one it is placed worst.
pub(super) type Where = (usize, usize);

/// A task with its place.
pub(super) type Placed<'t> = (Where, Task<'t>);

/// How a computation places its tasks.
pub(super) struct Case<'p> {
    pub(super) pool: &'p Pool,
    /// The published scheduler on which tasks run, if that is the placement.
    pub(super) machine: Option<&'p Machine>,
    pub(super) placement: &'p str,
    pub(super) places: usize,
    pub(super) seed: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the tasks of a queue until it is empty.
fn serve(queue: &Deque<'_>) {
    while let Some(task) = { lock(queue).pop_front() } {
        task();
    }
}

/// The place that is named for a task, if any is.
pub(super) fn place(
    placement: &str,
    places: usize,
    seed: u64,
    (best, turn): Where,
) -> Option<usize> {
    let random = || mix(seed ^ mix((best as u64) << 32 | turn as u64));
    match placement {
        BEST | SHARED_DEQUES | MAILBOXES => Some(best),
        WORST => Some((best + turn) % places),
        RANDOM => Some((random() % places as u64) as usize),
        _ => None,
    }
}

impl Case<'_> {
    pub(super) fn place(&self, place: Where) -> Option<usize> {
        self::place(self.placement, self.places, self.seed, place)
    }

    /// Runs tasks that wait for no other, in the placement's order, and times that.
    pub(super) fn run(&self, mut tasks: Vec<Placed<'_>>) -> Outcome<Readings> {
        if let IGNORANT | UNDIVIDED | ROUND_ROBIN | THREADS_RANDOM | THREADS_IGNORANT =
            self.placement
        {
            Random::new(mix(self.seed)).shuffle(&mut tasks);
        }
        let number = tasks.len();
        let out_of_place = || match self.machine {
            Some(machine) => machine.count(Count::OutOfPlace),
            None => self.pool.stats().total().out_of_place,
        };
        let out = out_of_place();
        let (time, unbound) = match (self.placement, self.machine) {
            (placement, _) if ON_THREADS.contains(&placement) => self.on_threads(tasks),
            (UNDIVIDED, _) => (self.as_intervals(tasks)?, 0),
            (_, Some(machine)) => {
                (self.as_published(machine, tasks), machine.count(Count::Unbound) as usize)
            }
            _ => (self.as_intervals(tasks)?, self.pool.workers() - self.pool.stats().bound_workers),
        };
        let (ms, out) = (time.as_secs_f64() * 1e3, out_of_place() - out);
        let counts = [(TASKS, number), (OUT_OF_PLACE, out as usize), (UNBOUND, unbound)];
        let counts = counts.map(|(metric, count)| (metric, count as f64));
        Ok(named(counts.into_iter().chain([(MS, ms)])))
    }

    fn as_intervals(&self, tasks: Vec<Placed<'_>>) -> Outcome<Duration> {
        let start = Instant::now();
        let root = Root::new("tasks").run(|root| {
            for (place, task) in tasks {
                let new = || root.interval("task");
                let new = self.place(place).map_or_else(new, |place| new().near(place));
                new.spawn(move |_| task());
            }
        });
        root.map(|()| start.elapsed()).map_err(Fault::run)
    }

    /// The study's scheduler, and its alternative with mailboxes.
    fn as_published(&self, machine: &Machine, tasks: Vec<Placed<'_>>) -> Duration {
        let start = Instant::now();
        machine.run(move |context| {
            let mut turns = vec![0; self.places];
            for (place, task) in tasks {
                // Each place has every n-th worker (`Ground::machine`). With mailboxes, they take
                // turns.
                let places = self.places.min(machine.workers());
                let to = self.place(place).map(|place| place % places).map(|place| {
                    let workers = (machine.workers() - place).div_ceil(places);
                    turns[place] += 1;
                    match self.placement {
                        MAILBOXES => place + turns[place] % workers * places,
                        _ => place,
                    }
                });
                context.create_at(to, move |_| task());
            }
        });
        start.elapsed()
    }

    /// The tasks of the study's first version, which has a thread for each, and the processors of
    /// these threads: eight on each, or more if there are more tasks.
    fn on_processors<'t>(&self, mut tasks: Vec<Placed<'t>>) -> Vec<(usize, Task<'t>)> {
        let sets = self.pool.places().sets().iter().enumerate();
        let processors = sets.flat_map(|(place, set)| set.iter().map(move |it| (place, it)));
        let processors = processors.collect_vec();
        let threads = processors.iter().cartesian_product(0..THREADS).cycle();
        let with_task = threads.map_while(|(&(place, processor), number)| {
            let wanted = match self.placement {
                THREADS_BEST => Some(place),
                THREADS_WORST => Some((place + number) % self.places),
                _ => None,
            };
            let is_wanted = |((best, _), _): &Placed<'_>| Some(*best) == wanted;
            let found = tasks.iter().position(is_wanted).unwrap_or(0);
            (!tasks.is_empty()).then(|| (processor, tasks.remove(found).1))
        });
        with_task.collect()
    }

    /// The study's first version. The time begins when all threads have been made; also counts
    /// those that the system did not bind.
    fn on_threads<'t>(&self, tasks: Vec<Placed<'t>>) -> (Duration, usize) {
        let threads = self.on_processors(tasks);
        let is_ignorant = self.placement == THREADS_IGNORANT;
        // If a thread cannot be made, the panic opens the gate to the others.
        let gate = &RwLock::new(());
        let start = |(processor, task): (usize, Task<'t>)| {
            move || {
                let is_bound = is_ignorant || topology::bind(processor);
                drop(gate.read());
                let start = Instant::now();
                task();
                (start, Instant::now(), is_bound)
            }
        };
        let ended = thread::scope(|scope| {
            let closed = gate.write();
            let threads = threads.into_iter().map(|it| scope.spawn(start(it))).collect_vec();
            drop(closed);
            threads.into_iter().map(|it| it.join().expect("no task panics")).collect_vec()
        });
        let start = ended.iter().map(|it| it.0).min();
        let end = ended.iter().map(|it| it.1).max();
        let time = end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start);
        (time, ended.iter().filter(|it| !it.2).count())
    }

    /// Writes data for the first time, in parts. Memory comes from next to the processor that
    /// writes it first (Linux, "NUMA memory policy"), so each part is filled by a worker of the
    /// place that the placement names for it, or else of the best; by any worker if it has none.
    pub(super) fn touch<'t>(&self, parts: impl Iterator<Item = Placed<'t>>) {
        let queue = |place: Where| self.place(place).unwrap_or(place.0);
        let queues = &self.queues(parts.map(|(place, fill)| (queue(place), fill)));
        locksley::in_place_scope(|scope| {
            scope.spawn_broadcast(move |worker, _| serve(&queues[worker.place()]));
        });
        queues.iter().for_each(serve);
    }

    /// A queue for each place.
    fn queues<'t>(&self, tasks: impl Iterator<Item = (usize, Task<'t>)>) -> Vec<Deque<'t>> {
        let queues: Vec<_> = (0..self.places).map(|_| Deque::default()).collect();
        tasks.for_each(|(place, task)| lock(&queues[place]).push_back(task));
        queues
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::Worker;
    use locksley::places::Places;

    /// A case of two places on four processors.
    fn with_case(placement: &str, workers: usize, test: impl FnOnce(&Case<'_>) + Send) {
        let sets = ["0-1", "2-3"].map(|set| set.parse().unwrap());
        let places = Places::given(&(0..4).collect(), sets).unwrap();
        let pool = Pool::builder().workers(workers).places(places).build().unwrap();
        let case = Case { pool: &pool, machine: None, placement, places: 2, seed: 7 };
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
            for placement in [BEST, SHARED_DEQUES, MAILBOXES] {
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
    fn a_task_has_a_thread_on_a_processor_of_its_place_or_of_all_places_in_turn() {
        for placement in ON_THREADS {
            // Half of the tasks use each of two arrays. The last of these would not fit evenly.
            for number in [32, 8, 37] {
                with_case(placement, 1, |case| {
                    let ran = Mutex::new(Vec::new());
                    let tasks = (0..number).map(|task| {
                        let (best, ran) = (task % 2, &ran);
                        ((best, task / 2), Box::new(move || lock(ran).push(best)) as Task<'_>)
                    });
                    let threads = case.on_processors(tasks.collect());
                    assert_eq!(threads.len(), number);
                    let (processors, tasks): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
                    let expected = (0..number).map(|thread| thread / THREADS % 4);
                    assert!(processors.iter().copied().eq(expected), "{placement}");
                    tasks.into_iter().for_each(|task| task());
                    let ran = ran.into_inner().unwrap();
                    assert_eq!(ran.iter().sum::<usize>(), number / 2);
                    if number == 32 {
                        let threads = processors.into_iter().zip(ran).enumerate();
                        let mut threads = threads.map(|(thread, it)| (thread, it.0 / 2, it.1));
                        assert!(match placement {
                            THREADS_BEST => threads.all(|(_, place, array)| array == place),
                            THREADS_WORST => {
                                threads.all(|(thread, place, array)| array == (place + thread) % 2)
                            }
                            _ => true,
                        });
                    }
                });
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
                    let wanted = case.place(place).unwrap_or(place.0);
                    assert!(workers == 1 || wanted == here, "{placement}");
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
