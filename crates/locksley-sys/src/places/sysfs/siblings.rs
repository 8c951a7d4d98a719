//! What a processor's package, die, cluster and core are.

use super::super::{Kind, ProcessorSet, Region};
use super::PROCESSORS;
use super::files::Files;

/// The groups that one processor belongs to.
pub(super) struct Siblings {
    package: Option<Region>,
    die: Option<Region>,
    cluster: Option<Region>,
    core: Option<Region>,
}

impl Siblings {
    /// The processors of the same core, as far as is known.
    pub(super) fn core(&self) -> Option<&ProcessorSet> {
        self.core.as_ref().map(Region::processors)
    }

    pub(super) fn regions(self) -> impl Iterator<Item = Region> {
        [self.package, self.die, self.cluster, self.core].into_iter().flatten()
    }
}

pub(super) fn of(files: &mut Files<'_>, processor: usize) -> Siblings {
    let mut group = |kind, number: &str, names: &[&str]| {
        let folder = format!("{PROCESSORS}/cpu{processor}/topology");
        let processors = names.iter().find_map(|name| siblings(files, &folder, name, processor))?;
        let region = Region::new(kind, processors);
        Some(match files.number(&format!("{folder}/{number}")) {
            Some(number) => region.with_number(number),
            None => region,
        })
    };
    // The second name is that of kernels before 5.3.
    let package = group(Kind::Package, "physical_package_id", &["package_cpus", "core_siblings"]);
    let core = group(Kind::Core, "core_id", &["core_cpus", "thread_siblings"]);
    // A kernel that knows of no dies or clusters says that each processor is one, without a number.
    // Where it calls each package a die, or each core a cluster, it says nothing new.
    let news = |group: &Region, known: &Option<Region>| {
        let known = known.as_ref().map(Region::processors);
        group.number().is_some() && known != Some(group.processors())
    };
    let die = group(Kind::Die, "die_id", &["die_cpus"]).filter(|die| news(die, &package));
    let cluster = group(Kind::Cluster, "cluster_id", &["cluster_cpus"])
        .filter(|cluster| cluster.processors().len() > 1 && news(cluster, &core));
    Siblings { package, die, cluster, core }
}

/// A set of processors that `processor` must be in.
fn siblings(
    files: &mut Files<'_>,
    folder: &str,
    name: &str,
    processor: usize,
) -> Option<ProcessorSet> {
    let mask = format!("{folder}/{name}");
    let set = files.set(&mask, &format!("{mask}_list"))?;
    if !set.contains(processor) {
        files.doubt(&mask, format!("processor {processor} is not among its own: {set}"));
        return None;
    }
    Some(set)
}
