//! What is special about an interval: for most nothing, and one look at one word says so.

/// A word: what else is to be done about an interval than to run it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Special(u32);

/// Its root is recorded.
const RECORDED: u32 = 1;
/// Its root is metered.
const METERED: u32 = 2;
/// Where no place is named, it goes round the places of the pool.
const GOES_ROUND: u32 = 4;
/// It names locks.
const LOCKS: u32 = 8;
/// It runs where another has ended.
const FOLLOWS: u32 = 16;
/// What all intervals of a root have in common.
const INHERITED: u32 = RECORDED | METERED | GOES_ROUND;

/// Above the bits: a place, and 1; 0 if none is named.
const PLACE: u32 = 8;

impl Special {
    /// What is special about all intervals of a root.
    pub(super) fn of_root(is_recorded: bool, is_metered: bool, goes_round: bool) -> Self {
        let bit = |is_set: bool, bit| if is_set { bit } else { 0 };
        Self(bit(is_recorded, RECORDED) | bit(is_metered, METERED) | bit(goes_round, GOES_ROUND))
    }

    /// What a child has from its parent. A place is not among it.
    #[inline]
    pub(super) fn of_child(self) -> Self {
        Self(self.0 & INHERITED)
    }

    pub(super) fn with_locks(self) -> Self {
        Self(self.0 | LOCKS)
    }

    pub(super) fn following(self) -> Self {
        Self(self.0 | FOLLOWS)
    }

    /// The place is one of a pool: there are far fewer than would not fit.
    pub(super) fn near(self, place: usize) -> Self {
        Self(self.0 & ((1 << PLACE) - 1) | (place as u32 + 1) << PLACE)
    }

    /// Whether nothing is.
    #[inline]
    pub(super) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Whether something is noted of it.
    pub(super) fn has_notes(self) -> bool {
        self.0 & (RECORDED | METERED) != 0
    }

    /// Whether it has notes or locks, which go with it.
    pub(super) fn has_belongings(self) -> bool {
        self.0 & (RECORDED | METERED | LOCKS) != 0
    }

    pub(super) fn goes_round(self) -> bool {
        self.0 & GOES_ROUND != 0
    }

    pub(super) fn follows(self) -> bool {
        self.0 & FOLLOWS != 0
    }

    pub(super) fn has_locks(self) -> bool {
        self.0 & LOCKS != 0
    }

    /// The place that was named for it.
    pub(super) fn place(self) -> Option<usize> {
        (self.0 >> PLACE).checked_sub(1).map(|place| place as usize)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_what_its_root_has_and_no_place_or_locks_of_its_parent() {
        for bits in 0..8_u32 {
            let is = |bit: u32| bits & bit != 0;
            let root = Special::of_root(is(1), is(2), is(4));
            assert_eq!(root.is_nothing(), bits == 0);
            assert_eq!((root.has_notes(), root.goes_round()), (is(3), is(4)));
            assert_eq!((root.has_locks(), root.follows(), root.place()), (false, false, None));
            let parent = root.of_child().near(7).with_locks().following().near(3);
            let own = (parent.has_locks(), parent.follows(), parent.place());
            assert_eq!(own, (true, true, Some(3)));
            assert_eq!((parent.has_notes(), parent.goes_round()), (is(3), is(4)));
            assert_eq!(root.has_belongings(), is(3));
            assert!(parent.has_belongings());
            assert!(!parent.is_nothing());
            assert_eq!(parent.of_child(), root);
        }
        assert_eq!(Special::default().near(0).place(), Some(0));
        assert!(
            !Special::default().near(0).is_nothing()
                && !Special::default().with_locks().is_nothing()
        );
    }
}
