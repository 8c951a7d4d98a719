//! Pools that follow a fake allowance. The number of processors of this machine does not matter.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::Spawn;
use crate::idle::{Abp, Balanced, Bws, IdleContext, IdlePolicy, Move, Peers, Thief};
use crate::os::{Quota, ThreadAffinity};
use crate::pool::tests::{hold, on_worker};
use crate::scheduler::search::RESCUE_FROM_IDLE;
use crate::{Pool, PoolBuilder, Worker, task};

const SOON: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(100);

/// A fake system with limits that can be changed.
#[derive(Debug)]
struct FakeSystem {
    processors: AtomicUsize,
    /// In hundredths of a processor; 0 means no quota.
    quota: AtomicU64,
    /// How much more processor time each reading shows, in nanoseconds.
    usage_step: AtomicU64,
    used: AtomicU64,
    /// How much more waiting each reading shows, in nanoseconds.
    wait_step: AtomicU64,
    waited: AtomicU64,
    /// How many times the limits were read.
    readings: AtomicUsize,
}

impl FakeSystem {
    fn new(processors: usize, quota: u64) -> Arc<Self> {
        Arc::new(Self {
            processors: AtomicUsize::new(processors),
            quota: AtomicU64::new(quota),
            usage_step: AtomicU64::new(0),
            used: AtomicU64::new(0),
            wait_step: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            readings: AtomicUsize::new(0),
        })
    }

    /// A pool of up to six workers, which has not polled yet.
    fn pool(self: &Arc<Self>, build: impl Fn(PoolBuilder) -> PoolBuilder) -> Pool {
        let system = Arc::clone(self);
        let source: OpenSource = Arc::new(move || Box::new(FakeSource(Arc::clone(&system))));
        build(Pool::builder().max_workers(6)).allowance_source(source).build().unwrap()
    }
}

struct FakeSource(Arc<FakeSystem>);

impl Source for FakeSource {
    fn processors(&mut self, shared: &Shared) -> Option<usize> {
        let processors = ThreadAffinity::count_union(shared.affinities_of_workers());
        assert!(processors.is_none_or(|processors| processors > 0));
        self.0.readings.fetch_add(1, Ordering::Relaxed);
        Some(self.0.processors.load(Ordering::Relaxed))
    }

    fn quota(&mut self) -> Option<Quota> {
        let hundredths = self.0.quota.load(Ordering::Relaxed);
        let processors = hundredths as f64 / 100.0;
        (hundredths > 0).then(|| Quota {
            processors,
            period: PERIOD,
            file: Path::new("fake").into(),
        })
    }

    fn throttled_periods(&mut self, _: &Quota) -> Option<u64> {
        Some(0)
    }

    fn processor_time(&mut self, _: &Shared) -> Option<Duration> {
        let more = self.0.usage_step.load(Ordering::Relaxed);
        Some(Duration::from_nanos(self.0.used.fetch_add(more, Ordering::Relaxed) + more))
    }

    fn process_time(&mut self) -> Option<Duration> {
        // So other programs have all processors.
        Some(Duration::ZERO)
    }

    fn processor_wait(&mut self, _: &Shared) -> Option<Duration> {
        let more = self.0.wait_step.load(Ordering::Relaxed);
        Some(Duration::from_nanos(self.0.waited.fetch_add(more, Ordering::Relaxed) + more))
    }
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn idle_policies() -> [fn(PoolBuilder) -> PoolBuilder; 3] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Bws::default()),
        |pool| pool.idle_policy(Abp::default()),
    ]
}

fn work(pool: &Pool) {
    assert_eq!(pool.install(|w| fib(w, 12)), 144);
}

/// Repeats `meanwhile` until the condition holds.
#[track_caller]
fn until(condition: impl Fn() -> bool, meanwhile: impl Fn()) {
    let patience = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < patience);
        meanwhile();
    }
}

