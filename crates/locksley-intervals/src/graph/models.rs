//! Loom models of points, edges and lock requests, with a few threads. Run with `--cfg loom`.

use std::ptr::NonNull;

use locksley_sys::primitive::{AtomicBool, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::graph::lock_set::LockRequest;
use crate::graph::point::{Edge, Edges, Outcome, PointState};

/// Two points, an edge in each direction, and cells that are written before the source occurs.
struct World {
    source: Node,
    target: Node,
    forth: Edge,
    back: Edge,
    written: [UnsafeCell<u32>; 2],
}

/// A point, and whether it has occurred.
#[repr(align(8))]
struct Node {
    point: PointState,
    occurred: AtomicBool,
}

// SAFETY: loom checks all accesses of the models.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

impl Node {
    fn new(dependencies: usize) -> Self {
        Self { point: PointState::new(dependencies), occurred: AtomicBool::new(false) }
    }

    fn word(&self) -> NonNull<()> {
        NonNull::from(self).cast()
    }
}

impl World {
    /// The arguments are the numbers of dependencies.
    fn new(source: usize, target: usize) -> Arc<Self> {
        Arc::new(Self {
            source: Node::new(source),
            target: Node::new(target),
            forth: Edge::new(),
            back: Edge::new(),
            written: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    fn write(&self, cell: usize) {
        // SAFETY: loom checks that no other thread accesses it.
        self.written[cell].with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self, cell: usize) -> u32 {
        // SAFETY: loom checks that no thread writes it.
        self.written[cell].with(|number| unsafe { *number })
    }

    /// Lets a dependency of the source arrive. The last one makes it occur, and arrives at the
    /// target.
    fn arrive_at_source(&self, outcome: Outcome) -> Option<Outcome> {
        let outcome = self.source.point.arrive(outcome)?;
        let mut last = None;
        // SAFETY: the edges live as long as the world.
        for word in unsafe { self.source.point.occur(outcome) } {
            assert_eq!(word, self.target.word(), "the edge is visible as a whole");
            last = last.or(self.arrive_at_target(outcome));
        }
        last
    }

    /// Lets a dependency of the target arrive. Returns the outcome after the last one.
    fn arrive_at_target(&self, outcome: Outcome) -> Option<Outcome> {
        let outcome = self.target.point.arrive(outcome)?;
        assert!(!self.target.occurred.swap(true, Ordering::Relaxed), "it occurs once");
        Some(outcome)
    }

    /// Adds an edge to the target, which waits for it. Returns the outcome if the source has
    /// occurred, and this was the last dependency.
    fn link(&self, edge: &Edge) -> Option<Outcome> {
        // SAFETY: each edge is added once, and lives as long as the world.
        match unsafe { self.source.point.add_edge(edge, self.target.word(), false) } {
            Ok(()) => None,
            Err(outcome) => self.arrive_at_target(outcome),
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
            let last = other.arrive_at_source(Outcome::Succeeded);
            last.map(|outcome| (outcome, other.read(0)))
        });
        // The target also waits for the thread that adds the edge.
        assert_eq!(world.link(&world.forth), None);
        let last = world.arrive_at_target(Outcome::Succeeded);
        let last = last.map(|outcome| (outcome, world.read(0)));
        let both = [last, occurs.join().unwrap()];
        // One of them is the last, and sees what came before the source.
        let ended: Vec<_> = both.into_iter().flatten().collect();
        assert_eq!(ended, [(Outcome::Succeeded, 1)]);
    });
}

#[test]
fn loom_point_what_came_before_is_visible_when_it_has_occurred() {
    model(|| {
        let world = World::new(1, 1);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            let _ = other.arrive_at_source(Outcome::Succeeded);
        });
        if world.source.point.outcome() == Some(Outcome::Succeeded) {
            assert_eq!(world.read(0), 1);
        }
        occurs.join().unwrap();
    });
}

#[test]
fn loom_point_the_last_of_two_sees_what_both_did() {
    model(|| {
        let world = World::new(2, 2);
        assert_eq!(world.link(&world.forth), None);
        let threads: Vec<_> = (0..2)
            .map(|cell| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    world.write(cell);
                    let outcome = [Outcome::Succeeded, Outcome::Failed][cell];
                    world.arrive_at_source(outcome)
                })
            })
            .collect();
        let last = world.arrive_at_target(Outcome::Succeeded);
        let seen = last.map(|outcome| (outcome, world.read(0), world.read(1)));
        let mut ended: Vec<_> = seen.into_iter().map(|(outcome, ..)| outcome).collect();
        ended.extend(threads.into_iter().filter_map(|thread| thread.join().unwrap()));
        // It fails in every order, because one dependency has failed.
        assert_eq!(ended, [Outcome::Failed]);
        assert_eq!((world.read(0), world.read(1)), (1, 1));
    });
}

