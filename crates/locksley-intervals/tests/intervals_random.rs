//! Random graphs, judged by an oracle: the transitive closure of all edges.

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{divided, idle_policies, pools};
use locksley::{Pool, Worker};
use locksley_intervals::{Context, IntervalLock, Point, Refusal, Root, Side};

const MOST: usize = 48;
const LOCKS: usize = 3;

/// A random number generator (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone)]
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % limit as u64) as usize
    }
}

/// A point: the number of its interval, and its side.
type Spot = (usize, Side);

/// What is known of an interval after the run.
#[derive(Clone, Debug, Default)]
struct Known {
    parent: Option<usize>,
    locks: Vec<usize>,
    /// True if it was not refused.
    is_made: bool,
    panics: bool,
    /// The place that was set, and the place where it ran.
    near: Option<usize>,
    ran_at: Option<usize>,
}

/// The data of the oracle. Interval 0 is the root.
struct World {
    clock: AtomicU64,
    /// When each body began and ended, or 0.
    begun: Vec<AtomicU64>,
    ended: Vec<AtomicU64>,
    made: AtomicUsize,
    known: Mutex<Vec<Known>>,
    edges: Mutex<Vec<(Spot, Spot)>>,
    locks: [IntervalLock<u64>; LOCKS],
    /// One of this many bodies panics; none if 0.
    panics: usize,
    /// True if bodies run one at a time, so that the oracle knows which edges are refused.
    is_exact: bool,
    refused: AtomicUsize,
    /// The number of places of the pool.
    places: usize,
}

impl World {
    fn new(panics: usize, is_exact: bool, places: usize) -> Self {
        let stamps = || (0..MOST).map(|_| AtomicU64::new(0)).collect();
        Self {
            clock: AtomicU64::new(1),
            begun: stamps(),
            ended: stamps(),
            made: AtomicUsize::new(1),
            known: Mutex::new(vec![Known::default(); MOST]),
            edges: Mutex::default(),
            locks: [(); LOCKS].map(|()| IntervalLock::new(0)),
            panics,
            is_exact,
            refused: AtomicUsize::new(0),
            places,
        }
    }

    fn stamp(&self, on: &AtomicU64) {
        let now = self.clock.fetch_add(1, Ordering::AcqRel);
        assert_eq!(on.swap(now, Ordering::AcqRel), 0, "a body runs once");
    }

    fn is_within(&self, number: usize, ancestor: usize) -> bool {
        let known = self.known.lock().unwrap();
        let mut next = Some(number);
        while let Some(number) = next {
            if number == ancestor {
                return true;
            }
            next = known[number].parent;
        }
        false
    }

    /// Returns a point and all points that come after it.
    fn after(&self, from: Spot) -> HashSet<Spot> {
        let (known, edges) = (self.known.lock().unwrap(), self.edges.lock().unwrap());
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(spot @ (number, side)) = open.pop() {
            if !seen.insert(spot) {
                continue;
            }
            match side {
                Side::Start => {
                    open.push((number, Side::End));
                    let is_child = |child: &usize| {
                        known[*child].is_made && known[*child].parent == Some(number)
                    };
                    open.extend((0..MOST).filter(is_child).map(|child| (child, Side::Start)));
                }
                Side::End => open.extend(known[number].parent.map(|parent| (parent, Side::End))),
            }
            open.extend(edges.iter().filter(|(from, _)| *from == spot).map(|&(_, to)| to));
        }
        seen
    }

    /// Returns the interval that holds locks when the point occurs, if there is one.
    fn holder(&self, (number, side): Spot) -> Option<usize> {
        let known = self.known.lock().unwrap();
        let mut next = match side {
            Side::Start => known[number].parent,
            Side::End => Some(number),
        };
        while let Some(number) = next {
            if !known[number].locks.is_empty() {
                return Some(number);
            }
            next = known[number].parent;
        }
        None
    }
}

/// The points that all bodies of a root know.
type Points<'g> = Arc<Mutex<Vec<(Spot, Point<'g>)>>>;

