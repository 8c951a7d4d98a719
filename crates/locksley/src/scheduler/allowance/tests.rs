//! Pools that follow a made-up allowance. How many processors this machine has does not matter.

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
use crate::idle::{Abp, Balanced, Bws, IdleContext, IdlePolicy, Move, Thief};
use crate::os::{Affinities, Quota};
use crate::pool::trial::hold;
use crate::scheduler::search::PATIENCE;
use crate::{Pool, PoolBuilder, Worker, task};

const SOON: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(100);

/// What is allowed, and can be changed.
#[derive(Debug)]
struct Rules {
    processors: AtomicUsize,
    /// In hundredths of a processor; 0 is none.
    quota: AtomicU64,
    /// How much more processor time has been used at each look, in nanoseconds.
    used_at_a_look: AtomicU64,
    used: AtomicU64,
    /// For how much longer workers have waited at each reading, in nanoseconds.
    wait_at_a_look: AtomicU64,
    waited: AtomicU64,
    looks: AtomicUsize,
}

impl Rules {
    fn new(processors: usize, quota: u64) -> Arc<Self> {
        Arc::new(Self {
            processors: AtomicUsize::new(processors),
            quota: AtomicU64::new(quota),
            used_at_a_look: AtomicU64::new(0),
            used: AtomicU64::new(0),
            wait_at_a_look: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            looks: AtomicUsize::new(0),
        })
    }

    /// A pool of six workers at the most, which has not looked yet.
    fn pool(self: &Arc<Self>, build: impl Fn(PoolBuilder) -> PoolBuilder) -> Pool {
        let rules = Arc::clone(self);
        let source = Asked::MadeUp(Arc::new(move || Box::new(MadeUp(Arc::clone(&rules)))));
        build(Pool::builder().max_workers(6)).allowed_by(source).build().unwrap()
    }
}

struct MadeUp(Arc<Rules>);

impl Source for MadeUp {
    fn processors(&mut self, shared: &Shared) -> Option<usize> {
        let processors = Affinities::default().of_any(shared.affinities_of_workers());
        assert!(processors.is_none_or(|processors| processors > 0));
        self.0.looks.fetch_add(1, Ordering::Relaxed);
        Some(self.0.processors.load(Ordering::Relaxed))
    }

    fn quota(&mut self) -> Option<Quota> {
        let hundredths = self.0.quota.load(Ordering::Relaxed);
        let processors = hundredths as f64 / 100.0;
        (hundredths > 0).then(|| Quota {
            processors,
            period: PERIOD,
            file: Path::new("made up").into(),
        })
    }

    fn periods_used_up(&mut self, _: &Quota) -> Option<u64> {
        Some(0)
    }

    fn used(&mut self, _: &Shared) -> Option<Duration> {
        let more = self.0.used_at_a_look.load(Ordering::Relaxed);
        Some(Duration::from_nanos(self.0.used.fetch_add(more, Ordering::Relaxed) + more))
    }

    fn used_by_all(&mut self) -> Option<Duration> {
        // So the others have all processors.
        Some(Duration::ZERO)
    }

    fn waited(&mut self, _: &Shared) -> Option<Duration> {
        let more = self.0.wait_at_a_look.load(Ordering::Relaxed);
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

fn governed() -> [fn(PoolBuilder) -> PoolBuilder; 3] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Bws::default()),
        |pool| pool.idle_policy(Abp::default()),
    ]
}

/// Works until so many may be awake.
fn works_until(pool: &Pool, awake: usize) {
    let now = || pool.shared().processors();
    let patience = Instant::now() + SOON;
    while now() != awake {
        assert_eq!(pool.install(|w| fib(w, 12)), 144);
        assert!(Instant::now() < patience, "{} instead of {awake}", now());
    }
    pool.shared().settle_what_is_allowed();
}

/// Works until some worker has looked twice: so what follows from a look that was under way has
/// been done.
fn works_until_it_has_looked(pool: &Pool, rules: &Rules) {
    let looks = rules.looks.load(Ordering::Relaxed);
    let patience = Instant::now() + SOON;
    while rules.looks.load(Ordering::Relaxed) < looks + 2 {
        assert_eq!(pool.install(|w| fib(w, 12)), 144);
        assert!(Instant::now() < patience, "no worker looks");
    }
}

