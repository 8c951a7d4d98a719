//! The places of a machine that are compared, and pools on them.

use locksley::places::{Kind, Places, ProcessorSet, Reason, Topology};
use locksley::{Affinity, Pool};

use super::counters::{self, Counters, Event};
use super::tasks::UNDIVIDED;
use crate::fault::{Fault, Outcome};
use crate::topology;

/// The places.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) places: Places,
    /// The caches of places: what divides them, or what is in front of their memories.
    pub(super) kind: Kind,
    /// The size of the smallest of these, in bytes.
    pub(super) cache: u64,
    events: Option<[Event; 2]>,
}

impl Ground {
    /// The places of `machine` for a program that may use the `allowed` processors: by the level
    /// that is named; else those that a pool finds; or where that is one place, private caches.
    pub(super) fn of(
        machine: &Topology,
        allowed: &ProcessorSet,
        level: Option<&str>,
    ) -> Outcome<Ground> {
        let level = level.map(kind).transpose()?;
        let places = match level {
            None => topology::several_places(machine, allowed),
            Some(level) => Places::by_level(machine, allowed, level).ok(),
        };
        let places = places.filter(|places| places.count() > 1).ok_or_else(|| {
            let which = level.map_or("all".to_owned(), |level| format!("{level}"));
            Fault::input(format!(
                "as far as is known, the processors that are allowed share {which} caches"
            ))
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
        Ok(Ground { places, kind, cache, events: counters::events(kind, machine) })
    }

    /// Those of this machine.
    pub(super) fn here(level: Option<&str>) -> Outcome<Ground> {
        Ground::of(&Topology::of_this_machine(), &topology::allowed(), level)
    }

    /// The counters of these caches.
    pub(super) fn counters(&self) -> Result<Counters, String> {
        Counters::open(self.events)
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
}

fn kind(level: &str) -> Outcome<Kind> {
    match level {
        "l3" => Ok(Kind::L3),
        "l2" => Ok(Kind::L2),
        "l1" => Ok(Kind::L1),
        _ => Err(Fault::input(format!("unknown level of caches '{level}'; there are l3, l2, l1"))),
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
        let ground = Ground::of(&machine, machine.processors(), None).unwrap();
        assert_eq!((ground.places.count(), ground.cache), (2, 2 << 20));
        assert_eq!((ground.places.reason(), ground.processors()), (Reason::Level(Kind::L2), 2));
        let asked = Ground::of(&machine, machine.processors(), Some("l2")).unwrap();
        assert_eq!((asked.places, asked.kind), (ground.places, Kind::L2));
        for none in ["l3", "l1", "l4"] {
            let none = Ground::of(&machine, machine.processors(), Some(none));
            assert!(matches!(none, Err(Fault::Input(_))));
        }
        let alone = Ground::of(&machine, &ProcessorSet::from_iter([1]), None);
        assert!(matches!(alone, Err(Fault::Input(_))));
        let unknown = Topology::of((0..2).collect(), [0, 1].map(|it| cache(Kind::L2, it..it + 1)));
        assert!(matches!(Ground::of(&unknown, unknown.processors(), None), Err(Fault::Input(_))));
    }

    #[test]
    fn private_caches_can_be_asked_for_where_others_are_found() {
        let cache = |kind, processors| Region::new(kind, ProcessorSet::from_iter(processors));
        let l3 = [0..4, 4..8].map(|it| cache(Kind::L3, it).with_bytes(32 << 20));
        let l2 = (0..8).map(|core| cache(Kind::L2, core..core + 1).with_bytes(1 << 20));
        let machine = Topology::of((0..8).collect(), l3.into_iter().chain(l2));
        let of = |level| {
            let ground = Ground::of(&machine, machine.processors(), level).unwrap();
            (ground.places.count(), ground.kind, ground.cache)
        };
        assert_eq!(of(None), (2, Kind::L3, 32 << 20));
        assert_eq!(of(Some("l3")), of(None));
        assert_eq!(of(Some("l2")), (8, Kind::L2, 1 << 20));
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
        let ground = Ground::of(&machine, machine.processors(), None).unwrap();
        assert_eq!((ground.places.count(), ground.cache), (2, 8 << 20));
        assert_eq!((ground.places.reason(), ground.kind), (Reason::Level(Kind::Memory), Kind::L3));
    }
}
