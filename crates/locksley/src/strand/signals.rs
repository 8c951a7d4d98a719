//! The paths of signals that count: each lets somebody go on who waits for so many, once.

use std::collections::VecDeque;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Weak};

use super::told::Strand;
use crate::meter::{Path, Region};
use crate::primitive::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, UnsafeCell};

/// The paths of the signals to a metered thread: the first that was sent is that of the first which is waited for. So a signal that comes early, for a
/// later wait, is on no path of what an earlier one lets go.
///
/// Who signals leaves its path [before](Self::send) it gives the signal, and who has got so many signals takes as many paths, so these are there. They are
/// pushed onto a stack (Treiber 1986) that who waits takes as a whole: nobody compares with what another one could have taken meanwhile, so
/// nothing is freed that is looked at. What was taken, the one who waits keeps in the order in which it was sent.
pub(crate) struct SignalPaths {
    /// The outermost one of those in which the thread was created. Not kept: its accounts go with its last strand.
    region: Weak<Region>,
    /// That of the region.
    number: u64,
    /// The last that was sent, of those that nobody has taken.
    newest: AtomicPtr<Sent>,
    /// Whether the thread waits for no more of them.
    is_closed: AtomicBool,
    /// Whether somebody takes paths. Nobody waits for that: who finds it so takes none.
    is_read: AtomicBool,
    /// So many paths are of signals which somebody has got who found it so.
    to_skip: AtomicUsize,
    /// The oldest first. Of who reads.
    taken: UnsafeCell<VecDeque<Option<Path>>>,
}

// SAFETY: the cell is used by one at a time, who has set `is_read`.
unsafe impl Sync for SignalPaths {}

// Whatever panics, nobody is in the middle of anything with what is in the cell.
impl RefUnwindSafe for SignalPaths {}

/// A signal that was sent.
struct Sent {
    /// `None` if it is not known. Of who has made this, and then of who has taken it out.
    path: UnsafeCell<Option<Path>>,
    before: *mut Sent,
}

/// What was taken for some signals.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// The longest path of those that are known.
    longest: Option<Path>,
    /// Whether all are.
    are_known: bool,
}

impl SignalPaths {
    /// Those of a thread that is created in that region.
    pub(crate) fn new(region: &Arc<Region>) -> Self {
        Self {
            region: Arc::downgrade(Region::outermost(region)),
            number: region.number(),
            newest: AtomicPtr::new(ptr::null_mut()),
            is_closed: AtomicBool::new(false),
            is_read: AtomicBool::new(false),
            to_skip: AtomicUsize::new(0),
            taken: UnsafeCell::new(VecDeque::new()),
        }
    }

    /// Whether anybody may still ask for them. When nobody does, none are left any more, nor taken.
    fn are_wanted(&self) -> bool {
        self.region.upgrade().is_some_and(|region| !region.is_over())
    }

    /// The calling thread is about to give a signal.
    #[cold]
    pub(crate) fn send(&self) {
        // Relaxed: what is left by who sees it late, once, is there until this is dropped.
        if !self.is_closed.load(Ordering::Relaxed) && self.are_wanted() {
            self.push(Strand::with_current(|strand| {
                let its = strand.filter(|strand| strand.region().number() == self.number)?;
                Some(its.path_from_here())
            }));
        }
    }

