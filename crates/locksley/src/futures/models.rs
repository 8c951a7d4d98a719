//! Loom models of tasks. The tasks are the real ones, and a queue of the model replaces the pool's.
//!
//! Each thread of a model empties the queue before it ends, so no thread waits for another.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::cell::{Owner, Ran, TaskCell};
use super::error::JoinError;
use super::handle::JoinHandle;
use super::header::{self, Header};
use super::owned::OwnedTasks;
use crate::header::{GroupHeader, Job, Kind, WorkerRef};
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};
use crate::shared::{CancelAll as _, Shared};

struct Word(NonNull<Header>);

// SAFETY: a task's word may go to any thread.
unsafe impl Send for Word {}

struct Model {
    queue: Mutex<VecDeque<Word>>,
    owned: OwnedTasks,
    is_closing: AtomicBool,
}

impl Owner for Model {
    unsafe fn schedule(task: NonNull<Header>) {
        // SAFETY: it has not finished.
        let model = unsafe { task.as_ref() }.owner().cast::<Self>();
        // SAFETY: it is there until all have ended.
        unsafe { model.as_ref() }.queue.lock().unwrap().push_back(Word(task));
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }
    fn track(&self, task: NonNull<Header>) {
        // SAFETY: it is being run.
        unsafe { self.owned.insert(task, 0) };
    }
    fn pool(&self) -> Option<StdArc<Shared>> {
        None
    }
}

unsafe fn never(_: NonNull<Job>, _: WorkerRef<'_>, _: usize) {
    unreachable!("the model runs it");
}

impl Model {
    fn new() -> Arc<Self> {
        let queue = Mutex::new(VecDeque::new());
        let (owned, is_closing) = (OwnedTasks::new(1), AtomicBool::new(false));
        Arc::new(Self { queue, owned, is_closing })
    }

    /// Makes a task, and sends it to the queue.
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let head = GroupHeader::new(const { &Kind::of_group(never) }, NonNull::from(self).cast());
        let task = TaskCell::allocate::<Self>(head, false, Ok(future));
        // SAFETY: about to be scheduled.
        unsafe { <Self as Owner>::schedule(task) };
        // SAFETY: just made.
        unsafe { JoinHandle::new(task) }
    }

    /// Runs the tasks in the queue. All of them have this type.
    fn work<F>(&self)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some(Word(task)) = next else { return };
            // SAFETY: the word was in the queue.
            match unsafe { TaskCell::<F>::run(task, self) } {
                Ran::Waits => {}
                // SAFETY: the word is ours.
                Ran::Woken => unsafe { <Self as Owner>::schedule(task) },
                // SAFETY: the pool's reference is ours.
                Ran::Finished => unsafe { self.owned.remove(task) },
            }
        }
    }
}

/// A future that returns once all flags are set. A thread that sets a flag wakes the task, and
/// nothing else orders the two.
struct Flags<const N: usize> {
    flags: Arc<[AtomicBool; N]>,
    /// Written by each poll and by the drop. Loom reports a race between two of them.
    polls: loom::cell::UnsafeCell<usize>,
    /// Leaks if the future is not dropped, and is an error if it is dropped twice.
    _life: loom::alloc::Track<()>,
}

// SAFETY: the cell is used by what polls or drops the future.
unsafe impl<const N: usize> Send for Flags<N> {}

impl<const N: usize> Flags<N> {
    fn new() -> (Self, Arc<[AtomicBool; N]>) {
        let flags = Arc::new(std::array::from_fn(|_| AtomicBool::new(false)));
        let polls = loom::cell::UnsafeCell::new(0);
        (Self { flags: flags.clone(), polls, _life: loom::alloc::Track::new(()) }, flags)
    }
}

impl<const N: usize> Future for Flags<N> {
    type Output = loom::alloc::Track<usize>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let polls = self.polls.with_mut(|polls| {
            // SAFETY: loom checks that no other thread uses it.
            let polls = unsafe { &mut *polls };
            *polls += 1;
            *polls
        });
        if self.flags.iter().all(|flag| flag.load(Ordering::Relaxed)) {
            Poll::Ready(loom::alloc::Track::new(polls))
        } else {
            Poll::Pending
        }
    }
}

impl<const N: usize> Drop for Flags<N> {
    fn drop(&mut self) {
        self.polls.with_mut(|polls| {
            // SAFETY: as above.
            let polls = unsafe { &mut *polls };
            *polls = usize::MAX;
        });
    }
}

/// A waker of the task, with a reference of its own.
fn waker_of<T>(task: &JoinHandle<T>) -> Waker {
    let task = task.word();
    // SAFETY: alive: the handle is there.
    let borrowed = unsafe { header::borrowed_waker(task) };
    Waker::clone(&borrowed)
}

