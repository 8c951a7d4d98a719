//! The places of a pool: which worker belongs to which, what is sent to each, and who is near to whom.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use super::config::Affinity;
use super::shared::Shared;

use crate::deque::Inbox;
use crate::os;
use crate::places::{Places, ProcessorSet, Topology};
use crate::primitive::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use crate::scheduler::Worker;
use crate::scheduler::job::Job;
use crate::sleep::WakeToken;

/// Where a task goes for which no place is named. For a pool: [`PoolBuilder::unplaced`](crate::PoolBuilder::unplaced).
///
/// # Examples
/// Every other task goes to the other place:
/// ```
/// use locksley::places::Places;
/// use locksley::{Pool, Unplaced};
///
/// let places = Places::given(&"0-1".parse()?, ["0".parse()?, "1".parse()?])?;
/// let pool = Pool::builder().workers(2).places(places).unplaced(Unplaced::RoundRobin).build()?;
/// let mut squares = [0; 8];
/// pool.in_place_scope(|scope| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         scope.spawn(move |_| *square = n * n);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unplaced {
    /// To the worker that spawns it; from elsewhere, to the pool.
    #[default]
    Stays,
    /// To each place in turn, as LASSI has it (Weibel, "An Advanced Scheduler for Intervals", 2010, "Locality-Aware
    /// Intervals API"). This concerns intervals, and tasks that are spawned, detached or into a scope;
    /// not those that begin in order, nor joins, loops and futures.
    RoundRobin,
}

/// How the workers of a pool are divided into places.
pub(crate) struct Division {
    places: Arc<Places>,
    /// By worker.
    of_worker: Box<[usize]>,
    /// One for each place; none where there is one place, so that nobody looks for anything there.
    place_states: Box<[CachePadded<PlaceState>]>,
    /// Where the next task goes that goes round.
    turn: CachePadded<AtomicUsize>,
    /// By worker: whether the system has bound it to its place.
    bound: Box<[AtomicBool]>,
}

/// What one place has.
pub(crate) struct PlaceState {
    /// In ascending order.
    workers: Box<[usize]>,
    /// Tasks for this place. Others take them too.
    inbox: Inbox<Job>,
    /// The other places, the nearest first.
    others: Box<[usize]>,
    /// The workers of other places, those of equally near ones together, the nearest first.
    rings: Box<[Box<[usize]>]>,
}

impl PlaceState {
    pub(crate) fn workers(&self) -> &[usize] {
        &self.workers
    }

    /// The same: they are neighbours.
    pub(crate) fn range(&self) -> Range<usize> {
        let (first, last) = (self.workers.first(), self.workers.last());
        first.zip(last).map_or(0..0, |(&first, &last)| first..last + 1)
    }

    pub(crate) fn inbox(&self) -> &Inbox<Job> {
        &self.inbox
    }

    pub(crate) fn others(&self) -> &[usize] {
        &self.others
    }

    /// None of them is empty.
    pub(crate) fn rings(&self) -> &[Box<[usize]>] {
        &self.rings
    }
}

impl Division {
    /// Of so many workers into the given places, or as the machine divides the processors that are allowed.
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
            turn: CachePadded::new(AtomicUsize::new(0)),
            bound: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// Whether so many workers, where nobody says which places there are, or which, would be in several.
pub(crate) fn is_divided(places: Option<&Places>, workers: usize, allowed: &[usize]) -> bool {
    places.map_or_else(|| found(workers, allowed).count(), Places::count) > 1
}

/// The machine is read once in the life of the process; and not at all where there is nothing to divide.
fn machine() -> &'static Topology {
    static MACHINE: OnceLock<Topology> = OnceLock::new();
    MACHINE.get_or_init(Topology::of_this_machine)
}

fn found(workers: usize, allowed: &[usize]) -> Places {
    let allowed: ProcessorSet = allowed.iter().copied().collect();
    // Two places of two processors each are the least that is found.
    if workers < 2 || allowed.len() < 4 {
        return Places::undivided(&allowed);
    }
    with_several_workers(Places::found(machine(), &allowed), workers, &allowed)
}

/// The places, if each gets two workers at least; or else one: who is alone in a place has nobody there to share anything with.
fn with_several_workers(places: Places, workers: usize, allowed: &ProcessorSet) -> Places {
    let of_worker = divide(&places, workers);
    let has_two = |place| of_worker.iter().filter(|&&it| it == place).count() >= 2;
    if (0..places.count()).all(has_two) { places } else { Places::undivided(allowed) }
}

