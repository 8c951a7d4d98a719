//! What all versions share: the merge of two runs; where a sort and a merge are divided, and how
//! finely.

/// So many integers are sorted by the standard library, with networks of comparisons.
pub(super) const SMALLEST: usize = 32;

/// With fewer steps in one go, the plain merge is as quick.
const FEWEST_STEPS: usize = 4;

/// Merges two sorted runs into `out`, which has room for both exactly.
///
/// From both ends at once: the two chains of comparisons are independent of each other, and the
/// processor overlaps them. As many steps are taken in one go as cannot exhaust either run, so the
/// inner loop neither tests for that nor branches on the data.
///
/// Never inlined, so that all versions execute the same code: copies of this loop differ by several
/// percent.
#[inline(never)]
pub(in crate::apps) fn merge(mut left: &[u32], mut right: &[u32], mut out: &mut [u32]) {
    assert_eq!(left.len() + right.len(), out.len());
    loop {
        let steps = left.len().min(right.len()) / 2;
        if steps < FEWEST_STEPS {
            return merge_rest(left, right, out);
        }
        let (taken_left, taken_right) = merge_ends(left, right, out, steps);
        left = &left[taken_left.0..left.len() - taken_left.1];
        right = &right[taken_right.0..right.len() - taken_right.1];
        let length = out.len();
        out = &mut out[steps..length - steps];
    }
}

/// Writes `steps` integers at each end of `out`; says how many were taken from the front and the
/// back of each run.
#[inline]
fn merge_ends(
    left: &[u32],
    right: &[u32],
    out: &mut [u32],
    steps: usize,
) -> ((usize, usize), (usize, usize)) {
    let length = out.len();
    let (low, high) = out.split_at_mut(length - steps);
    let low = &mut low[..steps];
    let (mut l, mut r) = (0, 0);
    let (mut l_end, mut r_end) = (left.len(), right.len());
    for (low, high) in low.iter_mut().zip(high.iter_mut().rev()) {
        let (a, b) = (left[l], right[r]);
        let from_right = b < a;
        *low = if from_right { b } else { a };
        r += usize::from(from_right);
        l += usize::from(!from_right);

        let (a, b) = (left[l_end - 1], right[r_end - 1]);
        let from_left = b < a;
        *high = if from_left { a } else { b };
        l_end -= usize::from(from_left);
        r_end -= usize::from(!from_left);
    }
    ((l, left.len() - l_end), (r, right.len() - r_end))
}

/// The plain merge, for the little that is left and for runs of very different lengths.
fn merge_rest(mut left: &[u32], mut right: &[u32], out: &mut [u32]) {
    let mut at = 0;
    while let (Some(&a), Some(&b)) = (left.first(), right.first()) {
        let from_right = b < a;
        out[at] = if from_right { b } else { a };
        right = &right[usize::from(from_right)..];
        left = &left[usize::from(!from_right)..];
        at += 1;
    }
    let (rest_left, rest_right) = out[at..].split_at_mut(left.len());
    rest_left.copy_from_slice(left);
    rest_right.copy_from_slice(right);
}

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
    (length / 2).next_multiple_of(SMALLEST)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn merges_of_all_small_lengths_are_those_of_a_sort() {
        let mut random = Random::new(3);
        for left in 0..40 {
            for right in 0..40 {
                let mut run = |length: usize| -> Vec<u32> {
                    let mut run: Vec<u32> =
                        (0..length).map(|_| (random.next_u64() % 30) as u32).collect();
                    run.sort_unstable();
                    run
                };
                let (left, right) = (run(left), run(right));
                let mut out = vec![0; left.len() + right.len()];
                merge(&left, &right, &mut out);
                let mut expected = [left, right].concat();
                expected.sort_unstable();
                assert_eq!(out, expected);
            }
        }
    }
}
