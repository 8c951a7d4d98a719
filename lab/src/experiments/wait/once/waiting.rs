//! Tasks wait for a semaphore, and take memory meanwhile.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Memory;
use super::runtime::{Permits, Tasks};
use crate::experiments::memory;

/// So many are spawned at a time: what is measured is tasks that wait, and not the queues of those that have yet to begin.
const BATCH: u64 = 1000;

/// These come and go before: few, because the memory that they leave behind is used again.
const WARM_UP: u64 = 100;

/// What waits.
struct Crowd<P> {
    gate: P,
    /// How many there will be.
    number: u64,
    waiting: AtomicU64,
    through: AtomicU64,
    /// Has a permit for each batch that waits, and one when all have gone through.
    news: P,
}

pub(super) async fn measure<T: Tasks>(tasks: T, number: u64) -> Result<Memory, String> {
    let few = Crowd::<T::Permits>::new(number.min(WARM_UP));
    few.gather(&tasks).await;
    few.let_go().await;

    let crowd = Crowd::<T::Permits>::new(number);
    let before = memory::resident()?;
    crowd.gather(&tasks).await;
    let after = memory::resident()?;
    let answer = crowd.let_go().await;
    let future = size_of_val(&crowd.clone().task()) as u64;
    Ok(Memory { bytes: after.saturating_sub(before), future, answer })
}

impl<P: Permits> Crowd<P> {
    fn new(number: u64) -> Arc<Crowd<P>> {
        Arc::new(Crowd {
            gate: P::none(),
            number,
            waiting: AtomicU64::new(0),
            through: AtomicU64::new(0),
            news: P::none(),
        })
    }

    /// Has all of them wait.
    async fn gather(self: &Arc<Self>, tasks: &impl Tasks) {
        let mut left = self.number;
        while left > 0 {
            let batch = left.min(BATCH);
            for _ in 0..batch {
                tasks.detach(self.clone().task());
            }
            left -= batch;
            self.news.take().await;
        }
    }

    /// Lets all of them go on; says how many did.
    async fn let_go(&self) -> u64 {
        self.gate.give(usize::try_from(self.number).expect("so many tasks have been refused"));
        self.news.take().await;
        self.through.load(Ordering::Relaxed)
    }

    async fn task(self: Arc<Self>) {
        let mut turn = pin!(self.gate.take());
        let mut is_counted = false;
        poll_fn(|context| {
            let poll = turn.as_mut().poll(context);
            if poll.is_pending() && !is_counted {
                is_counted = true;
                self.count_waiting();
            }
            poll
        })
        .await;
        // The one that makes it complete says so; with `AcqRel`, it and whoever hears of it come after all others.
        if self.through.fetch_add(1, Ordering::AcqRel) + 1 == self.number {
            self.news.give(1);
        }
    }

    fn count_waiting(&self) {
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel) + 1;
        if waiting.is_multiple_of(BATCH) || waiting == self.number {
            self.news.give(1);
        }
    }
}
