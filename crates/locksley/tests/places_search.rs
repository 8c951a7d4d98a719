//! What thieves do where there are several places, as their idle policies see it.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::places::{PATIENCE, divided, hold};
use locksley::idle::{IdleContext, IdlePolicy, Limit, Move, Thief};
use locksley::{Pool, Spawn};

/// A idle policy one of whose thieves is watched: how often it is asked, and what happens when it is
/// asked for the first time after so many failures.
#[derive(Clone)]
struct Watched(Arc<Watch>);

type Act = Box<dyn FnOnce() + Send>;

struct Watch {
    worker: usize,
    failures: u64,
    /// What all are told.
    answer: Move,
    /// What happens, once, while the thief is asked.
    act: Mutex<Option<Act>>,
    /// How often it was asked since.
    asked: AtomicUsize,
}

impl Watched {
    fn new(worker: usize, failures: u64, answer: Move) -> Self {
        let (act, asked) = Default::default();
        Self(Arc::new(Watch { worker, failures, answer, act, asked }))
    }

    /// Something is to be sent when it is asked. A test that fails before lets go of the worker
    /// that would send it: else its pool, which has this idle policy, would wait for that one for
    /// ever.
    fn then(&self, sending: &Arc<Mutex<Sending>>) {
        let sending = Arc::downgrade(sending);
        let act = move || {
            if let Some(sending) = sending.upgrade() {
                sending.lock().unwrap().send();
            }
        };
        *self.0.act.lock().unwrap() = Some(Box::new(act));
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watched")
    }
}

impl IdlePolicy for Watched {
    fn name(&self) -> &'static str {
        "watched"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(self.clone())
    }
    /// A sentinel never gets up by itself in the time of a test.
    fn limit(&self, _processors: usize) -> Limit {
        Limit { awake: 2, timed_park: Duration::from_secs(24 * 3600) }
    }
}

impl Thief for Watched {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let Watch { worker, failures, answer, act, asked } = &*self.0;
        if context.worker == *worker {
            asked.fetch_add(1, Ordering::Relaxed);
            let act = act.lock().unwrap().take_if(|_| context.failures == *failures);
            if let Some(act) = act {
                act();
                asked.store(0, Ordering::Relaxed);
            }
        }
        *answer
    }
}

/// Worker 0, which is held, and sends something to a place whenever it is asked to.
struct Sending {
    ask: Sender<()>,
    is_sent: Receiver<()>,
}

/// What it sends reports which worker does it.
fn sends_to(
    pool: &Pool,
    place: usize,
    report: impl Fn(usize) + Clone + Send + 'static,
) -> Arc<Mutex<Sending>> {
    let ((ask, asked), (sent, is_sent)) = (channel(), channel());
    pool.spawn_with(Spawn::At(0), move |w| {
        sent.send(()).unwrap();
        while asked.recv().is_ok() {
            let report = report.clone();
            w.spawn_with(Spawn::Near(place), move |w| report(w.index()));
            sent.send(()).unwrap();
        }
    });
    is_sent.recv_timeout(PATIENCE).unwrap();
    Arc::new(Mutex::new(Sending { ask, is_sent }))
}

impl Sending {
    fn send(&self) {
        self.ask.send(()).unwrap();
        self.is_sent.recv_timeout(PATIENCE).unwrap();
    }
}

fn wait_until(what: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !what() {
        assert!(Instant::now() < until, "in vain");
        thread::yield_now();
    }
}

/// Has a worker that has nothing to do get up and sleep again: as the sentinel, if no other
/// worker sleeps.
fn lie_down(pool: &Pool, worker: usize) {
    let slept = || {
        let stats = &pool.stats().workers[worker];
        (stats.sleeps, stats.sleeps > stats.wakeups)
    };
    wait_until(|| slept().1);
    let before = slept().0;
    pool.resize(pool.workers()).unwrap();
    wait_until(|| slept().0 > before);
}

/// What is sent to a place while its worker is awake, but has looked for the last time, wakes no
/// worker; so that one looks again when it has said that it sleeps: if it leaves what is pushed to
/// a sentinel, and if it is the sentinel itself.
#[test]
fn a_worker_that_is_about_to_sleep_sees_what_was_sent_to_its_place() {
    for (shape, worker) in [(&[2, 2][..], 3), (&[1, 2], 2)] {
        let watched = Watched::new(worker, 0, Move::Sleep);
        let pool = divided(shape).idle_policy(watched.clone()).build().unwrap();
        let (report, reported) = channel();
        let sending = sends_to(&pool, 1, move |by| _ = report.send(by));
        let _stuck = hold(&pool, worker - 1);
        let is_about_to_sleep = hold(&pool, worker);
        if worker == 3 {
            lie_down(&pool, 1);
        }
        watched.then(&sending);
        drop(is_about_to_sleep);
        assert_eq!(reported.recv_timeout(PATIENCE), Ok(worker));
    }
}

