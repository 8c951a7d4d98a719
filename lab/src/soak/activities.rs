//! What the subject runs, and the check of each result against a sequential value.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use locksley::idle::{Balanced, IdleContext, IdlePolicy, Move, Thief};
use locksley::loops::par;
use locksley::{BuildError, Cancellation, Pool, Scope, Spawn, Worker, blocking, scope_until};

use crate::random::{Random, mix};

/// What is wrong, if anything is.
pub(super) type Checked = Result<(), Box<dyn Error + Send + Sync>>;

/// Compares results with expected values, and counts them.
#[derive(Debug, Default)]
pub(super) struct Checks(pub(super) u64);

impl Checks {
    pub(super) fn expect<T>(&mut self, what: &str, found: T, expected: T) -> Checked
    where
        T: PartialEq + Debug,
    {
        self.0 += 1;
        match found == expected {
            true => Ok(()),
            false => Err(format!("{what} is {found:?} and should be {expected:?}").into()),
        }
    }
}

/// A random tree, given by its root: the value of a leaf is a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    seed: u64,
    depth: u32,
}

impl Tree {
    pub(super) fn random(random: &mut Random) -> Tree {
        Tree { seed: random.next_u64(), depth: 13 }
    }

    fn children(self) -> Option<[Tree; 2]> {
        let is_leaf = self.depth == 0 || mix(self.seed).is_multiple_of(16);
        let child = |n| Tree { seed: mix(self.seed ^ n), depth: self.depth - 1 };
        (!is_leaf).then(|| [child(1), child(2)])
    }

    /// The sum of all leaves, by a sequential recursion.
    pub(super) fn serial(self) -> u64 {
        self.children().map_or(self.seed, |[a, b]| a.serial().wrapping_add(b.serial()))
    }

    /// The same by fork and join.
    pub(super) fn joined(self, worker: &Worker) -> u64 {
        self.children().map_or(self.seed, |[a, b]| {
            let (a, b) = worker.join(|worker| a.joined(worker), |worker| b.joined(worker));
            a.wrapping_add(b)
        })
    }

    /// The same by tasks of a scope, added to `sum`.
    fn spawned<'scope>(self, scope: &Scope<'scope>, sum: &'scope AtomicU64) {
        let Some(children) = self.children() else {
            // The scope orders all additions before the read.
            sum.fetch_add(self.seed, Ordering::Relaxed);
            return;
        };
        for child in children {
            scope.spawn(move |scope| child.spawned(scope, sum));
        }
    }
}

pub(super) fn join(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let tree = Tree::random(random);
    checks.expect("the sum", pool.install(|worker| tree.joined(worker)), tree.serial())
}

pub(super) fn scope(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (tree, sum) = (Tree::random(random), AtomicU64::new(0));
    let visits = AtomicUsize::new(0);
    pool.in_place_scope(|scope| {
        tree.spawned(scope, &sum);
        scope.spawn_broadcast(|_, _| {
            visits.fetch_add(1, Ordering::Relaxed);
        });
    });
    checks.expect("the sum", sum.into_inner(), tree.serial())?;
    checks.expect("the number of visits", visits.into_inner(), pool.workers())
}

pub(super) fn spawn(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (sender, receiver) = mpsc::channel();
    let numbers = random.integers(300);
    for &number in &numbers {
        let sender = sender.clone();
        let task =
            move |_: &Worker| locksley::spawn(move || sender.send(number).expect("received"));
        match number % 4 {
            0 => pool.spawn_with(Spawn::At(number as usize / 4 % pool.workers()), task),
            1 => pool.spawn_with(Spawn::Near(0), task),
            2 => pool.spawn_with(Spawn::Fifo, task),
            _ => pool.spawn(task),
        }
    }
    drop(sender);
    let (mut found, mut expected): (Vec<u32>, _) = (receiver.iter().collect(), numbers);
    found.sort_unstable();
    expected.sort_unstable();
    checks.expect("what was sent", found, expected)
}

pub(super) fn loops(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let length = random.next_u64() % 20_000;
    let grain = 1 + (random.next_u64() % 100) as usize;
    let expected: Vec<u64> = (0..length).map(mix).collect();
    let sum = expected.iter().fold(0u64, |sum, &n| sum.wrapping_add(n));
    pool.install(|_| {
        checks.expect("a map", par(0..length).grain(grain).map(mix) == expected, true)?;
        let add = |a: u64, b: u64| a.wrapping_add(b);
        checks.expect("a sum", par(&expected).reduce(|| 0, |sum, &n| add(sum, n), add), sum)?;
        let mut filled: Vec<u64> = (0..length).collect();
        par(&mut filled).by_place().for_each(|n| *n = mix(*n));
        checks.expect("a loop in place", filled == expected, true)?;
        let of_chunk = |chunk: &[u64]| chunk.iter().fold(0, |sum, &n| add(sum, n));
        let of_chunks = par(&expected).chunks(grain).map(of_chunk);
        checks.expect("a sum of chunks", of_chunk(&of_chunks), sum)
    })
}

