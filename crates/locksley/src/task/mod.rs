//! Futures as tasks: workers poll them, and a task that waits occupies no worker.
//!
//! Use them for computations that wait for each other in ways that [`join`](crate::join) and
//! [`scope`](crate::scope) do not express, and for waits that should not hold a thread.
//!
//! [`spawn`] makes a task of a future and returns its [`JoinHandle`]. Async code awaits the handle,
//! and code that is not `async` [joins](JoinHandle::join) it. Tasks and closures run on the same
//! workers: a future may fork ([`join`](crate::join)), and a closure may wait for a future. A
//! [scope](crate::Scope::spawn_future) runs futures that borrow.
//!
//! A task can be woken by another task, by a channel or lock that works with every executor, or by
//! timers and sockets of an async runtime beside this one. This crate has no timers and no I/O.
//!
//! # Examples
//! ```
//! use locksley::task;
//!
//! let six = task::spawn(async { 6 });
//! let product = task::spawn(async { 7 * six.await.unwrap() });
//! assert_eq!(product.join().unwrap(), 42);
//! ```

mod scoped;

use std::future::poll_fn;
use std::task::Poll;

use crate::fork::{Spawn, shared_of};
pub use crate::futures::{error::JoinError, handle::JoinHandle};
use crate::futures::{is_large, spawn_by, spawn_closure_by};
use crate::pool::Pool;
pub use crate::shared::placement::Placement;
use crate::worker::Worker;

/// Runs a future as a task of the calling worker's pool. If the calling thread is no worker, the
/// task runs in the [global pool](Pool::global).
///
/// The task begins even if the handle is never polled, and dropping the handle detaches it. A pool
/// that is dropped polls each future at least once, and [cancels](Pool#drop) those that wait.
/// [`Pool::shutdown`] waits for them. A task that is spawned after that is cancelled at once.
/// [`Pool::spawn_future_with`] has options.
///
/// # Panics
/// If the global pool is needed and cannot be built. A panic of the future is an error of the
/// handle. If the handle was dropped, the panic goes to the pool's
/// [`panic_handler`](crate::PoolBuilder::panic_handler), and without one it ends this task only.
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
/// A task may change threads at each `await`, and may outlive the function that spawns it. So the
/// compiler refuses:
///
/// - a future that keeps a value that is not `Send` across an `await`;
/// - a future that captures a `&`[`Worker`];
/// - a future or an output that is not `Send`;
/// - a future that borrows: use [`Scope::spawn_future`](crate::Scope::spawn_future) for that.
///
/// A value that is not `Send`, kept across an `await` (this error has no number):
/// ```compile_fail
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     let here = Rc::new(1);
///     locksley::task::yield_now().await;
///     println!("{here}");
/// });
/// ```
/// A value that is dropped before the next `await` is accepted:
/// ```
/// use std::rc::Rc;
///
/// locksley::task::spawn(async {
///     println!("{}", Rc::new(1));
///     locksley::task::yield_now().await;
/// });
/// ```
/// A future that is not `Send`:
/// ```compile_fail,E0277
/// struct NotSend(*const u8);
/// impl Future for NotSend {
///     type Output = ();
///     fn poll(
///         self: std::pin::Pin<&mut Self>,
///         _: &mut std::task::Context<'_>,
///     ) -> std::task::Poll<()> {
///         std::task::Poll::Ready(())
///     }
/// }
/// locksley::task::spawn(NotSend(std::ptr::null()));
/// ```
/// An output that is not `Send`:
/// ```compile_fail,E0277
/// struct OutputNotSend;
/// impl Future for OutputNotSend {
///     type Output = std::rc::Rc<u8>;
///     fn poll(
///         self: std::pin::Pin<&mut Self>,
///         _: &mut std::task::Context<'_>,
///     ) -> std::task::Poll<Self::Output> {
///         std::task::Poll::Ready(std::rc::Rc::new(1))
///     }
/// }
/// locksley::task::spawn(OutputNotSend);
/// ```
/// A future that captures a `&`[`Worker`] (this error has no number, either):
/// ```compile_fail
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> {
///     async { worker.index() }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.install(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// It may capture a value that the worker returned:
/// ```
/// fn keeps(worker: &locksley::Worker) -> impl Future<Output = usize> + use<> {
///     let index = worker.index();
///     async move { index }
/// }
/// let pool = locksley::Pool::new(1).unwrap();
/// let future = pool.install(|worker| locksley::task::spawn(keeps(worker)));
/// ```
/// A future that borrows:
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
    spawn_into(None, None, future)
}

