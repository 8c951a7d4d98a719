//! Starting a Locksley pool.

use locksley::places::{Places, Topology};
use locksley::{Pool, PoolBuilder};

use crate::topology;

/// A pool of `workers`, its builder `configured`. All of them have started when it is built.
pub(super) fn pool(
    workers: usize,
    configured: impl FnOnce(PoolBuilder) -> PoolBuilder,
) -> Result<Pool, String> {
    configured(Pool::builder().workers(workers)).build().map_err(|error| error.to_string())
}

/// One place, whatever the machine has.
pub(super) fn undivided(builder: PoolBuilder) -> PoolBuilder {
    builder.places(Places::undivided(&topology::allowed()))
}

/// Several places, though they be private caches, where the machine has several of any kind.
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
        let places =
            |options: fn(PoolBuilder) -> PoolBuilder| pool(4, options).unwrap().places().count();
        assert_eq!(places(undivided), 1);
        let several = topology::several_places(&Topology::of_this_machine(), &topology::allowed());
        let expected = several.map_or(1, |places| places.count());
        assert_eq!(places(in_places), expected);
    }
}
