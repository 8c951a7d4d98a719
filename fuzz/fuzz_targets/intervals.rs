//! An interval graph from bytes, against the oracle of the test `intervals_random`.

#![no_main]

#[path = "../../crates/locksley-intervals/tests/intervals_random/graph.rs"]
mod graph;
#[path = "../../crates/locksley-intervals/tests/intervals_random/world.rs"]
mod world;

use std::sync::LazyLock;

use graph::Choices;
use libfuzzer_sys::fuzz_target;
use locksley::Pool;
use locksley::places::Places;

/// The first runs one body at a time, the last has two places.
static POOLS: LazyLock<[Pool; 3]> = LazyLock::new(|| {
    let halves = ["0".parse().unwrap(), "1-2".parse().unwrap()];
    let places = Places::given(&(0..3).collect(), halves).unwrap();
    [
        Pool::builder().workers(1),
        Pool::builder().workers(2),
        Pool::builder().workers(3).places(places),
    ]
    .map(|pool| pool.build().unwrap())
});

/// They are taken from the end. A body gets some of those of the body that makes it, so that a
/// graph depends little on the order in which bodies run.
struct Bytes(Vec<u8>);

impl Choices for Bytes {
    /// Without bytes, it is 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.pop().unwrap_or(0)) % limit
    }

    fn of_body(&mut self, _number: usize) -> Self {
        let kept = self.0.len() * self.below(256) / 256;
        Self(self.0.split_off(kept.min(self.0.len())))
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data.to_vec());
    let pool = bytes.below(POOLS.len());
    let panics = [0, 8][bytes.below(2)];
    graph::run(&POOLS[pool], bytes, panics, pool == 0);
});
