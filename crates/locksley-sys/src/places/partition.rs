//! The division of a program's processors into places.

use std::cmp::Reverse;
use std::fmt;

use super::{Kind, Level, PlacesError, ProcessorSet, Region, Topology};

/// The processors that a program may use, divided into places: each in the same cache, or next to
/// the same memory.
///
/// # Examples
/// On a machine with two third-level caches, the last processor of which is forbidden:
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, Places, PlacesError, ProcessorSet, Reason, Region, Topology};
///
/// let region = |kind, processors| Region::new(kind, ProcessorSet::from_iter(processors));
/// let caches = [region(Kind::L3, 0..4), region(Kind::L3, 4..8)];
/// let cores = (0..8).map(|core| region(Kind::Core, core..core + 1));
/// let machine = Topology::of((0..8).collect(), caches.into_iter().chain(cores));
/// let allowed: ProcessorSet = "0-6".parse()?;
///
/// let places = Places::found(&machine, &allowed);
/// assert_eq!(places.sets(), ["0-3".parse()?, "4-6".parse()?]);
/// assert_eq!(places.reason(), Reason::Level(Kind::L3));
/// assert_eq!((places.place_of(5), places.place_of(7)), (Some(1), None));
///
/// let places = Places::given(&allowed, ["0-1".parse()?, "5".parse()?])?;
/// assert_eq!(places.count(), 2);
/// let forbidden = Places::given(&allowed, ["0-7".parse()?]);
/// assert_eq!(
///     forbidden,
///     Err(PlacesError::Forbidden { place: 0, processors: "7".parse()? }),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    sets: Vec<ProcessorSet>,
    reason: Reason,
}

/// Why processors are divided as they are. There is an example at [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// They share what the processors of one place share.
    Level(Kind),
    /// They were given so.
    Given,
    /// Nothing divides them: there is one place.
    Undivided,
}

/// Processors on the way to a place.
struct Part {
    processors: ProcessorSet,
    bond: Bond,
}

/// What keeps a part together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bond {
    /// A memory, or a cache that several cores share.
    Shared,
    /// A cache of a single core.
    Private,
    /// Nothing: it is one processor.
    None,
}

impl Places {
    /// The places that a pool has if nobody says otherwise: the outermost cache or memory level
    /// that divides the `allowed` processors into parts of at least two.
    ///
    /// A level does not count if half of its caches or more belong to a single core each: they have
    /// nobody to share with. A processor that is in no cache or memory of the level goes by the
    /// next cache inwards. Then parts are small that have one allowed processor, or the cache of
    /// one core: if there are two others at least, the level divides, and each small part joins the
    /// nearest of these: the one with which it has something in common that the fewest processors
    /// have; among those, the one whose memory is nearest; then, the first.
    ///
    /// Every allowed processor is in one place, also where the machine does not know it. The same
    /// arguments have the same answer. If none is allowed, there is one place without processors.
    #[must_use]
    pub fn found(machine: &Topology, allowed: &ProcessorSet) -> Self {
        let candidates = machine.levels().iter().filter(|level| level.kind().keeps_data());
        for level in candidates.filter(|level| is_shared(machine, level, allowed)) {
            let is_small = |part: &Part| part.processors.len() < 2 || part.bond != Bond::Shared;
            let sets = join_small_ones(machine, divide(machine, level, allowed), is_small);
            if sets.len() > 1 {
                return Self::sorted(sets, Reason::Level(level.kind()));
            }
        }
        Self::undivided(allowed)
    }

