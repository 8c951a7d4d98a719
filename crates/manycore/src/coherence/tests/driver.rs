//! A small engine for tests: each processor runs a program in virtual time.

use super::super::{Access, Coherence, LineIndex, Miss};
use crate::ids::{Cpu, Id, Nanos};

/// What a program does next. Eight words share a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Fence,
    Work(Nanos),
}

/// Given the value that the last access read, returns the next step, or `None` at the end.
pub(super) type Program = Box<dyn FnMut(u64) -> Option<Step>>;

/// An access that took place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) cpu: Cpu,
    pub(super) line: LineIndex,
    pub(super) access: Access,
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
    /// When the processor went on.
    pub(super) retired: Nanos,
}

pub(super) struct Driver {
    pub(super) caches: Coherence,
    pub(super) memory: Vec<u64>,
    /// How far hits run ahead of other processors.
    pub(super) ahead: Nanos,
    /// All accesses in the order in which they had their effects.
    pub(super) events: Vec<Event>,
}

impl Driver {
    pub(super) fn new(caches: Coherence, words: usize) -> Self {
        let ahead = caches.min_transfer();
        Self { caches, memory: vec![0; words], ahead, events: Vec::new() }
    }

    /// Runs the programs on processors 0, 1 and so on. Returns when each of them ended.
    pub(super) fn run(&mut self, mut programs: Vec<Program>) -> Vec<Nanos> {
        let mut clocks = vec![0; programs.len()];
        let mut values = vec![0; programs.len()];
        let mut waiting: Vec<Option<Step>> = vec![None; programs.len()];
        let mut live: Vec<usize> = (0..programs.len()).collect();
        while let Some(&me) = live.iter().min_by_key(|&&cpu| (clocks[cpu], cpu)) {
            let others = live.iter().filter(|&&cpu| cpu != me);
            let next = others.map(|&cpu| clocks[cpu]).min().unwrap_or(Nanos::MAX);
            let clock = &mut clocks[me];
            while *clock <= next || *clock < next.saturating_add(self.ahead) {
                let Some(step) = waiting[me].take().or_else(|| programs[me](values[me])) else {
                    live.retain(|&cpu| cpu != me);
                    break;
                };
                let cpu = Cpu::new(me);
                let (word, access) = match step {
                    Step::Load(word) => (word, Access::Load),
                    Step::Store(word, _) => (word, Access::Store),
                    Step::Add(word) => (word, Access::ReadModifyWrite),
                    Step::Fence => {
                        *clock += self.caches.fence(cpu, *clock);
                        continue;
                    }
                    Step::Work(time) => {
                        *clock += time;
                        continue;
                    }
                };
                let line = LineIndex(u32::try_from(word / 8).unwrap());
                let (begin, end);
                if let Some(cost) = self.caches.hit(cpu, line, access) {
                    (begin, end) = (*clock, *clock + cost);
                    *clock = end;
                } else if *clock <= next {
                    let miss: Miss = self.caches.miss(cpu, line, access, *clock, 0);
                    (begin, end) = (*clock, miss.done);
                    *clock = miss.retires;
                } else {
                    waiting[me] = Some(step);
                    break;
                }
                self.events.push(Event { cpu, line, access, begin, end, retired: *clock });
                values[me] = self.memory[word];
                match step {
                    Step::Store(_, value) => self.memory[word] = value,
                    Step::Add(_) => self.memory[word] += 1,
                    _ => {}
                }
            }
        }
        clocks
    }
}
