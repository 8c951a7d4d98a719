//! Tasks at home in a pool: how its workers run them, and where a task goes that has become ready.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::cell::{Home, Ran, Runner, TaskCell};
use super::header::Header;
use super::placement::Placement;
use crate::job::{Job, Kind};
use crate::pool::Shared;
use crate::strand::Followed;
use crate::worker::Worker;

/// A pool.
pub(super) struct InPool;

impl Home for InPool {
    unsafe fn schedule(task: NonNull<Header>) {
        // SAFETY: it has not finished, so it has the pool's reference.
        let header = unsafe { task.as_ref() };
        // Read now: as soon as the word is in a queue, the task may be over, and with it the pool.
        let (home, last) = (header.home().cast::<Shared>(), header.last());
        Worker::with_current(|current| match current {
            Some(worker) if ptr::eq(Arc::as_ptr(worker.shared()), home) => {
                place(worker, task.cast(), last);
            }
            _ => {
                // SAFETY: from an `Arc` (`new_task`), and alive: a pool is not closed while one of its tasks has not finished,
                // and its workers keep it until then.
                unsafe { Arc::increment_strong_count(home) };
                // SAFETY: the share that was just made.
                let shared = unsafe { Arc::from_raw(home) };
                match shared.placement() {
                    Placement::Last => shared.send_ready(last, task.cast()),
                    Placement::Current => shared.send(task.cast()),
                }
            }
        });
    }
}

/// By a worker of the task's pool.
fn place(worker: &Worker, job: NonNull<Job>, last: usize) {
    let shared = worker.shared();
    let is_elsewhere = last != worker.index();
    if is_elsewhere && shared.placement() == Placement::Last && !worker.may_keep(last) {
        worker.send_ready(last, job);
    } else {
        worker.push_next(job);
    }
}

/// A task, and its word, which the caller pushes or sends; `None` if the pool has been closed.
pub(super) fn new_task<F>(shared: &Arc<Shared>, future: F) -> Option<NonNull<Header>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if !shared.begin_task() {
        return None;
    }
    let home = Arc::as_ptr(shared).cast();
    Some(TaskCell::<F, InPool>::spawned(Job::of(const { &Kind::new(execute::<F>) }), home, future))
}

/// A task of a pool that has been closed.
pub(super) fn stillborn_task<F>() -> NonNull<Header>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    TaskCell::<F, InPool>::stillborn(Job::of(const { &Kind::new(execute::<F>) }))
}

/// # Safety
/// The task is alive.
#[cold]
unsafe fn is_polled_in_a_strand(task: NonNull<Header>, worker: &Worker) {
    // SAFETY: as the caller promises.
    if unsafe { task.as_ref() }.followed().is_none() {
        worker.has_uncarried();
    }
}

unsafe fn execute<F>(job: NonNull<Job>, worker: &Worker, _from: usize)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let task: NonNull<Header> = job.cast();
    // SAFETY: whoever has its word may run it, and then it has not finished: it has the pool's reference.
    unsafe { task.as_ref() }.ran_at(worker.index());
    // Whatever it waits for, or does not have to. What is followed says so when it has been polled.
    if worker.is_metered() {
        // SAFETY: as above.
        unsafe { is_polled_in_a_strand(task, worker) };
    }
    // SAFETY: the job is the first field of the task whose type `execute` was made for.
    match unsafe { TaskCell::<F, InPool>::run(task, &AtWorker(worker)) } {
        Ran::Waits => {}
        // Behind what else there is: a task that wakes itself gives way to all others.
        Ran::Woken => worker.send_to_back(job),
        Ran::Finished => {
            let shared = worker.shared();
            // SAFETY: the pool's reference, which is ours.
            unsafe { shared.shelves().take_down(task) };
            worker.arrives();
            shared.end_task();
        }
    }
    worker.has_polled();
}

struct AtWorker<'w>(&'w Worker);

impl Runner for AtWorker<'_> {
    fn is_closing(&self) -> bool {
        self.0.shared().is_closing()
    }

    fn remember(&self, task: NonNull<Header>) {
        // SAFETY: it is being run here, and `execute` takes it down when it has finished.
        unsafe { self.0.shared().shelves().put_up(task, self.0.seat_index()) };
    }

    fn begins(&self, path: &Followed) {
        path.begins(self.0);
    }

    fn leaves(&self, path: &Followed, ends: bool) {
        if ends { path.ends(self.0) } else { path.pauses(self.0) }
    }

    fn home(&self) -> Option<Arc<Shared>> {
        Some(Arc::clone(self.0.shared()))
    }
}
