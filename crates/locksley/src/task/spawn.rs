//! How futures become tasks.

use std::ptr::NonNull;
use std::sync::Arc;

use super::handle::Task;
use super::header::{self, Header};
use super::home::{new_task, stillborn_task};
use crate::job::Job;
use crate::meter::{self, Region, Site};
use crate::pool::{Pool, Shared};
use crate::worker::Worker;

/// Has a future run as a task: in the calling worker's pool, or in the [global pool](Pool::global) on any other thread.
///
/// It begins by itself, whether the handle is polled or not. A task that waits does not keep its pool: when that is dropped, the
/// task is cancelled.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// async fn double(number: u32) -> u32 {
///     task::yield_now().await; // others first
///     2 * number
/// }
///
/// let tasks: Vec<_> = (0..10).map(|n| task::spawn(double(n))).collect();
/// let sum: u32 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
/// assert_eq!(sum, 90);
/// ```
///
/// # What cannot be a task
///
/// A task changes threads wherever it waits. What may not, it cannot keep across an `await` (an error to which the
/// compiler gives no number):
/// ```compile_fail
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     let here = Rc::new(1);
///     locksley::task::yield_now().await;
///     println!("{here}");
/// });
/// ```
/// Between two of them it can:
/// ```
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     println!("{}", Rc::new(1));
///     locksley::task::yield_now().await;
/// });
/// ```
/// So a future that is not `Send` is not accepted,
/// ```compile_fail,E0277
/// struct Here(*const u8);
/// impl Future for Here {
///     type Output = ();
///     fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<()> {
///         std::task::Poll::Ready(())
///     }
/// }
/// locksley::task::spawn(Here(std::ptr::null()));
/// ```
/// nor one that returns what is not,
/// ```compile_fail,E0277
/// locksley::task::spawn(std::future::ready(1).then_here());
/// trait ThenHere: Future + Sized {
///     fn then_here(self) -> Here<Self> { Here(self) }
/// }
/// impl<F: Future> ThenHere for F {}
/// struct Here<F>(F);
/// impl<F> Future for Here<F> {
///     type Output = std::rc::Rc<u8>;
///     fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
///         std::task::Poll::Ready(std::rc::Rc::new(1))
///     }
/// }
/// ```
/// nor one that keeps its [`Worker`] while it waits, which other threads must not have,
/// ```compile_fail
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> {
///     async { worker.index() }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.run(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// (though one may keep what the worker has said, and this is the same but for that)
/// ```
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> + use<> {
///     let index = worker.index();
///     async move { index }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.run(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// nor one that borrows what may be gone before it ends.
/// ```compile_fail,E0597
/// let text = String::from("here");
/// let borrowed = &text;
/// let task = locksley::task::spawn(async move { borrowed.len() });
/// drop(task);
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let site = Site::here();
    Worker::with_current(|current| match current {
        Some(worker) => worker.spawn_future_from(site, future),
        None => spawn_in(Pool::global().shared(), site, future),
    })
}

/// Has `use_it` have the region in which a task that the caller spawns in that pool is metered, if it is; or one that it [spawns](spawn) without a word of
/// where.
pub(crate) fn region_of_what_is_spawned<R>(
    home: Option<&Shared>,
    use_it: impl FnOnce(&Arc<Region>) -> R,
) -> Option<R> {
    if !meter::is_on() {
        return None;
    }
    Worker::with_current(|current| {
        let here = || current.map_or_else(|| &**Pool::global().shared(), |it| it.shared());
        let home = home.unwrap_or_else(here);
        home.region_of_what_is_sent(current).filter(|region| !region.is_over()).map(use_it)
    })
}

/// Has a future run as a task of that pool, whoever calls.
pub(crate) fn spawn_in<F>(home: &Arc<Shared>, site: Site, future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Worker::with_current(|current| match current {
        Some(worker) if worker.belongs_to(home) => worker.spawn_future_from(site, future),
        _ => begin_by(home, (current, site), future, |task| home.send(task)),
    })
}

/// Has a future run as a task of that pool, which `begin` pushes or sends, in the name of that caller.
#[inline]
fn begin_by<F>(
    home: &Arc<Shared>,
    (caller, site): (Option<&Worker>, Site),
    future: F,
    begin: impl FnOnce(NonNull<Job>),
) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // A guest may outlive its pool, and a worker's start hook in the background may run when that is over.
    let task = match new_task(home, future) {
        Some(task) => {
            // SAFETY: just made, and nobody has seen it.
            unsafe { follow_from(home, caller, site, task) };
            begin(task.cast());
            task
        }
        None => stillborn_task::<F>(),
    };
    // SAFETY: just made, of that future; the handle's reference is ours.
    unsafe { Task::new(task) }
}

