//! A process network from bytes, against the sequential interpreter of the test `kahn_random`.

#![no_main]

#[path = "../../crates/locksley-kahn/tests/kahn_random/run.rs"]
mod run;
#[path = "../../crates/locksley-kahn/tests/kahn_random/scripts.rs"]
mod scripts;

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use locksley::Pool;
use locksley::task::Placement;
use scripts::{Choices, PROCESSES, Scripts};

static POOLS: LazyLock<[Pool; 2]> = LazyLock::new(|| {
    [(2, Placement::Last), (3, Placement::Current)].map(|(workers, placement)| {
        let pool = Pool::builder().workers(workers).placement(placement);
        pool.replacements(PROCESSES).build().unwrap()
    })
});

struct Bytes<'a>(Unstructured<'a>);

impl Choices for Bytes<'_> {
    /// Without bytes, it is 0.
    fn below(&mut self, end: usize) -> usize {
        self.0.choose_index(end).unwrap_or(0)
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(Unstructured::new(data));
    let pool = &POOLS[bytes.below(POOLS.len())];
    let blocking = bytes.below(1 << PROCESSES) as u64;
    let is_disturbed = bytes.below(2) == 1;
    let mut scripts = Scripts::random(&mut bytes);
    if is_disturbed {
        scripts.disturb(&mut bytes);
    }
    let capacities: Vec<_> = scripts.channels.iter().map(|_| 1 + bytes.below(4)).collect();
    run::run_and_compare(&scripts, &capacities, blocking, pool);
});
