//! The lengths of queues, sampled: a push is no event.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use locksley::extend::{PoolHandle, Queues};

use crate::names::deque_name;
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

/// All lengths are recorded in one of so many samples: older events are overwritten.
const FULL_SAMPLE: u32 = 40;

/// Records the lengths that have changed since the last sample.
#[derive(Default)]
pub(crate) struct Lengths {
    /// The recording that has the lengths.
    active: u64,
    samples: u32,
    deques: HashMap<(u32, u32), usize>,
    others: HashMap<String, usize>,
}

impl Lengths {
    pub(crate) fn record(&mut self) {
        // Relaxed: a recording that has just begun gets the next sample.
        let active = ACTIVE.load(Ordering::Relaxed);
        let is_new = std::mem::replace(&mut self.active, active) != active;
        let is_full = is_new || self.samples.is_multiple_of(FULL_SAMPLE);
        self.samples = self.samples.wrapping_add(1);
        let is_told = |before, length| length != before || is_full && length != 0;
        for (pool, handle) in pools() {
            for (slot, length) in (0..).zip(handle.queued()) {
                let before = self.deques.entry((pool, slot)).or_default();
                if is_told(std::mem::replace(before, length), length) {
                    thread::record_length(&deque_name(pool, slot), length);
                }
            }
        }
        let mut found = HashMap::new();
        // In a copy: what is read may end thereby, and take the lock.
        let mut queues = lock(&QUEUES).clone();
        queues.retain(|queues| {
            !queues.read(&mut |name, length| _ = found.insert(name.to_owned(), length))
        });
        lock(&QUEUES).retain(|it| !queues.iter().any(|ended| Arc::ptr_eq(ended, it)));
        for name in self.others.keys() {
            found.entry(name.clone()).or_insert(0);
        }
        for (name, &length) in &found {
            if is_told(self.others.get(name).copied().unwrap_or(0), length) {
                thread::record_length(name, length);
            }
        }
        found.retain(|_, length| *length != 0);
        self.others = found;
    }
}
