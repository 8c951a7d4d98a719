//! A task creates threads, in Hood's sense of the word, and waits until all have signalled; again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::runtime::{Countdown, Tasks};
use super::{Timed, warm_up};

/// What the threads of a round share.
struct Round<C> {
    signals: C,
    /// How often each thread was there, in all rounds.
    marks: Arc<[AtomicU32]>,
}

impl<C: Countdown> Round<C> {
    async fn thread(self: Arc<Self>, number: usize) {
        // Each has a mark of its own, and its signal says that it was set.
        let mark = &self.marks[number];
        mark.store(mark.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.signals.signal();
    }
}

pub(super) async fn measure<T: Tasks>(tasks: T, threads: u64, rounds: u64) -> Timed {
    let threads = usize::try_from(threads).expect("so many threads have been refused");
    fork(&tasks, threads, warm_up(rounds)).await;
    fork(&tasks, threads, rounds).await
}

async fn fork<T: Tasks>(tasks: &T, threads: usize, rounds: u64) -> Timed {
    let marks: Arc<[AtomicU32]> = (0..threads).map(|_| AtomicU32::new(0)).collect();
    let start = Instant::now();
    for _ in 0..rounds {
        let round = Round { signals: T::Countdown::of(threads), marks: marks.clone() };
        let round = Arc::new(round);
        for number in 0..threads {
            tasks.detach(round.clone().thread(number));
        }
        round.signals.all().await;
    }
    let seconds = start.elapsed().as_secs_f64();
    let answer = marks.iter().map(|mark| u64::from(mark.load(Ordering::Relaxed))).sum();
    Timed { seconds, answer, apart: None }
}
