//! Tasks that wait. A driver runs as a task on one of the workers and takes the time there, after
//! some of the same to warm up.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::measurement::Finding;
use super::runtime::{Runtime, noting_wait};
use super::subject::{Kind, Subject};
use crate::experiment::prelude::*;
use crate::experiments::{memory, place::place};

/// The threads of two tasks are compared in one of so many rounds.
const LOOK: u64 = 64;
/// So many tasks are spawned at a time: what is measured is tasks that wait, and not the queues of
/// those that have yet to begin.
const BATCH: u64 = 1000;
/// Waiting tasks that come and go before the others: few, because their memory is used again.
const FIRST_WAITING: u64 = 100;

/// Measures `subject` on `runtime`.
pub(super) fn measure<R: Runtime>(runtime: &R, subject: Subject, seed: u64) -> Outcome<Finding> {
    let (number, before) = (subject.number, subject.warm_up());
    match subject.kind {
        Kind::Spawn => Ok(runtime.run(async move {
            spawn::<R>(before, seed).await;
            spawn::<R>(number, seed).await
        })),
        Kind::PingPong => Ok(runtime.run(async move {
            play::<R>(before).await;
            play::<R>(number).await
        })),
        _ => runtime.run(waiting::<R>(number)),
    }
}

/// The sum of what empty tasks return, one after the other.
async fn spawn<R: Runtime>(number: u64, seed: u64) -> Finding {
    let start = Instant::now();
    let mut sum = 0u64;
    for index in 0..number {
        let value = seed.wrapping_add(index);
        sum = sum.wrapping_add(R::spawn(async move { black_box(value) }).await);
    }
    Finding::timed(sum, start.elapsed().as_secs_f64())
}

/// What two players share. Each touches the ball, or notes anything, when it has acquired the
/// permit that the other gave after doing so: `Relaxed` suffices if the semaphores are right.
struct Table<R: Runtime> {
    ping: R::Semaphore,
    pong: R::Semaphore,
    /// How often the ball was hit.
    ball: AtomicU64,
    /// Where the server ran.
    server: AtomicUsize,
    /// How often the other ran elsewhere.
    apart: AtomicU64,
}

impl<R: Runtime> Table<R> {
    /// Not one operation: a hit is lost if both hit at once.
    fn hit(&self) {
        self.ball.store(self.ball.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

async fn play<R: Runtime>(rounds: u64) -> Finding {
    let table = Arc::new(Table::<R> {
        ping: R::semaphore(),
        pong: R::semaphore(),
        ball: AtomicU64::new(0),
        server: AtomicUsize::new(0),
        apart: AtomicU64::new(0),
    });
    let receiver = R::spawn(receive(table.clone(), rounds));
    let server = R::spawn(serve(table.clone(), rounds));
    let seconds = server.await;
    receiver.await;
    let apart = table.apart.load(Ordering::Relaxed) as f64 / rounds.div_ceil(LOOK) as f64;
    Finding { apart: Some(apart), ..Finding::timed(table.ball.load(Ordering::Relaxed), seconds) }
}

async fn serve<R: Runtime>(table: Arc<Table<R>>, rounds: u64) -> f64 {
    let start = Instant::now();
    for round in 0..rounds {
        if round % LOOK == 0 {
            table.server.store(place(), Ordering::Relaxed);
        }
        table.hit();
        R::add_permits(&table.ping, 1);
        R::acquire(&table.pong).await;
    }
    start.elapsed().as_secs_f64()
}

async fn receive<R: Runtime>(table: Arc<Table<R>>, rounds: u64) {
    for round in 0..rounds {
        R::acquire(&table.ping).await;
        if round % LOOK == 0 && table.server.load(Ordering::Relaxed) != place() {
            table.apart.store(table.apart.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        table.hit();
        R::add_permits(&table.pong, 1);
    }
}

/// Tasks that wait.
struct Crowd<R: Runtime> {
    gate: R::Semaphore,
    /// How many there will be.
    number: u64,
    waiting: AtomicU64,
    through: AtomicU64,
    /// Has a permit for each batch that waits, and one when all have gone through.
    news: R::Semaphore,
}

async fn waiting<R: Runtime>(number: u64) -> Outcome<Finding> {
    let few = Crowd::<R>::new(number.min(FIRST_WAITING));
    few.gather().await;
    few.release().await;
    let crowd = Crowd::<R>::new(number);
    let before = memory::resident()?;
    crowd.gather().await;
    let after = memory::resident()?;
    let future = size_of_val(&crowd.clone().task());
    Ok(Finding::memory(crowd.release().await, before, after, future))
}

impl<R: Runtime> Crowd<R> {
    fn new(number: u64) -> Arc<Crowd<R>> {
        Arc::new(Crowd {
            gate: R::semaphore(),
            number,
            waiting: AtomicU64::new(0),
            through: AtomicU64::new(0),
            news: R::semaphore(),
        })
    }

    /// Has all of them wait.
    async fn gather(self: &Arc<Self>) {
        let mut left = self.number;
        while left > 0 {
            let batch = left.min(BATCH);
            for _ in 0..batch {
                drop(R::spawn(self.clone().task()));
            }
            left -= batch;
            R::acquire(&self.news).await;
        }
    }

    /// Lets all of them go on; returns how many did.
    async fn release(&self) -> u64 {
        R::add_permits(&self.gate, self.number as usize);
        R::acquire(&self.news).await;
        self.through.load(Ordering::Relaxed)
    }

    async fn task(self: Arc<Self>) {
        let turn = pin!(R::acquire(&self.gate));
        noting_wait(turn, || {
            let waiting = self.waiting.fetch_add(1, Ordering::AcqRel) + 1;
            if waiting.is_multiple_of(BATCH) || waiting == self.number {
                R::add_permits(&self.news, 1);
            }
        })
        .await;
        // `AcqRel`: the last one, which signals, and the driver come after all others.
        if self.through.fetch_add(1, Ordering::AcqRel) + 1 == self.number {
            R::add_permits(&self.news, 1);
        }
    }
}