#[test]
fn a_thief_sees_what_was_sent_to_its_place_in_each_attempt() {
    let (worker, failures) = (3, 1);
    let watched = Watched::new(worker, failures, Move::Search);
    let pool = divided(&[2, 2]).idle_policy(watched.clone()).build().unwrap();
    let ((report, reported), seen) = (channel(), watched.clone());
    let sending = sends_to(&pool, 1, move |by| _ = report.send((by, seen.asked())));
    let _stuck = [1, 2].map(|other| hold(&pool, other));
    let searches = hold(&pool, worker);
    watched.then(&sending);
    drop(searches);
    // It is not asked again before it has found it.
    assert_eq!(reported.recv_timeout(PATIENCE), Ok((worker, 0)));
}

#[test]
fn a_worker_goes_from_one_task_of_its_place_to_the_next_without_a_search() {
    let watched = Watched::new(1, 0, Move::Sleep);
    let pool = divided(&[1, 1]).idle_policy(watched.clone()).build().unwrap();
    let [_other, held] = [0, 1].map(|worker| hold(&pool, worker));
    let (sender, receiver) = channel();
    for n in 0..20 {
        let (sender, watched) = (sender.clone(), watched.clone());
        pool.spawn_with(Spawn::Near(1), move |_| sender.send((n, watched.asked())).unwrap());
    }
    let before = watched.asked();
    drop(held);
    for n in 0..20 {
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok((n, before)));
    }
}

/// A idle policy that always has its thieves sleep, and counts how often it is asked by one that
/// begins, or has tried to sleep.
#[derive(Debug)]
struct Tired(Arc<AtomicUsize>);

impl IdlePolicy for Tired {
    fn name(&self) -> &'static str {
        "tired"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Tired(Arc::clone(&self.0)))
    }
}

impl Thief for Tired {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        self.0.fetch_add(usize::from(context.failures == 0), Ordering::Relaxed);
        Move::Sleep
    }
}

/// While it leaves something to another place it does not go to sleep and get up again, all the
/// time: each time it has all deques opened.
#[test]
fn who_leaves_something_to_another_place_for_a_moment_just_waits() {
    const TASKS: usize = 30;
    let asked = Arc::new(AtomicUsize::new(0));
    let pool = divided(&[1, 1]).idle_policy(Tired(Arc::clone(&asked))).build().unwrap();
    let _held = hold(&pool, 1);
    let (sender, receiver) = channel();
    let sleeps = || pool.stats().workers[0].sleeps;
    let sleeps_again = |before| {
        let until = Instant::now() + PATIENCE;
        while sleeps() == before {
            assert!(Instant::now() < until, "it does not sleep");
            thread::yield_now();
        }
    };
    for _ in 0..TASKS {
        let (before, sender) = (sleeps(), sender.clone());
        pool.spawn_with(Spawn::Near(1), move |w| sender.send(w.index()).unwrap());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(0));
        sleeps_again(before);
        // It is woken for nothing, and sees that there is nothing any more.
        let before = sleeps();
        pool.resize(2).unwrap();
        sleeps_again(before);
    }
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked < 10 * TASKS, "{asked}");
}

/// What waits for the processor may be the worker that it has left something to.
#[test]
fn a_worker_that_leaves_something_to_another_place_gives_way_meanwhile() {
    let pool = divided(&[1, 1]).idle_policy(Tired(Arc::default())).build().unwrap();
    let _held = hold(&pool, 1);
    let (sender, receiver) = channel();
    let until = Instant::now() + PATIENCE;
    // Once is enough, but for a worker that is held up for the whole moment.
    while pool.stats().workers[0].yields == 0 {
        assert!(Instant::now() < until, "it never yields");
        let sender = sender.clone();
        pool.spawn_with(Spawn::Near(1), move |w| sender.send(w.index()).unwrap());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(0));
    }
}

/// A idle policy whose thieves only search, and count how often they are shown the other worker, and
/// how often none.
#[derive(Debug)]
struct Witness(Arc<[AtomicUsize; 2]>);

impl IdlePolicy for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Witness(Arc::clone(&self.0)))
    }
}

impl Thief for Witness {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > 0 {
            let is_shown = context.victim == Some(1 - context.worker);
            self.0[usize::from(is_shown)].fetch_add(1, Ordering::Relaxed);
        }
        Move::Search
    }
}

/// It has nothing to be taken, but may have work and no processor.
#[test]
fn a_idle_policy_is_shown_who_is_left_alone_elsewhere() {
    let shown = Arc::new([0, 0].map(AtomicUsize::new));
    let pool = divided(&[1, 1]).idle_policy(Witness(Arc::clone(&shown))).build().unwrap();
    let held = hold(&pool, 1);
    let until = Instant::now() + PATIENCE;
    while shown[1].load(Ordering::Relaxed) < 1000 {
        assert!(Instant::now() < until, "it is not shown");
        thread::yield_now();
    }
    drop(held);
    drop(pool);
    assert_eq!(shown[0].load(Ordering::Relaxed), 0);
}
