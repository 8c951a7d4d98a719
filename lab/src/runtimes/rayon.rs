//! Starting a rayon pool, and ending it.

use std::ops::Deref;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Crew;
use crate::team::Gate;

/// A rayon pool; when it has been dropped, its threads have ended.
///
/// Rayon's own pool tells its threads to end and does not wait. Those of a large pool would be on
/// the processors for the first milliseconds of whatever is measured next.
pub struct RayonPool {
    /// `None` only while it is being dropped.
    pool: Option<ThreadPool>,
    ended: Arc<Gate>,
}

/// A pool of `workers` threads, all of them started.
pub(super) fn start(workers: usize) -> Result<Crew, String> {
    let (started, ended) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let (at_start, at_exit) = (Arc::clone(&started), Arc::clone(&ended));
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .start_handler(move |_| at_start.arrive())
        .exit_handler(move |_| at_exit.arrive())
        .build()
        .map_err(|error| error.to_string())?;
    started.wait_for(workers);
    Ok(Crew::Rayon(RayonPool { pool: Some(pool), ended }))
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
        self.ended.wait_for(workers);
    }
}