/// The end of a parent: its body creates three children, one of which ends before the body.
#[test]
fn loom_point_children_are_counted_while_the_body_runs() {
    model(|| {
        let world = World::new(1, 1);
        let child = |cell: usize, outcome| {
            let world = Arc::clone(&world);
            world.source.point.add_dependency();
            move || {
                world.write(cell);
                world.source.point.arrive(outcome)
            }
        };
        let failing = thread::spawn(child(0, Outcome::Failed));
        let other = thread::spawn(child(1, Outcome::Succeeded));
        world.source.point.add_dependency();
        let mut last = vec![world.source.point.arrive(Outcome::Succeeded)];
        last.push(world.source.point.arrive(Outcome::Succeeded)); // the body
        let seen = last[1].map(|_| (world.read(0), world.read(1)));
        last.extend([failing, other].map(|child| child.join().unwrap()));
        assert!(seen.is_none_or(|seen| seen == (1, 1)), "the last sees what all did");
        assert_eq!(last.into_iter().flatten().collect::<Vec<_>>(), [Outcome::Failed]);
        assert_eq!((world.read(0), world.read(1)), (1, 1));
    });
}

/// Two threads add an edge each.
#[test]
fn loom_point_two_edges_are_added_while_it_occurs() {
    model(|| {
        let world = World::new(1, 3);
        let [one, other] = [Arc::clone(&world), Arc::clone(&world)];
        let forth = thread::spawn(move || one.link(&one.forth));
        let back = thread::spawn(move || other.link(&other.back));
        let mut ended: Vec<_> = world.arrive_at_source(Outcome::Succeeded).into_iter().collect();
        ended.extend([forth, back].into_iter().filter_map(|thread| thread.join().unwrap()));
        ended.extend(world.arrive_at_target(Outcome::Succeeded));
        assert_eq!(ended, [Outcome::Succeeded]);
    });
}

/// The usual start does not wait for the thread that creates it, which adds two edges.
#[test]
fn loom_point_a_start_occurs_once_though_it_does_not_wait_for_its_creator() {
    model(|| {
        let world = World::new(1, 2);
        let other = Arc::clone(&world);
        let occurs = thread::spawn(move || {
            other.write(0);
            other.arrive_at_source(Outcome::Succeeded)
        });
        let linked = [&world.forth, &world.back].map(|edge| world.link(edge));
        let seen = linked[1].map(|outcome| (outcome, world.read(0)));
        assert_eq!(linked[0], None, "the other edge is missing");
        let by_other = occurs.join().unwrap();
        let ended: Vec<_> = seen.into_iter().map(|(outcome, _)| outcome).chain(by_other).collect();
        assert_eq!(ended, [Outcome::Succeeded]);
        assert!(seen.is_none_or(|(_, written)| written == 1), "it comes after its source");
    });
}

/// The target waits for the edge and for the thread that adds it.
#[test]
fn loom_point_a_source_occurs_while_a_tentative_edge_is_withdrawn_or_confirmed() {
    for is_withdrawn in [true, false] {
        model(move || {
            let world = World::new(1, 2);
            let other = Arc::clone(&world);
            let occurs = thread::spawn(move || other.arrive_at_source(Outcome::Succeeded));
            let word = world.target.word();
            // SAFETY: it is added once, and lives as long as the world.
            let linked = unsafe { world.source.point.add_edge(&world.forth, word, true) }.is_ok();
            let arrives = linked
                && if is_withdrawn {
                    !world.forth.withdraw()
                } else {
                    world.forth.confirm();
                    true
                };
            assert_eq!(occurs.join().unwrap(), None);
            if !arrives {
                assert_eq!(world.arrive_at_target(Outcome::Succeeded), None);
            }
            assert_eq!(world.arrive_at_target(Outcome::Succeeded), Some(Outcome::Succeeded));
        });
    }
}

/// Searches in another thread while this one adds an edge. The target was written before.
///
/// The search is the spawned thread, which runs last in loom's first execution. Otherwise loom
/// explores no other: it forgets a load by one thread when the other loads before it stores.
fn search_while(world: &Arc<World>, add: impl FnOnce()) {
    let other = Arc::clone(world);
    let searches = thread::spawn(move || {
        // SAFETY: the edge lives as long as the world.
        for word in unsafe { other.source.point.successors(Edges::Confirmed) } {
            assert_eq!(word, other.target.word());
            assert_eq!(other.read(0), 1);
        }
    });
    world.write(0); // the interval of the target
    add();
    searches.join().unwrap();
}