/// Runs the body of interval `number`.
fn live<'g, 'env>(
    cx: &Context<'g, 'env>,
    world: &'env World,
    points: &Points<'g>,
    number: usize,
    mut choices: Choices,
) {
    world.stamp(&world.begun[number]);
    world.known.lock().unwrap()[number].ran_at = Worker::with_current(|it| it.map(Worker::place));
    for (side, point) in [(Side::Start, cx.start()), (Side::End, cx.end())] {
        points.lock().unwrap().push(((number, side), point));
    }
    for _ in 0..choices.below(5) {
        if choices.below(4) == 0 {
            add_late(cx, world, points, number, &mut choices);
        } else {
            make(cx, world, points, number, &mut choices);
        }
    }
    for _ in 0..choices.below(100) {
        std::hint::spin_loop();
    }
    world.stamp(&world.ended[number]);
    if number != 0 && world.panics != 0 && choices.below(world.panics) == 0 {
        world.known.lock().unwrap()[number].panics = true;
        std::panic::resume_unwind(Box::new(number));
    }
}

fn any<'g>(points: &Points<'g>, choices: &mut Choices) -> (Spot, Point<'g>) {
    let points = points.lock().unwrap();
    points[choices.below(points.len())]
}

fn make<'g, 'env>(
    cx: &Context<'g, 'env>,
    world: &'env World,
    points: &Points<'g>,
    parent: usize,
    choices: &mut Choices,
) {
    let number = world.made.fetch_add(1, Ordering::AcqRel);
    if number >= MOST {
        return;
    }
    let mut builder = cx.interval(format!("{number}"));
    // With one place, no random number is spent on this.
    let near = (world.places > 1 && choices.below(3) != 0).then(|| choices.below(world.places));
    if let Some(place) = near {
        builder = builder.near(place);
    }
    let mut edges = Vec::new();
    for _ in 0..choices.below(5) {
        let (from, point) = any(points, choices);
        let side = if choices.below(4) == 0 { Side::End } else { Side::Start };
        builder = match side {
            Side::Start => builder.after(point),
            Side::End => builder.end_after(point),
        };
        edges.push((from, (number, side), point.has_occurred()));
    }
    let mut locks: Vec<usize> = (0..LOCKS).filter(|_| choices.below(6) == 0).collect();
    if world.holder((parent, Side::End)).is_some() {
        locks.clear(); // always refused, and tested elsewhere
    }
    let mut keys: Vec<_> = locks.iter().map(|&lock| builder.lock(&world.locks[lock])).collect();
    {
        let known = &mut world.known.lock().unwrap()[number];
        known.parent = Some(parent);
        known.locks = locks;
        known.near = near;
        // Set before the interval may run.
        known.is_made = true;
    }
    // With one body at a time, no point occurs between `has_occurred` above and here.
    let expected = world.is_exact.then(|| {
        let holder_refuses = edges.iter().any(|&(from, to, has_occurred)| {
            let outside = |holder| !world.is_within(from.0, holder);
            !has_occurred && world.holder(to).is_some_and(outside)
        });
        let after = world.after((parent, Side::End));
        let closes =
            |(from, _, has_occurred): &(Spot, Spot, bool)| !has_occurred && after.contains(from);
        (holder_refuses, edges.iter().any(closes))
    });
    let before = world.edges.lock().unwrap().len();
    world.edges.lock().unwrap().extend(edges.iter().map(|&(from, to, _)| (from, to)));
    let (inside, next) = (Arc::clone(points), Choices(choices.0 ^ (number as u64 * 0x51_7C_C1)));
    let result = builder.try_spawn(move |cx| {
        for key in &mut keys {
            *key.get_mut(cx) += 1;
        }
        live(cx, world, &inside, number, next);
    });
    match result {
        Ok(handle) => {
            assert!(!expected.is_some_and(|(holder, cycle)| holder || cycle), "it closes a cycle");
            let mut points = points.lock().unwrap();
            points.push(((number, Side::Start), handle.start()));
            points.push(((number, Side::End), handle.end()));
        }
        Err(refusal) => {
            world.refused.fetch_add(1, Ordering::Relaxed);
            world.known.lock().unwrap()[number] = Known::default();
            let is_of_it = |(_, to): &(Spot, Spot)| to.0 == number;
            world.edges.lock().unwrap().retain(|edge| !is_of_it(edge));
            assert!(!world.is_exact || world.edges.lock().unwrap().len() == before);
            match (expected, refusal) {
                (Some((true, _)), Refusal::IntoHolder { .. }) | (None, _) => {}
                (Some((false, true)), Refusal::Cycle { .. }) => {}
                other => panic!("refused for nothing: {other:?}"),
            }
        }
    }
}

