//! Static partitioning: OS threads with one share of the work each, and a barrier.

mod gate;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use gate::Gate;

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

    /// Runs `body(rank, shares[rank], barrier)` on a thread for each share, and returns the time
    /// from when the first of them began until the last one ended. The barrier is for all of them,
    /// as often as they like.
    ///
    /// # Panics
    /// If there is not one share for each thread, if a body panics, or if the system does not give
    /// the threads that it gave when the team was started.
    pub fn run<T: Send>(
        &self,
        shares: Vec<T>,
        body: impl Fn(usize, T, &Barrier) + Sync,
    ) -> Duration {
        assert_eq!(shares.len(), self.workers, "one share for each thread");
        self.try_run(shares, body).expect("the system gave these threads before")
    }

    fn try_run<T: Send>(
        &self,
        shares: Vec<T>,
        body: impl Fn(usize, T, &Barrier) + Sync,
    ) -> Result<Duration, String> {
        let gate = Gate::default();
        let barrier = Barrier::new(self.workers);
        let (gate, barrier, body) = (&gate, &barrier, &body);
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.workers);
            for (rank, share) in shares.into_iter().enumerate() {
                let thread = thread::Builder::new().name(format!("static-{rank}")).spawn_scoped(
                    scope,
                    move || {
                        let go = gate.arrive_and_wait();
                        let begun = Instant::now();
                        if go {
                            body(rank, share, barrier);
                        }
                        (begun, Instant::now())
                    },
                );
                match thread {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        gate.decide(false);
                        return Err(error.to_string());
                    }
                }
            }
            gate.wait_for(self.workers);
            gate.decide(true);
            let times: Vec<(Instant, Instant)> = threads
                .into_iter()
                .map(|thread| thread.join().expect("a share of the work panicked"))
                .collect();
            let begun = times.iter().map(|&(begun, _)| begun).min().expect("a team has threads");
            let ended = times.iter().map(|&(_, ended)| ended).max().expect("a team has threads");
            Ok(ended - begun)
        })
    }
}
