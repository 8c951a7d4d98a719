//! Shared by the tests: pools, places, and the message of a panic.

#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../locksley/tests/common/idle_policies.rs"]
mod idle_policies;

use std::any::Any;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use idle_policies::{Helping, SLEEPLESS, SLEEPY};
use locksley::idle::Balanced;
use locksley::places::Places;
use locksley::{Pool, PoolBuilder, Spawn};

/// Returns pool options: one for each of several idle policies.
pub(crate) fn idle_policies() -> [fn(PoolBuilder) -> PoolBuilder; 4] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Helping { attempts: 64 }),
        |pool| pool.idle_policy(SLEEPLESS),
        |pool| pool.idle_policy(SLEEPY),
    ]
}

/// Returns a pool for each idle policy and each of several numbers of workers: one, a few, and more
/// than there are processors.
pub(crate) fn pools() -> impl Iterator<Item = Pool> {
    idle_policies().into_iter().flat_map(|with_policy| {
        [1, 2, 3, 16].map(|workers| {
            with_policy(Pool::builder()).workers(workers).build().expect("a pool can be built")
        })
    })
}

/// Returns options of a pool with places of these sizes, and a worker for each processor. The
/// processors need not exist: workers are not bound to them.
pub(crate) fn divided(sizes: &[usize]) -> PoolBuilder {
    let workers = sizes.iter().sum();
    let mut first = 0;
    let mut set = |size: &usize| {
        first += size;
        (first - size..first).collect()
    };
    let sets: Vec<_> = sizes.iter().map(&mut set).collect();
    let places = Places::given(&(0..workers).collect(), sets).unwrap();
    Pool::builder().workers(workers).places(places)
}

/// Keeps a worker busy until the sender is used or dropped.
pub(crate) fn hold(pool: &Pool, index: usize) -> Sender<()> {
    let (go_on, told) = channel();
    let (here, is_here) = channel();
    pool.spawn_with(Spawn::At(index), move |_| {
        here.send(()).unwrap();
        let _ = told.recv();
    });
    is_here.recv_timeout(Duration::from_secs(120)).unwrap();
    go_on
}

/// Returns the message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}
