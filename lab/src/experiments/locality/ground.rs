//! The places of a machine that are compared, and pools on them.

use locksley::places::{Kind, Places, ProcessorSet, Reason, Topology};
use locksley::{Affinity, Pool};
use locksley_classic::stealing::Lassi;
use locksley_classic::{Machine, Queues, Scheduler};

use super::tasks::{MAILBOXES, ROUND_ROBIN, SHARED_DEQUES, UNDIVIDED};
use crate::experiment::prelude::*;
use crate::runtimes::classic;
use crate::topology;

/// The places.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) places: Places,
    /// The caches of places: what divides them, or what is in front of their memories.
    pub(super) kind: Kind,
    /// The size of the smallest of these, in bytes.
    pub(super) cache: u64,
}

impl Ground {
    /// The places of `machine` for a program that may use the `allowed` processors: those that a
    /// pool finds; or where that is one place, private caches.
    pub(super) fn of(machine: &Topology, allowed: &ProcessorSet) -> Outcome<Ground> {
        let places = topology::several_places(machine, allowed).ok_or_else(|| {
            Fault::input("as far as is known, the processors that are allowed share all caches")
        })?;
        // Memories have caches in front of them.
        let kind = match places.reason() {
            Reason::Level(kind) if kind != Kind::Memory => kind,
            _ => Kind::L3,
        };
        let caches = machine.level(kind).map(|level| &level.regions);
        let sizes = caches.into_iter().flatten().filter_map(|cache| cache.bytes);
        let cache = sizes.filter(|&bytes| bytes > 0).min();
        let cache = cache.ok_or_else(|| Fault::input("the sizes of the caches are not known"))?;
        Ok(Ground { places, kind, cache })
    }

    /// Those of this machine.
    pub(super) fn here() -> Outcome<Ground> {
        Ground::of(&Topology::of_this_machine(), &topology::allowed())
    }

    /// The number of processors of all places.
    pub(super) fn processors(&self) -> usize {
        self.places.sets().iter().map(ProcessorSet::len).sum()
    }

    /// A pool with so many workers, bound to these places; or free, and in one place.
    pub(super) fn pool(&self, placement: &str, workers: usize) -> Outcome<Pool> {
        let builder = Pool::builder().workers(workers);
        let builder = match placement {
            UNDIVIDED => builder.places(Places::undivided(&topology::allowed())),
            _ => builder.places(self.places.clone()).affinity(Affinity::Place),
        };
        builder.build().map_err(|error| Fault::input(error.to_string()))
    }

    /// The published scheduler that `placement` names, if it names one. Workers are bound to their
    /// places, of which each has every n-th worker.
    pub(super) fn machine(&self, placement: &str, workers: usize) -> Outcome<Option<Machine>> {
        let places = self.places.count().min(workers);
        let queues = match placement {
            MAILBOXES => Queues::WithMailboxes,
            SHARED_DEQUES | ROUND_ROBIN => {
                Queues::OfPlaces((0..workers).map(|it| it % places).collect())
            }
            _ => return Ok(None),
        };
        let set = |worker: usize| self.places.sets()[worker % self.places.count()].iter().collect();
        let scheduler = Scheduler {
            deque: classic::blocking,
            stealing: Box::new(Lassi),
            queues,
            processors: (0..workers).map(set).collect(),
            ..Scheduler::default()
        };
        classic::start(workers, scheduler).map(Some).map_err(Fault::input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::places::Region;

    #[test]
    fn private_caches_do_where_nothing_is_shared() {
        let cache = |kind, processors| Region::new(kind, ProcessorSet::from_iter(processors));
        let l3 = cache(Kind::L3, 0..2).with_bytes(100 << 20);
        let l2 = |core: usize| cache(Kind::L2, core..core + 1).with_bytes((2 + core as u64) << 20);
        let machine = Topology::of((0..2).collect(), [l3, l2(0), l2(1)]);
        let ground = Ground::of(&machine, machine.processors()).unwrap();
        assert_eq!((ground.places.count(), ground.cache), (2, 2 << 20));
        assert_eq!((ground.places.reason(), ground.processors()), (Reason::Level(Kind::L2), 2));
        let alone = Ground::of(&machine, &ProcessorSet::from_iter([1]));
        assert!(matches!(alone, Err(Fault::Input(_))));
        let unknown = Topology::of((0..2).collect(), [0, 1].map(|it| cache(Kind::L2, it..it + 1)));
        assert!(matches!(Ground::of(&unknown, unknown.processors()), Err(Fault::Input(_))));
    }

    #[test]
    fn memories_have_caches_in_front_of_them() {
        let region = |kind, processors| Region::new(kind, ProcessorSet::from_iter(processors));
        let parts = [0..2, 2..4].map(|it| {
            [
                region(Kind::Memory, it.clone()).with_bytes(1 << 34),
                region(Kind::L3, it).with_bytes(8 << 20),
            ]
        });
        let machine = Topology::of((0..4).collect(), parts.into_iter().flatten());
        let ground = Ground::of(&machine, machine.processors()).unwrap();
        assert_eq!((ground.places.count(), ground.cache), (2, 8 << 20));
        assert_eq!((ground.places.reason(), ground.kind), (Reason::Level(Kind::Memory), Kind::L3));
    }
}
