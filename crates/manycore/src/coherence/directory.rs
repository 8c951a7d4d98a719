//! Which processors have each line.
//!
//! One word for each line, zero at first, so that the table can be large and untouched parts of it
//! cost nothing:
//!
//! | bits 62 and 63 | bits 0 to 61 |
//! |---|---|
//! | `UNHELD` | 0 |
//! | `OWNED` | the owner's tag |
//! | `FEW` | the tags of 1 to `INLINE` sharers, 13 bits each; 0 is no tag |
//! | `MANY` | the number of a block, which has one bit for each processor |
//!
//! A processor's tag is its number plus one. A block returns to the pool when its line gets an
//! owner.

use std::ops::Range;

use crate::cpu_set::CpuSet;
use crate::ids::{Cpu, LineIndex, Table};

const UNHELD: u64 = 0;
const OWNED: u64 = 1 << 62;
const FEW: u64 = 2 << 62;
const MANY: u64 = 3 << 62;
const KIND: u64 = 3 << 62;

/// Tags of sharers that fit in a line's word.
pub(super) const INLINE: u32 = 4;
const TAG_BITS: u32 = 13;
const TAG: u64 = (1 << TAG_BITS) - 1;

/// The processors that have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holders {
    /// No processor yet.
    Unheld,
    /// One processor, which may write.
    Owner(Cpu),
    /// Some processors, which may read.
    Sharers,
}

/// The holders of all lines.
pub(super) struct Directory {
    words: Table<LineIndex, u64>,
    /// The pool of blocks.
    blocks: Vec<CpuSet>,
    free: Vec<usize>,
}

const fn tag(cpu: Cpu) -> u64 {
    cpu.0 as u64 + 1
}

/// The tags in a word of kind `FEW`.
fn tags(word: u64) -> impl Iterator<Item = u64> {
    (0..INLINE).map(move |slot| word >> (slot * TAG_BITS) & TAG).filter(|&tag| tag != 0)
}

/// The number of the block in a word of kind `MANY`.
const fn block(word: u64) -> usize {
    (word & !KIND) as usize
}

impl Directory {
    pub(super) fn new(lines: usize) -> Self {
        Self { words: vec![UNHELD; lines].into(), blocks: Vec::new(), free: Vec::new() }
    }

    /// True if `cpu` may read the line and, if it `writes`, write it.
    #[inline]
    pub(super) fn permits(&self, line: LineIndex, cpu: Cpu, writes: bool) -> bool {
        let word = self.words[line];
        word == OWNED | tag(cpu) || (!writes && word >= FEW && self.is_sharer(word, cpu))
    }

    #[inline]
    fn is_sharer(&self, word: u64, cpu: Cpu) -> bool {
        if word & KIND == FEW {
            tags(word).any(|other| other == tag(cpu))
        } else {
            self.blocks[block(word)].contains(cpu)
        }
    }

    pub(super) fn holders(&self, line: LineIndex) -> Holders {
        let word = self.words[line];
        match word & KIND {
            UNHELD => Holders::Unheld,
            OWNED => Holders::Owner(Cpu((word & TAG) as u16 - 1)),
            _ => Holders::Sharers,
        }
    }

    /// How many sharers of the line have numbers in `range`.
    pub(super) fn sharers_in(&self, line: LineIndex, range: Range<usize>) -> u32 {
        let word = self.words[line];
        if word & KIND == FEW {
            return tags(word).map(|tag| u32::from(range.contains(&(tag as usize - 1)))).sum();
        }
        self.blocks[block(word)].count(range) as u32
    }

    /// Makes `cpu` the owner.
    pub(super) fn set_owner(&mut self, line: LineIndex, cpu: Cpu) {
        let word = std::mem::replace(&mut self.words[line], OWNED | tag(cpu));
        if word & KIND == MANY {
            self.free.push(block(word));
        }
    }

    /// Adds `cpu` to the sharers. An owner becomes a sharer.
    pub(super) fn add_sharer(&mut self, line: LineIndex, cpu: Cpu) {
        let word = self.words[line];
        let inline = if word & KIND == MANY { INLINE } else { tags(word).count() as u32 };
        self.words[line] = if inline < INLINE {
            FEW | word & !KIND | tag(cpu) << (inline * TAG_BITS)
        } else {
            let many = if word & KIND == MANY { word } else { self.spill(word) };
            self.blocks[block(many)].insert(cpu);
            many
        };
    }

    /// Moves the sharers of a full word into a block.
    fn spill(&mut self, word: u64) -> u64 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(CpuSet::new());
            self.blocks.len() - 1
        });
        self.blocks[number].clear();
        tags(word).for_each(|tag| self.blocks[number].insert(Cpu(tag as u16 - 1)));
        MANY | number as u64
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }
}
