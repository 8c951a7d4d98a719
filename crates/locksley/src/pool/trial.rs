//! What unit tests of pools have in common.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::{Pool, PoolBuilder};
use crate::Spawn;
use crate::places::Places;

/// A test that waits for longer has waited in vain.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// Places of so many processors each, and as many workers. That this machine has other processors
/// is nothing to a pool whose workers are not bound.
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

/// Has a worker wait until it is told to go on, or the sender is gone.
pub(crate) fn hold(pool: &Pool, index: usize) -> Sender<()> {
    let ((here, is_here), (go_on, reported)) = (channel(), channel());
    pool.spawn_with(Spawn::At(index), move |_| {
        here.send(()).unwrap();
        let _ = reported.recv();
    });
    is_here.recv_timeout(LONGEST).unwrap();
    go_on
}
