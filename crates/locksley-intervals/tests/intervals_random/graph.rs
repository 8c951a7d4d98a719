//! A graph that bodies make while it runs, from choices. Whatever is refused is compared with the
//! oracle.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use locksley::{Pool, Worker};
use locksley_intervals::{Context, Handle, IntervalLock, Point, Refusal, Root, Side};

use super::world::{Known, LOCKS, MOST, Spot, World, judge};

/// Where the choices of a body come from: random numbers, or a fuzzer's bytes.
pub(crate) trait Choices: Send + 'static {
    /// Returns a number below `limit`.
    fn below(&mut self, limit: usize) -> usize;
    /// Returns the choices of the body of interval `number`.
    fn of_body(&mut self, number: usize) -> Self;
}

/// The points that all bodies of a root know.
type Points<'g> = Arc<Mutex<Vec<(Spot, Point<'g>)>>>;

/// Runs the body of interval `number`.
fn live<'g, 'env>(
    cx: &Context<'g, 'env>,
    world: &'env World,
    points: &Points<'g>,
    number: usize,
    mut choices: impl Choices,
) {
    world.stamp(&world.begun[number]);
    world.known.lock().unwrap()[number].ran_at = Worker::with_current(|it| it.map(Worker::place));
    for (side, point) in [(Side::Start, cx.start()), (Side::End, cx.end())] {
        points.lock().unwrap().push(((number, side), point));
    }
    for _ in 0..choices.below(5) {
        match choices.below(8) {
            0 | 1 => add_late(cx, world, points, number, &mut choices),
            2 => draft(cx, world, points, number, &mut choices),
            _ => make(cx, world, points, number, &mut choices),
        }
    }
    for _ in 0..choices.below(100) {
        std::hint::spin_loop();
    }
    world.stamp(&world.ended[number]);
    if number != 0 && world.panics != 0 && choices.below(world.panics) == 0 {
        world.known.lock().unwrap()[number].panics = true;
        resume_unwind(Box::new(number));
    }
}

fn any<'g>(points: &Points<'g>, choices: &mut impl Choices) -> (Spot, Point<'g>) {
    let points = points.lock().unwrap();
    points[choices.below(points.len())]
}

