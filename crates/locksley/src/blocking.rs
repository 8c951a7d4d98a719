//! Calls that block their thread.

use crate::unwind;
use crate::worker::Worker;

/// Calls `call`, which may block. A replacement works under the index of the calling worker
/// meanwhile. On a thread that is no worker, it is an ordinary call.
///
/// Use it for system calls and the like that take more than about 0.1 ms. For shorter ones, waking
/// the replacement costs more than the time that the worker would lose. `call` should not fork:
/// it would run tasks under an index that the replacement has. A task that a wait in it runs has
/// the index for itself.
///
/// - After `call` has returned, the calling thread takes its index back. If the replacement runs a
///   task then, the thread waits until this task ends or blocks. If the replacement makes no
///   progress for 100 ms, the thread goes on without waiting longer, since the task may want a lock
///   that the thread holds. Two running tasks then have the same index.
/// - Other workers can take the tasks in the calling worker's deque. Tasks that only this worker
///   may run ([`Spawn::At`](crate::Spawn::At), broadcasts) wait until `call` has returned,
///   or waits for tasks itself.
/// - Tasks on the replacement see the [`index`](Worker::index) of the calling worker. So an index
///   is less than [`workers`](Worker::workers), except on a guest: a thread outside of the pool
///   that [runs a call itself](crate::Pool::install). A guest is not replaced.
/// - A replacement has its own [`Worker::data`], made with the index of the worker that it replaces
///   first, and kept until the pool is dropped. Its thread calls start and exit hooks, and their
///   panics go to the panic handler.
/// - [`PoolBuilder::replacements`](crate::PoolBuilder::replacements) limits the number of
///   replacements. At the limit, or if no thread can be started, `call` runs without one: then no
///   thread runs the worker's tasks meanwhile. The same holds for pools on threads of the program
///   ([`build_with`](crate::PoolBuilder::build_with)) that do not ask for replacements.
/// - A blocking call in another one is an ordinary call.
///
/// # Panics
/// If `call` panics, with its payload.
///
/// # Examples
/// ```
/// let (text, sum) = locksley::join(
///     || locksley::blocking(|| std::fs::read_to_string("Cargo.toml")),
///     || (1..=1000).sum::<u32>(),
/// );
/// assert!(text.unwrap().contains("locksley"));
/// assert_eq!(sum, 500_500);
/// ```
///
/// The only worker blocks until another task has run:
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// let received = locksley::Pool::new(1)?.install(move |_| {
///     locksley::spawn(move || sender.send("by the replacement").unwrap());
///     locksley::blocking(|| receiver.recv())
/// });
/// assert_eq!(received, Ok("by the replacement"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn blocking<R>(call: impl FnOnce() -> R) -> R {
    Worker::with_current(|current| match current {
        None => call(),
        Some(worker) => {
            let _away = worker.release_index(true);
            let slot = worker.slot().get();
            let paused = worker.observer().map(|observer| (observer, observer.pause(slot)));
            let called = unwind::catch(call);
            if let Some((observer, paused)) = paused {
                observer.resume(slot, paused);
            }
            called.unwrap_or_else(|payload| unwind::resume(payload))
        }
    })
}