fn add_late<'g>(
    cx: &Context<'g, '_>,
    world: &World,
    points: &Points<'g>,
    number: usize,
    choices: &mut Choices,
) {
    let (from, source) = any(points, choices);
    // Mostly a target that is allowed.
    let (to, target) = match choices.below(3) {
        0 => any(points, choices),
        1 => ((number, Side::End), cx.end()),
        _ => {
            let after = world.after((number, Side::End));
            let points = points.lock().unwrap();
            let after: Vec<_> = points.iter().filter(|(spot, _)| after.contains(spot)).collect();
            *after[choices.below(after.len())]
        }
    };
    let has_occurred = source.has_occurred();
    let expected = world.is_exact.then(|| {
        let comes_before = world.after((number, Side::End)).contains(&to);
        let outside = |holder| !world.is_within(from.0, holder);
        let holder_refuses = !has_occurred && world.holder(to).is_some_and(outside);
        let closes = !has_occurred && world.after(to).contains(&from);
        (comes_before, holder_refuses, closes)
    });
    world.edges.lock().unwrap().push((from, to));
    let result = cx.add_edge(source, target);
    if result.is_err() {
        world.refused.fetch_add(1, Ordering::Relaxed);
        let mut edges = world.edges.lock().unwrap();
        let at = edges.iter().rposition(|edge| *edge == (from, to)).unwrap();
        edges.remove(at);
    }
    match (expected, result) {
        (None, _)
        | (Some((true, false, false)), Ok(()))
        | (Some((false, ..)), Err(Refusal::MayHaveOccurred { .. }))
        | (Some((true, true, _)), Err(Refusal::IntoHolder { .. }))
        | (Some((true, false, true)), Err(Refusal::Cycle { .. })) => {}
        other => panic!("{from:?} to {to:?} by {number}: {other:?}"),
    }
}

/// Compares which bodies ran, and when, with the oracle.
fn judge(world: &World) {
    let known = world.known.lock().unwrap().clone();
    let begun = |number: usize| world.begun[number].load(Ordering::Acquire);
    let ended = |number: usize| world.ended[number].load(Ordering::Acquire);
    let mut failed = HashSet::new();
    for number in (1..MOST).filter(|&number| known[number].panics) {
        failed.extend(world.after((number, Side::End)));
    }
    for number in (1..MOST).filter(|&number| known[number].is_made) {
        let runs = !failed.contains(&(number, Side::Start));
        assert_eq!(begun(number) != 0, runs, "{number} of {known:?}");
        assert_eq!(ended(number) != 0, runs, "{number}");
    }
    for (number, known) in known.iter().enumerate() {
        if begun(number) == 0 {
            continue;
        }
        if let Some(parent) = known.parent {
            assert!(begun(parent) < begun(number), "{number} begins after its parent");
        }
        for (later, side) in world.after((number, Side::End)) {
            if side == Side::Start && begun(later) != 0 {
                assert!(ended(number) < begun(later), "{later} begins after {number}");
            }
        }
    }
    // Locks are held until all descendants have ended.
    let last_inside = |number: usize| {
        (0..MOST).filter(|&inner| world.is_within(inner, number)).map(ended).max().unwrap()
    };
    for lock in 0..LOCKS {
        let users = (1..MOST).filter(|&user| known[user].locks.contains(&lock) && begun(user) != 0);
        let mut spans: Vec<_> = users.map(|user| (begun(user), last_inside(user))).collect();
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "one at a time: {spans:?}");
    }
}

/// The counts of a run.
struct Tally {
    /// Refused edges.
    refused: usize,
    /// Intervals that have panicked.
    panicked: usize,
    /// Intervals that ran at their place.
    in_place: usize,
}

