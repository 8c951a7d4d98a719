//! The places of a pool: which workers belong to each, what is sent to each, and which are near to
//! which.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use super::config::Affinity;
use super::shared::Shared;

use crate::deque::Inbox;
use crate::os;
use crate::places::{Places, ProcessorSet, Topology};
use crate::primitive::{AtomicBool, CachePadded, Ordering};
use crate::scheduler::Worker;
use crate::scheduler::job::Job;

/// How the workers of a pool are divided into places.
pub(crate) struct Division {
    pub(crate) places: Arc<Places>,
    /// The place of each worker.
    of_worker: Box<[usize]>,
    /// One for each place. Empty if there is one place, so that no worker looks for tasks there.
    place_states: Box<[CachePadded<PlaceState>]>,
    /// For each worker: true if the system has bound it to its place.
    bound: Box<[AtomicBool]>,
}

/// The workers and the inbox of one place.
pub(crate) struct PlaceState {
    /// The workers of a place are consecutive.
    pub(crate) workers: Range<usize>,
    /// Tasks for this place. Workers of other places take them, too.
    pub(crate) inbox: Inbox<Job>,
    /// The other places, the nearest first.
    pub(crate) others: Box<[usize]>,
    /// The workers of other places: one ring for equally near places, the nearest first. No ring is
    /// empty.
    pub(crate) rings: Box<[Box<[usize]>]>,
}

