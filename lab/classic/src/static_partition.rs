//! Static partitioning: threads of the operating system with one share of the work each, and a
//! barrier.
//!
//! Source: "The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 1.1:
//! the program "creates some number P of processes [...], and each process performs a 1/P fraction
//! of the total work"; section 3.2 compares with it. The threads are created within the measured
//! time. They begin when all have been created, so that none begins if the system refuses one.

use std::sync::PoisonError;
use std::time::Duration;

use locksley_sys::primitive::plain::{Barrier, RwLock};
use locksley_sys::primitive::{Instant, thread};

/// Threads that work on equal shares. They are created for each computation, within its measured
/// time.
#[derive(Debug)]
pub struct Team {
    workers: usize,
}

impl Team {
    /// A team of `workers` threads, having tried that the system gives that many.
    ///
    /// # Errors
    /// What the system says if it refuses a thread.
    pub fn start(workers: usize) -> Result<Team, String> {
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

    /// Creates a thread for each share, which runs `body(rank, shares[rank], barrier)`. Returns the
    /// time until the last one has ended, and what each returned. The barrier is for all of them,
    /// as often as they like.
    ///
    /// # Panics
    /// If there is not one share for each thread, if a body panics while no other waits at the
    /// barrier, or if the system does not give the threads that it gave when the team was started.
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
        // True when all threads were created.
        let may_begin = &RwLock::new(false);
        let begun = Instant::now();
        thread::scope(|scope| {
            let mut gate = may_begin.write().unwrap_or_else(PoisonError::into_inner);
            let create = |(rank, share)| {
                let work = move || {
                    let may_begin = *may_begin.read().unwrap_or_else(PoisonError::into_inner);
                    may_begin.then(|| body(rank, share, barrier))
                };
                thread::Builder::new().name(format!("static-{rank}")).spawn_scoped(scope, work)
            };
            // If one cannot be created, the others find the gate as it is, and end.
            let threads = shares.into_iter().enumerate().map(create);
            let threads = threads.collect::<Result<Vec<_>, _>>().map_err(|it| it.to_string())?;
            *gate = true;
            drop(gate);
            let end = |thread: thread::ScopedJoinHandle<'_, Option<R>>| {
                thread.join().expect("a share of the work panicked")
            };
            let done = threads.into_iter().filter_map(end).collect();
            Ok((begun.elapsed(), done))
        })
    }
}
