//! What the model checker runs: the real points and edges, with a few threads that have them occur and add to them. Run with
//! `--cfg loom` (see CONTRIBUTING.md).

use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::lock::Turn;
use super::point::{BODY, Edge, Outcome, PointState};
use crate::meter::Path;
use crate::primitive::{AtomicBool, Ordering};
use crate::strand::{Known, PointPath};

/// Two points, edges for each way, and something that is written before the first one occurs.
struct World {
    source: Node,
    target: Node,
    forth: Edge,
    back: Edge,
    written: [UnsafeCell<u32>; 2],
}

/// A point, and how often and how it has occurred.
#[repr(align(8))]
struct Node {
    point: PointState,
    occurred: AtomicBool,
}

// SAFETY: loom checks what the models do with it.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

impl Node {
    fn new(waits: usize) -> Self {
        Self { point: PointState::new(waits), occurred: AtomicBool::new(false) }
    }

    fn word(&self) -> NonNull<()> {
        NonNull::from(self).cast()
    }
}

impl World {
    fn new(source: usize, target: usize) -> Arc<Self> {
        Arc::new(Self {
            source: Node::new(source),
            target: Node::new(target),
            forth: Edge::new(),
            back: Edge::new(),
            written: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    fn write(&self, place: usize) {
        // SAFETY: loom checks that nobody else touches it.
        self.written[place].with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self, place: usize) -> u32 {
        // SAFETY: loom checks that nobody writes it.
        self.written[place].with(|number| unsafe { *number })
    }

    /// So many things have come for the source. The last has it occur, and whatever follows.
    fn arrive_at_source(&self, things: usize, outcome: Outcome) -> Option<Outcome> {
        let outcome = self.source.point.arrive(things, outcome)?;
        let mut last = None;
        // SAFETY: the edges live as long as the world.
        for word in unsafe { self.source.point.occur(outcome) } {
            assert_eq!(word, self.target.word(), "the edge is seen whole");
            last = last.or(self.arrive_at_target(1, outcome));
        }
        last
    }

    /// How the target occurs, if these were the last.
    fn arrive_at_target(&self, things: usize, outcome: Outcome) -> Option<Outcome> {
        let outcome = self.target.point.arrive(things, outcome)?;
        assert!(!self.target.occurred.swap(true, Ordering::Relaxed), "it occurs once");
        Some(outcome)
    }

    /// Adds the edge, and then stops holding the target, which waits for that and for the edge.
    fn add_edge(&self) -> Option<Outcome> {
        // SAFETY: it is added once, and lives as long as the world.
        match unsafe { self.source.point.link(&self.forth, self.target.word(), false) } {
            Ok(()) => self.arrive_at_target(1, Outcome::Well),
            Err(outcome) => self.arrive_at_target(2, outcome),
        }
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(check);
}

#[test]
fn loom_point_an_edge_is_added_while_it_occurs() {
    model(|| {
        let world = World::new(1, 2);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            let last = other.arrive_at_source(1, Outcome::Well);
            last.map(|outcome| (outcome, other.read(0)))
        });
        let last = world.add_edge().map(|outcome| (outcome, world.read(0)));
        let both = [last, occurs.join().unwrap()];
        // One of them, and it sees what was done before the source.
        let ended: Vec<_> = both.into_iter().flatten().collect();
        assert_eq!(ended, [(Outcome::Well, 1)]);
    });
}

/// The path to the source is known where the target occurs, whoever brings it: the source, or who finds that it has occurred.
#[test]
fn loom_point_a_path_goes_along_an_edge_whenever_that_is_added() {
    let path = |span| Path { span, burdened: span, ..Path::default() };
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = World::new(1, 2);
        let paths = Arc::new([PointPath::new(), PointPath::new()]);
        let (other, known) = (Arc::clone(&world), Arc::clone(&paths));
        let occurs = thread::spawn(move || {
            let [to_source, to_target] = &*known;
            // SAFETY: it waits for this.
            unsafe { to_source.note(path(7)) };
            let outcome = other.source.point.arrive(1, Outcome::Well).expect("nothing else comes");
            // SAFETY: it was the last.
            let longest = unsafe { to_source.longest() }.expect("it has arrived");
            let mut last = None;
            // SAFETY: the edges live as long as the world.
            for _ in unsafe { other.source.point.occur(outcome) } {
                // SAFETY: both are there as long as this runs.
                unsafe { to_target.arrive(longest) };
                last = other.arrive_at_target(1, outcome);
            }
            // SAFETY: it was the last.
            last.map(|_| unsafe { to_target.longest() }.map(Known::path))
        });
        let [to_source, to_target] = &*paths;
        // SAFETY: it waits for this.
        unsafe { to_target.note(path(3)) };
        let word = world.target.word();
        // SAFETY: it is added once, and lives as long as the world.
        let linked = unsafe { world.source.point.link(&world.forth, word, false) };
        let things = match linked {
            Ok(()) => 1,
            Err(_) => {
                // SAFETY: the source has occurred, as was just seen.
                let longest = unsafe { to_source.longest() };
                // SAFETY: both are there as long as this runs.
                unsafe { to_target.arrive(longest.expect("it has arrived")) };
                2
            }
        };
        let last = world.arrive_at_target(things, Outcome::Well);
        // SAFETY: it was the last.
        let seen = last.map(|_| unsafe { to_target.longest() }.map(Known::path));
        let both = [seen, occurs.join().unwrap()];
        let ended = both.into_iter().flatten().map(Option::unwrap);
        let ended: Vec<_> = ended.map(|path| (path.span, path.burdened)).collect();
        assert_eq!(ended, [(7, 7)], "one of them has it occur, and knows the longest path");
    });
}