impl Division {
    /// Divides `workers` into the given places, or into the places of the machine that the
    /// `allowed` processors belong to.
    pub(crate) fn new(places: Option<Arc<Places>>, workers: usize, allowed: &[usize]) -> Self {
        let places = places.unwrap_or_else(|| Arc::new(found(workers, allowed)));
        let of_worker = divide(&places, workers);
        let count = places.count();
        let place_states = if count == 1 { 0 } else { count };
        let place_state =
            |place| CachePadded::new(place_state(machine(), &places, &of_worker, place));
        let place_states = (0..place_states).map(place_state);
        Self {
            place_states: place_states.collect(),
            places,
            of_worker,
            bound: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// True if so many workers would be in several places: the given ones, or those of the machine.
pub(crate) fn is_divided(places: Option<&Places>, workers: usize, allowed: &[usize]) -> bool {
    places.map_or_else(|| found(workers, allowed).count(), Places::count) > 1
}

/// The topology of the machine, read once in the life of the process.
fn machine() -> &'static Topology {
    static MACHINE: OnceLock<Topology> = OnceLock::new();
    MACHINE.get_or_init(Topology::of_this_machine)
}

/// The places of the machine. Does not read it if there is nothing to divide.
fn found(workers: usize, allowed: &[usize]) -> Places {
    let allowed: ProcessorSet = allowed.iter().copied().collect();
    // The least that is found is two places of two processors each.
    if workers < 2 || allowed.len() < 4 {
        return Places::undivided(&allowed);
    }
    with_several_workers(Places::found(machine(), &allowed), workers, &allowed)
}

/// The places if each gets at least two workers, else a single one: a worker that is alone in a
/// place shares nothing there.
fn with_several_workers(places: Places, workers: usize, allowed: &ProcessorSet) -> Places {
    let of_worker = divide(&places, workers);
    let has_two = |place| of_worker.iter().filter(|&&it| it == place).count() >= 2;
    if (0..places.count()).all(has_two) { places } else { Places::undivided(allowed) }
}

/// The place of each worker. Each place gets its share of workers by its number of processors, and
/// its workers are consecutive.
fn divide(places: &Places, workers: usize) -> Box<[usize]> {
    let by_processor = |(place, set): (usize, &ProcessorSet)| std::iter::repeat_n(place, set.len());
    let by_processor: Vec<usize> =
        places.sets().iter().enumerate().flat_map(by_processor).collect();
    let place = |worker| {
        // No place has a processor if the allowed processors are not known.
        by_processor.get(worker * by_processor.len() / workers).copied().unwrap_or(0)
    };
    (0..workers).map(place).collect()
}

fn place_state(
    machine: &Topology,
    places: &Places,
    of_worker: &[usize],
    place: usize,
) -> PlaceState {
    let workers_of = |places: &[usize]| -> Box<[usize]> {
        let is_in = |(_, place): &(usize, &usize)| places.contains(place);
        of_worker.iter().enumerate().filter(is_in).map(|(worker, _)| worker).collect()
    };
    let first = of_worker.iter().position(|&it| it == place).unwrap_or(0);
    let count = of_worker.iter().filter(|&&it| it == place).count();
    let near = places.others_by_nearness(machine, place);
    let rings = near.iter().map(|equally_near| workers_of(equally_near));
    PlaceState {
        workers: first..first + count,
        inbox: Inbox::new(),
        rings: rings.filter(|ring| !ring.is_empty()).collect(),
        others: near.into_iter().flatten().collect(),
    }
}

impl Shared {
    pub(crate) fn places(&self) -> &Places {
        &self.division.places
    }

    /// The place of the worker in `slot`; `None` for a replacement, which changes places.
    pub(crate) fn place_of(&self, slot: usize) -> Option<usize> {
        self.division.of_worker.get(slot).copied()
    }

    /// The workers and the inbox of each place. Empty if there is one place.
    #[inline]
    pub(crate) fn place_states(&self) -> &[CachePadded<PlaceState>] {
        &self.division.place_states
    }

    /// Panics if there is no such place.
    #[track_caller]
    pub(crate) fn assert_has_place(&self, place: usize) {
        let count = self.places().count();
        assert!(place < count, "there is no place {place} in a pool of {count}");
    }

    /// Makes a job available to all workers, and first to those of a place. `caller` is the worker
    /// that the calling thread is, of any pool.
    pub(crate) fn send_near(&self, caller: Option<&Worker>, place: usize, job: NonNull<Job>) {
        let own = self.own(caller);
        let is_elsewhere = own.is_none_or(|own| own.place() != place);
        let Some(there) = self.place_states().get(place).filter(|_| is_elsewhere) else {
            return self.push_or_send(caller, job);
        };
        // SAFETY: the thread that takes a word out of an inbox runs it once; this one is about to
        // be sent.
        let job = unsafe { self.wrap(caller, job) };
        there.inbox.send(job);
        let wake_token = own.map(|own| &own.wake_token);
        match self.replacements.affinity {
            Affinity::Place => {
                self.sleep.notify_addressed_to_bound(there.workers.clone(), wake_token)
            }
            _ => self.sleep.notify_addressed(there.workers.clone(), wake_token),
        }
    }

    /// Binds the calling thread, which is that of `worker`, to its place. Returns true if it is
    /// bound.
    pub(crate) fn bind(&self, worker: usize) -> bool {
        let processors = self.processors_of(worker).as_slice();
        let is_bound = os::bind_this_thread(processors);
        if !is_bound {
            os::move_to_process_affinity();
        }
        // Relaxed: the thread that builds the pool waits until the workers are ready, which is
        // later.
        self.division.bound[worker].store(is_bound, Ordering::Relaxed);
        is_bound
    }

    /// The number of workers that are bound to their places.
    pub(crate) fn bound_workers(&self) -> usize {
        self.division.bound.iter().filter(|bound| bound.load(Ordering::Relaxed)).count()
    }

    /// Unbinds the calling thread, the only one of a forked child, if the worker in `slot` was
    /// bound to its place. Neither allocates nor locks.
    pub(crate) fn unbind_in_forked_child(&self, slot: usize) {
        let bound = self.division.bound.get(slot);
        if bound.is_some_and(|bound| bound.load(Ordering::Relaxed)) {
            os::unbind_this_thread(self.processor_ids());
        }
    }

    /// True if the pool lets the worker in `slot` run on `processor`.
    pub(crate) fn can_run_on(&self, slot: usize, processor: usize) -> bool {
        // Replacements are not bound.
        let is_bound = self.replacements.affinity == Affinity::Place && slot < self.workers;
        !is_bound || self.processors_of(slot).contains(processor)
    }

    /// The workers in the place of `worker`. `None` if there is one place.
    pub(crate) fn neighbours_of(&self, worker: usize) -> Option<Range<usize>> {
        let here = self.place_of(worker).and_then(|place| self.place_states().get(place));
        here.map(|here| here.workers.clone())
    }

    fn processors_of(&self, worker: usize) -> &ProcessorSet {
        let place = self.place_of(worker).unwrap_or(0);
        &self.places().sets()[place]
    }
}

impl Worker {
    /// The place that the worker belongs to, from 0. See
    /// [`PoolBuilder::places`](crate::PoolBuilder::places). A replacement belongs to the place of
    /// the worker that it replaces.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// assert!(pool.install(|worker| worker.place()) < pool.places().count());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn place(&self) -> usize {
        self.shared().place_of(self.index()).unwrap_or(0)
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
        let count = |workers| with_several_workers(places.clone(), workers, allowed).count();
        for (workers, expected) in [(1, 1), (2, 1), (4, 1), (8, 1), (9, 1), (10, 3), (20, 3)] {
            assert_eq!(count(workers), expected, "{workers}");
        }
    }

    #[test]
    fn a_pool_on_few_processors_does_not_read_the_topology() {
        let division = Division::new(None, 8, &[0, 3, 5]);
        assert_eq!(division.places.sets(), ["0,3,5".parse().unwrap()]);
        assert!(division.place_states.is_empty());
        assert_eq!(*division.of_worker, [0; 8]);
    }

    #[test]
    fn near_places_come_before_far_ones_and_places_without_workers_have_no_ring() {
        let package = |processors| Region::new(Kind::Package, ProcessorSet::from_iter(processors));
        let machine = Topology::of((0..12).collect(), [package(0..6), package(6..12)]);
        let pairs = (0..6).map(|pair| ProcessorSet::from_iter(2 * pair..2 * pair + 2));
        let places = Places::given(machine.processors(), pairs).unwrap();
        let of_worker = [0, 0, 1, 2, 3, 3, 5];
        let place_state = place_state(&machine, &places, &of_worker, 3);
        assert_eq!(place_state.workers, 4..6);
        assert_eq!(*place_state.others, [4, 5, 0, 1, 2]);
        assert_eq!(
            place_state.rings.iter().map(|ring| &**ring).collect::<Vec<_>>(),
            [&[6][..], &[0, 1, 2, 3],]
        );
    }

    #[test]
    fn each_place_knows_all_other_workers_once() {
        let sets = ["0", "1-2", "3", "4"].map(|set: &str| set.parse().unwrap());
        let places = Places::given(&(0..5).collect(), sets).unwrap();
        let division = Division::new(Some(Arc::new(places)), 5, &[0, 1, 2, 3, 4]);
        for (place, place_state) in division.place_states.iter().enumerate() {
            let mut all = place_state.rings.concat();
            all.extend(place_state.workers.clone());
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
            let mut others = place_state.others.to_vec();
            others.push(place);
            others.sort_unstable();
            assert_eq!(others, [0, 1, 2, 3]);
            assert!(division.of_worker[place_state.workers.clone()].iter().all(|&it| it == place));
        }
    }

    #[test]
    fn a_replacement_has_the_neighbours_of_the_worker_that_it_replaces() {
        let pool = divided(&[2, 2]).replacements(1).build().unwrap();
        for (worker, neighbours) in [(0, 0..2), (3, 2..4), (1, 0..2)] {
            let (sender, receiver) = channel();
            // The other workers are held until the replacement has come, so only that can take
            // this.
            let held: Vec<_> =
                (0..4).filter(|&it| it != worker).map(|it| hold(&pool, it)).collect();
            pool.spawn_with(Spawn::At(worker), move |_| {
                let (seen, is_seen) = channel();
                crate::spawn(move || {
                    on_worker(|w| {
                        let is_replacement = w.slot_index() == 4;
                        seen.send((is_replacement, w.wake_token.neighbours())).unwrap();
                    })
                });
                sender.send(crate::blocking(|| is_seen.recv_timeout(LONGEST))).unwrap();
            });
            assert_eq!(receiver.recv_timeout(2 * LONGEST), Ok(Ok((true, neighbours))));
            drop(held);
        }
    }
}