/// Runs a future as a task of `pool`, or else of the calling worker's pool or the global one.
/// Boxes it if it is large.
fn spawn_into<F>(pool: Option<&Pool>, option: Option<Spawn>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if const { is_large::<F>() } {
        spawn_as_it_is(pool, option, Box::pin(future))
    } else {
        spawn_as_it_is(pool, option, future)
    }
}

fn spawn_as_it_is<F>(pool: Option<&Pool>, option: Option<Spawn>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Worker::with_current(|current| {
        let pool = pool.map_or_else(|| shared_of(current), Pool::shared);
        spawn_by(pool, future, |job| pool.send_with(current, option, job))
    })
}

/// Runs a closure as a task of `pool`, or else of the calling worker's pool or the global one.
/// Boxes it if it is large.
fn spawn_task_into<F, R>(pool: Option<&Pool>, task: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    if const { is_large::<F>() } {
        spawn_task_as_it_is(pool, Box::new(task))
    } else {
        spawn_task_as_it_is(pool, task)
    }
}

fn spawn_task_as_it_is<F, R>(pool: Option<&Pool>, task: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    Worker::with_current(|current| {
        let pool = pool.map_or_else(|| shared_of(current), Pool::shared);
        spawn_closure_by(pool, task, |job| pool.push_or_send(current, job))
    })
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
        spawn_into(Some(self), None, future)
    }

    /// Runs a closure as a task of this pool, with a handle: to await, [join](JoinHandle::join) or
    /// [abort](JoinHandle::abort) it, as `spawn_blocking` of tokio.
    ///
    /// A closure that has begun runs to its end, and only one that has not begun can be aborted. A
    /// pool that is dropped runs it, and the closures that it spawns.
    /// Code that blocks its thread belongs into [`blocking`](crate::blocking), inside of the
    /// closure.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let sum = pool.spawn_task(|| (1..=100).sum::<u32>());
    /// assert_eq!(sum.join().unwrap(), 5050);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_task<F, R>(&self, task: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        spawn_task_into(Some(self), task)
    }

    /// [`spawn_future`](Self::spawn_future) with an option: where and in which order the task
    /// begins.
    ///
    /// With [`Spawn::Fifo`], any caller sends the future to the queue that all workers share. The
    /// futures of one caller are taken from there in order.
    ///
    /// The pool's [placement](crate::PoolBuilder::placement) selects where it continues after a
    /// wait.
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
        spawn_into(Some(self), Some(option), future)
    }
}

/// [`Pool::spawn_task`] in the calling worker's pool, or else in the global pool.
///
/// # Examples
/// ```
/// let task = locksley::extend::spawn_task(|| 6 * 7);
/// assert_eq!(task.join().unwrap(), 42);
/// ```
pub fn spawn_task<F, R>(task: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_task_into(None, task)
}

/// Lets other tasks run: those in the worker's queues, and some from the pool's.
///
/// Use it in a task that computes for long without a wait. An `await` of what is ready, such as a
/// lock that is free, lets no other task run, and the task cannot be aborted there. On any other
/// executor it is a future that wakes itself and is pending once.
///
/// # Examples
/// ```
/// use locksley::task;
///
/// let count = task::spawn(async {
///     for _ in 0..10 {
///         task::yield_now().await;
///     }
/// });
/// assert!(count.join().is_ok());
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
