//! What the model checker runs: the real points and edges, with a few threads that have them occur
//! and add to them. Run with `--cfg loom` (see CONTRIBUTING.md).

use std::ptr::NonNull;

use locksley_sys::primitive::{AtomicBool, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::graph::lock::Turn;
use crate::graph::point::{BODY, Edge, Outcome, PointState};

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
        // SAFETY: loom checks that no other thread touches it.
        self.written[place].with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self, place: usize) -> u32 {
        // SAFETY: loom checks that no thread writes it.
        self.written[place].with(|number| unsafe { *number })
    }

    /// Brings so many things to the source. The last makes it occur, and tells the target.
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

    /// Brings so many things to the target. Returns how it occurs, if these were the last.
    fn arrive_at_target(&self, things: usize, outcome: Outcome) -> Option<Outcome> {
        let outcome = self.target.point.arrive(things, outcome)?;
        assert!(!self.target.occurred.swap(true, Ordering::Relaxed), "it occurs once");
        Some(outcome)
    }

    /// Adds the edge to the target, which waits for the edge and for this.
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

#[test]
fn loom_point_what_came_before_is_visible_when_it_has_occurred() {
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

/// A body makes two children on its own thread and announces none; another thread, which the
/// context was lent to, announces one.
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

/// Two threads add an edge each.
#[test]
fn loom_point_two_edges_are_added_while_it_occurs() {
    model(|| {
        let world = World::new(1, 3);
        let add = |world: &World, edge: &Edge| {
            // SAFETY: each is added once, and lives as long as the world.
            match unsafe { world.source.point.link(edge, world.target.word(), false) } {
                Ok(()) => None,
                Err(outcome) => world.arrive_at_target(1, outcome),
            }
        };
        let others = [Arc::clone(&world), Arc::clone(&world)];
        let [one, other] = others;
        let forth = thread::spawn(move || add(&one, &one.forth));
        let back = thread::spawn(move || add(&other, &other.back));
        let mut ended: Vec<_> = world.arrive_at_source(1, Outcome::Well).into_iter().collect();
        ended.extend([forth, back].into_iter().filter_map(|thread| thread.join().unwrap()));
        ended.extend(world.arrive_at_target(1, Outcome::Well));
        assert_eq!(ended, [Outcome::Well]);
    });
}

/// The usual start: it does not wait for the thread that makes it. That one adds its two edges, and
/// then brings what had come before.
#[test]
fn loom_point_a_start_occurs_once_though_it_does_not_wait_for_its_maker() {
    model(|| {
        let world = World::new(1, 2);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            other.arrive_at_source(1, Outcome::Well)
        });
        let link = |edge| {
            // SAFETY: each is added once, and lives as long as the world.
            unsafe { world.source.point.link(edge, world.target.word(), false) }
        };
        let come = [&world.forth, &world.back].map(link).iter().filter(|it| it.is_err()).count();
        let by_maker = (come > 0).then(|| world.arrive_at_target(come, Outcome::Well)).flatten();
        let seen = by_maker.map(|outcome| (outcome, world.read(0)));
        let by_other = occurs.join().unwrap();
        let ended: Vec<_> = seen.into_iter().map(|(outcome, _)| outcome).chain(by_other).collect();
        assert_eq!(ended, [Outcome::Well]);
        assert!(seen.is_none_or(|(_, written)| written == 1), "it comes after its source");
    });
}

/// The edge is one of two things that the target waits for.
#[test]
fn loom_point_a_tentative_edge_is_followed_while_it_is_withdrawn_or_confirmed() {
    for is_withdrawn in [true, false] {
        model(move || {
            let world = World::new(1, 2);
            let other = Arc::clone(&world);
            let occurs = thread::spawn(move || other.arrive_at_source(1, Outcome::Well));
            let word = world.target.word();
            // SAFETY: it is added once, and lives as long as the world.
            let linked = unsafe { world.source.point.link(&world.forth, word, true) }.is_ok();
            let comes = linked
                && if is_withdrawn {
                    !world.forth.withdraw()
                } else {
                    world.forth.confirm();
                    true
                };
            assert_eq!(occurs.join().unwrap(), None);
            let things = if comes { 1 } else { 2 };
            assert_eq!(world.arrive_at_target(things, Outcome::Well), Some(Outcome::Well));
        });
    }
}

/// A search goes on from an edge's target to what lies there, which was written before the edge was
/// added.
#[test]
fn loom_point_a_search_finds_an_edges_target_whole() {
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

/// An edge that may yet be withdrawn is found if it is asked for; one that was withdrawn, never.
#[test]
fn loom_point_a_tentative_edge_is_found_if_it_is_asked_for() {
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