/// Makes the pool work until this many workers may be awake.
#[track_caller]
fn work_until_allowed(pool: &Pool, awake: usize) {
    until(|| pool.shared().processors() == awake, || work(pool));
    // Until a poll that is under way has ended.
    pool.shared().allowance.iter().for_each(|allowance| drop(allowance.state.lock()));
}

/// Makes the pool work until the limits have been read so many times.
#[track_caller]
fn work_until_polled(pool: &Pool, system: &FakeSystem, times: usize) {
    let readings = || system.readings.load(Ordering::Relaxed);
    let enough = readings() + times;
    until(|| readings() >= enough, || work(pool));
}

/// Runs tasks that all have to run at the same time.
fn meet(pool: &Pool, number: usize) {
    let here = AtomicUsize::new(0);
    pool.install(|_| {
        crate::in_place_scope(|scope| {
            for _ in 0..number {
                scope.spawn(|_| {
                    here.fetch_add(1, Ordering::AcqRel);
                    while here.load(Ordering::Acquire) < number {
                        thread::yield_now();
                    }
                });
            }
        });
    });
}

#[test]
fn as_many_workers_are_awake_as_are_allowed() {
    for with_policy in idle_policies() {
        let system = FakeSystem::new(1, 0);
        let pool = system.pool(with_policy);
        assert_eq!(pool.workers(), 6);
        for (processors, quota, size) in
            [(1, 0, 1), (4, 0, 4), (4, 200, 2), (4, 900, 4), (64, 50, 1), (3, 0, 3), (64, 0, 6)]
        {
            system.processors.store(processors, Ordering::Relaxed);
            system.quota.store(quota, Ordering::Relaxed);
            work_until_allowed(&pool, if processors == 64 && quota == 0 { 64 } else { size });
            assert_eq!(pool.size(), size);
            meet(&pool, size);
        }
    }
}

/// Waits until all workers sleep, or are about to.
fn wait_until_asleep(pool: &Pool) {
    let nap = || thread::sleep(Duration::from_millis(1));
    until(|| pool.shared().sleep.snapshot().asleep() == pool.workers(), nap);
}

/// Tasks that are sent run on as many workers as are allowed. More may run a task each: the
/// sentinel, once in `RESCUE_FROM_IDLE`, and each worker that was about to sleep when it saw one.
#[test]
fn tasks_that_are_sent_keep_to_the_limit() {
    const TASKS: usize = 30;
    let impatient = |pool: PoolBuilder| {
        pool.idle_policy(Abp { attempts: 2, lower_after: None, sleep_after: Some(0) })
    };
    for with_policy in [idle_policies()[0], idle_policies()[1], impatient] {
        for (allowed, sleep) in [(1, true), (2, true), (1, false), (2, false)] {
            let system = FakeSystem::new(allowed, 0);
            let pool = system.pool(with_policy);
            work_until_allowed(&pool, allowed);
            // Then no worker uses the limit from before.
            wait_until_asleep(&pool);
            let [here, over, done] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
            let begun = Instant::now();
            let awake = if sleep { 0..0 } else { 0..allowed };
            let held: Vec<_> = awake.map(|worker| hold(&pool, worker)).collect();
            for _ in 0..TASKS {
                let [here, over, done] = [&here, &over, &done].map(Arc::clone);
                pool.spawn(move |_| {
                    let others = here.fetch_add(1, Ordering::AcqRel);
                    over.fetch_add(usize::from(others >= allowed), Ordering::AcqRel);
                    let end = Instant::now() + Duration::from_millis(5);
                    while Instant::now() < end {
                        std::hint::spin_loop();
                    }
                    here.fetch_sub(1, Ordering::AcqRel);
                    done.fetch_add(1, Ordering::AcqRel);
                });
            }
            drop(held);
            let nap = || thread::sleep(Duration::from_millis(1));
            until(|| done.load(Ordering::Acquire) == TASKS, nap);
            let helped = (begun.elapsed().as_nanos() / RESCUE_FROM_IDLE.as_nanos()) as usize;
            let over = over.load(Ordering::Acquire);
            let name = pool.shared().config.idle_policy.name();
            // All but a few would be, without the limit.
            assert!(
                over <= TASKS / 3 + helped,
                "{name}: {over} over {allowed}, {helped} times helped; all sleep: {sleep}"
            );
        }
    }
}

