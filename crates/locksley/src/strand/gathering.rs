//! Where the paths meet of all who signal, before those go on who wait for that.

use std::fmt;
use std::ptr::{self, NonNull};
// Not those of the stall harness: what signals there without a strand would have more steps whenever another test meters something.
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::sync::{Arc, Weak};

use super::told::Strand;
use crate::meter::{self, Meeting, Region, Told};
#[cfg(loom)]
use crate::primitive::{AtomicBool, AtomicPtr};
use crate::primitive::{Ordering, const_unless_loom};

/// The paths that arrive at something which opens when all have come, in each of so many of its rounds.
///
/// Who signals [arrives](Self::arrive) *before* it does what lets others go on, and who goes on [passes](Self::pass) *after* it has seen that: the
/// protocol of what is waited for hands over what has arrived. It is the first region's whose strand arrives, as long as it is there. Nothing is
/// made before.
pub(crate) struct Gathering<const ROUNDS: usize> {
    /// Null: nobody has arrived whom anybody might ask for.
    there: AtomicPtr<There<ROUNDS>>,
}

struct There<const ROUNDS: usize> {
    /// That of the region.
    number: u64,
    /// The outermost one. Not kept: its accounts go with its last strand.
    region: Weak<Region>,
    rounds: [Meeting; ROUNDS],
    /// Whether anybody has arrived whose path is not here.
    lacks_some: AtomicBool,
}

impl<const ROUNDS: usize> There<ROUNDS> {
    fn new(region: &Arc<Region>, lacks_some: bool) -> Self {
        Self {
            number: region.number(),
            region: Arc::downgrade(Region::outermost(region)),
            rounds: [(); ROUNDS].map(|()| Meeting::new()),
            lacks_some: AtomicBool::new(lacks_some),
        }
    }

    fn lacks_some(&self) {
        // Relaxed, as the paths: who reads it has learnt by what it waited for that this has been said.
        self.lacks_some.store(true, Ordering::Relaxed);
    }

    /// Whether all who have arrived did so in the name of a region that nobody asks any more: before the next one began.
    fn is_past(&self) -> bool {
        let is_open = self.region.upgrade().is_some_and(|region| !region.is_over());
        !is_open && !self.lacks_some.load(Ordering::Relaxed)
    }
}

/// What was found there.
enum Found<'g, const ROUNDS: usize> {
    Nobody,
    /// Somebody has arrived whose path is not known, and nobody else.
    Stranger,
    There(&'g There<ROUNDS>),
}

