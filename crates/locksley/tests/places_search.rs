//! What thieves do in pools with several places, as an idle policy sees it.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use common::places::{PATIENCE, divided, hold};
use common::{on_worker, wait_until};
use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};
use locksley::{Pool, Spawn};

/// An idle policy that watches one thief. It counts how often the thief asks, and acts when the
/// thief asks after so many failures for the first time.
#[derive(Clone)]
struct Watched(Arc<Watch>);

type Act = Box<dyn FnOnce() + Send>;

struct Watch {
    worker: usize,
    failures: u64,
    /// The move of all thieves.
    answer: Move,
    /// Called once, while the thief asks.
    act: Mutex<Option<Act>>,
    /// How often the thief has asked since.
    asked: AtomicUsize,
}

impl Watched {
    fn new(worker: usize, failures: u64, answer: Move) -> Self {
        let (act, asked) = Default::default();
        Self(Arc::new(Watch { worker, failures, answer, act, asked }))
    }

    /// Has a task sent when the thief asks. Refers weakly to the sender: if a test fails before,
    /// the pool, which has this policy, does not wait for the sending worker for ever.
    fn send_when_asked(&self, sending: &Arc<Mutex<Sending>>) {
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

/// Worker 0, which sends a task to a place whenever it is asked to.
struct Sending {
    ask: Sender<()>,
    is_sent: Receiver<()>,
}

/// Has worker 0 send tasks to `place`. Each task reports the worker that runs it.
fn send_to(
    pool: &Pool,
    place: usize,
    report: impl Fn(usize) + Clone + Send + 'static,
) -> Arc<Mutex<Sending>> {
    let ((ask, asked), (sent, is_sent)) = (channel(), channel());
    pool.spawn_with(Spawn::At(0), move |_| {
        sent.send(()).unwrap();
        while asked.recv().is_ok() {
            let report = report.clone();
            locksley::spawn_with(Spawn::Near(place), move || on_worker(|w| report(w.index())));
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

/// A task that is sent to a place after its awake worker has looked there wakes no worker. So that
/// worker looks again after it has announced its sleep.
#[test]
fn a_worker_that_is_about_to_sleep_sees_a_task_for_its_place() {
    for (shape, worker) in [(&[2, 2][..], 3), (&[1, 2], 2)] {
        let watched = Watched::new(worker, 0, Move::Sleep);
        let pool = divided(shape).idle_policy(watched.clone()).build().unwrap();
        let (report, reported) = channel();
        let sending = send_to(&pool, 1, move |by| _ = report.send(by));
        let _stuck = (1..worker).map(|other| hold(&pool, other)).collect::<Vec<_>>();
        let is_about_to_sleep = hold(&pool, worker);
        watched.send_when_asked(&sending);
        drop(is_about_to_sleep);
        assert_eq!(reported.recv_timeout(PATIENCE), Ok(worker));
    }
}

#[test]
fn a_thief_looks_for_tasks_for_its_place_in_each_attempt() {
    let (worker, failures) = (3, 1);
    let watched = Watched::new(worker, failures, Move::Search);
    let pool = divided(&[2, 2]).idle_policy(watched.clone()).build().unwrap();
    let ((report, reported), seen) = (channel(), watched.clone());
    let sending = send_to(&pool, 1, move |by| _ = report.send((by, seen.asked())));
    let _stuck = [1, 2].map(|other| hold(&pool, other));
    let searches = hold(&pool, worker);
    watched.send_when_asked(&sending);
    drop(searches);
    // It has not asked again before it has found the task.
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

/// An idle policy that always has its thieves sleep. It counts how often a thief asks that has
/// begun a search or has just tried to sleep.
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

/// A worker takes a task of another place before it sleeps. It does not try to sleep again and
/// again: each time it would open all deques.
#[test]
fn a_thief_takes_a_task_of_another_place_and_then_sleeps() {
    const TASKS: usize = 30;
    let asked = Arc::new(AtomicUsize::new(0));
    let pool = divided(&[1, 1]).idle_policy(Tired(Arc::clone(&asked))).build().unwrap();
    let _held = hold(&pool, 1);
    let (sender, receiver) = channel();
    let sleeps = || pool.stats().workers[0].sleeps;
    for _ in 0..TASKS {
        let (before, sender) = (sleeps(), sender.clone());
        pool.spawn_with(Spawn::Near(1), move |w| sender.send(w.index()).unwrap());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(0));
        wait_until(|| sleeps() > before);
    }
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked < 10 * TASKS, "{asked}");
}

/// An idle policy with thieves that only search. It counts how often they see the other worker as
/// the victim, and how often none.
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
            let is_seen = context.victim == Some(1 - context.worker);
            self.0[usize::from(is_seen)].fetch_add(1, Ordering::Relaxed);
        }
        Move::Search
    }
}

/// A far worker may have work and no processor.
#[test]
fn an_idle_policy_sees_victims_at_other_places() {
    let seen = Arc::new([0, 0].map(AtomicUsize::new));
    let pool = divided(&[1, 1]).idle_policy(Witness(Arc::clone(&seen))).build().unwrap();
    let held = hold(&pool, 1);
    let until = Instant::now() + PATIENCE;
    while seen[1].load(Ordering::Relaxed) < 1000 {
        assert!(Instant::now() < until, "the policy does not see it");
        thread::yield_now();
    }
    drop(held);
    drop(pool);
    assert_eq!(seen[0].load(Ordering::Relaxed), 0);
}