#[test]
fn one_more_worker_is_allowed_unless_a_quota_sets_the_limit() {
    let has_send_limit = |processors, quota, waits: bool, most| {
        let system = FakeSystem::new(1, 0);
        let pool = system.pool(|pool| pool.max_workers(most));
        let wait = if waits { SOON } else { Duration::ZERO };
        system.wait_step.store(wait.as_nanos() as u64, Ordering::Relaxed);
        system.processors.store(processors, Ordering::Relaxed);
        system.quota.store(quota, Ordering::Relaxed);
        work_until_allowed(&pool, 2);
        // This is independent of the limit.
        assert_eq!((pool.size(), pool.shared().processors()), (2, 2));
        // On a machine with two processors the pool is built for two. Then the first poll, from
        // which on the waits are known, may be yet to come, or be under way.
        work_until_polled(&pool, &system, 4);
        pool.shared().sleep.has_send_limit()
    };
    for (processors, quota) in [(2, 0), (2, 200), (2, 900)] {
        assert!(!has_send_limit(processors, quota, true, 3), "{processors} {quota}");
        assert!(has_send_limit(processors, quota, true, 4), "{processors} {quota}: not two");
        assert!(has_send_limit(processors, quota, false, 3), "{processors} {quota}");
    }
    for (processors, quota) in [(3, 200), (4, 150)] {
        assert!(has_send_limit(processors, quota, true, 3), "{processors} {quota}");
    }
}

#[test]
fn the_one_more_worker_is_not_over_the_limit_for_tasks_that_were_sent() {
    let system = FakeSystem::new(2, 0);
    let pool = system.pool(|pool| pool.max_workers(3));
    system.wait_step.store(SOON.as_nanos() as u64, Ordering::Relaxed);
    work_until_allowed(&pool, 2);
    work_until_polled(&pool, &system, 4);
    let shared = pool.shared();
    let held = [0, 1, 2].map(|worker| hold(&pool, worker));
    // No worker polls any more.
    assert!(shared.sleep.is_one_more_allowed());
    assert!(Peers::is_over_limit(&**shared) && shared.is_over_allowance());
    let (sender, receiver) = channel();
    pool.spawn(move |_| sender.send(()).unwrap());
    assert!(!Peers::is_over_limit(&**shared) && !shared.is_over_allowance());
    drop(held);
    receiver.recv_timeout(SOON).unwrap();
    pool.resize(2).unwrap();
    assert!(!shared.sleep.is_one_more_allowed(), "the program has set the number");
}

#[test]
fn beside_a_borrowed_thread_there_is_no_sentinel() {
    if std::env::var_os("LOCKSLEY_WORKERS").is_some_and(|value| !value.is_empty()) {
        return locksley_sys::skip_test("LOCKSLEY_WORKERS is set");
    }
    let alone = Pool::builder().build().unwrap();
    let with_borrowed_thread = Pool::builder().with_current_thread().build().unwrap();
    let has_sentinel = alone.places().count() == 1 && alone.workers() < crate::sleep::MAX_WORKERS;
    let sentinels = if has_sentinel { SENTINELS } else { 0 };
    assert_eq!(alone.workers(), with_borrowed_thread.workers() + sentinels);
}