#[test]
fn loom_point_who_sees_that_it_has_occurred_sees_what_came_before() {
    model(|| {
        let world = World::new(1, 1);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            let _ = other.arrive_at_source(1, Outcome::Well);
        });
        if world.source.point.outcome() == Some(Outcome::Well) {
            assert_eq!(world.read(0), 1);
        }
        occurs.join().unwrap();
    });
}

/// A child without edges runs and ends, while edges are added from its start and from its end.
#[test]
fn loom_point_a_start_that_nobody_knows_occurs_without_counting() {
    model(|| {
        // The source is the child's end; the target waits for its maker, and for both of the child's points.
        let (world, start) = (World::new(1, 3), Arc::new(PointState::new(1)));
        world.write(0);
        start.occur_unknown(Outcome::Well);
        let (other, own_start) = (Arc::clone(&world), Arc::clone(&start));
        let body = thread::spawn(move || {
            assert_eq!(own_start.outcome(), Some(Outcome::Well));
            other.write(1);
            let last = other.arrive_at_source(1, Outcome::Failed);
            last.map(|outcome| (outcome, other.read(0), other.read(1)))
        });
        // SAFETY: it is added once, and lives as long as the world.
        let linked = unsafe { start.link(&world.back, world.target.word(), false) };
        assert_eq!(linked, Err(Outcome::Well));
        assert_eq!(world.arrive_at_target(1, Outcome::Well), None);
        let last = world.add_edge().map(|outcome| (outcome, world.read(0), world.read(1)));
        let ended: Vec<_> = [last, body.join().unwrap()].into_iter().flatten().collect();
        assert_eq!(ended, [(Outcome::Failed, 1, 1)]);
    });
}

#[test]
fn loom_point_the_last_of_two_sees_what_both_did() {
    model(|| {
        let world = World::new(2, 2);
        // SAFETY: it is added once, and lives as long as the world.
        unsafe { world.source.point.link(&world.forth, world.target.word(), false) }.unwrap();
        let threads: Vec<_> = (0..2)
            .map(|place| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    world.write(place);
                    let outcome = [Outcome::Well, Outcome::Failed][place];
                    world.arrive_at_source(1, outcome)
                })
            })
            .collect();
        let last = world.arrive_at_target(1, Outcome::Well);
        let seen = last.map(|outcome| (outcome, world.read(0), world.read(1)));
        let mut ended: Vec<_> = seen.into_iter().map(|(outcome, ..)| outcome).collect();
        ended.extend(threads.into_iter().filter_map(|thread| thread.join().unwrap()));
        // However it comes about, it fails: one of those that it waited for did.
        assert_eq!(ended, [Outcome::Failed]);
        assert_eq!((world.read(0), world.read(1)), (1, 1));
    });
}

