//! Cache coherence: which processors have a line, and what it costs to get it.
//!
//! A [`Coherence`] is a pure data structure. It knows nothing of threads, and has no clock: each
//! request carries the time at which its processor makes it. Equal calls give equal results.
//!
//! # How to call it
//!
//! - For each access, call [`hit`](Coherence::hit). `Some(cost)`: perform the access on the host's
//!   memory and add the cost to the processor's clock.
//! - `None`: wait until no other processor has an event before the processor's clock. Then call
//!   [`miss`](Coherence::miss) and perform the access at once, before another processor makes a
//!   request. The processor goes on at [`Miss::retires`].
//! - So requests come in the order of their times. Hits may run ahead of other processors'
//!   events by less than [`min_transfer`](Coherence::min_transfer).
//! - If [`Miss::invalidated`], wake the threads that sleep until the line changes.
//! - A sequentially consistent store is a [`ReadModifyWrite`](Access::ReadModifyWrite), as on x86.
//!
//! The host's order of accesses is then the one order of all operations: memory is sequentially
//! consistent. `README.md` beside this file has the states and the argument.

mod costs;
mod directory;
#[cfg(test)]
mod tests;

pub use self::costs::{Access, CacheCosts};
use self::directory::{Directory, Holders};
use std::collections::HashMap;

pub use crate::ids::LineIndex;
use crate::ids::{Cpu, Nanos, Table};
use crate::topology::{Distance, Topology};

/// How a request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissKind {
    /// The processor has the line: no transfer. It was requested while the caller waited, or a
    /// read-modify-write waits only for earlier stores.
    Hit,
    /// Another processor has asked for the line, but a lease still keeps it here: no transfer.
    Lease,
    /// No processor had touched the line.
    Memory,
    /// A copy came from a processor at this distance.
    Copy(Distance),
    /// The line became this processor's alone. The farthest processor that had it was at this
    /// distance.
    Take(Distance),
}

impl MissKind {
    /// How far the line came, if it came from another processor.
    pub const fn distance(self) -> Option<Distance> {
        match self {
            Self::Copy(distance) | Self::Take(distance) => Some(distance),
            Self::Hit | Self::Lease | Self::Memory => None,
        }
    }
}

/// What a request costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// When the operation is done: the line is here, and a read-modify-write has finished.
    pub done: Nanos,
    /// When the processor goes on. A store that retires early does so before it is done.
    pub retires: Nanos,
    /// True if another processor has lost its copy: threads that spin on the line see the change.
    pub invalidated: bool,
    /// How the request was served.
    pub kind: MissKind,
}

/// A line that moved often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotLine {
    /// The line.
    pub line: LineIndex,
    /// The name that was given to it last.
    pub name: Option<String>,
    /// How often it was requested from memory or another processor.
    pub transfers: u32,
    /// How many copies of it became invalid.
    pub invalidations: u32,
    /// How long all processors together waited for it.
    pub waited: Nanos,
}

impl std::fmt::Display for HotLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "line {:#x}", self.line.0),
        }
    }
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses without a transfer.
    pub hits: u64,
    /// First accesses to a line.
    pub from_memory: u64,
    /// Transfers from another processor, by `Distance as usize`. That of `Same` is 0.
    pub transfers: [u64; Distance::COUNT],
    /// Copies that became invalid.
    pub invalidations: u64,
    /// How long all processors together waited for lines.
    pub waited: Nanos,
}

impl Statistics {
    /// Accesses that had to wait for memory or another processor.
    pub fn misses(&self) -> u64 {
        self.from_memory + self.transfers.iter().sum::<u64>()
    }
}

/// What is known of a line besides its holders, packed so that a table of zeros is valid.
struct Line {
    /// When all transfers that were asked for have ended, as far as the next one has to wait.
    busy_until: Nanos,
    waited: Nanos,
    is_watched: bool,
    transfers: u32,
    invalidations: u32,
}

const WATCHED: u64 = 1 << 63;

impl Line {
    fn unpack([busy_until, waited, counts]: [u64; 3]) -> Self {
        Self {
            busy_until,
            waited: waited & !WATCHED,
            is_watched: waited & WATCHED != 0,
            transfers: counts as u32,
            invalidations: (counts >> 32) as u32,
        }
    }

    fn pack(&self) -> [u64; 3] {
        let counts = u64::from(self.transfers) | u64::from(self.invalidations) << 32;
        [self.busy_until, self.waited | if self.is_watched { WATCHED } else { 0 }, counts]
    }
}

/// How many stores of a processor can wait for their lines at once: the line fill buffers of an
/// Ice Lake core.
const STORE_BUFFER: usize = 12;

