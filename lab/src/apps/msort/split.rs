//! Where a sort and a merge are divided, and how finely.

/// Integers of a leaf of the parallel sort: half a millisecond, and 2048 leaves at the papers'
/// size.
pub(super) const SORT_LEAF: usize = 16 * 1024;

/// Integers of a leaf of the parallel merge, around 0.1 ms. Each costs a binary search in memory
/// that is not cached.
pub(super) const MERGE_LEAF: usize = 64 * 1024;

/// Which of the two arrays a sorted half is wanted in. They alternate from level to level, so
/// nothing is copied back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::apps) enum Into {
    /// The array that holds the input.
    Data,
    /// The array beside it.
    Scratch,
}

impl Into {
    /// The other array.
    pub(super) fn other(self) -> Into {
        match self {
            Into::Data => Into::Scratch,
            Into::Scratch => Into::Data,
        }
    }
}

/// Where `length` integers are halved: at a multiple of the smallest sort, so that all of those but
/// one are whole.
pub(super) fn middle(length: usize) -> usize {
    (length / 2).next_multiple_of(super::kernel::SMALLEST)
}

/// Two sorted runs divided at one value: nothing in the first pair is above anything in the second
/// pair.
pub(super) fn runs<'a>(left: &'a [u32], right: &'a [u32]) -> [(&'a [u32], &'a [u32]); 2] {
    let (at_left, at_right) = if left.len() >= right.len() {
        let at = left.len() / 2;
        (at, right.partition_point(|&value| value < left[at]))
    } else {
        let at = right.len() / 2;
        (left.partition_point(|&value| value < right[at]), at)
    };
    let (left_low, left_high) = left.split_at(at_left);
    let (right_low, right_high) = right.split_at(at_right);
    [(left_low, right_low), (left_high, right_high)]
}