/// The place of each worker: each place gets as many as its share of the processors, and neighbours are in the same place.
fn divide(places: &Places, workers: usize) -> Box<[usize]> {
    let by_processor = |(place, set): (usize, &ProcessorSet)| std::iter::repeat_n(place, set.len());
    let by_processor: Vec<usize> =
        places.sets().iter().enumerate().flat_map(by_processor).collect();
    let place = |worker| {
        // Only a pool that may use no processor, as far as is known, has a place without any.
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
    let those_in = |places: &[usize]| -> Box<[usize]> {
        let is_in = |(_, place): &(usize, &usize)| places.contains(place);
        of_worker.iter().enumerate().filter(is_in).map(|(worker, _)| worker).collect()
    };
    let near = places.others_by_nearness(machine, place);
    let rings = near.iter().map(|equally_near| those_in(equally_near));
    PlaceState {
        workers: those_in(&[place]),
        inbox: Inbox::new(),
        rings: rings.filter(|ring| !ring.is_empty()).collect(),
        others: near.into_iter().flatten().collect(),
    }
}

impl Shared {
    pub(crate) fn places(&self) -> &Places {
        &self.division().places
    }

    /// For another pool that is to have the same ones, as far as it may use them.
    pub(crate) fn places_to_keep(&self) -> Arc<Places> {
        Arc::clone(&self.division().places)
    }

    /// The place of the worker in that slot; of a replacement nobody says it.
    pub(crate) fn place_of(&self, slot: usize) -> Option<usize> {
        self.division().of_worker.get(slot).copied()
    }

    /// What each place has; nothing where there is one place.
    #[inline]
    pub(crate) fn place_states(&self) -> &[CachePadded<PlaceState>] {
        &self.division().place_states
    }

    /// Panics if there is no such place.
    #[track_caller]
    pub(crate) fn assert_has_place(&self, place: usize) {
        let count = self.places().count();
        assert!(place < count, "there is no place {place} in a pool of {count}");
    }

    /// Hands a job to the workers of a place, from outside.
    pub(crate) fn send_near(&self, place: usize, job: NonNull<Job>) {
        self.send_near_from(None, place, job);
    }

    /// The same, by that worker, of whatever pool.
    pub(crate) fn send_near_from(&self, caller: Option<&Worker>, place: usize, job: NonNull<Job>) {
        // SAFETY: whichever thread takes a word out of an inbox runs it, once; this one is about to
        // be sent.
        let job = unsafe { self.wrapped(caller, job) };
        match self.place_states().get(place) {
            None => self.send_back(job),
            Some(place_state) => self.send_to_place(place_state, job, None),
        }
    }

    fn send_to_place(
        &self,
        place_state: &PlaceState,
        job: NonNull<Job>,
        wake_token: Option<&WakeToken>,
    ) {
        place_state.inbox.send(job);
        match self.replacements().affinity() {
            Affinity::Place => {
                self.sleep().notify_addressed_to_bound(place_state.range(), wake_token);
            }
            _ => self.sleep().notify_addressed_to_some(place_state.range(), wake_token),
        }
    }

    /// The place for a task for which none is named, if that goes round.
    #[inline]
    pub(crate) fn next_place(&self) -> Option<usize> {
        (self.unplaced() == Unplaced::RoundRobin).then(|| {
            // Relaxed: any order will do.
            self.division().turn.fetch_add(1, Ordering::Relaxed) % self.places().count()
        })
    }

    /// Whether tasks go round for which no place is named, and there is anywhere to go.
    pub(crate) fn goes_round(&self) -> bool {
        self.unplaced() == Unplaced::RoundRobin && !self.place_states().is_empty()
    }

    /// Binds the calling thread, which is that worker's, to its place. Says whether it is bound.
    pub(crate) fn bind(&self, worker: usize) -> bool {
        let processors = self.processors_of(worker).as_slice();
        let is_bound = os::bind_this_thread(processors);
        if !is_bound {
            os::move_to_process_affinity();
        }
        // Relaxed: who builds a pool waits until its workers are ready, which is after this.
        self.division().bound[worker].store(is_bound, Ordering::Relaxed);
        is_bound
    }

    /// How many workers are bound to their places.
    pub(crate) fn bound_workers(&self) -> usize {
        self.division().bound.iter().filter(|bound| bound.load(Ordering::Relaxed)).count()
    }

    /// In the child of a fork, whose only thread the calling one is, which sits there: it may run where it could if it were bound to no place. Neither
    /// allocates nor locks.
    pub(crate) fn unbind_in_a_child(&self, slot: usize) {
        let bound = self.division().bound.get(slot);
        if bound.is_some_and(|bound| bound.load(Ordering::Relaxed)) {
            os::unbind_this_thread(self.processor_ids());
        }
    }

    /// Whether who sits there may run on that processor, as far as the pool has decided it.
    pub(crate) fn may_run_on(&self, slot: usize, processor: usize) -> bool {
        // Replacements are not bound.
        let is_bound = self.replacements().affinity() == Affinity::Place && slot < self.workers();
        !is_bound || self.processors_of(slot).contains(processor)
    }

    /// The wake token of that worker: who is in its place is woken first.
    pub(crate) fn wake_token_of(&self, worker: usize) -> WakeToken {
        self.neighbours_of(worker).map_or_else(WakeToken::default, WakeToken::with_neighbours)
    }

    /// Who is in the place of that worker; nobody says it where all are.
    pub(crate) fn neighbours_of(&self, worker: usize) -> Option<Range<usize>> {
        let here = self.place_of(worker).and_then(|place| self.place_states().get(place));
        here.map(|here| here.range())
    }

    /// Whether the processor is one of that place.
    pub(crate) fn is_in_place(&self, place: usize, processor: usize) -> bool {
        self.places().sets()[place].contains(processor)
    }

    fn processors_of(&self, worker: usize) -> &ProcessorSet {
        let place = self.place_of(worker).unwrap_or(0);
        &self.places().sets()[place]
    }
}

impl Worker {
    /// The places of its pool: [`Pool::places`](crate::Pool::places).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let both = pool.install(|w| w.join_near(w.places().count() - 1, |_| 1, |_| 2));
    /// assert_eq!(both, (1, 2));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn places(&self) -> &Places {
        self.shared().places()
    }

    /// The place that it belongs to, from 0: see [`PoolBuilder::places`](crate::PoolBuilder::places). That of a replacement is
    /// that of the worker which is in a [blocking call](Self::blocking).
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

    /// Makes a job available to all workers, first of all to those of a place.
    pub(crate) fn push_near(&self, place: usize, job: NonNull<Job>) {
        match self.shared().place_states().get(place) {
            Some(place_state) if place != self.place() => {
                // SAFETY: as in `send_near_from`.
                let job = unsafe { self.shared().wrapped(Some(self), job) };
                self.shared().send_to_place(place_state, job, Some(self.wake_token()));
            }
            _ => self.push(job),
        }
    }

    /// Makes a job available to all workers for which no place is named.
    #[inline]
    pub(crate) fn push_unplaced(&self, job: NonNull<Job>) {
        match self.shared().next_place() {
            None => self.push(job),
            Some(place) => self.push_near(place, job),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::Spawn;
    use crate::places::{Kind, Region};
    use crate::pool::trial::{LONGEST, divided, hold};

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
    fn places_that_were_found_have_two_workers_each() {
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
    fn a_pool_whose_places_are_not_given_reads_no_machine_for_few_processors() {
        let division = Division::new(None, 8, &[0, 3, 5]);
        assert_eq!(division.places.sets(), ["0,3,5".parse().unwrap()]);
        assert!(division.place_states.is_empty());
        assert_eq!(*division.of_worker, [0; 8]);
    }

    #[test]
    fn near_places_come_before_far_ones_and_those_without_workers_nowhere() {
        let package = |processors| Region::new(Kind::Package, ProcessorSet::from_iter(processors));
        let machine = Topology::of((0..12).collect(), [package(0..6), package(6..12)]);
        let pairs = (0..6).map(|pair| ProcessorSet::from_iter(2 * pair..2 * pair + 2));
        let places = Places::given(machine.processors(), pairs).unwrap();
        let of_worker = [0, 0, 1, 2, 3, 3, 5];
        let place_state = place_state(&machine, &places, &of_worker, 3);
        assert_eq!((&*place_state.workers, place_state.range()), (&[4, 5][..], 4..6));
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
            all.extend(&place_state.workers);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
            let mut others = place_state.others.to_vec();
            others.push(place);
            others.sort_unstable();
            assert_eq!(others, [0, 1, 2, 3]);
            assert!(place_state.workers.iter().all(|&worker| division.of_worker[worker] == place));
        }
    }

    #[test]
    fn who_stands_in_for_another_has_the_neighbours_of_that_one() {
        let pool = divided(&[2, 2]).replacements(1).build().unwrap();
        for (worker, neighbours) in [(0, 0..2), (3, 2..4), (1, 0..2)] {
            let (sender, receiver) = channel();
            // All others are held until the replacement has come, so nobody else can take this.
            let held: Vec<_> =
                (0..4).filter(|&it| it != worker).map(|it| hold(&pool, it)).collect();
            pool.spawn_with(Spawn::At(worker), move |w| {
                let (seen, is_seen) = channel();
                w.spawn(move |w| {
                    let is_replacement = w.slot_index() == 4;
                    seen.send((is_replacement, w.wake_token().neighbours())).unwrap();
                });
                sender.send(w.blocking(|| is_seen.recv_timeout(LONGEST))).unwrap();
            });
            assert_eq!(receiver.recv_timeout(2 * LONGEST), Ok(Ok((true, neighbours))));
            drop(held);
        }
    }
}
