//! The board: how many processors the pools of one user want on this machine.
//!
//! Each pool has a *seat*, and writes there how many processors it wants. It takes its share of all
//! by *water-filling*: a pool that wants less than an equal part gets what it wants, and the others
//! divide the rest equally (max-min fairness: Bertsekas and Gallager, "Data Networks", section
//! 6.5).
//!
//! Nothing depends on a seat but speed: accesses are relaxed, and a pool whose process is killed
//! is forgotten after [`FORGOTTEN`].

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::system;
use crate::primitive::Ordering;
use crate::primitive::plain::AtomicU64;

/// A seat that has not been written for this long does not count: its pool is idle, or gone, or all
/// of its workers run long tasks.
const FORGOTTEN: Duration = Duration::from_millis(200);

/// A pool says what it wants in units of 1/`PARTS` of a processor.
pub const PARTS: u32 = 256;

/// What one pool has written.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Seat {
    /// The pool; 0 while no pool has had the seat.
    owner: AtomicU64,
    /// When the pool last wrote, in milliseconds, and what it wanted: see [`Note`].
    note: AtomicU64,
}

#[cfg(any(manycore, all(test, not(loom))))]
impl Seat {
    pub(super) const fn new() -> Self {
        Self { owner: AtomicU64::new(0), note: AtomicU64::new(0) }
    }
}

/// What is written on a seat, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    millis: u64,
    /// In units of 1/[`PARTS`].
    wanted: u32,
}

impl Note {
    const BITS_OF_WANTED: u32 = 24;

    fn pack(self) -> u64 {
        let most = (1 << Self::BITS_OF_WANTED) - 1;
        self.millis << Self::BITS_OF_WANTED | u64::from(self.wanted.min(most))
    }

    fn unpack(word: u64) -> Self {
        let wanted = word as u32 & ((1 << Self::BITS_OF_WANTED) - 1);
        Self { millis: word >> Self::BITS_OF_WANTED, wanted }
    }

    fn is_fresh(self, now: u64) -> bool {
        now.abs_diff(self.millis) <= FORGOTTEN.as_millis() as u64
    }
}

/// A pool's place at the board.
#[derive(Debug)]
pub struct Board {
    seats: &'static [Seat],
    seat: usize,
    /// Random: one process may have different numbers in different namespaces.
    owner: u64,
    generation: u32,
}

impl Board {
    /// The board of this user. `None` where there is none, or it cannot be made.
    pub fn open() -> Option<Self> {
        Some(Self::at(system::seats()?, new_owner()))
    }

    /// A board with these seats. `owner` is not 0.
    pub(super) fn at(seats: &'static [Seat], owner: u64) -> Self {
        Self { seats, seat: 0, owner, generation: system::generation() }
    }

    /// Writes what the pool wants, and returns its share of so many processors: at least one.
    /// `None` if there are more pools than seats. `wanted` is in units of 1/[`PARTS`].
    pub fn exchange(&mut self, wanted: u32, processors: usize) -> Option<usize> {
        self.exchange_at(system::monotonic_time(), wanted, processors)
    }

    fn exchange_at(&mut self, now: Duration, wanted: u32, processors: usize) -> Option<usize> {
        let now = now.as_millis() as u64;
        if self.generation != system::generation() {
            // The seat is that of the process from which this one was forked.
            (self.owner, self.generation) = (new_owner(), system::generation());
        }
        let own = self.take_seat(now)?;
        own.note.store(Note { millis: now, wanted }.pack(), Ordering::Relaxed);
        let notes = self.seats.iter().enumerate().filter(|(seat, _)| *seat != self.seat);
        let others: Vec<(usize, u32)> = notes
            .map(|(seat, it)| (seat, Note::unpack(it.note.load(Ordering::Relaxed))))
            .filter(|(_, note)| note.wanted > 0 && note.is_fresh(now))
            .map(|(seat, note)| (seat, note.wanted))
            .collect();
        Some(share(processors, self.seat, others))
    }

    /// The pool's seat: another one if it was forgotten, and another pool has taken it.
    fn take_seat(&mut self, now: u64) -> Option<&'static Seat> {
        let seats = self.seats;
        if seats.get(self.seat)?.owner.load(Ordering::Relaxed) != self.owner {
            self.seat = seats.iter().position(|seat| {
                let owner = seat.owner.load(Ordering::Relaxed);
                let is_free =
                    owner == 0 || !Note::unpack(seat.note.load(Ordering::Relaxed)).is_fresh(now);
                let (relaxed, own) = (Ordering::Relaxed, self.owner);
                is_free && seat.owner.compare_exchange(owner, own, relaxed, relaxed).is_ok()
            })?;
        }
        Some(&seats[self.seat])
    }
}

impl Drop for Board {
    /// The pool wants nothing more.
    fn drop(&mut self) {
        let is_own = self.generation == system::generation();
        let own = self.seats.get(self.seat).filter(|_| is_own);
        if let Some(own) = own.filter(|own| own.owner.load(Ordering::Relaxed) == self.owner) {
            own.note.store(0, Ordering::Relaxed);
        }
    }
}

