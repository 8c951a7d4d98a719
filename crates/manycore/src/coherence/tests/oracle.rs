//! The rules of coherence, written down as simply as possible: a set of sharers for each line.

use std::collections::BTreeSet;

use super::super::{Access, CacheCosts, LineIndex, Miss, MissKind};
use crate::ids::{Cpu, Nanos};
use crate::topology::{Distance, Topology};

#[derive(Clone, Default)]
pub(super) struct NaiveLine {
    pub(super) owner: Option<Cpu>,
    pub(super) sharers: BTreeSet<Cpu>,
    pub(super) is_watched: bool,
    pub(super) transfers: u32,
    pub(super) invalidations: u32,
    pub(super) waited: Nanos,
    free_at: Nanos,
}

#[derive(Clone, Default)]
struct NaiveProcessor {
    lease: Option<(LineIndex, Nanos)>,
    /// Ends of the stores that retired early since the last fence or read-modify-write.
    stores: Vec<Nanos>,
}

pub(super) struct Oracle {
    topology: Topology,
    costs: CacheCosts,
    pub(super) lines: Vec<NaiveLine>,
    processors: Vec<NaiveProcessor>,
    links: Vec<Nanos>,
}

impl Oracle {
    pub(super) fn new(topology: Topology, costs: CacheCosts, lines: usize) -> Self {
        Self {
            topology,
            costs,
            lines: vec![NaiveLine::default(); lines],
            processors: vec![NaiveProcessor::default(); topology.processors()],
            links: vec![0; topology.processors()],
        }
    }

    pub(super) fn has(&self, cpu: Cpu, line: LineIndex, access: Access) -> bool {
        let line = &self.lines[line.index()];
        line.owner == Some(cpu) || (access == Access::Load && line.sharers.contains(&cpu))
    }

    pub(super) fn is_hit(&self, cpu: Cpu, line: LineIndex, access: Access) -> bool {
        let must_drain =
            access == Access::ReadModifyWrite && !self.processors[cpu.index()].stores.is_empty();
        self.has(cpu, line, access) && !must_drain
    }

    pub(super) fn fence(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        let stores = std::mem::take(&mut self.processors[cpu.index()].stores);
        stores.into_iter().max().unwrap_or(0).max(now) - now + self.costs.fence
    }

    pub(super) fn miss(
        &mut self,
        cpu: Cpu,
        at: LineIndex,
        access: Access,
        now: Nanos,
        noise: Nanos,
    ) -> Miss {
        let has = self.has(cpu, at, access);
        let is_rmw = access == Access::ReadModifyWrite;
        let operation = if is_rmw { self.costs.read_modify_write } else { self.costs.hit };
        let processor = &mut self.processors[cpu.index()];
        let drained = if is_rmw {
            std::mem::take(&mut processor.stores).into_iter().max().unwrap_or(0).max(now)
        } else {
            now
        };
        let line = &mut self.lines[at.index()];
        let leased = processor.lease.is_some_and(|(of, until)| of == at && until > now);
        if has || (leased && !line.is_watched) {
            let done = drained + operation;
            let kind = if has { MissKind::Hit } else { MissKind::Lease };
            return Miss { done, retires: done, invalidated: false, kind };
        }

        let distances = |cpus: &mut dyn Iterator<Item = &Cpu>| {
            let mut all: Vec<Distance> = cpus
                .filter(|&&other| other != cpu)
                .map(|&other| self.topology.distance(cpu, other))
                .collect();
            all.sort();
            all
        };
        let was_shared = !line.sharers.is_empty();
        let around = distances(&mut line.owner.iter().chain(&line.sharers));
        let lost = if access == Access::Load { 0 } else { around.len() };
        let kind = match (access, around.first(), around.last()) {
            (_, None, _) | (_, _, None) => MissKind::Memory,
            (Access::Load, Some(&nearest), _) => MissKind::Copy(nearest),
            (_, _, Some(&farthest)) => MissKind::Take(farthest),
        };
        let mut transfer = match kind {
            MissKind::Copy(distance) | MissKind::Take(distance) => match distance {
                Distance::Same => unreachable!("{cpu:?} has the line"),
                Distance::Core => self.costs.core,
                Distance::Cluster => self.costs.cluster,
                Distance::Socket => self.costs.socket,
                Distance::Remote => {
                    let link = &mut self.links[self.topology.socket(cpu)];
                    let starts = (*link).max(now);
                    *link = starts + self.costs.link;
                    self.costs.remote + starts - now
                }
            },
            _ => self.costs.memory,
        };
        if was_shared && access != Access::Load {
            transfer += lost as Nanos * self.costs.invalidation;
        }

        let start = line.free_at.max(now);
        let arrival = start + transfer + noise;
        let mut miss = Miss { done: arrival, retires: arrival, invalidated: lost > 0, kind };
        line.free_at = arrival;
        if is_rmw {
            miss.done = arrival.max(drained) + operation;
            miss.retires = miss.done;
            line.free_at = miss.done.max(arrival + self.costs.lease);
            processor.lease = Some((at, line.free_at));
        } else if access == Access::Load && was_shared {
            line.free_at = (start + self.costs.shared_occupancy).min(start + transfer);
        } else if access == Access::Store && !was_shared && !line.is_watched {
            let stores = &mut processor.stores;
            let entry = stores.len().checked_sub(12).map_or(0, |index| stores[index]);
            miss.retires = entry.max(now + self.costs.hit).min(arrival);
            stores.push(arrival);
        }

        if access != Access::Load || kind == MissKind::Memory {
            line.sharers.clear();
            line.owner = Some(cpu);
        } else {
            line.sharers.extend(line.owner.take());
            line.sharers.insert(cpu);
        }
        line.transfers += 1;
        line.invalidations += lost as u32;
        line.waited += miss.retires - now;
        miss
    }
}