/// In a pool that follows the system, all allowed workers may wait for tasks that they have
/// pushed: one worker is left.
#[test]
fn all_allowed_workers_may_block() {
    let pool = Pool::builder().build().unwrap();
    let (allowed, workers) = (pool.size(), pool.workers());
    if workers == allowed {
        return locksley_sys::skip_test("the environment sets a number, or there is no sentinel");
    }
    let here = AtomicUsize::new(0);
    pool.install(|_| {
        crate::in_place_scope(|scope| {
            for _ in 0..allowed {
                scope.spawn(|_| {
                    on_worker(|w| {
                        here.fetch_add(1, Ordering::AcqRel);
                        let is_set = AtomicBool::new(false);
                        let all = || {
                            here.load(Ordering::Acquire) >= allowed
                                && is_set.load(Ordering::Acquire)
                        };
                        let set = || is_set.store(true, Ordering::Release);
                        w.join(|_| until(all, thread::yield_now), |_| set());
                    })
                });
            }
        });
    });
    assert_eq!(here.into_inner(), allowed);
}

/// Allows as many awake workers as processors. A sentinel sleeps for so long that it cannot do
/// much.
#[derive(Debug)]
struct SlowSentinel;

impl IdlePolicy for SlowSentinel {
    fn name(&self) -> &'static str {
        "slow sentinel"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(SlowSentinel)
    }
    fn limit(&self, processors: usize) -> Limit {
        Limit { awake: processors, timed_park: Duration::from_secs(1) }
    }
}

impl Thief for SlowSentinel {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let may_search = context.failures < 64 && !context.is_over_limit();
        if may_search { Move::Search } else { Move::Sleep }
    }
}

/// The sentinel takes one task after each timed park. For all of them, that would take longer than
/// this test waits, so the sentinel has to wake the worker that the inbox belongs to.
#[test]
fn tasks_for_a_sleeping_worker_do_not_wait_for_a_timed_park_each() {
    const FUTURES: usize = 120;
    let system = FakeSystem::new(1, 0);
    let pool = system.pool(|pool| pool.idle_policy(SlowSentinel));
    work_until_allowed(&pool, 1);
    let _stuck = hold(&pool, 0);
    let is_ready = Arc::new(AtomicBool::new(false));
    let ((waker, wakers), (sender, receiver)) = (channel(), channel());
    let go = Arc::clone(&is_ready);
    pool.spawn_with(Spawn::At(1), move |_| {
        for _ in 0..FUTURES {
            let (go, waker, sender) = (Arc::clone(&go), waker.clone(), sender.clone());
            let waits = poll_fn(move |context| {
                if go.load(Ordering::Acquire) {
                    return Poll::Ready(());
                }
                waker.send(context.waker().clone()).unwrap();
                Poll::Pending
            });
            drop(task::spawn(async move {
                waits.await;
                sender.send(()).unwrap();
            }));
        }
    });
    let next = |_| wakers.recv_timeout(SOON).unwrap();
    let wakers: Vec<Waker> = (0..FUTURES).map(next).collect();
    // All workers but the blocked one sleep, so one of them is the sentinel.
    let sleep = &pool.shared().sleep;
    let others = pool.workers() - 1;
    let is_quiet = || sleep.snapshot().asleep() >= others && sleep.is_send_limit_reached();
    until(is_quiet, thread::yield_now);
    is_ready.store(true, Ordering::Release);
    wakers.into_iter().for_each(Waker::wake);
    let patience = Instant::now() + SOON;
    let in_time = |_: &usize| {
        let left = patience.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).is_ok()
    };
    assert_eq!((0..FUTURES).filter(in_time).count(), FUTURES);
}

/// Reading the clocks of other threads updates the process's clock.
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn reading_the_usage_reads_the_clocks_of_awake_workers() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let held = [0, 2].map(|worker| hold(&pool, worker));
    let has_clocks = pool.shared().processor_time().is_some();
    let mut system = super::source::System::open();
    assert_eq!(system.clocks_read(), 0);
    assert!(system.processor_time(pool.shared()).is_some());
    let read = system.clocks_read();
    assert!(!has_clocks || read >= held.len(), "{read}");
    drop(held);
    let patience = Instant::now() + SOON;
    while system.clocks_read() > 0 {
        assert!(system.processor_time(pool.shared()).is_some());
        assert!(Instant::now() < patience, "workers do not sleep, or clocks of sleepers are read");
        thread::yield_now();
    }
}