    /// One place for each region of a kind that has an allowed processor: also for private caches,
    /// and those of one processor. Allowed processors that are in no such region go by the next
    /// cache inwards; those without any cache join the nearest place.
    ///
    /// # Errors
    /// If no allowed processor is in a region of this kind.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Kind, Places, ProcessorSet, Region, Topology};
    ///
    /// let cache = |core| Region::new(Kind::L2, ProcessorSet::from_iter([core, core + 2]));
    /// let machine = Topology::of((0..4).collect(), [cache(0), cache(1)]);
    /// let places = Places::by_level(&machine, &"0-2".parse()?, Kind::L2)?;
    /// assert_eq!(places.sets(), ["0,2".parse()?, "1".parse()?]);
    /// assert!(Places::by_level(&machine, &"0-2".parse()?, Kind::L3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_level(
        machine: &Topology,
        allowed: &ProcessorSet,
        kind: Kind,
    ) -> Result<Self, PlacesError> {
        let has_some = |level: &&Level| {
            level.regions().iter().any(|region| !region.processors().is_disjoint(allowed))
        };
        let level = machine.level(kind).filter(has_some).ok_or(PlacesError::NoSuchLevel(kind))?;
        let parts = divide(machine, level, allowed);
        let parts = join_small_ones(machine, parts, |part| part.bond == Bond::None);
        Ok(Self::sorted(parts, Reason::Level(kind)))
    }

    /// The places that somebody wants, in this order. They need not have all allowed processors.
    ///
    /// # Errors
    /// If there is no place, or one without processors, or with some that are not `allowed`, or
    /// with some of another one.
    pub fn given(
        allowed: &ProcessorSet,
        sets: impl IntoIterator<Item = ProcessorSet>,
    ) -> Result<Self, PlacesError> {
        let sets: Vec<ProcessorSet> = sets.into_iter().collect();
        if sets.is_empty() {
            return Err(PlacesError::NoPlaces);
        }
        for (second, set) in sets.iter().enumerate() {
            let forbidden = set.difference(allowed);
            if set.is_empty() {
                return Err(PlacesError::Empty { place: second });
            }
            if !forbidden.is_empty() {
                return Err(PlacesError::Forbidden { place: second, processors: forbidden });
            }
            let earlier = sets[..second].iter().position(|other| !other.is_disjoint(set));
            if let Some(first) = earlier {
                let processors = sets[first].intersection(set);
                return Err(PlacesError::Overlap { first, second, processors });
            }
        }
        Ok(Self { sets, reason: Reason::Given })
    }

    /// One place with all `allowed` processors.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Places, Reason};
    ///
    /// let places = Places::undivided(&"0-3".parse()?);
    /// assert_eq!((places.count(), places.reason()), (1, Reason::Undivided));
    /// # Ok::<(), locksley::places::NoProcessorSet>(())
    /// ```
    #[must_use]
    pub fn undivided(allowed: &ProcessorSet) -> Self {
        Self { sets: vec![allowed.clone()], reason: Reason::Undivided }
    }

    fn sorted(mut sets: Vec<ProcessorSet>, reason: Reason) -> Self {
        sets.sort_by_key(ProcessorSet::first);
        Self { sets, reason }
    }

    /// How many places there are: at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The processors of each place. Unless given otherwise, in the order of their first
    /// processors.
    #[must_use]
    pub fn sets(&self) -> &[ProcessorSet] {
        &self.sets
    }

    /// Why they are divided as they are.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The place of a processor, from 0; `None` if it is in none.
    #[must_use]
    pub fn place_of(&self, processor: usize) -> Option<usize> {
        self.sets.iter().position(|set| set.contains(processor))
    }

    /// The other places, the nearest to `place` first, by the rule of [`found`](Self::found); those
    /// equally near begin with the one after `place`, and go round.
    ///
    /// # Panics
    /// If there is no such place.
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// use locksley::places::{Kind, Places, ProcessorSet, Region, Topology};
    ///
    /// let region = |kind, processors| Region::new(kind, ProcessorSet::from_iter(processors));
    /// let machine = Topology::of(
    ///     (0..8).collect(),
    ///     [region(Kind::Package, 0..4), region(Kind::Package, 4..8)],
    /// );
    /// let pairs = (0..4).map(|pair| (2 * pair..2 * pair + 2).collect());
    /// let places = Places::given(machine.processors(), pairs)?;
    /// assert_eq!(places.others(&machine, 2), [3, 0, 1]);
    /// # Ok::<(), locksley::places::PlacesError>(())
    /// ```
    #[must_use]
    pub fn others(&self, machine: &Topology, place: usize) -> Vec<usize> {
        self.others_by_nearness(machine, place).concat()
    }

    /// The same, those together that are equally near.
    pub fn others_by_nearness(&self, machine: &Topology, place: usize) -> Vec<Vec<usize>> {
        let here = self.sets[place].first();
        let round = (place + 1..self.count()).chain(0..place);
        let separation = |other: usize| {
            here.zip(self.sets[other].first()).map(|(a, b)| machine.separation(a, b))
        };
        let mut others: Vec<_> = round.map(|other| (separation(other), other)).collect();
        others.sort_by_key(|(separation, _)| *separation);
        let equally_near = others.chunk_by(|(a, _), (b, _)| a == b);
        equally_near.map(|places| places.iter().map(|(_, place)| *place).collect()).collect()
    }
}

