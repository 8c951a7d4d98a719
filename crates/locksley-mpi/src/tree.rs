//! The binary tree of all ranks, along which they agree on the end and reduce outputs.

/// One rank's place in the tree. The root is rank 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tree {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Tree {
    pub(crate) fn parent(&self) -> Option<usize> {
        self.rank.checked_sub(1).map(|it| it / 2)
    }

    /// The number of ranks above this one, up to the root.
    pub(crate) fn depth(&self) -> u32 {
        (self.rank + 1).ilog2()
    }

    /// The number of levels below this rank.
    pub(crate) fn height(&self) -> u32 {
        // Ranks lie level by level, and the first child's subtree is as high as any.
        let first = Self { rank: self.children().start, size: self.size };
        if self.children().is_empty() { 0 } else { 1 + first.height() }
    }

    pub(crate) fn children(&self) -> std::ops::Range<usize> {
        let first = 2 * self.rank + 1;
        first.min(self.size)..(first + 2).min(self.size)
    }
}
