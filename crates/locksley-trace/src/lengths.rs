//! The lengths of queues, sampled: a push is no event.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use locksley::extend::{PoolHandle, Queues};
use locksley_sys::os;

use crate::names::deque_name;
use crate::session::ACTIVE;
use crate::thread;

type Pools = BTreeMap<u32, Arc<dyn PoolHandle>>;

/// The traced pools of this process, by their numbers.
static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
/// What libraries have announced.
static QUEUES: Mutex<Vec<Arc<dyn Queues>>> = Mutex::new(Vec::new());

/// `None` in a forked child, if the lock is held: the holder may be missing there.
fn lock<T>(of: &'static Mutex<T>) -> Option<MutexGuard<'static, T>> {
    if os::generation() == 0 {
        return Some(of.lock().unwrap_or_else(PoisonError::into_inner));
    }
    match of.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Ok(guard) => Some(guard),
    }
}

// Additions remove what has ended, since no thread may be sampling.

pub(crate) fn add_pool(number: u32, pool: Arc<dyn PoolHandle>) {
    let _ = pools();
    let _ = lock(&POOLS).map(|mut pools| pools.insert(number, pool));
}

pub(crate) fn add_queues(queues: Arc<dyn Queues>) {
    read_queues(|_, _| ());
    let _ = lock(&QUEUES).map(|mut all| all.push(queues));
}

/// The pools that have not ended.
pub(crate) fn pools() -> Pools {
    // In a copy: what is asked may end thereby, and take the lock.
    let all = lock(&POOLS).map(|pools| pools.clone()).unwrap_or_default();
    let (alive, ended): (Pools, Pools) =
        all.into_iter().partition(|(_, pool)| pool.size().is_some());
    let _ = lock(&POOLS).map(|mut all| all.retain(|number, _| !ended.contains_key(number)));
    alive
}

/// Reads all queues, and removes those that have ended.
fn read_queues(mut record: impl FnMut(&str, usize)) {
    // As in `pools`.
    let mut ended = lock(&QUEUES).map(|queues| queues.clone()).unwrap_or_default();
    ended.retain(|queues| !queues.read(&mut record));
    let has_ended = |it: &Arc<dyn Queues>| ended.iter().any(|ended| Arc::ptr_eq(ended, it));
    let _ = lock(&QUEUES).map(|mut all| all.retain(|it| !has_ended(it)));
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
        let is_full = is_new || self.samples % FULL_SAMPLE == 0;
        self.samples = self.samples.wrapping_add(1);
        let is_told = |before, length| length != before || is_full && length != 0;
        let pools = pools();
        self.deques.retain(|(pool, _), _| pools.contains_key(pool));
        for (pool, handle) in pools {
            for (slot, length) in (0..).zip(handle.queued()) {
                let before = self.deques.entry((pool, slot)).or_default();
                if is_told(std::mem::replace(before, length), length) {
                    thread::record_length(&deque_name(pool, slot), length);
                }
            }
        }
        let mut found = HashMap::new();
        // Queues of several networks may have the same name.
        read_queues(|name, length| *found.entry(name.to_owned()).or_insert(0) += length);
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
