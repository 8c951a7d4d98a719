//! One measurement, made once, in this process: what the experiment starts as a child, so that workers and memory are fresh.

mod counters;
mod ground;
mod mailboxes;
mod multiply;
mod order;
mod placement;
mod shared_deques;
mod sort;
mod stress;
mod subject;
mod touch;

pub use counters::Counts;
pub use ground::{Ground, Level};
pub use order::Order;
pub use placement::Placement;
pub use subject::{Kind, Subject};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use locksley::{Pool, Scope, Spawn, Worker};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};
use counters::{Counters, Reading};
use order::Placed;

/// What a child found. The answer was right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The time of the computation.
    pub seconds: f64,
    /// How many tasks there were.
    pub tasks: u64,
    /// How many were taken out of the place that was named, or in which they were spawned, by workers of another one.
    pub out_of_place: u64,
    /// What was counted of the caches that divide the places, if anything could be.
    #[serde(default)]
    pub counts: Option<Counts>,
    /// How many workers were to be bound to their places, and are not.
    #[serde(default)]
    pub unbound: usize,
}

/// The time of a computation.
struct Timed {
    seconds: f64,
    tasks: u64,
    out_of_place: u64,
    counts: Option<Counts>,
}

/// How a computation places its tasks.
struct Case<'p> {
    pool: &'p Pool,
    placement: Placement,
    places: usize,
    seed: u64,
    /// How many tasks in mailboxes were run at other places. The pool's own count has their empty letters, too.
    elsewhere: AtomicU64,
    counters: Mutex<Option<Counters>>,
}

impl Case<'_> {
    /// What `compute` returns; how long it took, and how many tasks the pool's workers took out of a place meanwhile. It says itself how many
    /// tasks there were.
    fn time<R>(&self, compute: impl FnOnce() -> R) -> (R, Timed) {
        let taken_out = || match self.placement {
            Placement::Mailboxes => self.elsewhere.load(Ordering::Relaxed),
            _ => self.pool.stats().total().out_of_place,
        };
        let (before, counted, start) = (taken_out(), self.counted(), Instant::now());
        let result = compute();
        let seconds = start.elapsed().as_secs_f64();
        let counts = counters::between(counted, self.counted());
        (result, Timed { seconds, tasks: 0, out_of_place: taken_out() - before, counts })
    }

    fn counted(&self) -> Option<[Reading; 2]> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.as_mut().and_then(Counters::read)
    }

    /// Adds a task that is best at the first of these places, and by the second number behind it in the worst case.
    fn spawn<'scope>(
        &'scope self,
        worker: &Worker,
        scope: &Scope<'scope>,
        (best, turn): (usize, usize),
        task: impl FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    ) {
        match (self.placement, self.place(best, turn)) {
            (Placement::Mailboxes, Some(place)) => {
                mailboxes::spawn(worker, scope, place, &self.elsewhere, task);
            }
            (_, Some(place)) => scope.spawn_with(Spawn::Near(place), task),
            (_, None) => scope.spawn_on(worker, task),
        }
    }

    /// How long it takes to run tasks that wait for nothing, in the placement's order, which they are put into before.
    fn time_all(&self, worker: &Worker, mut tasks: Vec<Placed<'_>>) -> Timed {
        self.placement.order().arrange(&mut tasks, self.seed);
        let number = tasks.len() as u64;
        let (taken_out, time) = self.time(|| self.run(worker, tasks));
        Timed { tasks: number, out_of_place: time.out_of_place + taken_out, ..time }
    }

    /// Runs tasks that wait for nothing, in this order. Returns how many were taken out of a place otherwise than by the pool.
    fn run(&self, worker: &Worker, tasks: Vec<Placed<'_>>) -> u64 {
        if self.placement == Placement::SharedDeques {
            let placed =
                tasks.into_iter().map(|Placed { where_to: (best, turn), task, .. }| {
                    (self.place(best, turn).expect("it places all tasks"), task)
                });
            return shared_deques::run(worker, self.places, placed);
        }
        worker.scope(|worker, scope| {
            for Placed { where_to, task, .. } in tasks {
                self.spawn(worker, scope, where_to, |_, _| task());
            }
        });
        0
    }

    fn place(&self, best: usize, turn: usize) -> Option<usize> {
        self.placement.place(best, turn, self.places, self.seed)
    }
}

/// Measures `subject` once on `workers` fresh workers, in the places of `ground`.
pub fn measure(
    ground: &Ground,
    placement: Placement,
    subject: Subject,
    workers: usize,
    seed: u64,
) -> Outcome<Finding> {
    if !placement.suits(subject.kind) {
        let (placement, kind) = (placement.name(), subject.kind.name());
        return Err(Fault::input(format!(
            "the tasks of {kind} wait for others, which {placement} cannot have"
        )));
    }
    // Before there are workers, which are counted with the thread that starts them.
    let counters = Mutex::new(ground.counters().ok());
    let pool = ground.pool(placement, workers)?;
    let (places, elsewhere) = (ground.places().count(), AtomicU64::new(0));
    let case = Case { pool: &pool, placement, places, seed, elsewhere, counters };
    let timed = pool.install(|worker| match subject.kind {
        Kind::Stress => stress::measure(worker, &case, subject.size),
        Kind::Sort => sort::measure(worker, &case, subject.size),
        Kind::Multiply => multiply::measure(worker, &case, subject.size),
    });
    let Timed { seconds, tasks, out_of_place, counts } = timed.map_err(|why| {
        let (placement, kind) = (placement.name(), subject.kind.name());
        Fault::run(format!("{kind} {}, placement {placement}: {why}", subject.size))
    })?;
    let is_to_be_bound = placement != Placement::Undivided;
    let unbound = if is_to_be_bound { workers - pool.bound_workers() } else { 0 };
    Ok(Finding { seconds, tasks, out_of_place, counts, unbound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::places::{Kind as Shared, ProcessorSet, Region, Topology};

    #[test]
    fn every_placement_comes_to_the_answer() {
        for places in [2, 3] {
            let cache =
                |it| Region::new(Shared::L2, ProcessorSet::from_iter([it])).with_bytes(1 << 16);
            let machine = Topology::of((0..places).collect(), (0..places).map(cache));
            let ground = Ground::of(&machine, machine.processors(), None).unwrap();
            for placement in Placement::ALL {
                for (kind, size) in [
                    ("stress", "4096"),
                    ("sort", "70000"),
                    ("sort", "1"),
                    ("multiply", "150"),
                    ("multiply", "1"),
                ] {
                    for workers in [1, places] {
                        let subject = Subject::find(kind, size).unwrap();
                        let finding = measure(&ground, placement, subject, workers, 5);
                        if !placement.suits(subject.kind) {
                            assert!(matches!(finding, Err(Fault::Input(_))));
                            continue;
                        }
                        let finding = finding.unwrap();
                        assert!(finding.seconds > 0.0);
                        assert!(finding.out_of_place <= finding.tasks, "{finding:?}");
                        assert!(finding.unbound <= workers, "{finding:?}");
                        if placement == Placement::Undivided {
                            assert_eq!((finding.out_of_place, finding.unbound), (0, 0));
                        }
                    }
                }
            }
        }
    }
}
