//! A set of processors, as bits.

use crate::ids::{Cpu, Id};
use std::ops::Range;

const BITS: usize = u64::BITS as usize;

/// A set of processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds a processor.
    pub fn insert(&mut self, cpu: Cpu) {
        let word = cpu.index() / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu.index() % BITS);
    }

    /// Removes a processor.
    pub fn remove(&mut self, cpu: Cpu) {
        if let Some(word) = self.words.get_mut(cpu.index() / BITS) {
            *word &= !(1 << (cpu.index() % BITS));
        }
    }

    /// Adds or removes a processor.
    pub(super) fn set(&mut self, cpu: Cpu, is_member: bool) {
        if is_member { self.insert(cpu) } else { self.remove(cpu) }
    }

    /// True if the processor is in the set.
    pub fn contains(&self, cpu: Cpu) -> bool {
        self.word(cpu.index() / BITS) >> (cpu.index() % BITS) & 1 == 1
    }

    /// True if no processor is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// How many processors are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The processors of the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = Cpu> + '_ {
        self.in_range(0..self.words.len() * BITS)
    }

    /// The processors of the set that are in a range, in order.
    pub(super) fn in_range(&self, range: Range<usize>) -> impl Iterator<Item = Cpu> + '_ {
        let words = range.start / BITS..range.end.div_ceil(BITS).min(self.words.len());
        let end = range.end;
        words
            .flat_map(move |word| {
                let mut bits = self.word(word);
                if word == range.start / BITS {
                    bits &= u64::MAX << (range.start % BITS);
                }
                std::iter::from_fn(move || {
                    (bits != 0).then(|| {
                        let bit = bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        word * BITS + bit
                    })
                })
            })
            .take_while(move |&cpu| cpu < end)
            .map(Cpu::new)
    }

    /// How many processors of the set are in a range.
    pub(super) fn count(&self, range: Range<usize>) -> usize {
        let words = range.start / BITS..range.end.div_ceil(BITS);
        let of_word = |word: usize| {
            let from = range.start.saturating_sub(word * BITS);
            let to = (range.end - word * BITS).min(BITS);
            let mask = (u64::MAX >> (BITS - to)) & (u64::MAX << from);
            (self.word(word) & mask).count_ones() as usize
        };
        words.map(of_word).sum()
    }

    /// The processors of the set that are in a range, from `first` on and then around.
    pub(super) fn around(
        &self,
        range: Range<usize>,
        first: usize,
    ) -> impl Iterator<Item = Cpu> + '_ {
        self.in_range(first..range.end).chain(self.in_range(range.start..first))
    }

    fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }
}

impl FromIterator<Cpu> for CpuSet {
    fn from_iter<I: IntoIterator<Item = Cpu>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_agree_with_a_tree() {
        let mut set = CpuSet::new();
        let mut tree = BTreeSet::new();
        let mut word = 1_u64;
        let mut random = |bound: usize| {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (word >> 33) as usize % bound
        };
        for _ in 0..3000 {
            let cpu = Cpu::new(random(300));
            let is_member = random(2) == 0;
            set.set(cpu, is_member);
            if is_member {
                tree.insert(cpu)
            } else {
                tree.remove(&cpu)
            };
            assert_eq!(set.contains(cpu), is_member);
            let start = random(300);
            let end = start + random(320 - start);
            let expected = || tree.range(Cpu::new(start)..Cpu::new(end)).copied();
            assert!(set.in_range(start..end).eq(expected()));
            assert_eq!(set.count(start..end), expected().count());
            let first = start + random(end - start + 1);
            let middle = Cpu::new(first);
            let rest = expected().filter(|&cpu| cpu < middle);
            let around = expected().filter(|&cpu| cpu >= middle).chain(rest);
            assert!(set.around(start..end, first).eq(around));
            assert!(set.iter().eq(tree.iter().copied()));
            assert_eq!((set.len(), set.is_empty()), (tree.len(), tree.is_empty()));
        }
    }
}
