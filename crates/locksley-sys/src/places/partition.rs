//! The division of a program's processors into places.

use std::fmt;

use super::sort::sort_by_key;
use super::{Kind, Level, PlacesError, ProcessorSet, Region, Topology};

/// The processors that a program may use, divided into places: each in the same cache, or next to
/// the same memory.
///
/// # Examples
/// On a machine with two third-level caches, the last processor of which is forbidden:
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{Kind, Places, ProcessorSet, Reason, Region, Topology};
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
///
/// let places = Places::given(&allowed, ["0-1".parse()?, "5".parse()?])?;
/// assert_eq!(places.count(), 2);
/// let forbidden = Places::given(&allowed, ["0-7".parse()?]).unwrap_err();
/// assert_eq!(forbidden.to_string(), "place 0 has processors that may not be used: 7");
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

impl Places {
    /// The places that a pool has unless it is given others: the outermost cache or memory level
    /// that divides the `allowed` processors into parts of at least two.
    ///
    /// A level does not count if half of its caches or more belong to a single core each: they have
    /// no other core to share with. A processor that is in no cache or memory of the level goes by
    /// the next cache inwards. Then parts are small that have one allowed processor, or the cache
    /// of one core: if there are two others at least, the level divides, and each small part joins
    /// the nearest of these: the one with which it has something in common that the fewest
    /// processors have; among those, the one with the nearest memory; then, the first.
    ///
    /// Every allowed processor is in one place, also where the machine does not know it. The same
    /// arguments have the same answer. If none is allowed, there is one place without processors.
    #[must_use]
    pub fn found(machine: &Topology, allowed: &ProcessorSet) -> Self {
        let candidates = machine.levels().iter().filter(|level| level.kind.keeps_data());
        for level in candidates.filter(|level| is_shared(machine, level, allowed)) {
            let sets = divide(machine, level.kind, allowed, &|region, part| {
                part.len() >= 2 && !is_private(machine, region)
            });
            if sets.len() > 1 {
                return Self { sets, reason: Reason::Level(level.kind) };
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
        let is_known = machine.level(kind).is_some_and(|level| {
            level.regions.iter().any(|region| !region.processors.is_disjoint(allowed))
        });
        if !is_known {
            return Err(PlacesError(format!("this machine has no {kind} that is known of")));
        }
        let sets = divide(machine, kind, allowed, &|_, part| !part.is_empty());
        Ok(Self { sets, reason: Reason::Level(kind) })
    }

    /// The places that are wanted, in this order. They need not have all allowed processors.
    ///
    /// # Errors
    /// If there is no place, or one without processors, or with some that are not `allowed`, or
    /// with some of another one.
    pub fn given(
        allowed: &ProcessorSet,
        sets: impl IntoIterator<Item = ProcessorSet>,
    ) -> Result<Self, PlacesError> {
        Self::from_sets(allowed, sets.into_iter().collect())
    }

    fn from_sets(allowed: &ProcessorSet, sets: Vec<ProcessorSet>) -> Result<Self, PlacesError> {
        let refused = |problem: String| Err(PlacesError(problem));
        if sets.is_empty() {
            return refused("there must be at least one place".to_owned());
        }
        for (second, set) in sets.iter().enumerate() {
            let forbidden = set.difference(allowed);
            if set.is_empty() {
                return refused(format!("place {second} has no processors"));
            }
            if !forbidden.is_empty() {
                return refused(format!(
                    "place {second} has processors that may not be used: {forbidden}"
                ));
            }
            let earlier = sets[..second].iter().position(|other| !other.is_disjoint(set));
            if let Some(first) = earlier {
                let both = sets[first].intersection(set);
                return refused(format!(
                    "places {first} and {second} have processors in common: {both}"
                ));
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
    /// # Ok::<(), locksley::places::PlacesError>(())
    /// ```
    #[must_use]
    pub fn undivided(allowed: &ProcessorSet) -> Self {
        Self { sets: vec![allowed.clone()], reason: Reason::Undivided }
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
    let of_use = level.regions.iter().filter(|region| !region.processors.is_disjoint(allowed));
    let (private, shared): (Vec<_>, Vec<_>) =
        of_use.partition(|region| is_private(machine, region));
    private.len() < shared.len()
}

/// Whether the region is a cache within a single core, whatever of it is allowed.
fn is_private(machine: &Topology, region: &Region) -> bool {
    if region.kind == Kind::Memory {
        return false;
    }
    let Some(first) = region.processors.first() else { return true };
    let core = machine.level(Kind::Core).and_then(|cores| cores.region_of(first));
    match core {
        Some(core) => region.processors.is_subset(&core.processors),
        None => region.processors.len() == 1,
    }
}

/// The allowed processors by the regions of this kind, and where one is in none, by the regions
/// further inwards that keep data: as far as each `is_part`. Each processor that is left joins
/// the nearest part.
fn divide(
    machine: &Topology,
    kind: Kind,
    allowed: &ProcessorSet,
    is_part: &dyn Fn(&Region, &ProcessorSet) -> bool,
) -> Vec<ProcessorSet> {
    let inwards = machine.levels().iter().skip_while(|level| level.kind != kind);
    let levels = inwards.filter(|level| level.kind == kind || level.kind.keeps_data());
    let mut left = allowed.clone();
    let mut parts: Vec<ProcessorSet> = Vec::new();
    for region in levels.flat_map(|level| &level.regions) {
        let part = region.processors.intersection(&left);
        if is_part(region, &part) {
            left = left.difference(&part);
            parts.push(part);
        }
    }
    // No part is empty.
    let first = |part: &ProcessorSet| part.as_slice()[0];
    sort_by_key(&mut parts, |part| (0, first(part)));
    let firsts: Vec<usize> = parts.iter().map(first).collect();
    for stray in left.iter() {
        let separation = |&part: &usize| machine.separation(stray, firsts[part]);
        if let Some(nearest) = (0..parts.len()).min_by_key(separation) {
            parts[nearest] = parts[nearest].union(&[stray].into_iter().collect());
        }
    }
    sort_by_key(&mut parts, |part| (0, first(part)));
    parts
}
