//! What the model checker runs: the real tasks, on a queue of its own instead of a pool's.
//!
//! Whoever schedules also runs: each thread of a model goes through the queue when it has done what it has to do, so nobody waits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::cell::{Home, Ran, Runner, TaskCell};
use super::handle::Task;
use super::header::{self, Header};
use super::shelf::Shelves;
use super::waker;
use crate::job::{Job, Kind};
use crate::pool::Shared;
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};
use crate::worker::Worker;

/// In each task: what loom is told of its parts.
pub(super) struct Watch {
    /// Found by loom if it is left behind, and used by all who count on the task being alive.
    life: loom::cell::UnsafeCell<Option<loom::alloc::Track<()>>>,
    pub(super) stage: Sole,
    pub(super) awaiter: Sole,
}

impl Watch {
    pub(super) fn new() -> Self {
        let life = loom::cell::UnsafeCell::new(Some(loom::alloc::Track::new(())));
        Self { life, stage: Sole::new(), awaiter: Sole::new() }
    }

    pub(super) fn must_be_alive(&self) {
        // SAFETY: loom checks that nobody ends it meanwhile.
        self.life.with(|life| assert!(unsafe { &*life }.is_some(), "used after its end"));
    }

    pub(super) fn ends(&self) {
        // SAFETY: loom checks that nobody uses it meanwhile.
        self.life.with_mut(|life| drop(unsafe { &mut *life }.take()));
    }
}

/// Something that one thread uses at a time, and that each sees as the one before has left it.
pub(super) struct Sole(loom::cell::UnsafeCell<()>);

impl Sole {
    pub(super) fn new() -> Self {
        Self(loom::cell::UnsafeCell::new(()))
    }

    pub(super) fn is_mine(&self) {
        self.0.with_mut(|_| ());
    }
}

struct Word(NonNull<Header>);

// SAFETY: a task's word may go to any thread.
unsafe impl Send for Word {}

struct Model {
    queue: Mutex<VecDeque<Word>>,
    shelves: Shelves,
    is_closing: AtomicBool,
}

impl Home for Model {
    unsafe fn schedule(task: NonNull<Header>) {
        // SAFETY: it has not finished.
        let model: *const Self = unsafe { task.as_ref() }.home().cast();
        // SAFETY: it is there until all have ended.
        unsafe { &*model }.queue.lock().unwrap().push_back(Word(task));
    }
}

impl Runner for &Model {
    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }
    fn remember(&self, task: NonNull<Header>) {
        // SAFETY: it is being run, and is taken down in `work`.
        unsafe { self.shelves.put_up(task, 0) };
    }
    fn home(&self) -> Option<StdArc<Shared>> {
        None
    }
}

unsafe fn nobody(_: NonNull<Job>, _: &Worker, _: usize) {
    unreachable!("run by the model");
}

impl Model {
    fn new(shelves: usize) -> Arc<Self> {
        let queue = Mutex::new(VecDeque::new());
        let (shelves, is_closing) = (Shelves::new(shelves), AtomicBool::new(false));
        Arc::new(Self { queue, shelves, is_closing })
    }

    /// A task that is in the queue.
    fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let home: *const Self = self;
        let task = TaskCell::<F, Self>::spawned(
            Job::of(const { &Kind::new(nobody) }),
            home.cast(),
            future,
        );
        // SAFETY: about to be scheduled.
        unsafe { <Self as Home>::schedule(task) };
        // SAFETY: just made.
        unsafe { Task::new(task) }
    }

    /// Runs what is in the queue, all of which are such futures.
    fn work<F>(&self)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some(Word(task)) = next else { return };
            // SAFETY: the word was in the queue.
            match unsafe { TaskCell::<F, Self>::run(task, &self) } {
                Ran::Waits => {}
                // SAFETY: the word is ours.
                Ran::Woken => unsafe { <Self as Home>::schedule(task) },
                // SAFETY: the pool's reference is ours.
                Ran::Finished => unsafe { self.shelves.take_down(task) },
            }
        }
    }
}

/// Returns once all flags are set. Whoever sets one wakes the task, and nothing else orders the two.
struct Flags<const N: usize> {
    flags: Arc<[AtomicBool; N]>,
    /// Written by each poll and by the end: loom reports two at the same time, and one that does not see the one before.
    polls: loom::cell::UnsafeCell<usize>,
    /// Left behind if the future is not dropped, and an error if it is dropped twice.
    _life: loom::alloc::Track<()>,
}

// SAFETY: the cell is used by who polls or drops the future.
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
            // SAFETY: loom checks that nobody else uses it.
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

/// A waker of the task as others have it.
fn waker_of<T>(task: &Task<T>) -> Waker {
    let task = task.word();
    // SAFETY: alive: the handle is there.
    let lent = unsafe { waker::lent(task) };
    Waker::clone(&lent)
}

/// Counts how often it is woken, and is left behind if it is not dropped.
struct Bell {
    rings: AtomicUsize,
    _life: RefCell<loom::alloc::Track<()>>,
}

// SAFETY: the cell is not used.
unsafe impl Sync for Bell {}

impl Bell {
    fn new() -> StdArc<Self> {
        let life = RefCell::new(loom::alloc::Track::new(()));
        StdArc::new(Self { rings: AtomicUsize::new(0), _life: life })
    }

