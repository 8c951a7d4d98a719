//! Shared by the tests of places.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use locksley::places::Places;
use locksley::{Pool, PoolBuilder, Spawn};

/// A pool with places of these numbers of processors, and as many workers. The workers are not
/// bound, so the machine may have other processors.
pub(crate) fn divided(sizes: &[usize]) -> PoolBuilder {
    let mut first = 0;
    let sets: Vec<_> = sizes
        .iter()
        .map(|size| {
            first += size;
            (first - size..first).collect()
        })
        .collect();
    let places = Places::given(&(0..first).collect(), sets).unwrap();
    Pool::builder().workers(first).places(places)
}

/// A test that waits for longer fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Makes a worker wait until the returned sender sends or is dropped.
pub(crate) fn hold(pool: &Pool, index: usize) -> Sender<()> {
    let (go_on, reported) = channel();
    let (here, is_here) = channel();
    pool.spawn_with(Spawn::At(index), move |_| {
        here.send(()).unwrap();
        let _ = reported.recv();
    });
    is_here.recv_timeout(PATIENCE).unwrap();
    go_on
}
