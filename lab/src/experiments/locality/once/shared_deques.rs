//! LASSI's scheduler, to compare with (Weibel, "An Advanced Scheduler for Intervals", 2010, "Work-Stealing Places"): one deque for each
//! place, which its workers share, and random victims among the other places.
//!
//! It runs tasks that are all there from the beginning, and that wait for nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use locksley::Worker;

use crate::random::Random;

/// A task that waits for nothing.
pub(super) type Task<'t> = Box<dyn FnOnce() + Send + 't>;

/// By place; the newest task is the last.
struct Deques<'t>(Vec<Mutex<VecDeque<Task<'t>>>>);

/// Runs tasks, each with its place, on all workers. Returns how many were taken out of their places.
pub(super) fn run<'t>(
    worker: &Worker,
    places: usize,
    tasks: impl Iterator<Item = (usize, Task<'t>)>,
) -> u64 {
    let deques = Deques((0..places).map(|_| Mutex::default()).collect());
    for (place, task) in tasks {
        deques.of(place).push_back(task);
    }
    let out_of_place = AtomicU64::new(0);
    worker.scope(|_, scope| {
        scope.spawn_broadcast(|worker, _| {
            out_of_place.fetch_add(deques.serve(worker), Ordering::Relaxed);
        });
    });
    out_of_place.into_inner()
}

impl<'t> Deques<'t> {
    fn of(&self, place: usize) -> MutexGuard<'_, VecDeque<Task<'t>>> {
        self.0[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until there is nothing anywhere. Returns how many tasks came from other places.
    fn serve(&self, worker: &Worker) -> u64 {
        let (here, mut stolen) = (worker.place(), 0);
        let mut random = Random::new(worker.index() as u64);
        loop {
            let newest = self.of(here).pop_back();
            if let Some(task) = newest {
                task();
                continue;
            }
            let first = (random.next_u64() % self.0.len() as u64) as usize;
            let victims = (first..first + self.0.len()).map(|victim| victim % self.0.len());
            let mut others = victims.filter(|&victim| victim != here);
            let Some(oldest) = others.find_map(|victim| self.of(victim).pop_front()) else {
                return stolen;
            };
            stolen += 1;
            oldest();
        }
    }
}
