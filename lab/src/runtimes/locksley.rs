//! Starting a Locksley pool.

use locksley::{Pool, PoolBuilder};

use super::Crew;

/// A pool of `workers`, its builder `configured`. All of them have started when it is built.
pub(super) fn pool(
    workers: usize,
    configured: impl FnOnce(PoolBuilder) -> PoolBuilder,
) -> Result<Pool, String> {
    configured(Pool::builder().workers(workers)).build().map_err(|error| error.to_string())
}

/// The same, for fork and join.
pub(super) fn start(
    workers: usize,
    configured: impl FnOnce(PoolBuilder) -> PoolBuilder,
) -> Result<Crew, String> {
    pool(workers, configured).map(Crew::Locksley)
}