/// Counts how often it is woken, and leaks if it is not dropped.
struct TestWaker {
    rings: AtomicUsize,
    _life: RefCell<loom::alloc::Track<()>>,
}

// SAFETY: the cell is not used.
unsafe impl Sync for TestWaker {}

impl TestWaker {
    fn new() -> StdArc<Self> {
        let life = RefCell::new(loom::alloc::Track::new(()));
        StdArc::new(Self { rings: AtomicUsize::new(0), _life: life })
    }

    fn rings(&self) -> usize {
        self.rings.load(Ordering::Relaxed)
    }
}

impl Wake for TestWaker {
    fn wake(self: StdArc<Self>) {
        self.rings.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<T>(task: &mut JoinHandle<T>, waker: &StdArc<TestWaker>) -> Poll<Result<T, JoinError>> {
    let waker = Waker::from(StdArc::clone(waker));
    Pin::new(task).poll(&mut Context::from_waker(&waker))
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

/// The outcome of a task that must have finished.
fn outcome<T>(mut task: JoinHandle<T>) -> Result<T, JoinError> {
    match poll(&mut task, &TestWaker::new()) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("a wake was lost"),
    }
}

#[test]
fn loom_task_a_wake_is_not_lost() {
    check(4, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let waker = waker_of(&task);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        flags[0].store(true, Ordering::Relaxed);
        waker.wake();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        let polls = outcome(task).unwrap().into_inner();
        assert!(polls <= 2, "one wake, one poll: {polls}");
    });
}

#[test]
fn loom_task_two_wakes_while_it_runs() {
    check(3, || {
        let model = Model::new();
        let (future, flags) = Flags::<2>::new();
        let task = model.spawn(future);
        let wakers = [waker_of(&task), waker_of(&task)];
        let wakers = wakers.into_iter().enumerate().map(|(n, waker)| {
            let (model, flags) = (model.clone(), flags.clone());
            thread::spawn(move || {
                flags[n].store(true, Ordering::Relaxed);
                waker.wake_by_ref();
                model.work::<Flags<2>>();
            })
        });
        let wakers: Vec<_> = wakers.collect();
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        model.work::<Flags<2>>();
        assert!(outcome(task).unwrap().into_inner() <= 3);
    });
}

/// As above, for a task that has waited before, and so is in its list already.
#[test]
fn loom_task_two_wakes_while_it_waits() {
    check(3, || {
        let model = Model::new();
        let (future, flags) = Flags::<2>::new();
        let task = model.spawn(future);
        model.work::<Flags<2>>();
        let (waker, other) = (waker_of(&task), (model.clone(), flags.clone()));
        let other = thread::spawn(move || {
            other.1[0].store(true, Ordering::Relaxed);
            waker.wake();
            other.0.work::<Flags<2>>();
        });
        let waker = waker_of(&task);
        flags[1].store(true, Ordering::Relaxed);
        waker.wake();
        model.work::<Flags<2>>();
        other.join().unwrap();
        model.work::<Flags<2>>();
        assert!(outcome(task).unwrap().into_inner() <= 3);
    });
}

#[test]
fn loom_task_cancelled_while_it_is_woken() {
    check(3, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let waker = waker_of(&task);
        let other = model.clone();
        let other = thread::spawn(move || {
            flags[0].store(true, Ordering::Relaxed);
            waker.wake();
            other.work::<Flags<1>>();
        });
        task.abort();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        match outcome(task) {
            Ok(polls) => assert!(polls.into_inner() <= 2),
            Err(error) => assert!(error.is_cancelled()),
        }
    });
}

#[test]
fn loom_task_awaited_while_it_finishes() {
    check(4, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        flags[0].store(true, Ordering::Relaxed);
        let mut task = model.spawn(future);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        let wakers = [TestWaker::new(), TestWaker::new()];
        let mut given = None;
        for waker in [&wakers[0], &wakers[0], &wakers[1]] {
            if let Poll::Ready(outcome) = poll(&mut task, waker) {
                given = Some(outcome.unwrap().into_inner());
                break;
            }
        }
        other.join().unwrap();
        let rings = [wakers[0].rings(), wakers[1].rings()];
        match given {
            Some(polls) => assert_eq!((polls, rings[1]), (1, 0)),
            None => {
                assert_eq!(rings, [0, 1], "the last waker that was left is woken");
                assert_eq!(outcome(task).unwrap().into_inner(), 1);
            }
        }
    });
}

#[test]
fn loom_task_handle_dropped_while_it_finishes() {
    check(4, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        flags[0].store(true, Ordering::Relaxed);
        let mut task = model.spawn(future);
        let waker = TestWaker::new();
        let is_pending = poll(&mut task, &waker).is_pending();
        assert!(is_pending);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        drop(task); // the second of the two drops the outcome, or loom reports a leak
        other.join().unwrap();
        assert_eq!(StdArc::strong_count(&waker), 1);
    });
}

