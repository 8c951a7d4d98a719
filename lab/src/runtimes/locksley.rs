//! Starting a Locksley pool.

use locksley::{Pool, PoolBuilder};

use super::Crew;

/// A pool of `workers` as programs get it. All of them have started when it is built.
pub(super) fn pool(workers: usize) -> Result<Pool, String> {
    Pool::builder().workers(workers).build().map_err(|error| error.to_string())
}

/// A pool of `workers`, its builder `configured`. All of them have started when it is built.
pub(super) fn start(
    workers: usize,
    configured: impl FnOnce(PoolBuilder) -> PoolBuilder,
) -> Result<Crew, String> {
    let pool = configured(Pool::builder().workers(workers)).build();
    pool.map(Crew::Locksley).map_err(|error| error.to_string())
}
