//! The lengths of queues, sampled: a push is no event.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use locksley::extend::{PoolHandle, Queues};

use crate::session::ACTIVE;
use crate::thread;

type Pools = BTreeMap<u32, Arc<dyn PoolHandle>>;

/// The traced pools of this process, by their numbers.
static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
/// What libraries have announced.
static QUEUES: Mutex<Vec<Arc<dyn Queues>>> = Mutex::new(Vec::new());

fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn add_pool(number: u32, pool: Arc<dyn PoolHandle>) {
    lock(&POOLS).insert(number, pool);
}

pub(crate) fn add_queues(queues: Arc<dyn Queues>) {
    lock(&QUEUES).push(queues);
}

/// The pools that have not ended.
pub(crate) fn pools() -> Pools {
    let mut pools = lock(&POOLS);
    pools.retain(|_, pool| pool.size().is_some());
    pools.clone()
}

/// The name of the counter of a worker's deque.
pub(crate) fn deque_name(pool: u32, slot: u32) -> String {
    format!("pool {pool}: tasks of {slot}")
}

/// Records the lengths that have changed since the last sample.
#[derive(Default)]
pub(crate) struct Lengths {
    /// The recording that has the lengths.
    active: u64,
    deques: HashMap<(u32, u32), usize>,
    others: HashMap<String, usize>,
}

impl Lengths {
    pub(crate) fn record(&mut self) {
        // Relaxed: a recording that has just begun gets the next sample.
        let active = ACTIVE.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.active, active) != active {
            (self.deques, self.others) = Default::default();
        }
        for (pool, handle) in pools() {
            for (slot, length) in (0..).zip(handle.queued()) {
                let before = self.deques.entry((pool, slot)).or_default();
                if std::mem::replace(before, length) != length {
                    thread::record_length(&deque_name(pool, slot), length);
                }
            }
        }
        let others = &mut self.others;
        let mut record = |name: &str, length| {
            if others.get(name).copied().unwrap_or(0) != length {
                others.insert(name.to_owned(), length);
                thread::record_length(name, length);
            }
        };
        // In a copy: to read a queue may end it, and thereby begin another one.
        let mut queues = lock(&QUEUES).clone();
        queues.retain(|queues| !queues.read(&mut record));
        lock(&QUEUES).retain(|it| !queues.iter().any(|ended| Arc::ptr_eq(ended, it)));
    }
}
