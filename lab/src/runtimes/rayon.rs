//! Starting a rayon pool, and ending it.

use std::ops::Deref;
use std::sync::mpsc::{self, Receiver};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// A rayon pool; when it has been dropped, its threads have ended.
///
/// Rayon's own pool tells its threads to end and does not wait. Those of a large pool would be on
/// the processors for the first milliseconds of whatever is measured next.
pub struct RayonPool {
    /// `None` only while it is being dropped.
    pool: Option<ThreadPool>,
    /// Gets a message at the end of each thread.
    ended: Receiver<()>,
}

impl RayonPool {
    /// A pool of `workers` threads, all of them started.
    pub(super) fn start(workers: usize) -> Result<RayonPool, ThreadPoolBuildError> {
        let ((at_start, started), (at_exit, ended)) = (mpsc::channel(), mpsc::channel());
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .start_handler(move |_| _ = at_start.send(()))
            .exit_handler(move |_| _ = at_exit.send(()))
            .build()?;
        started.iter().take(workers).for_each(drop);
        Ok(RayonPool { pool: Some(pool), ended })
    }
}

impl Deref for RayonPool {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.pool.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for RayonPool {
    fn drop(&mut self) {
        let workers = self.current_num_threads();
        drop(self.pool.take());
        self.ended.iter().take(workers).for_each(drop);
    }
}
