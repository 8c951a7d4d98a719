//! Two tasks wake each other in turn, over two semaphores.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::runtime::{Permits, Tasks};
use super::{Timed, warm_up};
use crate::experiments::place::place;

/// In one of so many rounds it is looked where the players are.
const LOOK: u64 = 64;

/// What the players share. Whoever touches the ball, or notes anything, has taken the permit that the other gave after it
/// did so: `Relaxed` suffices if the semaphores are right.
struct Table<P> {
    ping: P,
    pong: P,
    /// How often the ball was hit.
    ball: AtomicU64,
    /// Where the server was.
    server: AtomicUsize,
    /// How often the other was elsewhere.
    apart: AtomicU64,
}

impl<P> Table<P> {
    /// Not one operation: a hit is lost if both hit at once.
    fn hit(&self) {
        self.ball.store(self.ball.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

pub(super) async fn measure<T: Tasks>(tasks: T, rounds: u64) -> Timed {
    play(&tasks, warm_up(rounds)).await;
    play(&tasks, rounds).await
}

async fn play<T: Tasks>(tasks: &T, rounds: u64) -> Timed {
    let table = Arc::new(Table {
        ping: T::Permits::none(),
        pong: T::Permits::none(),
        ball: AtomicU64::new(0),
        server: AtomicUsize::new(0),
        apart: AtomicU64::new(0),
    });
    let receiver = tasks.spawn(receive(table.clone(), rounds));
    let server = tasks.spawn(serve(table.clone(), rounds));
    let seconds = server.await;
    receiver.await;
    let apart = table.apart.load(Ordering::Relaxed) as f64 / rounds.div_ceil(LOOK) as f64;
    Timed { seconds, answer: table.ball.load(Ordering::Relaxed), apart: Some(apart) }
}

async fn serve<P: Permits>(table: Arc<Table<P>>, rounds: u64) -> f64 {
    let start = Instant::now();
    for round in 0..rounds {
        if round % LOOK == 0 {
            table.server.store(place(), Ordering::Relaxed);
        }
        table.hit();
        table.ping.give(1);
        table.pong.take().await;
    }
    start.elapsed().as_secs_f64()
}

async fn receive<P: Permits>(table: Arc<Table<P>>, rounds: u64) {
    for round in 0..rounds {
        table.ping.take().await;
        if round % LOOK == 0 && table.server.load(Ordering::Relaxed) != place() {
            table.apart.store(table.apart.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        table.hit();
        table.pong.give(1);
    }
}
