//! Starting a rayon pool.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;

use super::Crew;
use super::gate::Gate;

/// A pool of `workers` threads, all of them started.
pub(super) fn start(workers: usize) -> Result<Crew, String> {
    let started = Arc::new(Gate::default());
    let hook = Arc::clone(&started);
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .start_handler(move |_| hook.arrive())
        .build()
        .map_err(|error| error.to_string())?;
    started.wait_for(workers);
    Ok(Crew::Rayon(pool))
}
