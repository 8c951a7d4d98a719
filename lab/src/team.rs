//! Static partitioning: OS threads with one share of the work each, and a barrier.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Threads that work on equal shares. They are created for each computation, outside of its
/// measured time.
#[derive(Debug)]
pub struct Team {
    workers: usize,
}

impl Team {
    /// A team of `workers` threads, having tried that the system gives that many.
    pub(crate) fn start(workers: usize) -> Result<Team, String> {
        let team = Team { workers };
        team.try_run(vec![(); workers], |_, (), _| ())?;
        Ok(team)
    }

    /// The number of threads.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The part of `total` things that belongs to thread `rank`, as equal as they can be.
    pub fn share(&self, total: usize, rank: usize) -> std::ops::Range<usize> {
        let cut = |rank: usize| (total as u128 * rank as u128 / self.workers as u128) as usize;
        cut(rank)..cut(rank + 1)
    }

    /// The parts of some rows that belong to each thread. A row has so many elements.
    pub fn divide<'r, T>(&self, mut rows: &'r mut [T], columns: usize) -> Vec<&'r mut [T]> {
        let total = rows.len() / columns;
        let length = |rank| self.share(total, rank).len() * columns;
        let part = |rank| rows.split_off_mut(..length(rank)).unwrap_or_default();
        (0..self.workers).map(part).collect()
    }

    /// Runs `body(rank, shares[rank], barrier)` on a thread for each share. Returns the time from
    /// when the first of them began until the last one ended, and what each returned. The barrier
    /// is for all of them, as often as they like.
    ///
    /// # Panics
    /// If there is not one share for each thread, if a body panics, or if the system does not give
    /// the threads that it gave when the team was started.
    pub fn run<T: Send, R: Send>(
        &self,
        shares: Vec<T>,
        body: impl Fn(usize, T, &Barrier) -> R + Sync,
    ) -> (Duration, Vec<R>) {
        assert_eq!(shares.len(), self.workers, "one share for each thread");
        self.try_run(shares, body).expect("the system gave these threads before")
    }

    fn try_run<T: Send, R: Send>(
        &self,
        shares: Vec<T>,
        body: impl Fn(usize, T, &Barrier) -> R + Sync,
    ) -> Result<(Duration, Vec<R>), String> {
        let (barrier, body) = (&Barrier::new(self.workers), &body);
        thread::scope(|scope| {
            let (mut threads, mut starts) = (Vec::new(), Vec::new());
            for (rank, share) in shares.into_iter().enumerate() {
                // Dropped with the others if a thread cannot be started: then none begins.
                let (start, started) = mpsc::channel();
                let work = move || {
                    started.recv().ok()?;
                    barrier.wait();
                    let begun = Instant::now();
                    let result = body(rank, share, barrier);
                    Some((begun, Instant::now(), result))
                };
                let thread = thread::Builder::new().name(format!("static-{rank}"));
                let thread = thread.spawn_scoped(scope, work).map_err(|error| error.to_string())?;
                threads.push(thread);
                starts.push(start);
            }
            for start in starts {
                start.send(()).expect("each thread waits for this");
            }
            let end = |thread: thread::ScopedJoinHandle<'_, Option<(Instant, Instant, R)>>| {
                thread.join().expect("a share of the work panicked")
            };
            let done: Vec<(Instant, Instant, R)> = threads.into_iter().filter_map(end).collect();
            let begun = done.iter().map(|one| one.0).min().expect("a team has threads");
            let ended = done.iter().map(|one| one.1).max().expect("a team has threads");
            Ok((ended - begun, done.into_iter().map(|one| one.2).collect()))
        })
    }
}