/// A body makes two children on its own thread and announces none; another thread, which the context was lent to, announces one.
#[test]
fn loom_point_children_of_a_body_are_counted_when_it_ends() {
    model(|| {
        let world = World::new(BODY, 1);
        let child = |place: usize, outcome| {
            let world = Arc::clone(&world);
            move || {
                world.write(place);
                world.source.point.arrive(1, outcome)
            }
        };
        world.source.point.expect_one(); // by the other thread
        let lent = thread::spawn(child(0, Outcome::Failed));
        let own = thread::spawn(child(1, Outcome::Well));
        // The third has come to its end already.
        let mut last = vec![world.source.point.arrive(1, Outcome::Well)];
        last.push(world.source.point.arrive(BODY - 2, Outcome::Well));
        let seen = last[1].map(|_| (world.read(0), world.read(1)));
        last.extend([lent, own].map(|child| child.join().unwrap()));
        assert!(seen.is_none_or(|seen| seen == (1, 1)), "the last has seen what all did");
        assert_eq!(last.into_iter().flatten().collect::<Vec<_>>(), [Outcome::Failed]);
        assert_eq!((world.read(0), world.read(1)), (1, 1));
    });
}

#[test]
fn loom_point_two_edges_are_added_while_it_occurs() {
    model(|| {
        let world = World::new(1, 3);
        let threads: Vec<_> = (0..2)
            .map(|place| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    let edge = [&world.forth, &world.back][place];
                    let word = world.target.word();
                    // SAFETY: each is added once, and lives as long as the world.
                    match unsafe { world.source.point.link(edge, word, false) } {
                        Ok(()) => None,
                        Err(outcome) => world.arrive_at_target(1, outcome),
                    }
                })
            })
            .collect();
        let mut ended: Vec<_> = world.arrive_at_source(1, Outcome::Well).into_iter().collect();
        ended.extend(threads.into_iter().filter_map(|thread| thread.join().unwrap()));
        ended.extend(world.arrive_at_target(1, Outcome::Well));
        assert_eq!(ended, [Outcome::Well]);
    });
}

/// Its maker adds two edges into a start that does not wait for the maker, and brings what had come before.
#[test]
fn loom_point_a_start_occurs_once_though_its_maker_does_not_count() {
    model(|| {
        let world = World::new(1, 3);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            other.arrive_at_source(1, Outcome::Well)
        });
        world.target.point.expect_unknown(2);
        let link = |edge| {
            // SAFETY: each is added once, and lives as long as the world.
            unsafe { world.source.point.link(edge, world.target.word(), false) }
        };
        let come = [&world.forth, &world.back].map(link).iter().filter(|it| it.is_err()).count();
        let by_maker = match come {
            0 => None,
            // Nobody else knows of it.
            2 => Some(Outcome::Well),
            some => world.arrive_at_target(some, Outcome::Well),
        };
        let seen = by_maker.map(|outcome| (outcome, world.read(0)));
        let by_other = occurs.join().unwrap();
        let ended: Vec<_> = seen.into_iter().map(|(outcome, _)| outcome).chain(by_other).collect();
        assert_eq!(ended, [Outcome::Well]);
        assert!(seen.is_none_or(|(_, written)| written == 1), "it comes after its source");
    });
}

#[test]
fn loom_point_a_tentative_edge_is_withdrawn_or_followed() {
    model(|| {
        let world = World::new(1, 2);
        // SAFETY: it is added once, and lives as long as the world.
        unsafe { world.source.point.link(&world.forth, world.target.word(), true) }.unwrap();
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || other.arrive_at_source(1, Outcome::Well));
        let withdrawn = world.forth.withdraw();
        let followed = occurs.join().unwrap().is_some();
        // The edge was one of two things that the target waits for.
        assert!(!followed);
        let things = if withdrawn { 2 } else { 1 };
        assert_eq!(world.arrive_at_target(things, Outcome::Well), Some(Outcome::Well));
    });
}

