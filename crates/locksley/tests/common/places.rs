//! What tests of places have in common.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use locksley::places::Places;
use locksley::{Pool, PoolBuilder, Spawn};

/// Places of so many processors each, and as many workers. That this machine has other processors
/// is nothing to a pool whose workers are not bound.
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

/// A test that waits for longer has waited in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Has a worker wait until it is told to go on, or the sender is gone.
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