/// The worker that polls, and finds that more workers are allowed, is itself in a task that waits
/// for them.
#[test]
fn sleeping_workers_are_woken_when_more_are_allowed() {
    for with_policy in idle_policies() {
        let system = FakeSystem::new(1, 0);
        let pool = system.pool(with_policy);
        work_until_allowed(&pool, 1);
        for _ in 0..5 {
            system.processors.store(1, Ordering::Relaxed);
            work_until_allowed(&pool, 1);
            system.processors.store(3, Ordering::Relaxed);
            // More than are allowed at first: the sentinel helps, however late.
            meet(&pool, 3);
        }
    }
}

#[test]
fn a_future_that_wakes_itself_does_not_keep_a_pool_from_polling() {
    let system = FakeSystem::new(2, 0);
    let pool = system.pool(|pool| pool);
    work_until_allowed(&pool, 2);
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&stop);
    let busy = pool.spawn_future(async move {
        while !is_over.load(Ordering::Acquire) {
            crate::task::yield_now().await;
        }
    });
    system.processors.store(1, Ordering::Relaxed);
    until(|| pool.size() == 1, thread::yield_now);
    stop.store(true, Ordering::Release);
    busy.join().unwrap();
}

#[test]
fn a_worker_rests_when_the_pool_is_ahead_of_its_quota_and_returns() {
    for with_policy in idle_policies() {
        let system = FakeSystem::new(8, 250);
        let pool = system.pool(with_policy);
        for _ in 0..3 {
            system.usage_step.store(0, Ordering::Relaxed);
            work_until_allowed(&pool, 3);
            system.usage_step.store(1_000_000_000, Ordering::Relaxed);
            work_until_allowed(&pool, 2);
            assert_eq!(pool.size(), 3, "including the worker that rests");
            // A worker that rests still helps a task that waits for it.
            meet(&pool, 3);
        }
    }
}

#[test]
fn a_single_worker_does_not_rest() {
    let system = FakeSystem::new(8, 50);
    system.usage_step.store(1_000_000_000, Ordering::Relaxed);
    let pool = system.pool(|pool| pool);
    work_until_allowed(&pool, 1);
    for _ in 0..3 {
        work_until_polled(&pool, &system, 1);
        assert_eq!(pool.size(), 1);
    }
}

#[test]
fn a_number_that_the_program_sets_is_kept() {
    for with_policy in idle_policies() {
        let system = FakeSystem::new(2, 0);
        let pool = system.pool(with_policy);
        work_until_allowed(&pool, 2);
        pool.resize(5).unwrap();
        assert_eq!(pool.size(), 5);
        system.processors.store(1, Ordering::Relaxed);
        // Longer than the interval between two readings.
        let begun = Instant::now();
        while begun.elapsed() < 3 * READING_INTERVAL {
            work(&pool);
        }
        assert_eq!(pool.size(), 5);
        meet(&pool, 5);
    }
    let system = FakeSystem::new(1, 0);
    let pool = system.pool(|pool| pool.workers(3));
    assert_eq!((pool.size(), pool.workers()), (3, 6));
    work(&pool);
    assert_eq!(pool.size(), 3);
}

#[test]
fn an_idle_pool_sleeps_even_if_a_worker_has_to_rest() {
    // Not `Abp`: its thieves stay awake at the lowest priority while other threads want the
    // processors.
    for with_policy in &idle_policies()[..2] {
        let system = FakeSystem::new(8, 150);
        let pool = system.pool(with_policy);
        system.usage_step.store(1_000_000_000, Ordering::Relaxed);
        work_until_allowed(&pool, 1);
        let patience = Instant::now() + SOON;
        let mut before = pool.stats().total();
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = pool.stats().total();
            let quiet = |stats: &crate::stats::WorkerStats| {
                (stats.sleeps, stats.wakeups, stats.failed_steals, stats.yields)
            };
            if quiet(&now) == quiet(&before) {
                break;
            }
            assert!(Instant::now() < patience, "still awake: {before:?} {now:?}");
            before = now;
        }
        work(&pool);
    }
}