/// A search reads the target of an edge, which was written before the edge was added.
#[test]
fn loom_point_a_search_finds_the_target_of_an_edge_as_a_whole() {
    model(|| {
        let world = World::new(1, 1);
        search_while(&world, || assert_eq!(world.link(&world.forth), None));
    });
}

/// A search for all edges finds a tentative edge. No search finds a withdrawn one.
#[test]
fn loom_point_a_search_for_all_edges_finds_a_tentative_one() {
    model(|| {
        for is_confirmed in [false, true] {
            let world = World::new(1, 1);
            let found = |edges| {
                // SAFETY: the edge lives as long as the world.
                unsafe { world.source.point.successors(edges) }.collect::<Vec<_>>()
            };
            let word = world.target.word();
            // SAFETY: as above; it is added once.
            unsafe { world.source.point.add_edge(&world.forth, word, true) }.unwrap();
            assert_eq!((found(Edges::All), found(Edges::Confirmed)), (vec![word], vec![]));
            if is_confirmed {
                world.forth.confirm();
                assert_eq!(found(Edges::All), [word]);
                assert_eq!(found(Edges::Confirmed), [word]);
            } else {
                assert!(world.forth.withdraw());
                assert_eq!((found(Edges::All), found(Edges::Confirmed)), (vec![], vec![]));
            }
            let _ = world.arrive_at_source(Outcome::Succeeded);
            let after = (found(Edges::All), found(Edges::Confirmed));
            assert_eq!(after, (vec![], vec![]), "it has occurred");
        }
    });
}

/// One thread adds an edge as the draft of the source, and starts the draft. Another one adds an
/// edge if the draft has started.
#[test]
fn loom_point_an_edge_is_added_while_a_draft_starts() {
    model(|| {
        let world = World::new(1, 3);
        world.source.point.enter_draft();
        let other = Arc::clone(&world);
        let adds = thread::spawn(move || {
            if other.source.point.is_in_draft() {
                return other.arrive_at_target(Outcome::Succeeded); // refused
            }
            assert_eq!(other.read(0), 1, "what came before the start is visible");
            other.link(&other.back)
        });
        world.write(0);
        // SAFETY: it is added once, and lives as long as the world.
        unsafe { world.source.point.add_draft_edge(&world.forth, world.target.word()) };
        world.source.point.leave_draft();
        let mut ended: Vec<_> = world.arrive_at_source(Outcome::Succeeded).into_iter().collect();
        ended.extend(world.arrive_at_target(Outcome::Succeeded));
        ended.extend(adds.join().unwrap());
        assert_eq!(ended, [Outcome::Succeeded]);
    });
}

/// A search meets a point in a draft, because an edge into the draft was added before the start.
#[test]
fn loom_point_a_search_finds_the_edges_of_a_draft_as_a_whole() {
    model(|| {
        let world = World::new(1, 1);
        world.source.point.enter_draft();
        search_while(&world, || {
            // SAFETY: it is added once, and lives as long as the world.
            unsafe { world.source.point.add_draft_edge(&world.forth, world.target.word()) };
            world.source.point.leave_draft();
        });
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
            unsafe { other.target.point.add_edge(&other.back, word, true) }.unwrap();
            // SAFETY: as above.
            let mut after = unsafe { other.source.point.successors(Edges::All) };
            after.next().inspect(|&word| assert_eq!(word, other.target.word())).is_some()
        });
        let word = world.target.word();
        // SAFETY: as above.
        unsafe { world.source.point.add_edge(&world.forth, word, true) }.unwrap();
        // SAFETY: as above.
        let mut after = unsafe { world.target.point.successors(Edges::All) };
        let is_seen = after.next().inspect(|&word| assert_eq!(word, world.source.word())).is_some();
        assert!(back.join().unwrap() || is_seen, "each missed the other edge");
    });
}

/// One thread polls and parks, the other grants.
#[test]
fn loom_lock_a_request_is_granted_while_its_thread_parks() {
    model(|| {
        let request = LockRequest::new(NonNull::dangling());
        let world = World::new(1, 1);
        let (other, granted) = (std::sync::Arc::clone(&request), Arc::new(AtomicBool::new(false)));
        let (grants, shared) = (Arc::clone(&granted), Arc::clone(&world));
        let grant = thread::spawn(move || {
            grants.store(true, Ordering::Release);
            let is_owner = other.grant();
            if is_owner {
                shared.write(0); // the progress of the lock set
            }
            is_owner
        });
        let mut has_lock = false;
        loop {
            world.write(0);
            request.begin_poll();
            if granted.load(Ordering::Acquire) {
                has_lock = true;
                break;
            }
            if request.park() {
                break;
            }
        }
        // Exactly one of them continues with the interval.
        assert_ne!(grant.join().unwrap(), has_lock);
    });
}
