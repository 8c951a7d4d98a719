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

/// Stacks of two workers wait; one letter comes from a thread that is held at any step.
#[test]
fn stacks_come_back_though_a_sender_is_held() {
    const STACKS: usize = 6;
    let mut times_held = 0;
    // Some of them again, since the waiter of that letter may be late all the same.
    for steps in (0..24).chain(3..9).chain(3..9) {
        let pool = Pool::new(2).unwrap();
        let letters: Vec<Letter> = (0..STACKS).map(|_| Letter::default()).collect();
        let back = Arc::new(AtomicUsize::new(0));
        for letter in &letters {
            let (letter, back) = (letter.clone(), Arc::clone(&back));
            pool.spawn(move |_| {
                block_on(letter);
                back.fetch_add(1, Ordering::Release);
            });
        }
        assert!(until(|| letters.iter().all(Letter::is_awaited)), "all wait at a time");
        // And have left their stacks: else there is none to be given back, and hardly a step.
        let is_idle = |seat| pool.shared().seat(seat).activity() != Activity::Works;
        assert!(until(|| (0..2).all(is_idle)), "nothing else is to be done");
        let gate = Arc::new(Gate::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                letters[0].arrive();
                stepped::disarm();
            });
            times_held += usize::from(gate.wait_until_held());
            for letter in &letters[1..] {
                letter.arrive();
            }
            let others = until(|| back.load(Ordering::Acquire) >= STACKS - 1);
            gate.open();
            assert!(others, "held after {steps} steps");
        });
        drop(pool);
        assert_eq!(back.load(Ordering::Acquire), STACKS, "nothing is lost");
    }
    assert!(times_held > 3, "the harness holds threads: {times_held}");
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
