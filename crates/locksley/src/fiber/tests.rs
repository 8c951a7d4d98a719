//! The stall harness for stacks that wait: whoever ends their wait is held at any step, and all other stacks come back.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::block_on;
use crate::Pool;
use crate::hunt::Activity;
use crate::primitive::stepped::{self, Gate};

/// A future that is ready when it has been told so.
#[derive(Clone, Default)]
struct Letter(Arc<Mutex<(bool, Option<Waker>)>>);

impl Letter {
    fn arrive(&self) {
        let waker = {
            let mut letter = self.0.lock().unwrap();
            letter.0 = true;
            letter.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn is_awaited(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }
}

impl Future for Letter {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut letter = self.0.lock().unwrap();
        if letter.0 {
            return Poll::Ready(());
        }
        letter.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

fn until(what: impl Fn() -> bool) -> bool {
    let patience = Instant::now() + Duration::from_secs(20);
    while !what() && Instant::now() < patience {
        thread::sleep(Duration::from_micros(100));
    }
    what()
}

/// So many steps the sender of a letter takes at least whose waiter has left a stack of its own: it sets the signal; gives the stack back, which are
/// two; and looks, behind a fence, whether its worker sleeps. Who waits on the thread's own stack needs less; who sleeps, to be rung for.
const STEPS: usize = 5;

/// Stacks of two workers wait; the letter of one of them comes from a thread that is held at any step.
#[test]
fn stacks_come_back_though_a_sender_is_held() {
    const TASKS: usize = 6;
    for steps in 0..STEPS + 4 {
        let pool = Pool::new(2).unwrap();
        let letters: Vec<Letter> = (0..TASKS).map(|_| Letter::default()).collect();
        let on_stacks: Arc<Mutex<Vec<usize>>> = Arc::default();
        let back = Arc::new(AtomicUsize::new(0));
        for (n, letter) in letters.iter().enumerate() {
            let (letter, own) = (letter.clone(), Arc::clone(&on_stacks));
            let back = Arc::clone(&back);
            pool.spawn(move |w| {
                if w.stack().is_some() {
                    own.lock().unwrap().push(n);
                }
                block_on(letter);
                back.fetch_add(1, Ordering::Release);
            });
        }
        assert!(until(|| letters.iter().all(Letter::is_awaited)), "all wait at a time");
        // And have left their stacks: else there is none to be given back.
        let is_idle = |seat| pool.shared().seat(seat).activity() != Activity::Works;
        assert!(until(|| (0..2).all(is_idle)), "nothing else is to be done");
        // Two at most wait on their threads' own.
        let held = *on_stacks.lock().unwrap().first().expect("there are more than two");
        let gate = Arc::new(Gate::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                letters[held].arrive();
                stepped::disarm();
            });
            let is_held = gate.wait_until_held();
            for (n, letter) in letters.iter().enumerate() {
                if n != held {
                    letter.arrive();
                }
            }
            let others = until(|| back.load(Ordering::Acquire) >= TASKS - 1);
            gate.open();
            assert!(others, "held after {steps} steps");
            assert!(is_held || steps >= STEPS, "it takes more than {steps} steps");
        });
        drop(pool);
        assert_eq!(back.load(Ordering::Acquire), TASKS, "nothing is lost");
    }
}

/// A worker is held at any step of leaving a stack and finding others; the tasks that it does not have in hand are run by the other.
#[test]
fn tasks_run_though_a_worker_is_held_that_changes_stacks() {
    const TASKS: usize = 12;
    let mut times_held = 0;
    for steps in (0..100).chain((100..400).step_by(23)) {
        let pool = Pool::new(2).unwrap();
        let gate = Arc::new(Gate::default());
        let letter = Letter::default();
        let done = Arc::new(AtomicUsize::new(0));
        let (at, awaited, count) = (Arc::clone(&gate), letter.clone(), Arc::clone(&done));
        pool.spawn(move |w| {
            for _ in 0..TASKS {
                let count = Arc::clone(&count);
                w.spawn(move |_| {
                    count.fetch_add(1, Ordering::Release);
                });
            }
            stepped::arm(steps, &at);
            block_on(awaited);
        });
        // One is what the held worker may have in hand.
        let others = until(|| done.load(Ordering::Acquire) >= TASKS - 1);
        times_held += usize::from(gate.is_held());
        gate.open();
        letter.arrive();
        drop(pool);
        assert!(others, "held after {steps} steps");
        assert_eq!(done.load(Ordering::Acquire), TASKS, "nothing is lost");
    }
    assert!(times_held > 20, "the harness holds threads: {times_held}");
}
