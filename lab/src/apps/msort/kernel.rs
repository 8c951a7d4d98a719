//! The merge of two runs, and how few integers the library sorts: what all versions share.

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