#[test]
fn the_limit_follows_from_processors_and_quota() {
    let quota = |processors| Quota { processors, period: PERIOD, file: Path::new("fake").into() };
    let system = FakeSystem::new(1, 0);
    for (processors, allowed, awake, paced) in [
        (4, None, 4, false),
        (0, None, 1, false),
        (4, Some(4.0), 4, false),
        (4, Some(9.5), 4, false),
        (4, Some(3.5), 4, true),
        (4, Some(2.0), 2, true),
        (4, Some(1.01), 2, true),
        (4, Some(1.0), 1, false),
        (4, Some(0.3), 1, false),
        (1, Some(0.3), 1, false),
        (1, Some(1.5), 1, false),
    ] {
        let source = Box::new(FakeSource(Arc::clone(&system)));
        let state = PollState::new(processors, allowed.map(quota), source);
        assert_eq!(
            (state.allowed, state.pace.is_some()),
            (awake, paced),
            "{processors} {allowed:?}"
        );
    }
}

#[test]
fn a_rest_lasts_until_the_next_reading_of_the_usage() {
    let system = FakeSystem::new(100, 0);
    let pool = system.pool(|pool| pool);
    system.usage_step.store(10_000_000_000, Ordering::Relaxed);
    for processors in [1.5, 2.01, 64.5] {
        let quota = Quota { processors, period: PERIOD, file: Path::new("fake").into() };
        let mut state = PollState::new(100, Some(quota), Box::new(FakeSource(Arc::clone(&system))));
        assert_eq!(state.poll(Duration::ZERO, pool.shared(), false).rest, None);
        for milliseconds in [1, 2, 30] {
            let now = Duration::from_millis(milliseconds);
            let outcome = state.poll(now, pool.shared(), false);
            let (next, _) = outcome.next_usage.unwrap();
            assert!(now + outcome.rest.unwrap() >= next, "{processors}: {outcome:?}");
            assert_eq!(outcome.awake_limit() + 1, outcome.allowed);
        }
    }
}