fn new_owner() -> u64 {
    // A forked child has the random state of its parent.
    RandomState::new().hash_one(std::process::id()) | 1
}

/// The share of the pool at `seat`, which wants all that it can get, beside `others`: their seats,
/// and what they want. The remainder of the division goes to the first seats.
fn share(processors: usize, seat: usize, mut others: Vec<(usize, u32)>) -> usize {
    let mut left = processors as u64 * u64::from(PARTS);
    others.sort_unstable_by_key(|&(_, wanted)| wanted);
    let mut equals = others.len();
    for &(_, wanted) in &others {
        if u64::from(wanted) * (equals as u64 + 1) > left {
            break;
        }
        left -= u64::from(wanted);
        equals -= 1;
    }
    let before = others[others.len() - equals..].iter().filter(|(other, _)| *other < seat).count();
    // Rounded, so that a pool that wants next to nothing gets just that.
    let (whole, all) = (((left + u64::from(PARTS) / 2) / u64::from(PARTS)) as usize, equals + 1);
    (whole / all + usize::from(before < whole % all)).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(1000 + millis)
    }

    #[test]
    fn pools_that_want_little_get_it_and_the_others_divide_the_rest() {
        let wants = |wanted: &[u32]| -> Vec<(usize, u32)> {
            wanted.iter().enumerate().map(|(at, it)| (at + 1, it * PARTS)).collect()
        };
        assert_eq!(share(8, 0, wants(&[])), 8);
        assert_eq!(share(8, 0, wants(&[8])), 4);
        assert_eq!(share(8, 0, wants(&[2])), 6);
        assert_eq!(share(8, 0, wants(&[4])), 4);
        assert_eq!(share(8, 0, wants(&[1, 8])), 4, "7 for two: the first seat gets 4");
        assert_eq!(share(8, 9, wants(&[1, 8])), 3, "and the last one 3");
        assert_eq!(share(2, 9, wants(&[2, 2, 2, 2])), 1, "never less than one");
        assert_eq!(share(64, 0, wants(&[64; 15])), 4);
        assert_eq!(share(4, 0, vec![(1, PARTS / 2)]), 4, "half a processor is not taken");
        assert_eq!(share(4, 0, vec![(1, PARTS / 2 + 1)]), 3);
    }

    #[test]
    fn shares_add_up_to_the_processors() {
        for (processors, pools) in [(64, 3), (16, 5), (7, 7), (9, 2), (256, 17)] {
            let all: usize = (0..pools)
                .map(|seat| {
                    let others = (0..pools).filter(|&other| other != seat);
                    share(processors, seat, others.map(|it| (it, 1 << 20)).collect())
                })
                .sum();
            assert_eq!(all, processors, "{pools} pools");
        }
    }

    #[test]
    fn pools_see_each_other_until_they_leave_or_are_silent() {
        static SEATS: [Seat; 3] = [const { Seat::new() }; 3];
        let (mut a, mut b) = (Board::at(&SEATS, 1), Board::at(&SEATS, 3));
        assert_eq!(a.exchange_at(at(0), 8 * PARTS, 8), Some(8));
        assert_eq!(b.exchange_at(at(1), 8 * PARTS, 8), Some(4));
        assert_eq!(a.exchange_at(at(10), 2 * PARTS, 8), Some(4));
        assert_eq!(b.exchange_at(at(11), 8 * PARTS, 8), Some(6), "the other wants two");
        assert_eq!(b.exchange_at(at(210), 8 * PARTS, 8), Some(6));
        assert_eq!(b.exchange_at(at(211), 8 * PARTS, 8), Some(8), "the other is silent");
        assert_eq!(a.exchange_at(at(212), 8 * PARTS, 8), Some(4));
        drop(b);
        assert_eq!(a.exchange_at(at(213), 8 * PARTS, 8), Some(8));
    }

    #[test]
    fn a_seat_that_was_forgotten_is_taken_and_its_pool_takes_another() {
        static SEATS: [Seat; 2] = [const { Seat::new() }; 2];
        let [mut a, mut b, mut c] = [1, 3, 5].map(|owner| Board::at(&SEATS, owner));
        assert_eq!(a.exchange_at(at(0), PARTS, 4), Some(4));
        assert_eq!(b.exchange_at(at(0), PARTS, 4), Some(3));
        assert_eq!(c.exchange_at(at(100), PARTS, 4), None, "there is no seat left");
        assert_eq!(c.exchange_at(at(201), PARTS, 4), Some(4));
        assert_eq!(a.exchange_at(at(202), PARTS, 4), Some(3));
        assert_eq!((c.seat, a.seat), (0, 1));
        assert_eq!(b.exchange_at(at(203), PARTS, 4), None);
    }

    #[test]
    fn a_note_is_one_word() {
        let note = Note { millis: 1 << 39, wanted: 77 };
        assert_eq!(Note::unpack(note.pack()), note);
        let much = Note { millis: 5, wanted: u32::MAX };
        assert_eq!(Note::unpack(much.pack()), Note { millis: 5, wanted: (1 << 24) - 1 });
    }
}
