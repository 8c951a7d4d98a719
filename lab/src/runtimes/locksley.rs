//! Starting a Locksley pool.

use locksley::places::{Places, Topology};
use locksley::{Pool, PoolBuilder};

use super::Crew;
use crate::topology;

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

/// As [`start`], with one place, whatever the machine has.
pub(super) fn start_undivided(workers: usize) -> Result<Crew, String> {
    start(workers, |builder| builder.places(Places::undivided(&topology::allowed())))
}

/// As [`start`], with several places, though they be private caches, where the machine has several of any kind.
pub(super) fn start_in_places(workers: usize) -> Result<Crew, String> {
    start(workers, in_places)
}

/// A pool with these places.
pub(super) fn in_places(builder: PoolBuilder) -> PoolBuilder {
    let places = topology::several_places(&Topology::of_this_machine(), &topology::allowed());
    match places {
        Some(places) => builder.places(places),
        None => builder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_places_is_compared_with_what_has_none() {
        let places = |crew: Result<Crew, String>| match crew {
            Ok(Crew::Locksley(pool)) => pool.places().count(),
            _ => panic!("it is a pool"),
        };
        assert_eq!(places(start_undivided(4)), 1);
        let several = topology::several_places(&Topology::of_this_machine(), &topology::allowed());
        let expected = several.map_or(1, |places| places.count());
        assert_eq!(places(start_in_places(4)), expected);
    }
}
