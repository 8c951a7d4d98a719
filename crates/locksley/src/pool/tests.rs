//! Helpers for unit tests that need a pool.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::{Pool, PoolBuilder};
use crate::places::Places;
use crate::{Spawn, Worker};

/// The time after which a wait has failed.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// A pool with one worker for each processor, in places of these sizes. The processors need not
/// exist, since the workers are not bound to them.
pub(crate) fn divided(sizes: &[usize]) -> PoolBuilder {
    let mut first = 0;
    let sets = sizes.iter().map(|size| {
        first += size;
        (first - size..first).collect()
    });
    let sets: Vec<_> = sets.collect();
    let places = Places::given(&(0..first).collect(), sets).unwrap();
    Pool::builder().workers(first).places(places)
}

/// Makes a worker wait for a message from the returned sender, or for the sender's drop.
pub(crate) fn hold(pool: &Pool, index: usize) -> Sender<()> {
    let ((here, is_here), (go_on, released)) = (channel(), channel());
    pool.spawn_with(Spawn::At(index), move |_| {
        here.send(()).unwrap();
        let _ = released.recv();
    });
    is_here.recv_timeout(LONGEST).unwrap();
    go_on
}

/// Calls `task` with the worker that the calling thread is.
pub(crate) fn on_worker<R>(task: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|current| task(current.expect("a worker's thread")))
}

/// Calls `test` on worker 0 of two, while the other one is held.
pub(crate) fn beside_a_held_worker<R: Send + 'static>(test: fn(&Worker) -> R) -> R {
    let pool = Pool::new(2).unwrap();
    let _held = hold(&pool, 1);
    let (result, received) = channel();
    let run = move |worker: &Worker| {
        let tested = test(worker);
        // A job that is left in a queue when the pool is closed is never freed.
        while worker.run_one() {}
        tested
    };
    pool.spawn_with(Spawn::At(0), move |_| result.send(on_worker(run)).unwrap());
    received.recv_timeout(LONGEST).unwrap()
}