/// A worker with tasks polls when no other worker has for twice the interval. One that counts as
/// searching does not read the limits.
#[test]
fn a_worker_with_tasks_polls_rarely() {
    let system = FakeSystem::new(4, 150);
    system.usage_step.store(1, Ordering::Relaxed);
    let pool = Pool::new(3).unwrap();
    let source = Box::new(FakeSource(Arc::clone(&system)));
    let allowance = Allowance::new(&Processors::allowed(), source);
    // How many times a poll reads the limits, and the usage.
    let reads = |microseconds, budget| {
        let now = || (system.readings.load(Ordering::Relaxed), system.used.load(Ordering::Relaxed));
        let before = now();
        allowance.poll(Duration::from_micros(microseconds), pool.shared(), budget);
        (now().0 - before.0, now().1 - before.1)
    };
    let is_long =
        |microseconds, awake| allowance.is_poll_long(Duration::from_micros(microseconds), awake);
    assert_eq!(reads(150_000, PollPhase::BeforeSleep), (1, 1));
    assert_eq!(reads(150_900, PollPhase::BeforeSleep), (0, 0));
    assert!(!is_long(150_900, FEW + 1), "nothing is due");
    assert!(!is_long(151_000, FEW) && is_long(151_000, FEW + 1));
    assert_eq!(reads(151_000, PollPhase::Working), (0, 0));
    assert_eq!(reads(151_000, PollPhase::Searching), (0, 1));
    assert_eq!(reads(152_900, PollPhase::Working), (0, 0));
    assert_eq!(reads(153_000, PollPhase::Working), (0, 1));
    assert!(is_long(250_000, 1), "files");
    assert_eq!(reads(251_000, PollPhase::Searching), (0, 1));
    assert_eq!(reads(349_000, PollPhase::Working), (0, 1));
    assert_eq!(reads(351_000, PollPhase::Working), (1, 1));
    assert!(!is_long(352_000, 1));
    // A woken worker first does what it was woken for; one that is about to sleep reads.
    let postpone = |microseconds| allowance.postpone_reading(Duration::from_micros(microseconds));
    postpone(452_000);
    assert_eq!(reads(452_000, PollPhase::BeforeSearch), (0, 1));
    assert!(!is_long(471_999, 1) && is_long(472_000, 1));
    assert_eq!(reads(453_500, PollPhase::BeforeSleep), (1, 1));
    postpone(553_000);
    assert_eq!(reads(553_500, PollPhase::BeforeSearch), (1, 1), "it was not due");
    postpone(654_000);
    assert_eq!(reads(673_900, PollPhase::BeforeSearch), (0, 1));
    assert_eq!(reads(675_000, PollPhase::BeforeSearch), (1, 1), "no worker sleeps");
    postpone(880_000);
    assert_eq!(reads(899_000, PollPhase::Working), (0, 1));
    assert_eq!(reads(901_000, PollPhase::Working), (1, 1));
    let readings = system.readings.load(Ordering::Relaxed);
    allowance.stop(pool.shared());
    let now = Duration::from_secs(2);
    assert!(!allowance.is_poll_long(now, FEW + 1));
    assert!(!allowance.is_due(now));
    assert!(!allowance.poll(now, pool.shared(), PollPhase::BeforeSleep));
    assert_eq!(system.readings.load(Ordering::Relaxed), readings, "the program has set a number");
}

/// The limits are always due. Counts the readings before a woken worker has run its task.
struct AlwaysDue {
    is_watched: Arc<AtomicBool>,
    too_early: Arc<AtomicUsize>,
    readings: Arc<AtomicUsize>,
}

impl Source for AlwaysDue {
    fn processors(&mut self, _: &Shared) -> Option<usize> {
        let first = usize::from(self.is_watched.load(Ordering::Acquire));
        self.too_early.fetch_add(first, Ordering::Relaxed);
        self.readings.fetch_add(1, Ordering::Relaxed);
        Some(1)
    }
    fn quota(&mut self) -> Option<Quota> {
        None
    }
    fn throttled_periods(&mut self, _: &Quota) -> Option<u64> {
        None
    }
    fn processor_time(&mut self, _: &Shared) -> Option<Duration> {
        None
    }
    fn interval(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn a_woken_worker_runs_its_task_before_it_polls() {
    for with_policy in idle_policies() {
        let is_watched = Arc::new(AtomicBool::new(false));
        let [too_early, readings] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let watched = Arc::clone(&is_watched);
        let [first, read] = [&too_early, &readings].map(Arc::clone);
        let make = move || -> Box<dyn Source> {
            let (is_watched, too_early) = (Arc::clone(&watched), Arc::clone(&first));
            Box::new(AlwaysDue { is_watched, too_early, readings: Arc::clone(&read) })
        };
        let builder = with_policy(Pool::builder().max_workers(1));
        let pool = builder.allowance_source(Arc::new(make)).build().unwrap();
        for _ in 0..20 {
            // No thread wakes it until a task is sent.
            wait_until_asleep(&pool);
            let before = readings.load(Ordering::Relaxed);
            is_watched.store(true, Ordering::Release);
            let watched = Arc::clone(&is_watched);
            pool.spawn(move |_| watched.store(false, Ordering::Release));
            // It polls before it sleeps again.
            until(|| readings.load(Ordering::Relaxed) > before, thread::yield_now);
        }
        assert_eq!(too_early.load(Ordering::Relaxed), 0);
    }
}