    fn rings(&self) -> usize {
        self.rings.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: StdArc<Self>) {
        self.rings.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<T>(task: &mut Task<T>, bell: &StdArc<Bell>) -> Poll<Result<T, super::TaskError>> {
    let waker = Waker::from(StdArc::clone(bell));
    Pin::new(task).poll(&mut Context::from_waker(&waker))
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

/// The outcome of a task that must have finished.
fn outcome<T>(mut task: Task<T>) -> Result<T, super::TaskError> {
    match poll(&mut task, &Bell::new()) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("a wake was lost"),
    }
}

#[test]
fn loom_task_a_wake_is_not_lost() {
    check(4, || {
        let model = Model::new(1);
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
        let model = Model::new(2);
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

/// As above, of a task that has waited before: it is on its shelf, and what is done with that orders nothing any more.
#[test]
fn loom_task_two_wakes_while_it_waits() {
    check(3, || {
        let model = Model::new(1);
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
        let model = Model::new(2);
        let (future, flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let waker = waker_of(&task);
        let other = model.clone();
        let other = thread::spawn(move || {
            flags[0].store(true, Ordering::Relaxed);
            waker.wake();
            other.work::<Flags<1>>();
        });
        task.cancel();
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
        let model = Model::new(1);
        let (future, flags) = Flags::<1>::new();
        flags[0].store(true, Ordering::Relaxed);
        let mut task = model.spawn(future);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        let bells = [Bell::new(), Bell::new()];
        let mut given = None;
        for bell in [&bells[0], &bells[0], &bells[1]] {
            if let Poll::Ready(outcome) = poll(&mut task, bell) {
                given = Some(outcome.unwrap().into_inner());
                break;
            }
        }
        other.join().unwrap();
        let rings = [bells[0].rings(), bells[1].rings()];
        match given {
            Some(polls) => assert_eq!((polls, rings[1]), (1, 0)),
            None => {
                assert_eq!(rings, [0, 1], "the one that was left last is rung");
                assert_eq!(outcome(task).unwrap().into_inner(), 1);
            }
        }
    });
}

#[test]
fn loom_task_handle_dropped_while_it_finishes() {
    check(4, || {
        let model = Model::new(1);
        let (future, flags) = Flags::<1>::new();
        flags[0].store(true, Ordering::Relaxed);
        let mut task = model.spawn(future);
        let bell = Bell::new();
        let is_pending = poll(&mut task, &bell).is_pending();
        assert!(is_pending);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        drop(task); // whoever comes second drops the outcome, or loom finds it
        other.join().unwrap();
        assert_eq!(StdArc::strong_count(&bell), 1);
    });
}

#[test]
fn loom_task_last_references_go_at_the_same_time() {
    check(4, || {
        let model = Model::new(1);
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
        let model = Model::new(1);
        let (future, _flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        model.is_closing.store(true, Ordering::Release);
        model.shelves.cancel_all();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        assert!(outcome(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn loom_task_two_use_one_shelf() {
    check(3, || {
        let model = Model::new(2);
        let futures = [Flags::<1>::new(), Flags::<1>::new()];
        let mut waiting = Vec::new();
        for (future, flags) in futures {
            let task = model.spawn(future);
            model.work::<Flags<1>>(); // both wait, on the first shelf
            waiting.push((task, flags));
        }
        let finish = |model: &Model, task: &Task<_>, flags: &[AtomicBool; 1]| {
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

/// Two put tasks up at once, each on a shelf of its own or one after the other; both tasks are found there.
#[test]
fn loom_task_two_put_up_at_once() {
    check(3, || {
        let model = Model::new(2);
        let tasks = [(); 2].map(|()| model.spawn(Flags::<1>::new().0));
        let other = model.clone();
        let other = thread::spawn(move || other.work::<Flags<1>>());
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.is_closing.store(true, Ordering::Release);
        model.shelves.cancel_all();
        model.work::<Flags<1>>();
        for task in tasks {
            assert!(outcome(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn loom_task_one_is_taken_down_while_all_are_cancelled() {
    check(3, || {
        let model = Model::new(1);
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
        model.shelves.cancel_all();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        match outcome(task) {
            Ok(polls) => assert_eq!(polls.into_inner(), 2),
            Err(error) => assert!(error.is_cancelled()),
        }
    });
}

/// A reference that is let go of, by somebody who is not counted otherwise.
#[test]
fn loom_task_wakers_are_cloned_and_dropped() {
    check(3, || {
        let model = Model::new(1);
        let (future, _flags) = Flags::<1>::new();
        let task = model.spawn(future);
        let waker = waker_of(&task);
        let other = thread::spawn(move || drop(waker.clone()));
        task.cancel();
        drop(task);
        model.work::<Flags<1>>();
        other.join().unwrap();
    });
}

/// Whoever cancels by reference does not free.
#[test]
fn loom_task_cancelled_by_two() {
    check(3, || {
        let model = Model::new(1);
        let (future, _flags) = Flags::<1>::new();
        let task = Arc::new(model.spawn(future));
        let (shared, other) = (task.clone(), model.clone());
        let other = thread::spawn(move || {
            // SAFETY: the handle is there.
            unsafe { header::cancel(shared.word()) };
            other.work::<Flags<1>>();
        });
        task.cancel();
        model.work::<Flags<1>>();
        other.join().unwrap();
        model.work::<Flags<1>>();
        assert!(task.is_finished());
    });
}
