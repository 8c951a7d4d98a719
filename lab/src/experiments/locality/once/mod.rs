//! One measurement, made once, in this process: what the experiment starts as a child, so that workers and memory are fresh.

mod ground;
mod mailboxes;
mod multiply;
mod placement;
mod shared_deques;
mod sort;
mod stress;
mod subject;

pub use ground::Ground;
pub use placement::Placement;
pub use subject::{Kind, Subject};

use std::time::Instant;

use locksley::{Pool, Scope, Worker};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Outcome};
use shared_deques::Task;

/// What a child found. The answer was right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The time of the computation.
    pub seconds: f64,
    /// How many tasks there were.
    pub tasks: u64,
    /// How many were taken out of a place. With mailboxes, where a task is two, empty ones count as well.
    pub out_of_place: u64,
}

/// The time of a computation.
struct Timed {
    seconds: f64,
    tasks: u64,
    out_of_place: u64,
}

impl Timed {
    /// The same, but that so many more were taken out of a place: otherwise than by the pool.
    fn with(self, taken_out: u64) -> Self {
        Timed { out_of_place: self.out_of_place + taken_out, ..self }
    }
}

/// How a computation places its tasks.
struct Case<'p> {
    pool: &'p Pool,
    placement: Placement,
    places: usize,
    seed: u64,
}

impl Case<'_> {
    /// What `compute` returns; how long it took, and how many tasks the pool's workers took out of a place meanwhile. It says itself how many
    /// tasks there were.
    fn time<R>(&self, compute: impl FnOnce() -> R) -> (R, Timed) {
        let taken_out = || self.pool.stats().total().out_of_place;
        let (before, start) = (taken_out(), Instant::now());
        let result = compute();
        let seconds = start.elapsed().as_secs_f64();
        (result, Timed { seconds, tasks: 0, out_of_place: taken_out() - before })
    }

    /// Whether nobody says where a task goes.
    fn is_ignorant(&self) -> bool {
        self.place(0, 0).is_none()
    }

    /// Adds a task that is best at the first of these places, and by the second number behind it in the worst case.
    fn spawn<'scope>(
        &self,
        worker: &Worker,
        scope: &Scope<'scope>,
        (best, turn): (usize, usize),
        task: impl FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    ) {
        match (self.placement, self.place(best, turn)) {
            (Placement::Mailboxes, Some(place)) => mailboxes::spawn(worker, scope, place, task),
            (_, Some(place)) => scope.spawn_near(worker, place, task),
            (_, None) => scope.spawn_on(worker, task),
        }
    }

    /// Runs tasks that wait for nothing, each with the two numbers of [`spawn`](Self::spawn). Returns how many were taken out of a place
    /// otherwise than by the pool.
    fn run<'t>(
        &self,
        worker: &Worker,
        tasks: impl Iterator<Item = ((usize, usize), Task<'t>)>,
    ) -> u64 {
        if self.placement == Placement::SharedDeques {
            let placed = tasks.map(|((best, turn), task)| {
                (self.place(best, turn).expect("it places all tasks"), task)
            });
            return shared_deques::run(worker, self.places, placed);
        }
        worker.scope(|worker, scope| {
            tasks.for_each(|(where_to, task)| {
                self.spawn(worker, scope, where_to, |_, _| task());
            });
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
    let pool = ground.pool(placement, workers)?;
    let case = Case { pool: &pool, placement, places: ground.places().count(), seed };
    let timed = pool.run(|worker| match subject.kind {
        Kind::Stress => stress::measure(worker, &case, subject.size),
        Kind::Sort => sort::measure(worker, &case, subject.size),
        Kind::Multiply => multiply::measure(worker, &case, subject.size),
    });
    let Timed { seconds, tasks, out_of_place } = timed.map_err(|why| {
        let (placement, kind) = (placement.name(), subject.kind.name());
        Fault::run(format!("{kind} {}, placement {placement}: {why}", subject.size))
    })?;
    Ok(Finding { seconds, tasks, out_of_place })
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
            let ground = Ground::of(&machine, machine.processors()).unwrap();
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
                        let letters = if placement == Placement::Mailboxes { 2 } else { 1 };
                        assert!(finding.out_of_place <= letters * finding.tasks, "{finding:?}");
                        if placement == Placement::Undivided {
                            assert_eq!(finding.out_of_place, 0);
                        }
                    }
                }
            }
        }
    }
}
