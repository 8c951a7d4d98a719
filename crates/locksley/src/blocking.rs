//! Calls that block their thread.

use crate::scheduler::Worker;
use crate::unwind;

/// Calls `call`, which may block. A replacement works under the index of the calling worker until
/// `call` returns. On a thread that is no worker, it is an ordinary call.
///
/// Use it for system calls and the like that take more than about 0.1 ms. For shorter ones, waking
/// the replacement costs more than the time that the worker would lose. `call` should neither fork
/// nor wait for tasks: the worker would run them beside its replacement.
///
/// - After `call` has returned, the replacement finishes its current task, including joins and
///   scopes in it. Until then the pool has one more thread at work. The calling worker does not
///   wait for it.
/// - Other workers can take the tasks in the calling worker's deque. Tasks that only this worker
///   may run ([`Spawn::At`](crate::Spawn::At), broadcasts) wait until `call` has returned.
/// - Tasks on the replacement see the [`index`](Worker::index) of the calling worker, so an index
///   is always less than [`workers`](Worker::workers). During the call, and until the replacement
///   has finished, two threads have this index.
/// - A replacement has its own [`Worker::data`], made with the index of the worker that it replaces
///   first, and kept until the pool is dropped. Its thread calls start and exit hooks, and their
///   panics go to the panic handler.
/// - [`PoolBuilder::replacements`](crate::PoolBuilder::replacements) limits the number of
///   replacements. At the limit, or if no thread can be started, `call` runs without one. The same
///   holds for pools on threads of the program
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
            let _replaced = worker.replace();
            let slot = worker.slot_index();
            let paused = worker.observer().map(|observer| (observer, observer.pause(slot)));
            let called = unwind::catch(call);
            if let Some((observer, paused)) = paused {
                observer.resume(slot, paused);
            }
            called.unwrap_or_else(|payload| unwind::resume(payload))
        }
    })
}
