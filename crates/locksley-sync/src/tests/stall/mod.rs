//! The stall harness: one thread is held at each step of an operation in turn. All other threads
//! continue, and get all permits, signals and turns except those that the held thread has.

mod barrier;
mod condvar;
mod mutex;
mod once_cell;
mod semaphore;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::thread;

use super::polled::Polled;
use crate::Semaphore;
use crate::wait_queue::WaitQueue;
use locksley_sys::primitive::stepped::{self, Gate};

/// Makes the number of steps of an operation independent of the threads of other tests, which use
/// the same hazard domain. The domain gets more records than there are threads, so that each scan
/// has as many steps. The calling thread keeps a record, so that it does not search for one.
fn prepare_hazard_records() {
    const MORE_THAN_THREADS: usize = 64;
    static MADE: std::sync::Once = std::sync::Once::new();
    let queue = WaitQueue::new();
    MADE.call_once(|| drop([(); MORE_THAN_THREADS].map(|()| queue.hazards())));
    drop(queue.hazards());
}

/// Holds a thread at the first, second, ... step of `operation`, with a new world each time.
/// `others` runs while the thread is held, and `after` checks the end. The value that `operation`
/// makes is dropped after it.
pub(super) fn hold_at_each_step<W, M>(
    least: usize,
    world: impl Fn() -> W,
    operation: impl Fn(&W) -> M + Sync,
    others: impl Fn(&W, usize),
    after: impl Fn(&W, M),
) where
    W: Sync,
    M: Send,
{
    for steps in 0.. {
        let world = world();
        let gate = Arc::new(Gate::default());
        let (held, made) = thread::scope(|scope| {
            let held_one = scope.spawn(|| {
                prepare_hazard_records();
                stepped::arm(steps, &gate);
                let made = operation(&world);
                stepped::disarm();
                made
            });
            let held = gate.wait_until_held();
            // A panic here must not leave the other thread held.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                others(&world, steps);
            }));
            gate.open();
            let made = held_one.join().unwrap();
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
            (held, made)
        });
        after(&world, made);
        if !held {
            assert!(steps >= least, "the operation has steps: {steps}");
            return;
        }
    }
}

/// A condition that is false up to some step of the held thread, and true from then on.
#[derive(Default)]
struct Switch(AtomicUsize);

impl Switch {
    #[track_caller]
    fn record(&self, is_on: bool, steps: usize) {
        let before = self.0.fetch_or(usize::from(is_on), Ordering::Relaxed);
        assert!(is_on || before == 0, "true before, and false after {steps} steps");
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }

    #[track_caller]
    fn assert_on(&self) {
        assert!(self.is_on(), "never true");
    }
}

/// A future that waits, until a thread takes it out to poll or drop it.
type Slot<T> = StdMutex<Option<Polled<'static, T>>>;

fn slot<T>(polled: Polled<'static, T>) -> Slot<T> {
    StdMutex::new(Some(polled))
}

fn taken<T>(slot: &Slot<T>) -> Polled<'static, T> {
    slot.lock().unwrap().take().expect("taken once")
}

/// Asserts that all futures which were not taken out are woken and ready.
#[track_caller]
fn finish_all<T>(slots: &[Slot<T>], context: impl std::fmt::Debug) {
    for slot in slots {
        if let Some(mut waiting) = slot.lock().unwrap().take() {
            assert!(waiting.is_woken(), "a task is not woken: {context:?}");
            assert!(waiting.poll().is_ready(), "a spurious wake-up: {context:?}");
        }
    }
}

/// Asserts that no future is woken.
#[track_caller]
fn assert_none_woken<T>(slots: &[Slot<T>], context: impl std::fmt::Debug) {
    for slot in slots {
        let is_woken = slot.lock().unwrap().as_ref().is_some_and(Polled::is_woken);
        assert!(!is_woken, "a task is woken: {context:?}");
    }
}

/// Acquires permits, and forgets them.
fn keep(semaphore: &Arc<Semaphore>, permits: usize) -> Polled<'static, ()> {
    let semaphore = Arc::clone(semaphore);
    Polled::new(async move { semaphore.acquire_many(permits).await.unwrap().forget() })
}

fn waiting_to_keep(semaphore: &Arc<Semaphore>) -> Slot<()> {
    let mut waiting = keep(semaphore, 1);
    assert!(waiting.poll().is_pending());
    slot(waiting)
}