fn make<'g, 'env>(
    cx: &Context<'g, 'env>,
    world: &'env World,
    points: &Points<'g>,
    parent: usize,
    choices: &mut impl Choices,
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
    let (inside, next) = (Arc::clone(points), choices.of_body(number));
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

/// An edge of a draft: the spots, the source, and the interval that it leads to.
type DraftEdge<'g> = ((Spot, Spot), Point<'g>, Handle<'g, ()>);

/// Declares a few intervals with edges between them, and from other points. While the start is
/// refused, the last edge is removed.
fn draft<'g, 'env>(
    cx: &Context<'g, 'env>,
    world: &'env World,
    points: &Points<'g>,
    parent: usize,
    choices: &mut impl Choices,
) {
    let mut draft = cx.draft();
    let mut declared = Vec::new();
    for _ in 0..=choices.below(4) {
        let number = world.made.fetch_add(1, Ordering::AcqRel);
        if number >= MOST {
            break;
        }
        let (inside, next) = (Arc::clone(points), choices.of_body(number));
        let body = move |cx: &Context<'g, 'env>| live(cx, world, &inside, number, next);
        declared.push((number, draft.declare(number.to_string(), body)));
    }
    if declared.is_empty() {
        return;
    }
    let made = |points: &mut Vec<_>| {
        for &(number, handle) in &declared {
            points.push(((number, Side::Start), handle.start()));
            points.push(((number, Side::End), handle.end()));
        }
    };
    if !world.is_exact {
        // Other bodies try to add edges before the start.
        made(&mut points.lock().unwrap());
    }
    let mut edges: Vec<DraftEdge<'g>> = Vec::new();
    for _ in 0..choices.below(3 * declared.len()) {
        let (from, point) = match choices.below(4) {
            0 => any(points, choices),
            _ => {
                let (number, handle) = declared[choices.below(declared.len())];
                ((number, Side::End), handle.end())
            }
        };
        let (then, handle) = declared[choices.below(declared.len())];
        let edge = (from, (then, Side::Start));
        if !edges.iter().any(|(known, ..)| *known == edge) {
            draft.connect(point, handle);
            edges.push((edge, point, handle));
        }
    }
    for &(number, _) in &declared {
        // Set before the interval may run.
        let known = &mut world.known.lock().unwrap()[number];
        (known.parent, known.is_made) = (Some(parent), true);
    }
    let is_declared = |number: usize| declared.iter().any(|(known, _)| *known == number);
    loop {
        let is_outside = |((from, _), point, _): &DraftEdge<'g>| {
            let is_inside = world.is_within(from.0, parent) && from.0 != parent;
            !is_declared(from.0) && !is_inside && !point.has_occurred()
        };
        let is_from_outside = edges.iter().any(is_outside);
        let inner: Vec<_> = edges.iter().map(|(edge, ..)| *edge).collect();
        let is_cycle = declared.iter().any(|(number, _)| {
            // Only edges of the draft lead from a declared interval to another one.
            let mut after = vec![*number];
            let mut at = 0;
            while let Some(&last) = after.get(at) {
                let next = inner.iter().filter(|(from, _)| from.0 == last).map(|(_, to)| to.0);
                let next: Vec<_> = next.collect();
                if next.contains(number) {
                    return true;
                }
                let is_new = |number: &usize| !after.contains(number);
                let mut new: Vec<_> = next.into_iter().filter(is_new).collect();
                new.sort_unstable();
                new.dedup();
                after.extend(new);
                at += 1;
            }
            false
        });
        world.edges.lock().unwrap().extend(&inner);
        let started = draft.start();
        match (&started, is_from_outside, is_cycle) {
            (Ok(()), false, false) | (Err(Refusal::Cycle { .. }), false, true) => {}
            (Err(Refusal::IntoDraft { .. } | Refusal::Cycle { .. }), true, _) => {}
            // The source may have occurred, or be of a draft that has not started.
            (Ok(()), true, false) | (Err(Refusal::NotStarted { .. }), ..) if !world.is_exact => {}
            other => panic!("{edges:?} by {parent}: {other:?}"),
        }
        if started.is_ok() {
            break;
        }
        world.refused.fetch_add(1, Ordering::Relaxed);
        let mut all = world.edges.lock().unwrap();
        for edge in inner {
            let at = all.iter().rposition(|known| *known == edge).unwrap();
            all.remove(at);
        }
        let (_, point, handle) = edges.pop().expect("without edges, nothing is refused");
        assert!(draft.disconnect(point, handle));
    }
    if world.is_exact {
        made(&mut points.lock().unwrap());
    }
}

fn add_late<'g>(
    cx: &Context<'g, '_>,
    world: &World,
    points: &Points<'g>,
    number: usize,
    choices: &mut impl Choices,
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
/// The counts of a run.
#[allow(dead_code, reason = "the fuzz target reads none")]
pub(crate) struct Tally {
    /// Refused edges.
    pub(crate) refused: usize,
    /// Intervals that have panicked.
    pub(crate) panicked: usize,
    /// Intervals that ran at their place.
    pub(crate) in_place: usize,
}

/// Runs a graph and compares it with the oracle. One of `panics` bodies panics; none if 0. Bodies
/// must run one at a time if it `is_exact`.
pub(crate) fn run(pool: &Pool, mut choices: impl Choices, panics: usize, is_exact: bool) -> Tally {
    let world = World::new(panics, is_exact, pool.places().count());
    let result = catch_unwind(AssertUnwindSafe(|| {
        Root::new("0").on(pool).run(|root| {
            let points = Points::default();
            world.known.lock().unwrap()[0].is_made = true;
            live(root, &world, &points, 0, choices.of_body(0));
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
