//! A set of processors, as bits.

use crate::ids::Cpu;
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
        words
            .flat_map(move |word| {
                let mut bits = self.word(word);
                std::iter::from_fn(move || {
                    (bits != 0).then(|| {
                        let bit = bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        word * BITS + bit
                    })
                })
            })
            .filter(move |cpu| range.contains(cpu))
            .map(Cpu::new)
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