#[test]
fn loom_point_a_tentative_edge_is_confirmed_while_it_is_followed() {
    model(|| {
        let world = World::new(1, 2);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || other.arrive_at_source(1, Outcome::Well));
        // SAFETY: it is added once, and lives as long as the world.
        let linked = unsafe { world.source.point.link(&world.forth, world.target.word(), true) };
        if linked.is_ok() {
            world.forth.confirm();
        }
        assert_eq!(occurs.join().unwrap(), None);
        let things = if linked.is_ok() { 1 } else { 2 };
        assert_eq!(world.arrive_at_target(things, Outcome::Well), Some(Outcome::Well));
    });
}

/// Who searches goes on from an edge's target to what lies there, which was written before the edge was added; by whoever.
#[test]
fn loom_point_who_finds_an_edge_finds_its_target_whole() {
    model(|| {
        let world = World::new(1, 1);
        let other = Arc::clone(&world);
        let adds = thread::spawn(move || {
            other.write(0); // the interval that the edge leads to
            // SAFETY: it is added once, and lives as long as the world.
            unsafe { other.source.point.link(&other.forth, other.target.word(), false) }.unwrap();
        });
        // SAFETY: as above.
        for word in unsafe { world.source.point.peek(false) } {
            assert_eq!(word, world.target.word());
            assert_eq!(world.read(0), 1);
        }
        adds.join().unwrap();
    });
}

/// What may yet be withdrawn is found by those alone who want it; what was withdrawn, by nobody.
#[test]
fn loom_point_a_tentative_edge_is_found_by_who_asks_for_it() {
    model(|| {
        for is_confirmed in [false, true] {
            let world = World::new(1, 1);
            let found = |with_tentative| {
                // SAFETY: the edge lives as long as the world.
                unsafe { world.source.point.peek(with_tentative) }.collect::<Vec<_>>()
            };
            // SAFETY: as above; it is added once.
            unsafe { world.source.point.link(&world.forth, world.target.word(), true) }.unwrap();
            assert_eq!((found(true), found(false)), (vec![world.target.word()], vec![]));
            if is_confirmed {
                world.forth.confirm();
                assert_eq!(found(true), [world.target.word()]);
                assert_eq!(found(false), [world.target.word()]);
            } else {
                assert!(world.forth.withdraw());
                assert_eq!((found(true), found(false)), (vec![], vec![]));
            }
            let _ = world.arrive_at_source(1, Outcome::Well);
            assert_eq!((found(true), found(false)), (vec![], vec![]), "it has occurred");
        }
    });
}

#[test]
fn loom_point_of_two_edges_that_close_a_cycle_one_is_seen() {
    model(|| {
        let world = World::new(1, 1);
        let other = Arc::clone(&world);
        let back = thread::spawn(move || {
            let word = other.source.word();
            // SAFETY: it is added once, and lives as long as the world.
            unsafe { other.target.point.link(&other.back, word, true) }.unwrap();
            // SAFETY: as above.
            let mut after = unsafe { other.source.point.peek(true) };
            after.next().inspect(|&word| assert_eq!(word, other.target.word())).is_some()
        });
        // SAFETY: as above.
        unsafe { world.source.point.link(&world.forth, world.target.word(), true) }.unwrap();
        // SAFETY: as above.
        let mut after = unsafe { world.target.point.peek(true) };
        let is_seen = after.next().inspect(|&word| assert_eq!(word, world.source.word())).is_some();
        assert!(back.join().unwrap() || is_seen, "each missed the other's edge");
    });
}

/// The interval's side and the lock's side of a turn.
#[test]
fn loom_lock_a_turn_comes_while_one_begins_to_wait() {
    model(|| {
        let turn = Turn::new(NonNull::dangling());
        let world = World::new(1, 1);
        let (other, granted) = (std::sync::Arc::clone(&turn), Arc::new(AtomicBool::new(false)));
        let (grants, there) = (Arc::clone(&granted), Arc::clone(&world));
        let comes = thread::spawn(move || {
            grants.store(true, Ordering::Release);
            let is_ours = other.come();
            if is_ours {
                there.write(0); // the progress of the interval's locks
            }
            is_ours
        });
        let mut has_it = false;
        loop {
            world.write(0);
            turn.begin();
            if granted.load(Ordering::Acquire) {
                has_it = true;
                break;
            }
            if turn.park() {
                break;
            }
        }
        // One of them goes on with the interval.
        assert_ne!(comes.join().unwrap(), has_it);
    });
}
