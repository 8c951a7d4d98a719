//! Where sorters and mergers are put.

/// The variants of LASSI's study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// A merger is at the place of the one on its left, where the run lies that it reads.
    Best,
    /// A merger is at the place after that.
    Worst,
    /// No place is named.
    None,
}

impl Placement {
    /// The one that a size ends with, and what comes before it.
    pub(super) fn of(size: &str) -> Result<(&str, Placement), String> {
        match size.split_once('-') {
            None => Ok((size, Placement::Best)),
            Some((numbers, "worst")) => Ok((numbers, Placement::Worst)),
            Some((numbers, "none")) => Ok((numbers, Placement::None)),
            Some((_, other)) => Err(format!("'{other}' is no placement, there are worst and none")),
        }
    }

    /// The place of a sorter, of so many: each place has its share of them, next to each other.
    pub(super) fn of_sorter(self, sorter: usize, sorters: usize, places: usize) -> Option<usize> {
        let place = (sorter as u128 * places as u128 / sorters as u128) as usize;
        (self != Placement::None).then_some(place)
    }

    /// The place of the merger that comes after one at that place, on its left.
    pub(super) fn of_merger(self, left: Option<usize>, places: usize) -> Option<usize> {
        match self {
            Placement::Worst => left.map(|left| (left + 1) % places),
            Placement::Best | Placement::None => left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_share_and_the_worst_takes_neighbours_apart() {
        let of = |placement: Placement, sorters, places| -> Vec<Option<usize>> {
            (0..sorters).map(|sorter| placement.of_sorter(sorter, sorters, places)).collect()
        };
        assert_eq!(of(Placement::Best, 5, 2), [0, 0, 0, 1, 1].map(Some));
        assert_eq!(of(Placement::Worst, 4, 3), [0, 0, 1, 2].map(Some));
        assert_eq!(of(Placement::Best, 2, 1), [Some(0), Some(0)]);
        assert_eq!(of(Placement::None, 2, 2), [None, None]);
        assert_eq!(Placement::Best.of_merger(Some(1), 3), Some(1));
        assert_eq!(
            [1, 2].map(|left| Placement::Worst.of_merger(Some(left), 3)),
            [Some(2), Some(0)]
        );
        assert_eq!(Placement::None.of_merger(None, 3), None);
        for (suffix, placement) in
            [("", Placement::Best), ("-worst", Placement::Worst), ("-none", Placement::None)]
        {
            let size = format!("4x2{suffix}");
            assert_eq!(Placement::of(&size), Ok(("4x2", placement)));
        }
        assert!(Placement::of("4x2-best").is_err());
    }
}
