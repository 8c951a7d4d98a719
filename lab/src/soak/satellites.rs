//! Activities of futures, and of the crates that build on the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::task::{self, yield_now};
use locksley::{Pool, block_on};
use locksley_intervals::{Handle, IntervalLock, Root};
use locksley_kahn::Network;
use locksley_profile::Profiler;
use locksley_sync::{Barrier, Condvar, Mutex, OnceCell, Semaphore};

use super::activities::{Checked, Checks, Tree};
use crate::random::{Random, mix};

/// Tasks of which each awaits the one before, and all yield.
pub(super) fn futures(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let numbers = random.integers(200);
    let mut before = pool.spawn_future(async { 0u64 });
    for &number in &numbers {
        before = pool.spawn_future(async move {
            yield_now().await;
            let own = task::spawn(async move {
                yield_now().await;
                mix(u64::from(number))
            });
            before.await.expect("no panic").wrapping_add(own.await.expect("no panic"))
        });
    }
    let found = pool.install(|_| block_on(before))?;
    let expected = numbers.iter().fold(0u64, |sum, &n| sum.wrapping_add(mix(u64::from(n))));
    checks.expect("the sum", found, expected)
}

#[derive(Debug)]
struct Shared {
    sum: Mutex<u64>,
    changed: Condvar,
    permits: Semaphore,
    inside: AtomicU64,
    most: AtomicU64,
    barrier: Barrier,
    first: OnceCell<u64>,
}

const PARTIES: u64 = 24;
const PERMITS: u64 = 3;

/// Tasks that meet at all primitives: each adds its number under the lock.
pub(super) fn sync(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let shared = Arc::new(Shared {
        sum: Mutex::new(0),
        changed: Condvar::new(),
        permits: Semaphore::new(PERMITS as usize),
        inside: AtomicU64::new(0),
        most: AtomicU64::new(0),
        barrier: Barrier::new(PARTIES as usize),
        first: OnceCell::new(),
    });
    let first = random.next_u64();
    let party = move |number: u64, shared: Arc<Shared>| async move {
        let found = *shared.first.get_or_init(|| async move { first }).await;
        for _ in 0..5 {
            let permit = shared.permits.acquire().await.expect("it is not closed");
            let inside = 1 + shared.inside.fetch_add(1, Ordering::SeqCst);
            shared.most.fetch_max(inside, Ordering::SeqCst);
            yield_now().await;
            shared.inside.fetch_sub(1, Ordering::SeqCst);
            drop(permit);
        }
        let leads = shared.barrier.wait().await.is_leader();
        let mut sum = shared.sum.lock().await;
        let before = *sum;
        yield_now().await;
        *sum = before + number;
        shared.changed.notify_all();
        let all = PARTIES * (PARTIES - 1) / 2;
        let sum = shared.changed.wait_while(sum, |sum| *sum != all).await;
        drop(sum);
        (found, u64::from(leads))
    };
    let parties = (0..PARTIES).map(|number| pool.spawn_future(party(number, Arc::clone(&shared))));
    let mut leaders = 0;
    for party in parties.collect::<Vec<_>>() {
        let (found, leads) = party.join()?;
        checks.expect("the cell", found, first)?;
        leaders += leads;
    }
    checks.expect("the number of leaders", leaders, 1)?;
    let most = shared.most.load(Ordering::SeqCst);
    checks.expect("at most as many inside as permits", (1..=PERMITS).contains(&most), true)
}

/// A pipeline with small channels.
pub(super) fn kahn(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (stages, messages) = (1 + random.next_u64() % 12, random.next_u64() % 300);
    let mut capacity = || 1 + (random.next_u64() % 4) as usize;
    let mut network = Network::new();
    let (source, mut last) = network.channel("source", capacity());
    network.process("source", source, async move |mut output| {
        for n in 0..messages {
            output.send(n).await;
        }
    });
    for stage in 0..stages {
        let (next, input) = network.channel("stage", capacity());
        let ports = (std::mem::replace(&mut last, input), next);
        network.process("stage", ports, async move |(mut input, mut output)| {
            while let Some(n) = input.recv().await {
                output.send(mix(n ^ stage)).await;
            }
        });
    }
    let found = network.process("sink", last, async move |mut input| {
        let mut found = Vec::new();
        while let Some(n) = input.recv().await {
            found.push(n);
        }
        found
    });
    network.run(pool)?;
    let expected = (0..messages).map(|n| (0..stages).fold(n, |n, stage| mix(n ^ stage)));
    checks.expect("what arrives", found.take(), Some(expected.collect()))
}

/// A random graph. Each interval adds the values of some before it.
pub(super) fn intervals(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let number = random.next_u64() % 300;
    let mut expected: Vec<u64> = Vec::new();
    let mut after: Vec<Vec<usize>> = Vec::new();
    for n in 0..number {
        let some = (0..n.min(3)).map(|_| (random.next_u64() % n) as usize);
        let some: Vec<usize> = some.collect();
        let value = |sum: u64, &of: &usize| sum.wrapping_add(expected[of]);
        expected.push(some.iter().fold(mix(n), value));
        after.push(some);
    }
    let sum = IntervalLock::new(0u64);
    let root = Root::new("soak").on(pool);
    let outcome = root.run(|root| {
        let mut values: Vec<Handle<'_, u64>> = Vec::new();
        for (n, some) in after.iter().enumerate() {
            let some: Vec<_> = some.iter().map(|&of| values[of]).collect();
            let mut interval = root.interval("value").after_all(some.iter().copied());
            let mut key = interval.lock(&sum);
            values.push(interval.spawn(move |cx| {
                let value =
                    some.iter().fold(mix(n as u64), |sum, of| sum.wrapping_add(*of.get(cx)));
                let sum = key.get_mut(cx);
                *sum = sum.wrapping_add(value);
                value
            }));
        }
    });
    outcome?;
    let all = expected.iter().fold(0u64, |sum, &n| sum.wrapping_add(n));
    checks.expect("the sum", sum.into_inner(), all)
}

/// A tree on a pool that is observed.
pub(super) fn profile(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (tree, profiler) = (Tree::random(random), Profiler::new());
    let builder = Pool::builder().workers(pool.workers()).observer(profiler.clone());
    let observed = builder.build()?;
    let (found, report) = profiler.measure(&observed, |worker| tree.joined(worker));
    checks.expect("the sum", found, tree.serial())?;
    checks.expect("whether the span is at most the work", report.span <= report.work, true)
}
