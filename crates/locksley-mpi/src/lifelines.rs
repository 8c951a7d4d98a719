//! The graph of lifelines: a cyclic hypercube.

/// The digits of a rank's number are to this base. More digits are more lifelines, and shorter
/// ways.
const BASE: usize = 4;

/// The lifelines of a rank, one for each digit of its number: that digit is replaced by the next
/// one in the cycle of its values, among the ranks that exist.
///
/// Every rank is reached from every other one: each digit's cycle goes through 0, so all digits can
/// become 0, and then, from the first to the last, those of any rank.
pub(crate) fn lifelines(rank: usize, size: usize) -> Vec<usize> {
    let weights = std::iter::successors(Some(1), |weight: &usize| weight.checked_mul(BASE));
    let next = |weight: usize| {
        let digit = rank / weight % BASE;
        let above = rank + weight;
        if digit + 1 < BASE && above < size { above } else { rank - digit * weight }
    };
    weights.take_while(|&weight| weight < size).map(next).filter(|&other| other != rank).collect()
}

#[cfg(test)]
mod tests {
    use super::lifelines;

    /// The ranks that are reached from 0 against or along lifelines.
    fn reached(size: usize, backwards: bool) -> usize {
        let mut next = vec![Vec::new(); size];
        for rank in 0..size {
            for other in lifelines(rank, size) {
                let (from, to) = if backwards { (other, rank) } else { (rank, other) };
                next[from].push(to);
            }
        }
        let mut found = vec![false; size];
        let mut stack = vec![0];
        while let Some(rank) = stack.pop() {
            if !std::mem::replace(&mut found[rank], true) {
                stack.extend(&next[rank]);
            }
        }
        found.into_iter().filter(|&it| it).count()
    }

    #[test]
    fn every_rank_reaches_every_other_one() {
        for size in (1..=300).chain([1000, 4097]) {
            assert_eq!(reached(size, false), size);
            assert_eq!(reached(size, true), size);
        }
    }

    #[test]
    fn lifelines_are_few_and_differ() {
        for size in [1, 2, 3, 4, 5, 16, 17, 1000, 100_000] {
            for rank in (0..size).step_by(1 + size / 500) {
                let mut all = lifelines(rank, size);
                assert!(all.len() <= 9 && all.iter().all(|&other| other < size && other != rank));
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), lifelines(rank, size).len());
            }
        }
    }
}
