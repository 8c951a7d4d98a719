//! Futures as tasks: workers poll them, and a task that waits occupies no worker.
//!
//! [`spawn`] makes a task of a future and returns its [`JoinHandle`]. Async code awaits the handle,
//! and code that is not `async` [joins](JoinHandle::join) it. Tasks and closures run on the same
//! workers: a future may fork ([`join`](crate::join)), and a closure may wait for a future. A
//! [scope](crate::Scope::spawn_future) runs futures that borrow.
//!
//! A task waits for whatever wakes it: other tasks, channels and locks of crates that need no
//! runtime of their own, or the timers and sockets of an async runtime beside this one. This crate
//! has no timers.

mod scoped;

use std::sync::Arc;

use crate::fork::{Spawn, shared_of};
use crate::futures::spawn_by;
pub use crate::futures::{JoinError, JoinHandle, yield_now};
use crate::pool::Pool;
pub use crate::scheduler::placement::Placement;
use crate::scheduler::{Shared, Worker};

/// Runs a future as a task: in the calling worker's pool, or in the [global pool](Pool::global) on
/// any other thread.
///
/// The task begins by itself, whether the handle is polled or not. A task that waits does not keep
/// its pool: when the pool is dropped, the task is cancelled.
/// [`Pool::spawn_future_with`] has options.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// async fn double(number: u32) -> u32 {
///     task::yield_now().await;
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
/// A task may change threads wherever it waits, so a value that must stay on its thread cannot be
/// kept across an `await` (the compiler gives no number to this error):
/// ```compile_fail
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     let here = Rc::new(1);
///     locksley::task::yield_now().await;
///     println!("{here}");
/// });
/// ```
/// It can be used between two of them:
/// ```
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     println!("{}", Rc::new(1));
///     locksley::task::yield_now().await;
/// });
/// ```
/// A future that is not `Send` is not accepted,
/// ```compile_fail,E0277
/// struct Here(*const u8);
/// impl Future for Here {
///     type Output = ();
///     fn poll(
///         self: std::pin::Pin<&mut Self>,
///         _: &mut std::task::Context<'_>,
///     ) -> std::task::Poll<()> {
///         std::task::Poll::Ready(())
///     }
/// }
/// locksley::task::spawn(Here(std::ptr::null()));
/// ```
/// nor one whose output is not `Send`,
/// ```compile_fail,E0277
/// struct Here;
/// impl Future for Here {
///     type Output = std::rc::Rc<u8>;
///     fn poll(
///         self: std::pin::Pin<&mut Self>,
///         _: &mut std::task::Context<'_>,
///     ) -> std::task::Poll<Self::Output> {
///         std::task::Poll::Ready(std::rc::Rc::new(1))
///     }
/// }
/// locksley::task::spawn(Here);
/// ```
/// nor one that keeps its [`Worker`] while it waits,
/// ```compile_fail
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> {
///     async { worker.index() }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.install(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// (it may keep a number that the worker returned)
/// ```
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> + use<> {
///     let index = worker.index();
///     async move { index }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.install(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// nor one that borrows: see [`Scope::spawn_future`](crate::Scope::spawn_future) for that.
/// ```compile_fail,E0597
/// let text = String::from("here");
/// let borrowed = &text;
/// let task = locksley::task::spawn(async move { borrowed.len() });
/// drop(task);
/// ```
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Worker::with_current(|current| spawn_in(shared_of(current), current, None, future))
}

/// Runs a future as a task of `pool`, in which the option is valid.
fn spawn_in<F>(
    pool: &Arc<Shared>,
    current: Option<&Worker>,
    option: Option<Spawn>,
    future: F,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let own = current.filter(|worker| worker.belongs_to(pool));
    spawn_by(pool, future, |job| match (own, option) {
        (Some(worker), None) => worker.push_next(job),
        (Some(worker), Some(Spawn::Near(place))) if place == worker.place() => {
            worker.push_next(job);
        }
        (None, None) => pool.send_from(current, job),
        (_, Some(option)) => pool.send_with(current, option, job),
    })
}

impl Worker {
    /// Runs a future as a task of this worker's pool: [`task::spawn`](spawn) on a known worker.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let product = pool.install(|w| w.spawn_future(async { 6 * 7 }).join());
    /// assert_eq!(product.unwrap(), 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_future<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_in(self.shared(), Some(self), None, future)
    }
}

impl Pool {
    /// Runs a future as a task of this pool: [`task::spawn`](spawn) for a certain pool.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let index = || locksley::Worker::with_current(|worker| worker.unwrap().index());
    /// let task = pool.spawn_future(async move { index() });
    /// assert!(task.join().unwrap() < 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_future<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Worker::with_current(|current| spawn_in(self.shared(), current, None, future))
    }

    /// [`spawn_future`](Self::spawn_future) with an option: where and in which order the task begins.
    ///
    /// Where it goes on after a wait is the pool's [placement](crate::PoolBuilder::placement).
    ///
    /// # Panics
    /// If the pool does not have the place or the worker that the option names.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Spawn};
    ///
    /// let pool = Pool::new(2)?;
    /// let last = pool.places().count() - 1;
    /// let task = pool.spawn_future_with(Spawn::Near(last), async { 6 * 7 });
    /// assert_eq!(task.join().unwrap(), 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_future_with<F>(&self, option: Spawn, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        option.assert_valid_in(self.shared());
        Worker::with_current(|current| spawn_in(self.shared(), current, Some(option), future))
    }
}
