//! Where a cycler's workers park, and are released from.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Workers wait here, on a condition variable.
#[derive(Debug, Default)]
pub(super) struct Yard {
    state: Mutex<State>,
    /// A worker is released, or the yard is closed.
    changed: Condvar,
    /// The last one that was released has parked again.
    all_parked: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of this release, from 1.
    release: u64,
    /// How many may still leave.
    tickets: usize,
    /// How many were released and have not parked again.
    away: usize,
    closed: bool,
}

impl Yard {
    /// Releases that many workers and waits until all of them have parked again.
    pub(super) fn release(&self, number: usize) {
        let mut state = self.lock();
        state.release += 1;
        state.tickets = number;
        state.away = number;
        for _ in 0..number {
            self.changed.notify_one();
        }
        while state.away > 0 {
            state = self.all_parked.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends all workers.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Parks for the first time. Returns the number of the release, or `None` when the yard is
    /// closed.
    pub(super) fn park_first(&self) -> Option<u64> {
        self.wait(self.lock(), 0)
    }

    /// Parks again, after the release with that number: no worker leaves twice in one release.
    pub(super) fn park(&self, release: u64) -> Option<u64> {
        let mut state = self.lock();
        state.away -= 1;
        if state.away == 0 {
            self.all_parked.notify_one();
        }
        self.wait(state, release)
    }

    fn wait(&self, mut state: MutexGuard<'_, State>, last: u64) -> Option<u64> {
        loop {
            if state.closed {
                return None;
            }
            if state.tickets > 0 && state.release != last {
                state.tickets -= 1;
                return Some(state.release);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn each_release_lets_as_many_different_workers_out_as_it_says() {
        const WORKERS: usize = 5;
        let yard = Yard::default();
        let outings: Vec<AtomicUsize> = (0..WORKERS).map(|_| AtomicUsize::new(0)).collect();
        thread::scope(|scope| {
            for outings in &outings {
                let yard = &yard;
                scope.spawn(move || {
                    let mut released = yard.park_first();
                    while let Some(release) = released {
                        outings.fetch_add(1, Ordering::Relaxed);
                        released = yard.park(release);
                    }
                });
            }
            let count = || outings.iter().map(|n| n.load(Ordering::Relaxed)).collect::<Vec<_>>();
            for round in 0..500 {
                let (before, number) = (count(), 1 + round % WORKERS);
                yard.release(number);
                let steps: Vec<usize> = count().iter().zip(before).map(|(n, m)| n - m).collect();
                assert!(steps.iter().all(|&step| step <= 1), "{steps:?}");
                assert_eq!(steps.iter().sum::<usize>(), number);
            }
            yard.close();
        });
    }
}
