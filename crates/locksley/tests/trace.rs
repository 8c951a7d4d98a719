//! What a tracer learns of a pool.

#[path = "common/idle_policies.rs"]
mod idle_policies;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use idle_policies::SLEEPLESS;
use locksley::extend::{Event, PoolHandle, SleepRole, Tracer, trace_pools};
use locksley::{Pool, Worker};

/// All events, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<(ThreadId, Event)>>>);

impl Tracer for Log {
    fn record(&self, event: Event) {
        self.events().push((thread::current().id(), event));
    }
}

impl Log {
    fn events(&self) -> MutexGuard<'_, Vec<(ThreadId, Event)>> {
        self.0.lock().unwrap()
    }

    fn of_each_thread(&self) -> Vec<Vec<Event>> {
        let mut threads: HashMap<ThreadId, Vec<Event>> = HashMap::new();
        for &(thread, event) in &*self.events() {
            threads.entry(thread).or_default().push(event);
        }
        threads.into_values().collect()
    }

    fn count(&self, is_wanted: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|(_, event)| is_wanted(event)).count()
    }
}

/// Runs `task` on a new pool, and returns what was traced until the pool has ended.
fn trace(workers: usize, task: impl FnOnce(&Worker) + Send) -> Log {
    let log = Log::default();
    let pool = Pool::builder().workers(workers).tracer(log.clone()).build().unwrap();
    pool.install(task);
    drop(pool);
    log
}

/// The event that has to end what this one begins.
fn end_of(event: Event) -> Option<Event> {
    Some(match event {
        Event::TaskBegins(_) => Event::TaskEnds,
        Event::SearchBegins => Event::SearchEnds,
        Event::Parks(_) | Event::Blocks => Event::Unparks,
        Event::Waits => Event::Resumes,
        _ => return None,
    })
}

/// Panics unless what begins on a thread ends there, one inside of the other.
fn assert_nested(events: &[Event]) {
    let mut open = Vec::new();
    for &event in events {
        let ends = [Event::TaskEnds, Event::SearchEnds, Event::Unparks, Event::Resumes];
        if let Some(end) = end_of(event) {
            open.push(end);
        } else if ends.contains(&event) {
            assert_eq!(open.pop(), Some(event), "in {events:?}");
        }
    }
    assert_eq!(open, [], "in {events:?}");
}

/// Returns on its own worker only after the other half, which another worker has to steal, has run.
fn steal_one(worker: &Worker) {
    let is_set = AtomicBool::new(false);
    let wait = |_: &Worker| {
        while !is_set.load(Ordering::Acquire) {
            thread::yield_now();
        }
    };
    worker.join(wait, |_| is_set.store(true, Ordering::Release));
}

#[test]
fn a_fork_that_is_not_stolen_is_no_event() {
    fn fork(worker: &Worker, depth: u32) {
        if depth > 0 {
            worker.join(|w| fork(w, depth - 1), |w| fork(w, depth - 1));
        }
    }
    let log = trace(1, |worker| {
        fork(worker, 8);
        locksley::scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
    });
    let worker = log.of_each_thread().into_iter().find(|it| it.contains(&Event::TaskEnds));
    let worker = worker.expect("one task was sent to the worker");
    let begins = |it: &Event| matches!(it, Event::TaskBegins(_));
    let begin = worker.iter().position(begins).unwrap();
    assert_eq!(worker[begin + 1], Event::TaskEnds, "{worker:?}");
}

#[test]
fn a_steal_is_traced_with_its_victim() {
    let log = trace(2, steal_one);
    let is_steal = |event: &Event| matches!(event, Event::Steals { left: 0, .. });
    assert_eq!(log.count(is_steal), 1);
    let victim = log.events().iter().find_map(|&(thread, event)| match event {
        Event::Steals { victim, .. } => Some((thread, victim)),
        _ => None,
    });
    let (thief, victim) = victim.unwrap();
    let begins = (thief, Event::TaskBegins(victim));
    assert!(log.events().contains(&begins));
    assert!(log.events().contains(&(thief, Event::Signals(victim))));
}

#[test]
fn a_scope_runs_its_own_part_of_a_broadcast_at_once() {
    let log = Log::default();
    let pool = Pool::builder().workers(1).own_threads_only().tracer(log.clone()).build().unwrap();
    pool.install(|_| locksley::scope(|scope| scope.spawn_broadcast(|_, _| ())));
    drop(pool);
    assert_eq!(log.count(|event| *event == Event::Waits), 0);
}