#[test]
fn loom_task_last_references_go_at_the_same_time() {
    check(4, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        flags[0].store(true, Ordering::Relaxed);
        let task = model.spawn(future);
        let (one, two) = (waker_of(&task), waker_of(&task));
        let other = thread::spawn(move || one.wake());
        drop(task);
        model.work::<Flags<1>>();
        drop(two);
        other.join().unwrap();
        model.work::<Flags<1>>();
    });
}

#[test]
fn loom_task_all_are_cancelled_while_some_begin_to_wait() {
    check(3, || {
        let model = Model::new();
        let (future, _flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        model.is_closing.store(true, Ordering::Release);
        model.owned.cancel_all();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        assert!(outcome(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn loom_task_two_use_one_list() {
    check(3, || {
        let model = Model::new();
        let futures = [Flags::<1>::new(), Flags::<1>::new()];
        let mut waiting = Vec::new();
        for (future, flags) in futures {
            let task = model.spawn(future);
            model.work::<Flags<1>>(); // both wait, in the first list
            waiting.push((task, flags));
        }
        let finish = |model: &Model, task: &JoinHandle<_>, flags: &[AtomicBool; 1]| {
            flags[0].store(true, Ordering::Relaxed);
            waker_of(task).wake();
            model.work::<Flags<1>>();
        };
        let (task, flags) = waiting.pop().unwrap();
        let other = model.clone();
        let other = thread::spawn(move || {
            finish(&other, &task, &flags);
            task
        });
        let (task, flags) = waiting.pop().unwrap();
        finish(&model, &task, &flags);
        let others = other.join().unwrap();
        model.work::<Flags<1>>();
        assert_eq!(outcome(task).unwrap().into_inner(), 2);
        assert_eq!(outcome(others).unwrap().into_inner(), 2);
    });
}

/// Two threads insert tasks at once. Both tasks are found.
#[test]
fn loom_task_two_are_inserted_at_once() {
    check(3, || {
        let model = Model::new();
        let tasks = [(); 2].map(|()| model.spawn(Flags::<1>::new().0));
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.is_closing.store(true, Ordering::Release);
        model.owned.cancel_all();
        model.work::<Flags<1>>();
        for task in tasks {
            assert!(outcome(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn loom_task_one_is_removed_while_all_are_cancelled() {
    check(3, || {
        let model = Model::new();
        let (future, flags) = Flags::<1>::new();
        let task = model.spawn(future);
        model.work::<Flags<1>>();
        let waker = waker_of(&task);
        let other = model.clone();
        let other = thread::spawn(move || {
            flags[0].store(true, Ordering::Relaxed);
            waker.wake();
            other.work::<Flags<1>>();
        });
        model.is_closing.store(true, Ordering::Release);
        model.owned.cancel_all();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        match outcome(task) {
            Ok(polls) => assert_eq!(polls.into_inner(), 2),
            Err(error) => assert!(error.is_cancelled()),
        }
    });
}

/// The end of one task sweeps the list, which another one is in.
#[test]
fn loom_task_a_list_is_swept_while_all_are_cancelled() {
    check(3, || {
        let model = Model::new();
        let (waits, _flags) = Flags::<1>::new();
        let (ends, flags) = Flags::<1>::new();
        let (waits, ends) = (model.spawn(waits), model.spawn(ends));
        model.work::<Flags<1>>(); // both are in the list
        let waker = waker_of(&ends);
        let other = model.clone();
        let other = thread::spawn(move || {
            flags[0].store(true, Ordering::Relaxed);
            waker.wake();
            other.work::<Flags<1>>();
        });
        model.owned.cancel_all();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        assert!(ends.is_finished());
        assert!(outcome(waits).unwrap_err().is_cancelled());
    });
}

/// A thread drops the only reference that it has.
#[test]
fn loom_task_wakers_are_cloned_and_dropped() {
    check(3, || {
        let model = Model::new();
        let (future, _flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let waker = waker_of(&task);
        let other = thread::spawn(move || drop(waker.clone()));
        task.abort();
        drop(task);
        model.work::<Flags<1>>();
        other.join().unwrap();
    });
}

/// A cancellation by reference does not free the task.
#[test]
fn loom_task_cancelled_by_two() {
    check(3, || {
        let model = Model::new();
        let (future, _flags) = Flags::<1>::new();
        let task = Arc::new(model.spawn(future));
        let (shared, other) = (task.clone(), model.clone());
        let other = thread::spawn(move || {
            // SAFETY: the handle is there.
            unsafe { header::cancel(shared.word()) };
            other.work::<Flags<1>>();
        });
        task.abort();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        assert!(task.is_finished());
    });
}
