//! Tasks of a pool: how its workers run them, and which worker a ready task goes to.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::cell::{Owner, Ran, TaskCell};
use super::error::JoinError;
use super::handle::JoinHandle;
use super::header::Header;
use super::owned::OwnedTasks;
use crate::header::{GroupHeader, Job, Kind, WorkerRef};
use crate::shared::Shared;
use crate::shared::placement::Placement;
use crate::unwind;
use crate::worker::Worker;

/// A pool as the owner of tasks: the address is that of its [`Shared`]. The worker runs the task.
pub(super) struct InPool<'w>(&'w Worker);

impl Owner for InPool<'_> {
    unsafe fn schedule(task: NonNull<Header>) {
        // SAFETY: it has not finished, so the pool's reference is there.
        let pool = unsafe { task.as_ref() }.owner();
        // SAFETY: as the caller promises. The address is from an `Arc` (`spawn_counted`), and a pool
        // is not closed while one of its tasks has not finished.
        unsafe { make_ready(task, pool.cast().as_ptr()) };
    }

    fn is_closing(&self) -> bool {
        self.0.shared().is_closing()
    }

    fn track(&self, task: NonNull<Header>) {
        // SAFETY: it is being run here.
        unsafe { self.0.shared().owned_tasks::<OwnedTasks>().insert(task, self.0.slot().get()) };
    }

    fn pool(&self) -> Option<Arc<Shared>> {
        Some(Arc::clone(self.0.shared()))
    }
}

/// Sends a task's word to a queue of its pool.
///
/// # Safety
/// As for [`Owner::schedule`]. `pool` is the pool of the task. The pointer is from an `Arc`, which
/// is there until the task has finished.
pub(crate) unsafe fn make_ready(task: NonNull<Header>, pool: *const Shared) {
    // SAFETY: it has not finished, so the pool's reference is there.
    let last = unsafe { task.as_ref() }.last_worker();
    // As soon as the word is in a queue, the task may finish, and its pool end.
    let job = task.cast();
    Worker::with_current(|current| match current {
        Some(worker) if ptr::eq(Arc::as_ptr(worker.shared()), pool) => {
            match worker.shared().config.placement {
                Placement::Last => worker.push_or_send_to(last, job),
                Placement::Current => worker.push_next(job),
            }
        }
        _ => {
            // SAFETY: there until the task has finished, as the caller promises.
            unsafe { Arc::increment_strong_count(pool) };
            // SAFETY: the share just made.
            let pool = unsafe { Arc::from_raw(pool) };
            match pool.config.placement {
                // Not to a guest, which has left the pool.
                Placement::Last if last.get() < pool.workers => pool.send_ready(None, last, job),
                Placement::Last | Placement::Current => pool.send(None, job),
            }
        }
    });
}

/// True if a future or closure of this type is moved to the heap before it is made a task. On the
/// way into a task's allocation it is copied a dozen times if nothing is inlined, and a worker's
/// stack has 2 MiB.
pub(crate) const fn is_large<F>() -> bool {
    size_of::<F>() > 16 << 10
}

/// Makes a task of a future. `push` makes it ready. If the pool is closing, the task is cancelled
/// at once: otherwise tasks that spawn others could keep the pool open for ever.
pub(crate) fn spawn_by<F>(
    pool: &Arc<Shared>,
    future: F,
    push: impl FnOnce(NonNull<Job>),
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_counted::<F, false>(pool, future, push)
}

/// Makes a task of a closure. Like a detached closure, it and what it spawns keep the pool open.
pub(crate) fn spawn_closure_by<F, R>(
    pool: &Arc<Shared>,
    closure: F,
    push: impl FnOnce(NonNull<Job>),
) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_counted::<_, true>(pool, async move { closure() }, push)
}

fn spawn_counted<F, const IS_CLOSURE: bool>(
    pool: &Arc<Shared>,
    future: F,
    push: impl FnOnce(NonNull<Job>),
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let address = NonNull::new(Arc::as_ptr(pool).cast_mut()).expect("the address of a pool");
    let head =
        GroupHeader::new(const { &Kind::of_group(execute::<F, IS_CLOSURE>) }, address.cast());
    let is_open = match IS_CLOSURE {
        true => pool.pending.begin_closure(),
        false => !pool.is_closing() && pool.pending.begin_task(),
    };
    let future = if is_open { Ok(future) } else { Err(refuse(pool, future)) };
    let task = TaskCell::allocate::<InPool<'_>>(head, pool.observer().is_some(), future);
    if is_open {
        push(task.cast());
    }
    // SAFETY: a task of that future. The handle's reference is this caller's.
    unsafe { JoinHandle::new(task) }
}

/// Drops a future that a closing pool does not accept. A panic of its destructor is the outcome of
/// the task, as elsewhere: code that spawns may be unwinding.
fn refuse<F>(pool: &Arc<Shared>, future: F) -> JoinError {
    match unwind::catch(|| drop(future)) {
        Ok(()) => JoinError::cancelled(),
        Err(payload) => JoinError::panicked(payload, Some(Arc::clone(pool))),
    }
}

unsafe fn execute<F: Future, const IS_CLOSURE: bool>(
    job: NonNull<Job>,
    worker: WorkerRef<'_>,
    _from: usize,
) {
    let worker = worker.worker();
    // SAFETY: a task of this type, by its kind; and this worker alone has taken its word.
    if unsafe { run::<F>(job, worker, &InPool(worker)) } {
        let shared = worker.shared();
        // SAFETY: the pool's reference, which is the caller's.
        unsafe { shared.owned_tasks::<OwnedTasks>().remove(job.cast()) };
        if IS_CLOSURE { shared.end_closure() } else { shared.end_task() }
    }
}

/// Runs a task of a pool or a scope on a worker. True if it has finished: then the caller has the
/// pool's reference.
///
/// # Safety
/// As for [`TaskCell::run`].
pub(crate) unsafe fn run<F: Future>(
    job: NonNull<Job>,
    worker: &Worker,
    owner: &impl Owner,
) -> bool {
    let task: NonNull<Header> = job.cast();
    // SAFETY: the word of the task exists, so it has not finished, and the pool's reference exists.
    unsafe { task.as_ref() }.set_last_worker(worker.own_index());
    // SAFETY: as the caller promises.
    let ran = unsafe { TaskCell::<F>::run(task, owner) };
    if ran == Ran::Woken {
        // Behind all others: a task that wakes itself yields to them.
        worker.send_to_back(job);
    }
    worker.end_poll();
    ran == Ran::Finished
}
