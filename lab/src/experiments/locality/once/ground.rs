//! The places of a machine that are compared, and pools on them.

use locksley::places::{Kind, Places, ProcessorSet, Reason, Topology};
use locksley::{Affinity, Pool};

use super::Placement;
use super::counters::{Counters, Watched};
use crate::fault::{Fault, Outcome};
use crate::topology;

/// The places, and how much each can keep near.
#[derive(Debug, Clone)]
pub struct Ground {
    places: Places,
    /// The caches of places: what divides them, or what is in front of their memories.
    kind: Kind,
    cache: u64,
    watched: Option<Watched>,
}

/// Caches that the command line may name to divide the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The third ones.
    L3,
    /// The second ones, which often belong to one core each.
    L2,
    /// The first ones, of data.
    L1,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 3] = [Level::L3, Level::L2, Level::L1];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::L3 => "l3",
            Level::L2 => "l2",
            Level::L1 => "l1",
        }
    }

    /// The level of that name.
    pub fn find(name: &str) -> Outcome<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| {
            let known = Level::ALL.map(Level::name).join(", ");
            Fault::input(format!("unknown level of caches '{name}'; there are {known}"))
        })
    }

    fn kind(self) -> Kind {
        match self {
            Level::L3 => Kind::L3,
            Level::L2 => Kind::L2,
            Level::L1 => Kind::L1,
        }
    }
}

impl Ground {
    /// The places of `machine` for a program that may use the `allowed` processors: by the level that is named; else those that a pool finds; or
    /// where that is one place, private caches.
    pub fn of(machine: &Topology, allowed: &ProcessorSet, level: Option<Level>) -> Outcome<Ground> {
        let places = match level {
            None => topology::several_places(machine, allowed).ok_or_else(|| {
                Fault::input(
                    "as far as is known, all processors that are allowed have the same caches",
                )
            }),
            Some(level) => Places::by_level(machine, allowed, level.kind())
                .ok()
                .filter(|places| places.count() > 1)
                .ok_or_else(|| {
                    let name = level.name();
                    Fault::input(format!(
                        "there are no several {name} caches here, as far as is known"
                    ))
                }),
        }?;
        // Memories have caches in front of them.
        let kind = match places.reason() {
            Reason::Level(kind) if kind != Kind::Memory => kind,
            _ => Kind::L3,
        };
        let caches = machine.level(kind).map(|level| level.regions());
        let sizes = caches.into_iter().flatten().filter_map(|cache| cache.bytes());
        let cache = sizes.filter(|&bytes| bytes > 0).min();
        let cache = cache.ok_or_else(|| Fault::input("nobody says how large the caches are"))?;
        Ok(Ground { places, kind, cache, watched: Watched::of(kind, machine) })
    }

    /// Those of this machine.
    pub fn here(level: Option<Level>) -> Outcome<Ground> {
        Ground::of(&Topology::of_this_machine(), &topology::allowed(), level)
    }

    /// The caches of places.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Opens the counters of these caches, for this thread and those that it will start; or says why not.
    pub(super) fn counters(&self) -> Result<Counters, String> {
        Counters::open(self.watched)
    }

    /// Why the hits and misses of these caches are not counted, if they are not.
    pub fn uncounted(&self) -> Option<String> {
        self.counters().err()
    }

    /// The places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The size of the smallest of their caches, in bytes.
    pub fn cache(&self) -> u64 {
        self.cache
    }

    /// How many processors all places have.
    pub fn processors(&self) -> usize {
        self.places.sets().iter().map(ProcessorSet::len).sum()
    }

    /// A pool with so many workers, bound to these places; or free, and in one place.
    pub(super) fn pool(&self, placement: Placement, workers: usize) -> Outcome<Pool> {
        let builder = Pool::builder().workers(workers);
        let builder = match placement {
            Placement::Undivided => builder.places(Places::undivided(&topology::allowed())),
            _ => builder.places(self.places.clone()).affinity(Affinity::Place),
        };
        builder.build().map_err(|error| Fault::run(error.to_string()))
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
        assert_eq!((ground.places().count(), ground.cache()), (2, 2 << 20));
        assert_eq!((ground.places().reason(), ground.processors()), (Reason::Level(Kind::L2), 2));
        let asked = Ground::of(&machine, machine.processors(), Some(Level::L2)).unwrap();
        assert_eq!((asked.places(), asked.kind()), (ground.places(), Kind::L2));
        let one = Ground::of(&machine, machine.processors(), Some(Level::L3));
        assert!(matches!(one, Err(Fault::Input(_))), "they share it");
        let none = Ground::of(&machine, machine.processors(), Some(Level::L1));
        assert!(matches!(none, Err(Fault::Input(_))), "nobody knows of any");
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
            (ground.places().count(), ground.kind(), ground.cache())
        };
        assert_eq!(of(None), (2, Kind::L3, 32 << 20));
        assert_eq!(of(Some(Level::L3)), of(None));
        assert_eq!(of(Some(Level::L2)), (8, Kind::L2, 1 << 20));
    }

    #[test]
    fn levels_are_read_as_they_are_written() {
        for level in Level::ALL {
            assert_eq!(Level::find(level.name()), Ok(level));
        }
        assert!(matches!(Level::find("l4"), Err(Fault::Input(_))));
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
        assert_eq!((ground.places().count(), ground.cache()), (2, 8 << 20));
        assert_eq!(
            (ground.places().reason(), ground.kind()),
            (Reason::Level(Kind::Memory), Kind::L3)
        );
    }
}
