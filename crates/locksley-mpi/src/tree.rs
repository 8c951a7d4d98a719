//! The tree of all ranks, along which they agree on the end and reduce outputs.

/// The most children of a rank. Each level costs a nap, up and down, and merges its outputs one by
/// one. Four merge as often as two on the way to the root, on half as many levels.
const ARITY: usize = 4;

/// One rank's place in the tree. The root is rank 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tree {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Tree {
    pub(crate) fn parent(&self) -> Option<usize> {
        self.rank.checked_sub(1).map(|it| it / ARITY)
    }

    /// The number of ranks above this one, up to the root.
    pub(crate) fn depth(&self) -> u32 {
        let parent = |rank: &usize| Self { rank: *rank, size: self.size }.parent();
        std::iter::successors(parent(&self.rank), parent).count() as u32
    }

    /// The number of levels below this rank.
    pub(crate) fn height(&self) -> u32 {
        // Ranks lie level by level, and the first child's subtree is as high as any.
        let first = Self { rank: self.children().start, size: self.size };
        if self.children().is_empty() { 0 } else { 1 + first.height() }
    }

    pub(crate) fn children(&self) -> std::ops::Range<usize> {
        let first = ARITY * self.rank + 1;
        first.min(self.size)..(first + ARITY).min(self.size)
    }
}