impl<const ROUNDS: usize> Gathering<ROUNDS> {
    const STRANGER: *mut There<ROUNDS> = ptr::without_provenance_mut(align_of::<There<ROUNDS>>());

    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { there: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// The caller is about to do what lets others go on, in that round.
    #[inline]
    pub(crate) fn arrive(&self, round: usize) {
        if meter::is_on() {
            self.arrives(round);
        }
    }

    #[cold]
    fn arrives(&self, round: usize) {
        Strand::with_current(|strand| match strand {
            Some(strand) => {
                let there = self.of(strand.region());
                if there.number == strand.region().number() {
                    there.rounds[round].arrive(&strand.path_from_here());
                } else {
                    there.lacks_some();
                }
            }
            None => self.stranger_arrives(),
        });
    }

    fn stranger_arrives(&self) {
        // Relaxed: this says no more than that.
        let order = Ordering::Relaxed;
        // Once more at most: what is there does not go away.
        loop {
            match self.found() {
                Found::Stranger => return,
                Found::There(there) => return there.lacks_some(),
                Found::Nobody => {
                    let null = ptr::null_mut();
                    let _ = self.there.compare_exchange(null, Self::STRANGER, order, order);
                }
            }
        }
    }

    /// The calling thread goes on, if it runs a strand, after what has arrived in that round: it has seen that all have come.
    #[inline]
    pub(crate) fn pass(&self, round: usize) {
        if meter::is_on() {
            Strand::with_current(|strand| self.pass_by(strand, round));
        }
    }

    /// The same in the middle of a poll, which tells that it has found this.
    #[inline]
    pub(crate) fn pass_and_tell(&self, round: usize) {
        if meter::is_on() {
            Strand::with_current(|strand| {
                self.pass_by(strand, round);
                strand.into_iter().for_each(|strand| strand.tells(Told::Found));
            });
        }
    }

    /// The same for that strand.
    #[cold]
    pub(crate) fn pass_by(&self, strand: Option<Strand<'_>>, round: usize) {
        let Some(strand) = strand else { return };
        match self.found() {
            Found::Nobody => {}
            Found::Stranger => strand.has_uncarried(),
            Found::There(there) if there.number == strand.region().number() => {
                strand.comes_after(&there.rounds[round]);
                if there.lacks_some.load(Ordering::Relaxed) {
                    strand.has_uncarried();
                }
            }
            Found::There(there) if there.is_past() => {}
            Found::There(_) => strand.has_uncarried(),
        }
    }

    fn found(&self) -> Found<'_, ROUNDS> {
        // Acquire pairs with the release in `of`: what is there has been made.
        let there = self.there.load(Ordering::Acquire);
        if there == Self::STRANGER {
            return Found::Stranger;
        }
        // SAFETY: made of a box in `of`, and freed with this.
        NonNull::new(there).map_or(Found::Nobody, |it| Found::There(unsafe { it.as_ref() }))
    }

    /// What is there; if there is nothing, it is that region's from now on.
    fn of(&self, region: &Arc<Region>) -> &There<ROUNDS> {
        loop {
            let (before, lacks_some) = match self.found() {
                Found::There(there) => return there,
                Found::Nobody => (ptr::null_mut(), false),
                Found::Stranger => (Self::STRANGER, true),
            };
            let new = Box::into_raw(Box::new(There::new(region, lacks_some)));
            // Release pairs with the acquire in `found`.
            let release = Ordering::Release;
            if self.there.compare_exchange(before, new, release, Ordering::Relaxed).is_err() {
                // SAFETY: just made, and nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
}

impl<const ROUNDS: usize> Drop for Gathering<ROUNDS> {
    fn drop(&mut self) {
        // Relaxed: whoever drops it has it alone.
        let there = self.there.load(Ordering::Relaxed);
        if !there.is_null() && there != Self::STRANGER {
            // SAFETY: made of a box in `of`, and nobody uses it any more.
            drop(unsafe { Box::from_raw(there) });
        }
    }
}

impl<const ROUNDS: usize> fmt::Debug for Gathering<ROUNDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gathering")
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::countdown::Countdown;
    use crate::meter::{Clock, Path};

    fn arrives((gathering, missing): &(Gathering<1>, Countdown), region: &Arc<Region>, span: i64) {
        gathering.of(region).rounds[0].arrive(&Path { span, ..Path::default() });
        let _ = missing.end();
    }

    /// Who sees that all have come finds the longest path of those who have; the place is made by either, once.
    #[test]
    fn loom_gathering_who_has_seen_that_all_have_come_finds_the_longest_path() {
        for spans in [[2, 3], [3, 2]] {
            loom::model(move || {
                let region = Arc::new(Region::new(Clock::Monotonic, 1));
                let all = loom::sync::Arc::new((Gathering::<1>::new(), Countdown::new(2)));
                let (there, its) = (all.clone(), Arc::clone(&region));
                let other = thread::spawn(move || arrives(&there, &its, spans[0]));
                arrives(&all, &region, spans[1]);
                let (gathering, missing) = &*all;
                if missing.left() == 0 {
                    let Found::There(there) = gathering.found() else { panic!("both are there") };
                    assert_eq!(there.rounds[0].latest().map(|path| path.span), Some(3));
                    assert!(!there.lacks_some.load(Ordering::Relaxed));
                }
                other.join().unwrap();
            });
        }
    }
}