/// What is known of a processor.
#[derive(Clone, Default)]
struct Processor {
    /// The line that the last read-modify-write brought, and until when the processor keeps it.
    lease: Option<(LineIndex, Nanos)>,
    /// When the last stores that retired early are done, in a ring.
    stores: [Nanos; STORE_BUFFER],
    oldest: usize,
    /// True if some of them may not be done yet.
    has_stores: bool,
}

/// The caches of a machine.
pub struct Coherence {
    topology: Topology,
    costs: CacheCosts,
    directory: Directory,
    lines: Table<LineIndex, [u64; 3]>,
    processors: Table<Cpu, Processor>,
    /// When each socket's link to the others is free.
    links: Vec<Nanos>,
    /// In the order of first accesses.
    touched: Vec<LineIndex>,
    names: HashMap<LineIndex, String>,
    statistics: Statistics,
}

impl Coherence {
    /// Caches without content, for `lines` lines. The table takes 32 bytes for each, of address
    /// space at first: the host's kernel provides memory for those that are touched.
    pub fn new(topology: Topology, costs: CacheCosts, lines: usize) -> Self {
        let processors = topology.processors();
        Self {
            topology,
            costs,
            directory: Directory::new(lines),
            lines: vec![[0; 3]; lines].into(),
            processors: vec![Processor::default(); processors].into(),
            links: vec![0; processors / topology.size(Distance::Socket)],
            touched: Vec::new(),
            names: HashMap::new(),
            statistics: Statistics::default(),
        }
    }

    /// The costs.
    pub const fn costs(&self) -> &CacheCosts {
        &self.costs
    }

    /// The least time that a miss takes here: how far hits may run ahead of other processors.
    pub fn min_transfer(&self) -> Nanos {
        self.costs.min_transfer(&self.topology)
    }

    /// The cost of an access, if the processor has the line in the state that it needs.
    ///
    /// `None` also for a read-modify-write after stores that retired early: it waits for them.
    ///
    /// # Panics
    /// If the table has no such line. If the machine has no such processor, it may panic.
    #[inline]
    pub fn hit(&mut self, cpu: Cpu, line: LineIndex, access: Access) -> Option<Nanos> {
        let is_hit = self.directory.permits(line, cpu, access != Access::Load)
            && (access != Access::ReadModifyWrite || !self.processors[cpu].has_stores);
        self.statistics.hits += u64::from(is_hit);
        is_hit.then(|| self.costs.access(access))
    }

    /// Requests the line at the time `now`, for an access that is no [`hit`](Self::hit). The
    /// transfer takes `noise` longer than the costs say.
    ///
    /// Requests for a line are served in the order of the calls.
    ///
    /// # Panics
    /// If the table has no such line, or the machine no such processor.
    pub fn miss(
        &mut self,
        cpu: Cpu,
        line: LineIndex,
        access: Access,
        now: Nanos,
        noise: Nanos,
    ) -> Miss {
        let mut state = Line::unpack(self.lines[line]);
        let ready = if access == Access::ReadModifyWrite { self.drain(cpu, now) } else { now };
        let has_line = self.directory.permits(line, cpu, access != Access::Load);
        let lease = self.processors[cpu].lease;
        let has_lease = lease.is_some_and(|(of, until)| of == line && now < until);
        if has_line || (has_lease && !state.is_watched) {
            self.statistics.hits += 1;
            self.statistics.waited += ready - now;
            let done = ready + self.costs.access(access);
            let kind = if has_line { MissKind::Hit } else { MissKind::Lease };
            return Miss { done, retires: done, invalidated: false, kind };
        }

        let was_shared = self.directory.holders(line) == Holders::Sharers;
        let (kind, lost) = self.source(cpu, line, access);
        let mut latency = self.latency(cpu, kind, now);
        if was_shared {
            latency += Nanos::from(lost) * self.costs.invalidation;
        }
        let start = now.max(state.busy_until);
        let arrival = start + latency + noise;
        state.busy_until = arrival;
        let (mut done, mut retires) = (arrival, arrival);
        match access {
            Access::Load if was_shared => {
                state.busy_until = start + self.costs.shared_occupancy.min(latency);
            }
            Access::Load => {}
            // Other processors may wait for this store.
            Access::Store if was_shared || state.is_watched => {}
            Access::Store => retires = self.retire_early(cpu, now, done),
            Access::ReadModifyWrite => {
                done = arrival.max(ready) + self.costs.read_modify_write;
                retires = done;
                state.busy_until = done.max(arrival + self.costs.lease);
                self.processors[cpu].lease = Some((line, state.busy_until));
            }
        }

        match kind {
            MissKind::Copy(_) => self.directory.add_sharer(line, cpu),
            _ => self.directory.set_owner(line, cpu),
        }
        if let Some(distance) = kind.distance() {
            self.statistics.transfers[distance as usize] += 1;
        } else {
            self.statistics.from_memory += 1;
            self.touched.push(line);
        }
        self.statistics.invalidations += u64::from(lost);
        self.statistics.waited += retires - now;
        state.transfers = state.transfers.saturating_add(1);
        state.invalidations = state.invalidations.saturating_add(lost);
        state.waited += retires - now;
        self.lines[line] = state.pack();
        Miss { done, retires, invalidated: lost > 0, kind }
    }