#[test]
fn what_begins_on_a_thread_ends_there() {
    let log = trace(3, |worker| {
        (0..20).for_each(|_| steal_one(worker));
        locksley::blocking(|| steal_one_elsewhere(worker));
    });
    for thread in log.of_each_thread() {
        assert_nested(&thread);
    }
    assert!(log.count(|&it| it == Event::Blocks) >= 1);
    // Two workers at least, and perhaps replacements.
    assert!(log.count(|it| matches!(it, Event::Attached { .. })) >= 3);
    let attached = log.count(|it| matches!(it, Event::Attached { place: 0, .. }));
    assert_eq!(attached, log.count(|it| matches!(it, Event::Attached { .. })));
}

/// A task that another worker runs while this one blocks.
fn steal_one_elsewhere(_: &Worker) {
    let (sender, receiver) = std::sync::mpsc::channel();
    locksley::spawn(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
}

#[test]
fn a_change_of_size_is_traced() {
    let log = Log::default();
    // A policy without a limit, so that the size alone decides on any machine.
    let builder = Pool::builder().workers(3).idle_policy(SLEEPLESS);
    let pool = builder.tracer(log.clone()).build().unwrap();
    pool.resize(1).unwrap();
    assert!(log.count(|&it| it == Event::Allows(1)) == 1);
}

#[test]
fn a_guest_is_a_worker_until_its_call_ends() {
    let log = Log::default();
    let pool = Pool::builder().workers(2).tracer(log.clone()).build().unwrap();
    for _ in 0..100 {
        pool.install(|_| ());
        thread::yield_now();
    }
    drop(pool);
    let this_thread = thread::current().id();
    let events = log.events();
    let changes = events.iter().filter(|(thread, event)| {
        *thread == this_thread && matches!(event, Event::Attached { .. } | Event::Detached)
    });
    let changes: Vec<Event> = changes.map(|&(_, event)| event).collect();
    let is_call = |pair: &[Event]| {
        let [Event::Attached { slot, .. }, Event::Detached] = pair else { return false };
        *slot >= 2
    };
    assert!(changes.chunks(2).all(is_call), "{changes:?}");
}

#[test]
fn a_pool_is_resized_by_its_tracer_while_it_lives() {
    #[derive(Debug, Default)]
    struct Keeper(Mutex<Option<Arc<dyn PoolHandle>>>);

    impl Tracer for &'static Keeper {
        fn record(&self, _: Event) {}

        fn attach(&self, pool: Arc<dyn PoolHandle>) {
            *self.0.lock().unwrap() = Some(pool);
        }
    }

    static KEEPER: Keeper = Keeper(Mutex::new(None));
    let pool = Pool::builder().workers(2).tracer(&KEEPER).build().unwrap();
    let kept = KEEPER.0.lock().unwrap().clone().unwrap();
    assert!(kept.resize(1) && pool.size() == 1 && kept.size() == Some(1));
    assert!(!kept.resize(0) && !kept.resize(3) && pool.size() == 1);
    drop(pool);
    assert!(!kept.resize(2) && kept.size().is_none());
}

#[test]
fn a_sleeper_is_woken_by_the_thread_that_sends_work() {
    let log = Log::default();
    let pool = Pool::builder().workers(1).tracer(log.clone()).build().unwrap();
    let parks = |it: &Event| *it == Event::Parks(SleepRole::Ordinary);
    while log.count(parks) == 0 {
        thread::yield_now();
    }
    pool.spawn(|_| ());
    let this_thread = thread::current().id();
    assert!(log.events().contains(&(this_thread, Event::Wakes(0))));
}

#[test]
fn a_default_tracer_is_for_pools_without_one() {
    static MADE: Mutex<Vec<Log>> = Mutex::new(Vec::new());
    // Other tests of this program have tracers of their own.
    assert!(trace_pools(|| {
        let log = Log::default();
        MADE.lock().unwrap().push(log.clone());
        Arc::new(log)
    }));
    assert!(!trace_pools(|| unreachable!("the first one stays")));
    Pool::new(1).unwrap().install(|_| ());
    let made = MADE.lock().unwrap().clone();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].count(|&it| it == Event::TaskEnds), 1);
}
