//! Code that blocks its thread: while it does, somebody replaces the worker.

use crate::scheduler::Worker;
use crate::unwind;

/// Calls `call`, which may block: while it runs, another thread works in the place of the calling worker, so that as many as the
/// pool has workers stay at work. On a thread that is no worker it is just called.
///
/// It is meant for system calls and the like that take more than about a tenth of a millisecond: for less, to call a
/// replacement costs more than the time that is lost. `call` should not fork or wait for tasks: then the worker would be at work
/// beside its replacement. See [`Worker::blocking`] for the details.
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
pub fn blocking<R>(call: impl FnOnce() -> R) -> R {
    Worker::with_current(|current| match current {
        Some(worker) => worker.blocking(call),
        None => call(),
    })
}

impl Worker {
    /// Calls `call`, which may block: while it runs, a replacement works in the place of this worker, so that as many as the
    /// pool has workers stay at work. [`blocking`] on a known worker.
    ///
    /// - The replacement steps down when `call` has returned and it has ended what it is about, joins and scopes included; until then one
    ///   more is at work. This worker does not wait for that.
    /// - Tasks that wait at this worker are within the others' reach, as ever. Those that only this worker may run
    ///   ([`Spawn::At`](crate::Spawn::At), broadcasts) wait until `call` has returned.
    /// - Tasks that the replacement runs see this worker's number as their [`index`](Worker::index). So an index is
    ///   always less than [`workers`](Worker::workers), but for the time of a blocking call, and until the replacement steps down, two
    ///   threads have it. [`Worker::data`] is the replacement's own: made with the number that it had first, and kept, as its
    ///   thread is, until the pool is dropped. Start and exit hooks are called on its thread, too; their panics go to the panic handler.
    /// - There are at most so many replacements as [`PoolBuilder::replacements`](crate::PoolBuilder::replacements) says. If all are busy, or
    ///   the system has no thread, or the pool does not make its threads itself
    ///   ([`build_with`](crate::PoolBuilder::build_with)), `call` is called all the same, and nobody stands in.
    /// - Of calls inside one another the outermost counts.
    ///
    /// # Panics
    /// If `call` panics, with its payload.
    ///
    /// # Examples
    /// The only worker waits for something that another task does:
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// let received = locksley::Pool::new(1)?.install(move |worker| {
    ///     worker.spawn(move |_| sender.send("by the replacement").unwrap());
    ///     worker.blocking(|| receiver.recv())
    /// });
    /// assert_eq!(received, Ok("by the replacement"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn blocking<R>(&self, call: impl FnOnce() -> R) -> R {
        let _replaced = self.replace();
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot_index())));
        let called = unwind::halt(call);
        if let Some((observer, paused)) = paused {
            observer.resume(self.slot_index(), paused);
        }
        called.unwrap_or_else(|payload| unwind::resume(payload))
    }
}
