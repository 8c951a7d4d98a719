//! The global pool, and calls from threads that belong to no pool.

use std::io;

use locksley::{BuildError, Pool, Worker, extend};

use crate::environment::default_threads;

/// The global pool. The process has one, which Locksley's own functions use too.
///
/// # Panics
/// If it does not exist and cannot be built.
pub(crate) fn global() -> &'static Pool {
    extend::global().unwrap_or_else(build)
}

/// Runs a task on the calling thread if that belongs to a pool, or else on a thread of the global
/// pool.
pub(crate) fn in_worker<R: Send>(task: impl FnOnce(&Worker) -> R + Send) -> R {
    Worker::with_current(|current| match current {
        Some(worker) => task(worker),
        None => extend::install(global(), task),
    })
}

/// Calls `use_it` with the pool to use if the calling thread belongs to none.
pub(crate) fn with_default_pool<R>(use_it: impl FnOnce(Option<&Pool>) -> R) -> R {
    let is_worker = Worker::with_current(|current| current.is_some());
    use_it((!is_worker).then(global))
}

/// Builds the global pool, unless another thread is faster.
#[cold]
fn build() -> &'static Pool {
    match build_default().or_else(without_threads) {
        Ok(()) | Err(BuildError::GlobalPoolExists) => Pool::global(),
        Err(error) => panic!("the global pool could not be built: {error}"),
    }
}

/// Locksley creates the threads. A forked child can therefore create them again.
fn build_default() -> Result<(), BuildError> {
    Pool::builder().workers(default_threads()?).own_threads_only().build_global()
}

/// On a system without threads, the calling thread becomes the only one of the pool, as in rayon.
fn without_threads(error: BuildError) -> Result<(), BuildError> {
    match error {
        BuildError::Thread { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
            Pool::builder().workers(1).with_current_thread().build_global()
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The only test of this binary, since it makes the global pool.
    #[test]
    fn without_threads_the_caller_is_the_only_one() {
        let source = io::Error::from(io::ErrorKind::Unsupported);
        without_threads(BuildError::Thread { worker: 0, source }).unwrap();
        let caller = thread::current().id();
        let here = || thread::current().id();
        assert_eq!(crate::join(here, here), (caller, caller));
        assert_eq!(crate::current_num_threads(), 1);
        assert_eq!(crate::current_thread_index(), Some(0));
        let mut ran = false;
        crate::scope(|scope| scope.spawn(|_| ran = here() == caller));
        assert!(ran);
        assert_eq!(crate::broadcast(|context| (context.index(), here())), [(0, caller)]);
        crate::spawn(|| ());
        assert_eq!(crate::yield_now(), Some(crate::Yield::Executed));
    }
}