pub(super) fn broadcast(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let tree = Tree { depth: 5, ..Tree::random(random) };
    let found = pool.broadcast(|worker| (worker.index(), tree.joined(worker)));
    let expected = (0..pool.workers()).map(|index| (index, tree.serial()));
    checks.expect("what each worker returns", found, expected.collect())
}

/// Tasks that block for what others send; each has a replacement.
pub(super) fn block(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let numbers = random.integers(20);
    let received = Mutex::new(Vec::new());
    pool.in_place_scope(|scope| {
        for &number in &numbers {
            let (sender, receiver) = mpsc::channel();
            let received = &received;
            scope.spawn(move |_| {
                let number = blocking(|| receiver.recv()).expect("the sender sends");
                received.lock().expect("no panic").push(number);
            });
            scope.spawn(move |_| sender.send(number).expect("the receiver waits"));
        }
    });
    let found: BTreeSet<u32> = received.into_inner().expect("no panic").into_iter().collect();
    checks.expect("what was received", found, numbers.into_iter().collect())
}

/// Loops, scopes and futures that are cancelled: an error says that something did not begin.
pub(super) fn cancel(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (items, at) = (3000, random.next_u64() % 6000);
    let (visited, token) = (AtomicU64::new(0), Cancellation::new());
    let visit = |n: u64| {
        visited.fetch_add(1, Ordering::Relaxed);
        if n == at {
            token.cancel();
        }
    };
    let outcome = pool.install(|_| par(0..items).cancel(&token).for_each(visit));
    let left_out = visited.swap(0, Ordering::Relaxed) < items;
    checks.expect("whether a loop is cancelled", outcome.is_err(), left_out)?;

    let (token, begun) = (Cancellation::new(), &visited);
    let outcome = pool.install(|_| {
        scope_until(&token, |scope| {
            for n in 0..items {
                let token = &token;
                scope.spawn(move |_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if n == at {
                        token.cancel();
                    }
                });
            }
        })
    });
    let left_out = visited.load(Ordering::Relaxed) < items;
    checks.expect("whether a scope is cancelled", outcome.is_err(), left_out)?;

    let handle = pool.spawn_future(std::future::pending::<()>());
    handle.abort();
    let is_cancelled = handle.join().is_err_and(|error| error.is_cancelled());
    checks.expect("whether a future is cancelled", is_cancelled, true)
}

/// A pool with thieves that sleep as by default, at once, or late, or one without a limit, in turn.
pub(super) fn policy_pool(workers: usize, turn: u64) -> Result<Pool, BuildError> {
    let pool = Pool::builder().workers(workers);
    match turn % 4 {
        0 => pool.idle_policy(Balanced::default()),
        1 => pool.idle_policy(Balanced::with_threshold(0)),
        2 => pool.idle_policy(Balanced::with_threshold(4096)),
        _ => pool.idle_policy(Unlimited),
    }
    .build()
}

/// Thieves yield, also beside other programs, and sleep late. All workers may be active.
#[derive(Clone, Copy, Debug)]
struct Unlimited;

impl IdlePolicy for Unlimited {
    fn name(&self) -> &'static str {
        "unlimited"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Unlimited {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        match context.failures {
            500.. => Move::Sleep,
            failures if failures % 16 == 15 => Move::Yield,
            _ => Move::Search,
        }
    }
}

/// A pool that changes its size while it works.
pub(super) fn resize(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let tree = Tree::random(random);
    let own = policy_pool(pool.workers(), random.next_u64())?;
    let found = thread::scope(|scope| {
        let running = scope.spawn(|| own.install(|worker| tree.joined(worker)));
        while !running.is_finished() {
            let size = 1 + random.next_u64() as usize % own.workers();
            own.resize(size).expect("a size that it can have");
        }
        running.join().expect("no panic")
    });
    checks.expect("the sum", found, tree.serial())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_is_found() {
        let mut checks = Checks::default();
        checks.expect("one", 1, 1).unwrap();
        let wrong = checks.expect("one", 2, 1).unwrap_err();
        assert_eq!(wrong.to_string(), "one is 2 and should be 1");
        assert_eq!(checks.0, 2);
    }

    #[test]
    fn trees_differ_and_have_leaves() {
        let mut random = Random::new(3);
        let sums: BTreeSet<u64> = (0..20).map(|_| Tree::random(&mut random).serial()).collect();
        assert_eq!(sums.len(), 20);
    }
}