/// Has a future run as a task of the calling worker's pool, or of the [global pool](Pool::global) on any other thread, and begin at a place:
/// [`Worker::spawn_future_near`].
///
/// # Panics
/// If the pool has no such place.
///
/// # Examples
/// ```
/// let task = locksley::task::spawn_near(0, async { 6 * 7 });
/// assert_eq!(task.join().unwrap(), 42);
/// ```
#[track_caller]
pub fn spawn_near<F>(place: usize, future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Worker::must_have_place_here(place);
    let site = Site::here();
    Worker::with_current(|current| match current {
        Some(worker) => worker.spawn_future_near_from(site, place, future),
        None => spawn_near_in(Pool::global().shared(), site, place, future),
    })
}

/// The same in that pool, whoever calls.
#[track_caller]
fn spawn_near_in<F>(home: &Arc<Shared>, site: Site, place: usize, future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    home.must_have_place(place);
    Worker::with_current(|current| match current {
        Some(worker) if worker.belongs_to(home) => {
            worker.spawn_future_near_from(site, place, future)
        }
        _ => begin_by(home, (current, site), future, |task| home.send_near(place, task)),
    })
}

impl Worker {
    /// Has a future run as a task of this worker's pool: [`task::spawn`](spawn) on a known worker.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let sum = pool.run(|w| w.spawn_future(async { 6 * 7 }).join());
    /// assert_eq!(sum.unwrap(), 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_future<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_future_from(Site::here(), future)
    }

    /// The same, from that place in the program.
    pub(crate) fn spawn_future_from<F>(&self, site: Site, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        begin_by(self.shared(), (Some(self), site), future, |task| self.push_next(task))
    }

    /// Has a future run as a task of this worker's pool, and begin at a place, as [`Pool::spawn_near`] has it. Where it goes on when it has waited is the pool's
    /// [placement](crate::PoolBuilder::placement).
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let last = pool.places().count() - 1;
    /// let sum = pool.run(|w| w.spawn_future_near(last, async { 6 * 7 }).join());
    /// assert_eq!(sum.unwrap(), 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_future_near<F>(&self, place: usize, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_future_near_from(Site::here(), place, future)
    }

    /// The same, from that place in the program.
    #[track_caller]
    fn spawn_future_near_from<F>(&self, site: Site, place: usize, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.shared().must_have_place(place);
        if place == self.place() {
            return self.spawn_future_from(site, future);
        }
        let push = |task| self.push_near(place, task);
        begin_by(self.shared(), (Some(self), site), future, push)
    }
}

impl Pool {
    /// Has a future run as a task of this pool, and begin at a place: [`Worker::spawn_future_near`], whoever calls.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let here = || locksley::Worker::with_current(|worker| worker.map(|it| it.place()));
    /// let task = pool.spawn_future_near(0, async move { here() });
    /// assert!(task.join().unwrap().is_some());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_future_near<F>(&self, place: usize, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_near_in(self.shared(), Site::here(), place, future)
    }

    /// Has a future run as a task of this pool.
    ///
    /// A worker of this pool puts it with its own tasks; from elsewhere, tasks begin in the order in which they were sent, with
    /// those of [`spawn`](Self::spawn).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let task = pool.spawn_future(async { locksley::Worker::with_current(|w| w.unwrap().index()) });
    /// assert!(task.join().unwrap() < 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_future<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_in(self.shared(), Site::here(), future)
    }
}

/// Has the path of a task followed that is about to be pushed or sent to that pool, if who spawns it is metered, or all that the pool does.
///
/// # Safety
/// It was just made, of that pool, and nobody has seen it.
#[inline]
unsafe fn follow_from(home: &Shared, caller: Option<&Worker>, site: Site, task: NonNull<Header>) {
    if let Some((region, from)) = home.path_of_what_is_sent(caller) {
        // SAFETY: as the caller promises.
        unsafe { header::follow(task, &region, from.at(Some(site))) };
    }
}