    /// Where the line comes from, and how many other processors lose their copy.
    fn source(&self, cpu: Cpu, line: LineIndex, access: Access) -> (MissKind, u32) {
        let kind = if access == Access::Load { MissKind::Copy } else { MissKind::Take };
        match self.directory.holders(line) {
            Holders::Unheld => (MissKind::Memory, 0),
            Holders::Owner(owner) => {
                let distance = self.topology.distance(owner, cpu);
                (kind(distance), u32::from(access != Access::Load))
            }
            Holders::Sharers => {
                // A copy comes from the nearest sharer. A writer waits for the farthest one.
                let own = u32::from(self.directory.permits(line, cpu, false));
                let others = |range| self.directory.sharers_in(line, range) - own;
                let all = match access {
                    Access::Load => 0,
                    _ => others(0..self.topology.processors()),
                };
                let is_met = |count| if access == Access::Load { count > 0 } else { count == all };
                let reaches = |it: &Distance| is_met(others(self.topology.within(*it, cpu)));
                let near = [Distance::Core, Distance::Cluster, Distance::Socket];
                let distance = near.into_iter().find(reaches).unwrap_or(Distance::Remote);
                (kind(distance), all)
            }
        }
    }

    /// How long a transfer of this kind takes that is asked for now. One between sockets waits
    /// until the link to the processor's socket is free.
    fn latency(&mut self, cpu: Cpu, kind: MissKind, now: Nanos) -> Nanos {
        let Some(distance) = kind.distance() else { return self.costs.memory };
        let mut latency = self.costs.transfer(distance);
        if distance == Distance::Remote {
            let link = &mut self.links[self.topology.socket(cpu)];
            latency += link.saturating_sub(now);
            *link = now.max(*link) + self.costs.link;
        }
        latency
    }

    /// Puts a store that misses into the processor's buffer. Returns when the processor goes on:
    /// at once, or when the buffer has a free entry.
    fn retire_early(&mut self, cpu: Cpu, now: Nanos, done: Nanos) -> Nanos {
        let Processor { stores, oldest, has_stores, .. } = &mut self.processors[cpu];
        let free = std::mem::replace(&mut stores[*oldest], done);
        *oldest = (*oldest + 1) % STORE_BUFFER;
        *has_stores = true;
        free.max(now + self.costs.hit).min(done)
    }

    /// When the stores of the processor are done that retired early, or `now` if that is later.
    fn drain(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        let processor = &mut self.processors[cpu];
        processor.has_stores = false;
        processor.stores.into_iter().fold(now, Nanos::max)
    }

    /// The cost of a fence at the time `now`: until the processor's stores are done, and the fence
    /// itself.
    pub fn fence(&mut self, cpu: Cpu, now: Nanos) -> Nanos {
        self.drain(cpu, now) - now + self.costs.fence
    }

    /// Says that a thread sleeps until the line is invalidated. From now on, no lease and no early
    /// retirement hides a write to it.
    ///
    /// A write by a processor that already owns the line invalidates nothing. A thread that sleeps
    /// so, and loses its processor to another thread, has to look again when it runs.
    pub fn watch(&mut self, line: LineIndex) {
        self.lines[line][1] |= WATCHED;
    }

    /// Ends [`watch`](Self::watch): no thread sleeps so any more.
    pub fn unwatch(&mut self, line: LineIndex) {
        self.lines[line][1] &= !WATCHED;
    }

    /// Names the line in reports. Its last name counts.
    pub fn name(&mut self, line: LineIndex, name: impl Into<String>) {
        self.names.insert(line, name.into());
    }

    /// The `count` lines that moved most often. Equal ones are in the order of their indexes.
    pub fn hottest(&self, count: usize) -> Vec<HotLine> {
        let state = |line: LineIndex| Line::unpack(self.lines[line]);
        let mut lines = self.touched.clone();
        lines.sort_by_key(|&line| (std::cmp::Reverse(state(line).transfers), line));
        let hot = |&line: &LineIndex| {
            let Line { waited, transfers, invalidations, .. } = state(line);
            let name = self.names.get(&line).cloned();
            HotLine { line, name, transfers, invalidations, waited }
        };
        lines.iter().take(count).map(hot).collect()
    }

    /// The totals so far.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
