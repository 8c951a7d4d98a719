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
    pub(crate) fn set(&mut self, cpu: Cpu, is_member: bool) {
        if is_member { self.insert(cpu) } else { self.remove(cpu) }
    }

    /// True if the processor is in the set.
    pub fn contains(&self, cpu: Cpu) -> bool {
        self.words.get(cpu.index() / BITS).is_some_and(|word| word >> (cpu.index() % BITS) & 1 == 1)
    }

    /// Removes all processors.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
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

    /// The words that have processors of a range, without others. With the first number of each.
    fn words_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, u64)> + '_ {
        let words = range.start / BITS..range.end.div_ceil(BITS).min(self.words.len());
        words.map(move |word| {
            let first = word * BITS;
            let before = range.start.saturating_sub(first);
            let after = BITS - (range.end - first).min(BITS);
            (first, self.words[word] >> before << before << after >> after)
        })
    }

    /// The processors of the set that are in a range, in order.
    pub(crate) fn in_range(&self, range: Range<usize>) -> impl Iterator<Item = Cpu> + '_ {
        self.words_in(range).flat_map(|(first, mut bits)| {
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    Cpu::new(first + bit)
                })
            })
        })
    }

    /// How many processors of the set are in a range.
    pub(crate) fn count(&self, range: Range<usize>) -> usize {
        self.words_in(range).map(|(_, bits)| bits.count_ones() as usize).sum()
    }

    /// The processors of the set that are in a range, from `first` on and then around.
    pub(crate) fn around(
        &self,
        range: Range<usize>,
        first: usize,
    ) -> impl Iterator<Item = Cpu> + '_ {
        self.in_range(first..range.end).chain(self.in_range(range.start..first))
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
