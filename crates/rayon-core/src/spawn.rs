//! Tasks that no other task waits for.

use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::abort;

use locksley::{Spawn, Worker, extend};

use crate::global::with_default_pool;

/// Accepts a task that will run in the calling worker's pool, or else in the global one.
///
/// Its panic goes to the pool's [`panic_handler`](crate::ThreadPoolBuilder::panic_handler); where
/// there is none, the process ends.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// rayon_core::spawn(move || sender.send(1).unwrap());
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_default_pool(|pool| match pool {
        Some(pool) => pool.spawn(|worker| run(worker, func)),
        None => locksley::spawn(|| run_here(func)),
    });
}

/// [`spawn`], but what one worker spawns like this begins in the order in which it was spawned.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?.install(move || {
///     for n in 0..3 {
///         let sender = sender.clone();
///         rayon_core::spawn_fifo(move || sender.send(n).unwrap());
///     }
/// });
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_default_pool(|pool| match pool {
        Some(pool) => pool.spawn_with(Spawn::Fifo, |worker| run(worker, func)),
        None => locksley::spawn_with(Spawn::Fifo, || run_here(func)),
    });
}

/// Runs a task that no code waits for.
pub(crate) fn run(worker: &Worker, task: impl FnOnce()) {
    unwaited(extend::has_panic_handler(worker), task);
}

fn run_here(task: impl FnOnce()) {
    Worker::with_current(|current| run(current.expect("tasks run on workers"), task));
}

/// Runs code that no other code waits for. A panic goes to the panic handler. Without one it ends
/// the process, as rayon documents.
pub(crate) fn unwaited(is_handled: bool, code: impl FnOnce()) {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(()) => {}
        Err(payload) if is_handled => resume_unwind(payload),
        Err(_payload) => {
            // Not by a macro, which would panic where nothing can be written.
            let text = b"rayon: a spawned task or a handler panicked without a panic handler\n";
            let _ = stderr().write_all(text);
            abort();
        }
    }
}