    /// Nobody will wait for any more of them: none are kept from now on.
    #[cold]
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // Acquire pairs with the release in `take`.
        if !self.is_read.swap(true, Ordering::Acquire) {
            self.taken.with_mut(|taken| {
                // SAFETY: nobody else is here meanwhile.
                let taken = unsafe { &mut *taken };
                self.take_in(taken);
                *taken = VecDeque::new();
            });
            // Release pairs with the acquire above, and in `take`.
            self.is_read.swap(false, Ordering::Release);
        }
    }

    /// How many are kept.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn kept(&self) -> usize {
        assert!(!self.is_read.swap(true, Ordering::Acquire), "nobody waits meanwhile");
        let kept = self.taken.with_mut(|taken| {
            // SAFETY: nobody else is here meanwhile.
            let taken = unsafe { &mut *taken };
            self.take_in(taken);
            taken.len()
        });
        self.is_read.swap(false, Ordering::Release);
        kept
    }

    fn push(&self, path: Option<Path>) {
        let sent =
            Box::into_raw(Box::new(Sent { path: UnsafeCell::new(path), before: ptr::null_mut() }));
        // Relaxed: it is not looked at.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: ours, until it has been pushed.
            unsafe { (*sent).before = newest };
            // Release pairs with the acquire in `take`: what was sent is seen.
            let release = Ordering::Release;
            match self.newest.compare_exchange(newest, sent, release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// The calling thread has got so many signals; it goes on after them, if it runs that strand.
    #[cold]
    pub(crate) fn receive(&self, signals: usize, strand: Option<Strand<'_>>) {
        if !self.are_wanted() {
            // It is of another region, or of one inside of the one that has reported.
            return strand.into_iter().for_each(Strand::has_uncarried);
        }
        let Taken { longest, are_known } = self.take(signals);
        let Some(strand) = strand else { return };
        let is_its = strand.region().number() == self.number;
        longest.filter(|_| is_its).into_iter().for_each(|path| strand.goes_on_after(path));
        if !(is_its && are_known) {
            strand.has_uncarried();
        }
    }

    fn take(&self, signals: usize) -> Taken {
        // Acquire pairs with the release below: what the last one has done with the cell is seen.
        if self.is_read.swap(true, Ordering::Acquire) {
            // Release pairs with the acquire in `take_of`: the paths of these signals are there.
            self.to_skip.fetch_add(signals, Ordering::Release);
            return Taken { longest: None, are_known: signals == 0 };
        }
        // SAFETY: nobody else is here meanwhile.
        let taken = self.taken.with_mut(|taken| self.take_of(unsafe { &mut *taken }, signals));
        // Release pairs with the acquire above.
        self.is_read.swap(false, Ordering::Release);
        taken
    }

    /// The same, of what was taken before, and all that has come since.
    fn take_of(&self, taken: &mut VecDeque<Option<Path>>, signals: usize) -> Taken {
        // Acquire pairs with the release in `take`; so it comes first.
        let to_skip = self.to_skip.swap(0, Ordering::Acquire);
        self.take_in(taken);
        drop(taken.drain(..to_skip.min(taken.len())));
        let mut are_known = taken.len() >= signals;
        let mut longest: Option<Path> = None;
        for path in taken.drain(..signals.min(taken.len())) {
            are_known &= path.is_some();
            longest = match (longest, path) {
                (Some(longest), Some(path)) => Some(longest.meet(path)),
                (one, other) => one.or(other),
            };
        }
        Taken { longest, are_known }
    }

    /// Takes all that was sent, behind what was taken before.
    fn take_in(&self, taken: &mut VecDeque<Option<Path>>) {
        // Acquire pairs with the release in `push`, and those of all that was pushed before: each was pushed by a read-modify-write.
        let mut next = self.newest.swap(ptr::null_mut(), Ordering::Acquire);
        let before = taken.len();
        while let Some(sent) = NonNull::new(next) {
            // SAFETY: made of a box in `push`; taken out, so nobody else has it.
            let sent = unsafe { Box::from_raw(sent.as_ptr()) };
            // SAFETY: as above.
            taken.push_back(sent.path.with(|path| unsafe { *path }));
            next = sent.before;
        }
        taken.make_contiguous()[before..].reverse();
    }
}

impl Drop for SignalPaths {
    fn drop(&mut self) {
        self.take_in(&mut VecDeque::new());
    }
}

impl fmt::Debug for SignalPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignalPaths")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::meter::Clock;

    fn path(span: i64) -> Option<Path> {
        Some(Path { span, ..Path::default() })
    }

    /// The longest path, and whether all are known.
    fn taken(paths: &SignalPaths, signals: usize) -> (Option<i64>, bool) {
        let Taken { longest, are_known } = paths.take(signals);
        (longest.map(|path| path.span), are_known)
    }

    #[test]
    fn the_first_that_was_sent_is_the_first_that_is_taken() {
        let region = Arc::new(Region::new(Clock::Virtual, 1));
        let paths = SignalPaths::new(&region);
        assert_eq!(taken(&paths, 0), (None, true));
        [5, 9, 2].into_iter().for_each(|span| paths.push(path(span)));
        assert_eq!(taken(&paths, 1), (Some(5), true));
        [1, 20].into_iter().for_each(|span| paths.push(path(span)));
        assert_eq!(taken(&paths, 3), (Some(9), true));
        paths.push(None);
        paths.push(path(7));
        assert_eq!(taken(&paths, 1), (Some(20), true));
        assert_eq!(taken(&paths, 2), (Some(7), false), "one is not known");
        assert_eq!(taken(&paths, 1), (None, false), "there is none");
    }

    /// Who comes in between takes none, and waits for nobody; what it would have had is nobody's.
    #[test]
    fn who_finds_another_one_at_it_leaves_its_own_to_be_skipped() {
        let region = Arc::new(Region::new(Clock::Virtual, 1));
        let paths = SignalPaths::new(&region);
        (1..=4).for_each(|span| paths.push(path(span)));
        paths.is_read.store(true, Ordering::Relaxed);
        assert_eq!(taken(&paths, 2), (None, false));
        paths.is_read.store(false, Ordering::Relaxed);
        assert_eq!(taken(&paths, 1), (Some(3), true));
        assert_eq!(taken(&paths, 1), (Some(4), true));
    }

    /// What nobody will ask for is not kept.
    #[test]
    fn nothing_is_left_after_the_report() {
        let region = Arc::new(Region::new(Clock::Virtual, 1));
        let paths = SignalPaths::new(&region);
        paths.send();
        region.last_figures(&Path::default());
        paths.send();
        assert_eq!(taken(&paths, 1), (None, false), "this thread runs no strand");
        assert!(paths.newest.load(Ordering::Relaxed).is_null());
        assert_eq!(taken(&paths, 1), (None, false), "there is none");
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::meter::Clock;

    /// Two signal, and one waits for one signal after the other: each time the path of one is there, whole, and none is had twice.
    #[test]
    fn loom_signals_have_left_their_paths_before_they_are_seen() {
        loom::model(|| {
            let region = Arc::new(Region::new(Clock::Monotonic, 1));
            let all = loom::sync::Arc::new((SignalPaths::new(&region), AtomicUsize::new(0)));
            let others = [3, 5].map(|span| {
                let there = all.clone();
                thread::spawn(move || {
                    there.0.push(Some(Path { span, ..Path::default() }));
                    // As a semaphore gives a permit.
                    there.1.fetch_add(1, Ordering::Release);
                })
            });
            let (paths, permits) = &*all;
            let take = || {
                let taken = paths.take(1);
                assert!(taken.are_known, "it was left before");
                taken.longest.expect("it is known").span
            };
            let early: usize = permits.load(Ordering::Acquire);
            let mut sum = 0;
            for _ in 0..early {
                sum += take();
            }
            others.into_iter().for_each(|other| other.join().unwrap());
            for _ in early..2 {
                sum += take();
            }
            assert_eq!(sum, 8);
        });
    }

    /// Two wait at the same time: neither waits for the other, and what is left is what nobody has waited for.
    #[test]
    fn loom_signals_two_take_paths_at_once() {
        loom::model(|| {
            let region = Arc::new(Region::new(Clock::Monotonic, 1));
            let all = loom::sync::Arc::new(SignalPaths::new(&region));
            let push = |paths: &SignalPaths, span| {
                paths.push(Some(Path { span, ..Path::default() }));
            };
            push(&all, 1);
            push(&all, 2);
            let there = all.clone();
            let other = thread::spawn(move || there.take(1).longest.map_or(0, |path| path.span));
            let one = all.take(1).longest.map_or(0, |path| path.span);
            let other = other.join().unwrap();
            assert!(one + other > 0 && one != other, "{one} {other}");
            push(&all, 5);
            assert_eq!(all.take(1).longest.map(|path| path.span), Some(5));
        });
    }
}
