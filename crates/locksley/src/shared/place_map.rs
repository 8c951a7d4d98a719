//! The places of a pool: the workers of each place, and the tasks that are sent to it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Shared;
use crate::deque::Inbox;
use crate::header::Job;
use crate::numbers::{Index, Place, Slot};
use crate::os;
use crate::places::{Places, ProcessorSet, Topology};
use crate::primitive::{AtomicBool, CachePadded, Ordering};

/// The division of the workers of a pool into places.
pub(crate) struct PlaceMap {
    pub(crate) places: Arc<Places>,
    /// The place of each worker.
    of_worker: Box<[usize]>,
    /// One for each place. Empty in a pool with a single place: its workers search no place.
    place_states: Box<[CachePadded<PlaceState>]>,
    /// For each worker: true if the system has bound it to its place.
    bound: Box<[AtomicBool]>,
}

/// What workers need to know of one place.
pub(crate) struct PlaceState {
    /// The workers of a place have consecutive indices.
    pub(crate) workers: Range<usize>,
    /// The tasks that were sent to this place. Workers of other places take them, too.
    pub(crate) inbox: Inbox<Job>,
}

impl PlaceMap {
    /// Divides `workers` among the given places, or else among the places of the machine to which
    /// the `allowed` processors belong.
    pub(crate) fn new(places: Option<Arc<Places>>, workers: usize, allowed: &[usize]) -> Self {
        let places = places.unwrap_or_else(|| Arc::new(detect_places(workers, allowed)));
        let of_worker = divide(&places, workers);
        let count = places.count();
        let states = if count == 1 { 0 } else { count };
        let state = |place| {
            let first = of_worker.iter().position(|&it| it == place).unwrap_or(0);
            let count = of_worker.iter().filter(|&&it| it == place).count();
            CachePadded::new(PlaceState { workers: first..first + count, inbox: Inbox::new() })
        };
        Self {
            place_states: (0..states).map(state).collect(),
            places,
            of_worker,
            bound: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// The topology of the machine. The process reads it once.
fn machine_topology() -> &'static Topology {
    static MACHINE: OnceLock<Topology> = OnceLock::new();
    MACHINE.get_or_init(Topology::of_this_machine)
}

/// The places of the machine. Does not read the topology if a single place is the answer anyway.
fn detect_places(workers: usize, allowed: &[usize]) -> Places {
    let allowed: ProcessorSet = allowed.iter().copied().collect();
    // The smallest division is two places with two processors and two workers each.
    if workers < 2 || allowed.len() < 4 {
        return Places::undivided(&allowed);
    }
    or_undivided(Places::found(machine_topology(), &allowed), workers, &allowed)
}

/// Returns `places` if each place gets at least two workers, and else a single place: a worker that
/// is alone in a place shares nothing there.
fn or_undivided(places: Places, workers: usize, allowed: &ProcessorSet) -> Places {
    let of_worker = divide(&places, workers);
    let has_two = |place| of_worker.iter().filter(|&&it| it == place).count() >= 2;
    if (0..places.count()).all(has_two) { places } else { Places::undivided(allowed) }
}

/// The place of each worker. Each place gets its share of workers by its number of processors, and
/// its workers are consecutive.
fn divide(places: &Places, workers: usize) -> Box<[usize]> {
    // For each processor, its place.
    let of_processor: Vec<usize> = (places.sets().iter().enumerate())
        .flat_map(|(place, set)| std::iter::repeat_n(place, set.len()))
        .collect();
    let place = |worker| {
        // No place has a processor if the allowed processors are not known.
        of_processor.get(worker * of_processor.len() / workers).copied().unwrap_or(0)
    };
    (0..workers).map(place).collect()
}

impl Shared {
    pub(crate) fn places(&self) -> &Places {
        &self.place_map.places
    }

    /// The place of a worker.
    pub(crate) fn place_of(&self, index: Index) -> Place {
        Place::new(self.place_map.of_worker[index.get()])
    }

    /// The place of the thread in `slot`; `None` for a guest or a replacement, which have none of
    /// their own.
    pub(crate) fn place_of_slot(&self, slot: Slot) -> Option<Place> {
        self.place_map.of_worker.get(slot.get()).copied().map(Place::new)
    }

    /// The workers and the inbox of each place. Empty if there is one place.
    #[inline]
    pub(crate) fn place_states(&self) -> &[CachePadded<PlaceState>] {
        &self.place_map.place_states
    }

    /// Panics if there is no such place.
    #[track_caller]
    pub(crate) fn assert_has_place(&self, place: usize) {
        let count = self.places().count();
        assert!(place < count, "there is no place {place} in a pool of {count}");
    }

    /// Binds the calling thread, which runs `worker`, to the place of the worker. Returns true on
    /// success.
    pub(crate) fn bind(&self, worker: Index) -> bool {
        let processors = self.processors_of(worker).as_slice();
        let is_bound = os::bind_this_thread(processors);
        if !is_bound {
            // The thread has inherited the mask of its creator, which may be bound elsewhere.
            os::move_to_process_affinity();
        }
        // Relaxed: the loads below read nothing else with it. Unless the pool starts in the
        // background, its builder waits until the worker is ready, which is after this store.
        self.place_map.bound[worker.get()].store(is_bound, Ordering::Relaxed);
        is_bound
    }

    /// The number of workers that are bound to their places.
    pub(crate) fn bound_workers(&self) -> usize {
        // Relaxed: see `bind`.
        self.place_map.bound.iter().filter(|bound| bound.load(Ordering::Relaxed)).count()
    }

    /// Unbinds the calling thread, the only one of a forked child, if the worker in `slot` was
    /// bound to its place. Neither allocates nor locks.
    pub(crate) fn unbind_in_forked_child(&self, slot: Slot) {
        let bound = self.place_map.bound.get(slot.get());
        // Relaxed: written by the calling thread, in `bind`.
        if bound.is_some_and(|bound| bound.load(Ordering::Relaxed)) {
            os::unbind_this_thread(self.processor_ids());
        }
    }

    /// The workers in the place of `worker`, with `worker`.
    pub(crate) fn neighbours_of(&self, worker: Index) -> Range<usize> {
        let here = self.place_states().get(self.place_of(worker).get());
        here.map_or(0..self.workers, |here| here.workers.clone())
    }

    fn processors_of(&self, worker: Index) -> &ProcessorSet {
        &self.places().sets()[self.place_of(worker).get()]
    }

    /// The processors that the process was allowed to use when the pool was built.
    pub(crate) fn processor_ids(&self) -> &[usize] {
        self.machine.at_build().ids()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::Spawn;
    use crate::places::{Kind, Region};
    use crate::pool::tests::{LONGEST, divided, hold, on_worker};

    fn division(sets: &[&str], workers: usize) -> Vec<usize> {
        let sets: Vec<ProcessorSet> = sets.iter().map(|set| set.parse().unwrap()).collect();
        let places = Places::given(&(0..64).collect(), sets).unwrap();
        divide(&places, workers).into_vec()
    }

    #[test]
    fn each_place_gets_its_share_of_the_workers() {
        assert_eq!(division(&["0-3", "4-7"], 8), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(division(&["0-3", "4-7"], 2), [0, 1]);
        assert_eq!(division(&["0-3", "4-7"], 1), [0]);
        assert_eq!(division(&["0-3", "4-7"], 16), [[0; 8], [1; 8]].concat());
        assert_eq!(division(&["0-5", "6-7"], 4), [0, 0, 0, 1]);
        assert_eq!(division(&["7", "5", "6"], 3), [0, 1, 2]);
        for workers in 1..40 {
            let places = division(&["0-2", "3", "4-8"], workers);
            assert!(places.is_sorted());
            for (place, processors) in [3, 1, 5].into_iter().enumerate() {
                let of_it = places.iter().filter(|&&it| it == place).count();
                let share = processors * workers;
                assert!((share / 9..=share.div_ceil(9)).contains(&of_it), "{places:?}");
            }
        }
    }

    #[test]
    fn places_of_the_machine_have_two_workers_each() {
        let l3 = |processors| Region::new(Kind::L3, ProcessorSet::from_iter(processors));
        let machine = Topology::of((0..10).collect(), [l3(0..4), l3(4..8), l3(8..10)]);
        let allowed = machine.processors();
        let places = Places::found(&machine, allowed);
        assert_eq!(places.count(), 3);
        let count = |workers| or_undivided(places.clone(), workers, allowed).count();
        for (workers, expected) in [(1, 1), (2, 1), (4, 1), (8, 1), (9, 1), (10, 3), (20, 3)] {
            assert_eq!(count(workers), expected, "{workers}");
        }
    }

    #[test]
    fn a_pool_on_few_processors_does_not_read_the_topology() {
        let map = PlaceMap::new(None, 8, &[0, 3, 5]);
        assert_eq!(map.places.sets(), ["0,3,5".parse().unwrap()]);
        assert!(map.place_states.is_empty());
        assert_eq!(*map.of_worker, [0; 8]);
    }

    #[test]
    fn each_place_knows_its_workers_and_a_place_without_workers_knows_none() {
        let sets = ["0", "1-2", "3", "4-5"].map(|set: &str| set.parse().unwrap());
        let places = Arc::new(Places::given(&(0..6).collect(), sets).unwrap());
        for (workers, expected) in [(6, [0..1, 1..3, 3..4, 4..6]), (2, [0..1, 0..0, 1..2, 0..0])] {
            let map = PlaceMap::new(Some(Arc::clone(&places)), workers, &[0, 1, 2, 3, 4, 5]);
            let workers: Vec<_> = map.place_states.iter().map(|it| it.workers.clone()).collect();
            assert_eq!(workers, expected);
        }
    }

    #[test]
    fn a_replacement_searches_first_in_the_place_of_its_index() {
        let pool = divided(&[2, 2]).replacements(3).build().unwrap();
        for (worker, place) in [(0, 0), (3, 1), (1, 0)] {
            let (sender, receiver) = channel();
            // The other workers are held until the replacement has come, so only that can take
            // this.
            let held: Vec<_> =
                (0..4).filter(|&it| it != worker).map(|it| hold(&pool, it)).collect();
            pool.spawn_with(Spawn::At(worker), move |_| {
                let (seen, is_seen) = channel();
                crate::spawn(move || {
                    on_worker(|w| {
                        let is_replacement = w.slot().get() >= w.shared().first_replacement();
                        seen.send((is_replacement, w.index(), w.place())).unwrap();
                    })
                });
                sender.send(crate::blocking(|| is_seen.recv_timeout(LONGEST))).unwrap();
            });
            assert_eq!(receiver.recv_timeout(2 * LONGEST), Ok(Ok((true, worker, place))));
            drop(held);
        }
    }
}