/// All of so many tasks have to be there at the same time.
fn meet(pool: &Pool, number: usize) {
    let here = AtomicUsize::new(0);
    pool.install(|w| {
        w.scope(|w, scope| {
            for _ in 0..number {
                scope.spawn_on(w, |_, _| {
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
fn as_many_are_at_work_as_are_allowed() {
    for governed in governed() {
        let rules = Rules::new(1, 0);
        let pool = rules.pool(governed);
        assert_eq!(pool.workers(), 6);
        for (processors, quota, size) in
            [(1, 0, 1), (4, 0, 4), (4, 200, 2), (4, 900, 4), (64, 50, 1), (3, 0, 3), (64, 0, 6)]
        {
            rules.processors.store(processors, Ordering::Relaxed);
            rules.quota.store(quota, Ordering::Relaxed);
            works_until(&pool, if processors == 64 && quota == 0 { 64 } else { size });
            assert_eq!(pool.size(), size);
            meet(&pool, size);
        }
    }
}

/// Waits until all of them sleep.
fn rests(pool: &Pool) {
    let patience = Instant::now() + SOON;
    while pool.shared().sleep().snapshot().asleep() < pool.workers() {
        assert!(Instant::now() < patience);
        thread::sleep(Duration::from_millis(1));
    }
}

/// What is sent finds no more at work than are allowed; but for the sentinel, which helps no more
/// often than once in so long.
#[test]
fn what_is_sent_keeps_to_what_is_allowed() {
    const TASKS: usize = 50;
    let impatient = |pool: PoolBuilder| {
        pool.idle_policy(Abp { attempts: 2, lower_after: None, sleep_after: Some(0) })
    };
    for governed in [governed()[0], governed()[1], impatient] {
        for allowed in [1, 2] {
            let rules = Rules::new(allowed, 0);
            let pool = rules.pool(governed);
            works_until(&pool, allowed);
            // So no worker goes by what was allowed before.
            rests(&pool);
            let [here, most, done] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
            let begun = Instant::now();
            for _ in 0..TASKS {
                let [here, most, done] = [&here, &most, &done].map(Arc::clone);
                pool.spawn(move |_| {
                    most.fetch_max(here.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                    let end = Instant::now() + Duration::from_millis(5);
                    while Instant::now() < end {
                        std::hint::spin_loop();
                    }
                    here.fetch_sub(1, Ordering::AcqRel);
                    done.fetch_add(1, Ordering::AcqRel);
                });
            }
            while done.load(Ordering::Acquire) < TASKS {
                assert!(begun.elapsed() < SOON, "{done:?}");
                thread::sleep(Duration::from_millis(1));
            }
            let helped = (begun.elapsed().as_nanos() / PATIENCE.as_nanos()) as usize;
            let most = most.load(Ordering::Acquire);
            let name = pool.shared().idle_policy().name();
            assert!(
                most <= allowed + helped,
                "{name}: {most}, {allowed} allowed, {helped} times helped"
            );
        }
    }
}

#[test]
fn one_more_is_welcome_where_processors_and_no_quota_say_how_many() {
    let is_narrowed = |processors, quota, waits: bool, most| {
        let rules = Rules::new(1, 0);
        let pool = rules.pool(|pool| pool.max_workers(most));
        let wait = if waits { SOON } else { Duration::ZERO };
        rules.wait_at_a_look.store(wait.as_nanos() as u64, Ordering::Relaxed);
        rules.processors.store(processors, Ordering::Relaxed);
        rules.quota.store(quota, Ordering::Relaxed);
        works_until(&pool, 2);
        // Which workers may be awake is another matter.
        assert_eq!((pool.size(), pool.shared().processors()), (2, 2));
        // It was built for two if the machine has two: so the first look may be yet to come, from
        // which on it is known for how long they wait.
        (0..2).for_each(|_| works_until_it_has_looked(&pool, &rules));
        pool.shared().sleep().is_narrowed()
    };
    for (processors, quota) in [(2, 0), (2, 200), (2, 900)] {
        assert!(!is_narrowed(processors, quota, true, 3), "{processors} {quota}");
        assert!(is_narrowed(processors, quota, true, 4), "{processors} {quota}: not two");
        assert!(is_narrowed(processors, quota, false, 3), "{processors} {quota}");
    }
    for (processors, quota) in [(3, 200), (4, 150)] {
        assert!(is_narrowed(processors, quota, true, 3), "{processors} {quota}");
    }
}

#[test]
fn who_is_welcome_is_not_over_the_limit_for_what_was_sent() {
    let rules = Rules::new(2, 0);
    let pool = rules.pool(|pool| pool.max_workers(3));
    rules.wait_at_a_look.store(SOON.as_nanos() as u64, Ordering::Relaxed);
    works_until(&pool, 2);
    (0..2).for_each(|_| works_until_it_has_looked(&pool, &rules));
    let shared = pool.shared();
    let held = [0, 1, 2].map(|worker| hold(&pool, worker));
    // No worker looks any more.
    assert!(shared.sleep().is_one_more_welcome());
    assert!(shared.is_over_limit() && shared.is_over_allowance());
    let (sender, receiver) = channel();
    pool.spawn(move |_| sender.send(()).unwrap());
    assert!(!shared.is_over_limit() && !shared.is_over_allowance());
    drop(held);
    receiver.recv_timeout(SOON).unwrap();
}

#[test]
fn beside_a_borrowed_thread_there_is_no_sentinel() {
    if std::env::var_os("LOCKSLEY_WORKERS").is_some() {
        return;
    }
    let alone = Pool::builder().build().unwrap();
    let with_borrowed_thread = Pool::builder().with_current_thread().build().unwrap();
    let has_sentinel = alone.places().count() == 1 && alone.workers() < Pool::MAX_WORKERS;
    let sentinels = if has_sentinel { SENTINELS } else { 0 };
    assert_eq!(alone.workers(), with_borrowed_thread.workers() + sentinels);
}

/// No number was chosen: so each may wait for what it has pushed, and still a worker is left.
#[test]
fn all_that_are_allowed_may_be_stuck() {
    let pool = Pool::builder().build().unwrap();
    let (allowed, workers) = (pool.size(), pool.workers());
    if workers == allowed {
        // The environment has chosen, or there is no thread for it.
        return;
    }
    let (here, begun) = (AtomicUsize::new(0), Instant::now());
    pool.install(|w| {
        w.scope(|w, scope| {
            for _ in 0..allowed {
                scope.spawn_on(w, |w, _| {
                    here.fetch_add(1, Ordering::AcqRel);
                    let is_set = AtomicBool::new(false);
                    let all = || {
                        here.load(Ordering::Acquire) >= allowed && is_set.load(Ordering::Acquire)
                    };
                    let waits = || {
                        while !all() {
                            assert!(begun.elapsed() < SOON, "no worker comes");
                            thread::yield_now()
                        }
                    };
                    w.join(|_| waits(), |_| is_set.store(true, Ordering::Release));
                });
            }
        });
    });
    assert_eq!(here.into_inner(), allowed);
}

/// As many may be awake as there are processors, and a sentinel sleeps for so long that it cannot do
/// much.
#[derive(Debug)]
struct Seldom;

impl IdlePolicy for Seldom {
    fn name(&self) -> &'static str {
        "seldom"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Seldom)
    }
    fn limit(&self, processors: usize) -> Limit {
        Limit { awake: processors, timed_park: Duration::from_secs(1) }
    }
}

impl Thief for Seldom {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let may_search = context.failures < 64 && !context.is_over_limit();
        if may_search { Move::Search } else { Move::Sleep }
    }
}

/// The sentinel takes one in each timed park: all of them would take it longer than anybody waits here. So
/// it has to wake whose inbox that is.
#[test]
fn what_is_sent_to_one_who_sleeps_does_not_wait_for_a_timed_park_each() {
    const FUTURES: usize = 120;
    let rules = Rules::new(1, 0);
    let pool = rules.pool(|pool| pool.idle_policy(Seldom));
    works_until(&pool, 1);
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
    // All sleep but the one that is stuck, so one of them is the sentinel.
    let patience = Instant::now() + SOON;
    while pool.shared().sleep().snapshot().asleep() < pool.workers() - 1
        || !pool.shared().sleep().leaves_what_is_sent()
    {
        assert!(Instant::now() < patience);
        thread::yield_now();
    }
    is_ready.store(true, Ordering::Release);
    wakers.into_iter().for_each(Waker::wake);
    let patience = Instant::now() + SOON;
    let in_time = |_: &usize| {
        let left = patience.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).is_ok()
    };
    assert_eq!((0..FUTURES).filter(in_time).count(), FUTURES);
}

/// The process's clock shows what others have used when theirs have been read.
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn whoever_asks_what_was_used_reads_the_clocks_of_those_who_are_awake() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let held = [0, 2].map(|worker| hold(&pool, worker));
    let has_clocks = pool.shared().processor_time().is_some();
    let mut system = super::source::System::open();
    assert_eq!(system.clocks_read(), 0);
    assert!(system.used(pool.shared()).is_some());
    let read = system.clocks_read();
    assert!(!has_clocks || read >= held.len(), "{read}");
    drop(held);
    let patience = Instant::now() + SOON;
    while system.clocks_read() > 0 {
        assert!(system.used(pool.shared()).is_some());
        assert!(Instant::now() < patience, "they do not sleep, or clocks of sleepers are read");
        thread::yield_now();
    }
}

/// The worker that looks, and finds that more are allowed, has work of its own to do; so do the
/// others wait that it is for.
#[test]
fn those_who_have_slept_are_woken_when_more_are_allowed() {
    for governed in governed() {
        let rules = Rules::new(1, 0);
        let pool = rules.pool(governed);
        works_until(&pool, 1);
        for _ in 0..5 {
            rules.processors.store(1, Ordering::Relaxed);
            works_until(&pool, 1);
            rules.processors.store(3, Ordering::Relaxed);
            // More than are allowed: the sentinel helps, however late.
            meet(&pool, 3);
        }
    }
}

#[test]
fn futures_that_wake_each_other_do_not_keep_a_pool_from_looking() {
    let rules = Rules::new(2, 0);
    let pool = rules.pool(|pool| pool);
    works_until(&pool, 2);
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&stop);
    let busy = pool.spawn_future(async move {
        while !is_over.load(Ordering::Acquire) {
            crate::task::yield_now().await;
        }
    });
    rules.processors.store(1, Ordering::Relaxed);
    let patience = Instant::now() + SOON;
    while pool.size() != 1 {
        assert!(Instant::now() < patience);
        thread::yield_now();
    }
    stop.store(true, Ordering::Release);
    busy.join().unwrap();
}

#[test]
fn one_rests_when_too_much_was_used_and_comes_back() {
    for governed in governed() {
        let rules = Rules::new(8, 250);
        let pool = rules.pool(governed);
        for _ in 0..3 {
            rules.used_at_a_look.store(0, Ordering::Relaxed);
            works_until(&pool, 3);
            rules.used_at_a_look.store(1_000_000_000, Ordering::Relaxed);
            works_until(&pool, 2);
            assert_eq!(pool.size(), 3, "though one of them rests");
            // Workers that rest are there for those that wait for them.
            meet(&pool, 3);
        }
    }
}

#[test]
fn nobody_rests_who_is_alone() {
    let rules = Rules::new(8, 50);
    rules.used_at_a_look.store(1_000_000_000, Ordering::Relaxed);
    let pool = rules.pool(|pool| pool);
    works_until(&pool, 1);
    let looks = rules.looks.load(Ordering::Relaxed);
    let patience = Instant::now() + SOON;
    while rules.looks.load(Ordering::Relaxed) < looks + 3 {
        assert_eq!(pool.install(|w| fib(w, 12)), 144);
        assert_eq!(pool.size(), 1);
        assert!(Instant::now() < patience);
    }
}

#[test]
fn a_number_that_was_chosen_is_kept() {
    for governed in governed() {
        let rules = Rules::new(2, 0);
        let pool = rules.pool(governed);
        works_until(&pool, 2);
        pool.resize(5).unwrap();
        assert_eq!(pool.size(), 5);
        rules.processors.store(1, Ordering::Relaxed);
        // Longer than from one time of looking to the next.
        let begun = Instant::now();
        while begun.elapsed() < 3 * BETWEEN_READINGS {
            assert_eq!(pool.install(|w| fib(w, 12)), 144);
        }
        assert_eq!(pool.size(), 5);
        meet(&pool, 5);
    }
    let rules = Rules::new(1, 0);
    let pool = rules.pool(|pool| pool.workers(3));
    assert_eq!((pool.size(), pool.workers()), (3, 6));
    assert_eq!(pool.install(|w| fib(w, 12)), 144);
    assert_eq!(pool.size(), 3);
}

#[test]
fn an_idle_pool_sleeps_though_one_was_to_rest() {
    // Not `Abp`, whose thieves wait at the lowest priority beside others that want the processors,
    // and are awake meanwhile.
    for governed in &governed()[..2] {
        let rules = Rules::new(8, 150);
        let pool = rules.pool(governed);
        rules.used_at_a_look.store(1_000_000_000, Ordering::Relaxed);
        works_until(&pool, 1);
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
        assert_eq!(pool.install(|w| fib(w, 12)), 144);
    }
}

/// The oracle of what follows from a reading is written out.
#[test]
fn what_follows_from_what_was_read() {
    let quota =
        |processors| Quota { processors, period: PERIOD, file: Path::new("made up").into() };
    let rules = Rules::new(1, 0);
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
        let source = Box::new(MadeUp(Arc::clone(&rules)));
        let look = Look::new(processors, allowed.map(quota), source);
        assert_eq!((look.awake, look.pace.is_some()), (awake, paced), "{processors} {allowed:?}");
    }
}

#[test]
fn a_rest_lasts_until_somebody_may_look_again() {
    let rules = Rules::new(100, 0);
    let pool = rules.pool(|pool| pool);
    rules.used_at_a_look.store(10_000_000_000, Ordering::Relaxed);
    for processors in [1.5, 2.01, 64.5] {
        let quota = Quota { processors, period: PERIOD, file: Path::new("made up").into() };
        let mut look = Look::new(100, Some(quota), Box::new(MadeUp(Arc::clone(&rules))));
        assert_eq!(look.at(Duration::ZERO, pool.shared(), false).rest, None);
        for milliseconds in [1, 2, 30] {
            let now = Duration::from_millis(milliseconds);
            let verdict = look.at(now, pool.shared(), false);
            let (next, _) = verdict.next.unwrap();
            assert!(now + verdict.rest.unwrap() >= next, "{processors}: {verdict:?}");
            assert_eq!(verdict.awake + 1, verdict.allowed);
        }
    }
}

/// A worker with work looks, at clocks and at files, when no other has for twice the usual time.
/// One that counts as searching reads no files.
#[test]
fn a_worker_that_has_work_looks_seldom() {
    let rules = Rules::new(4, 150);
    rules.used_at_a_look.store(1, Ordering::Relaxed);
    let pool = Pool::new(3).unwrap();
    let source = Box::new(MadeUp(Arc::clone(&rules)));
    let allowance = Allowance::new(&Processors::allowed(), source);
    // How often it has read what is allowed, and what was used.
    let looks = |microseconds, budget| {
        let now = || (rules.looks.load(Ordering::Relaxed), rules.used.load(Ordering::Relaxed));
        let before = now();
        allowance.poll_at(Duration::from_micros(microseconds), pool.shared(), budget);
        (now().0 - before.0, now().1 - before.1)
    };
    let takes_long =
        |microseconds, awake| allowance.takes_long_at(Duration::from_micros(microseconds), awake);
    assert_eq!(looks(150_000, PollBudget::Full), (1, 1));
    assert_eq!(looks(150_900, PollBudget::Full), (0, 0));
    assert!(!takes_long(150_900, FEW + 1), "nothing is due");
    assert!(!takes_long(151_000, FEW) && takes_long(151_000, FEW + 1));
    assert_eq!(looks(151_000, PollBudget::HasWork), (0, 0));
    assert_eq!(looks(151_000, PollBudget::Searches), (0, 1));
    assert_eq!(looks(152_900, PollBudget::HasWork), (0, 0));
    assert_eq!(looks(153_000, PollBudget::HasWork), (0, 1));
    assert!(takes_long(250_000, 1), "files");
    assert_eq!(looks(251_000, PollBudget::Searches), (0, 1));
    assert_eq!(looks(349_000, PollBudget::HasWork), (0, 1));
    assert_eq!(looks(351_000, PollBudget::HasWork), (1, 1));
    assert!(!takes_long(352_000, 1));
    // A worker gets up: what it is woken for comes first, but one that is to sleep reads.
    let puts_off =
        |microseconds| allowance.puts_off_reading_at(Duration::from_micros(microseconds));
    puts_off(452_000);
    assert_eq!(looks(452_000, PollBudget::Hardly), (0, 1));
    assert!(!takes_long(471_999, 1) && takes_long(472_000, 1));
    assert_eq!(looks(453_500, PollBudget::Full), (1, 1));
    puts_off(553_000);
    assert_eq!(looks(553_500, PollBudget::Hardly), (1, 1), "it was not due");
    puts_off(654_000);
    assert_eq!(looks(673_900, PollBudget::Hardly), (0, 1));
    assert_eq!(looks(675_000, PollBudget::Hardly), (1, 1), "no worker sleeps");
    puts_off(880_000);
    assert_eq!(looks(899_000, PollBudget::HasWork), (0, 1));
    assert_eq!(looks(901_000, PollBudget::HasWork), (1, 1));
    let readings = rules.looks.load(Ordering::Relaxed);
    allowance.ends(pool.shared());
    assert!(!allowance.takes_long(FEW + 1));
    assert!(!allowance.is_due() && !allowance.attend(pool.shared(), PollBudget::Full));
    assert_eq!(rules.looks.load(Ordering::Relaxed), readings, "a number was chosen");
}

/// What is allowed is to be read all the time; and it is noted if that comes before what the worker
/// was woken for.
struct Hasty {
    is_watched: Arc<AtomicBool>,
    comes_first: Arc<AtomicUsize>,
    readings: Arc<AtomicUsize>,
}

impl Source for Hasty {
    fn processors(&mut self, _: &Shared) -> Option<usize> {
        let first = usize::from(self.is_watched.load(Ordering::Acquire));
        self.comes_first.fetch_add(first, Ordering::Relaxed);
        self.readings.fetch_add(1, Ordering::Relaxed);
        Some(1)
    }
    fn quota(&mut self) -> Option<Quota> {
        None
    }
    fn periods_used_up(&mut self, _: &Quota) -> Option<u64> {
        None
    }
    fn used(&mut self, _: &Shared) -> Option<Duration> {
        None
    }
    fn between_readings(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn what_somebody_is_woken_for_comes_before_a_look() {
    for governed in governed() {
        let is_watched = Arc::new(AtomicBool::new(false));
        let [comes_first, readings] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let watched = Arc::clone(&is_watched);
        let [first, read] = [&comes_first, &readings].map(Arc::clone);
        let make = move || -> Box<dyn Source> {
            let (is_watched, comes_first) = (Arc::clone(&watched), Arc::clone(&first));
            Box::new(Hasty { is_watched, comes_first, readings: Arc::clone(&read) })
        };
        let builder = governed(Pool::builder().max_workers(1));
        let pool = builder.allowed_by(Asked::MadeUp(Arc::new(make))).build().unwrap();
        for _ in 0..20 {
            // No thread rings for it until there is something to do.
            rests(&pool);
            let before = readings.load(Ordering::Relaxed);
            is_watched.store(true, Ordering::Release);
            pool.install(|_| is_watched.store(false, Ordering::Release));
            // And it looks before it sleeps again.
            let patience = Instant::now() + SOON;
            while readings.load(Ordering::Relaxed) == before {
                assert!(Instant::now() < patience);
                thread::yield_now();
            }
        }
        assert_eq!(comes_first.load(Ordering::Relaxed), 0);
    }
}