fn run(pool: &Pool, seed: u64, panics: usize, is_exact: bool) -> Tally {
    let world = World::new(panics, is_exact, pool.places().count());
    let mut choices = Choices(seed);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Root::new("0").on(pool).run(|root| {
            let points = Points::default();
            world.known.lock().unwrap()[0].is_made = true;
            live(root, &world, &points, 0, Choices(choices.0));
            // Enough for a graph, whatever the root has chosen.
            for _ in 0..6 {
                make(root, &world, &points, 0, &mut choices);
            }
            // The body of the root ends here.
            world.ended[0].store(world.clock.fetch_add(1, Ordering::AcqRel), Ordering::Release);
        })
    }));
    judge(&world);
    let mut lock_uses = [0; LOCKS];
    let known = world.known.lock().unwrap();
    for number in (1..MOST).filter(|&n| world.begun[n].load(Ordering::Acquire) != 0) {
        known[number].locks.iter().for_each(|&lock| lock_uses[lock] += 1);
    }
    let panicked: Vec<_> = (0..MOST).filter(|&number| known[number].panics).collect();
    match result {
        Ok(ended) => assert_eq!((ended, panicked.len()), (Ok(()), 0)),
        Err(payload) => {
            let number = payload.downcast_ref::<usize>().expect("one of ours");
            assert!(panicked.contains(number));
        }
    }
    let refused = world.refused.load(Ordering::Relaxed);
    let panicked = panicked.len();
    let in_place = known.iter().filter(|it| it.near.is_some() && it.near == it.ran_at).count();
    drop(known);
    assert_eq!(world.locks.map(IntervalLock::into_inner), lock_uses);
    Tally { refused, panicked, in_place }
}

/// Returns pools of several places, with several idle policies and options.
fn divided_pools() -> impl Iterator<Item = Pool> {
    let shapes = [&[1, 1][..], &[1, 2], &[2, 2, 1]];
    shapes.into_iter().flat_map(move |shape| {
        idle_policies().into_iter().enumerate().map(move |(n, with_policy)| {
            let pool = with_policy(divided(shape));
            let pool = if n % 3 == 0 { pool } else { pool.oldest_first() };
            pool.build().expect("a pool can be built")
        })
    })
}

#[test]
fn random_graphs_at_places_keep_all_orders() {
    let (mut in_place, mut refused, mut panicked) = (0, 0, 0);
    for (n, pool) in divided_pools().enumerate() {
        for seed in 0..40 {
            let panics = if seed % 2 == 0 { 0 } else { 8 };
            let tally = run(&pool, n as u64 * 1000 + seed, panics, false);
            in_place += tally.in_place;
            (refused, panicked) = (refused + tally.refused, panicked + tally.panicked);
        }
    }
    assert!(in_place > 100 && refused > 10 && panicked > 100, "{in_place} {refused} {panicked}");
}

#[test]
fn random_graphs_keep_all_orders() {
    let mut refused = 0;
    for (n, pool) in pools().enumerate() {
        for seed in 0..60 {
            refused += run(&pool, n as u64 * 1000 + seed, 0, false).refused;
        }
    }
    assert!(refused > 10, "some edges are refused: {refused}");
}

#[test]
fn one_body_at_a_time_refuses_just_what_closes_a_cycle() {
    let pool = Pool::new(1).unwrap();
    let refused: usize = (0..3000).map(|seed| run(&pool, seed, 0, true).refused).sum();
    assert!(refused > 300, "some edges are refused: {refused}");
}

#[test]
fn panics_end_what_depends_on_them_and_nothing_else() {
    let mut panicked = 0;
    for (n, pool) in pools().enumerate() {
        for seed in 0..60 {
            panicked += run(&pool, n as u64 * 1000 + seed, 8, false).panicked;
        }
    }
    assert!(panicked > 100, "some panic: {panicked}");
    let pool = Pool::new(1).unwrap();
    assert!((0..500).map(|seed| run(&pool, seed, 8, true).panicked).sum::<usize>() > 100);
}
