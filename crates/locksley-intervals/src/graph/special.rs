//! What is special about an interval: nothing for most, and one look at one word says so.

/// A word: what is to be done about an interval beside running it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Special(u32);

impl Special {
    /// Its root is recorded or observed: there are notes of it.
    pub(crate) const NOTES: u32 = 1;
    /// It goes round the places of the pool if none is named.
    pub(crate) const GOES_ROUND: u32 = 2;
    /// It names locks.
    pub(crate) const LOCKS: u32 = 4;
    /// It runs where another interval has ended.
    pub(crate) const FOLLOWS: u32 = 8;
    /// Above the bits: a place, plus 1; 0 if none is named.
    const PLACE: u32 = 8;

    /// What a child has from its parent: no place, and no locks.
    #[inline]
    pub(crate) fn of_child(self) -> Self {
        Self(self.0 & (Self::NOTES | Self::GOES_ROUND))
    }

    /// Adds one of the bits, if `is_so`.
    #[must_use]
    pub(crate) fn with(self, bit: u32, is_so: bool) -> Self {
        Self(if is_so { self.0 | bit } else { self.0 })
    }

    pub(crate) fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// Names one of the pool's places, of which there are far fewer than fit.
    pub(crate) fn near(self, place: usize) -> Self {
        let bits = self.0 & ((1 << Self::PLACE) - 1);
        Self(bits | ((place as u32 + 1) << Self::PLACE))
    }

    /// The place that was named.
    pub(crate) fn place(self) -> Option<usize> {
        (self.0 >> Self::PLACE).checked_sub(1).map(|place| place as usize)
    }

    #[inline]
    pub(crate) fn is_nothing(self) -> bool {
        self.0 == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_child_inherits_from_its_root_and_neither_place_nor_locks_from_its_parent() {
        for bits in 0..4 {
            let root = Special::default().with(bits, true);
            assert_eq!(root.is_nothing(), bits == 0);
            let own = Special::LOCKS | Special::FOLLOWS;
            let parent = root.of_child().near(7).with(own, true).near(0);
            assert!(parent.has(Special::LOCKS) && parent.has(Special::FOLLOWS));
            assert_eq!(parent.place(), Some(0));
            assert_eq!(parent.has(Special::NOTES), root.has(Special::NOTES));
            assert_eq!(parent.of_child(), root);
            assert_eq!(root.place(), None);
        }
        assert!(!Special::default().near(0).is_nothing());
    }
}