/// As many lines as there are places.
impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, set) in self.sets.iter().enumerate() {
            writeln!(f, "place {place}: {set}")?;
        }
        Ok(())
    }
}

/// What divides them: `by L3`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(kind) => f.pad(&format!("by {kind}")),
            Self::Given => f.pad("as given"),
            Self::Undivided => f.pad("undivided"),
        }
    }
}

/// Whether most caches of the level, as far as they are of use, have several cores. Memories are
/// always shared.
fn is_shared(machine: &Topology, level: &Level, allowed: &ProcessorSet) -> bool {
    let of_use = level.regions().iter().filter(|region| !region.processors().is_disjoint(allowed));
    let (private, shared): (Vec<_>, Vec<_>) =
        of_use.partition(|region| is_private(machine, region));
    private.len() < shared.len()
}

/// Whether the region is a cache within a single core, whatever of it is allowed.
fn is_private(machine: &Topology, region: &Region) -> bool {
    if region.kind() == Kind::Memory {
        return false;
    }
    let Some(first) = region.processors().first() else { return true };
    let core = machine.level(Kind::Core).and_then(|cores| cores.region_of(first));
    match core {
        Some(core) => region.processors().is_subset(core.processors()),
        None => region.processors().len() == 1,
    }
}

/// The allowed processors by the regions of `level`; those that are in none, by the next cache
/// inwards; those that are in no cache either, one by one.
fn divide(machine: &Topology, level: &Level, allowed: &ProcessorSet) -> Vec<Part> {
    let mut left = allowed.clone();
    let mut parts = Vec::new();
    let inner = inward_caches(machine, level.kind());
    for region in [level].into_iter().chain(inner).flat_map(Level::regions) {
        let processors = region.processors().intersection(&left);
        if !processors.is_empty() {
            left = left.difference(&processors);
            let private = is_private(machine, region);
            parts.push(Part {
                processors,
                bond: if private { Bond::Private } else { Bond::Shared },
            });
        }
    }
    let strays = left.iter().map(|stray| ProcessorSet::from_iter([stray]));
    parts.extend(strays.map(|processors| Part { processors, bond: Bond::None }));
    parts.sort_by_key(|part| part.processors.first());
    parts
}

/// The caches of data that are within regions of this kind, the outer ones first.
fn inward_caches(machine: &Topology, kind: Kind) -> Vec<&Level> {
    let depth = |kind: Kind| match kind {
        Kind::Cache { level, .. } => level,
        Kind::Core => 0,
        _ => u8::MAX,
    };
    let is_within = |level: &&Level| {
        let inner = level.kind();
        matches!(inner, Kind::Cache { .. }) && inner.keeps_data() && depth(inner) < depth(kind)
    };
    let mut caches: Vec<&Level> = machine.levels().iter().filter(is_within).collect();
    caches.sort_by_key(|level| Reverse(depth(level.kind())));
    caches
}

/// The processors of the parts that are not small, and each small part with the nearest of these.
/// None, if all are small.
fn join_small_ones(
    machine: &Topology,
    parts: Vec<Part>,
    is_small: impl Fn(&Part) -> bool,
) -> Vec<ProcessorSet> {
    let (small, large): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_small);
    let mut joined: Vec<ProcessorSet> = large.iter().map(|part| part.processors.clone()).collect();
    for small in small {
        let separation = |&place: &usize| {
            let (a, b) = (small.processors.first(), large[place].processors.first());
            a.zip(b).map(|(a, b)| machine.separation(a, b))
        };
        if let Some(nearest) = (0..large.len()).min_by_key(separation) {
            joined[nearest] = joined[nearest].union(&small.processors);
        }
    }
    joined
}
