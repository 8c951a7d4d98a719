//! Which victim an attempt chooses.
//!
//! - The first attempt of nearly all searches goes to the victim of the last steal: where one
//!   worker has all tasks, its thieves need not look for it among all (ADR 019). One search in 61
//!   begins as the next line says, so that a victim that always has tasks does not hide those of a
//!   worker that is blocked or suspended.
//! - Other attempts choose at random: in a pool with several places, among near victims first.
//!   Otherwise all are equally likely, as in Blumofe and Leiserson (JACM 1999), whose analysis does
//!   not cover the two exceptions.

use super::Seeker;
use crate::numbers::{Index, Slot};
use crate::tuning::{ALL_SLOTS_EVERY, LOOK_ELSEWHERE_AFTER};

/// The generator is xorshift64* (Marsaglia, "Xorshift RNGs", 2003; Vigna 2016). It takes a few
/// cycles and shares nothing.
#[derive(Debug)]
pub(crate) struct Victims {
    state: u64,
    /// The victim of the last steal, until the next search begins.
    last: Option<Slot>,
}

impl Victims {
    pub(crate) fn new(thief: Slot) -> Self {
        // Any odd constant spreads small numbers over the word; the state must not be 0.
        let state = (thief.get() as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { state, last: None }
    }

    /// The next search begins with this victim, of which the last one took a task.
    pub(super) fn remember(&mut self, victim: Slot) {
        self.last = Some(victim);
    }

    /// The victim of the attempt after so many `failures`. `None` if it falls on the thief itself.
    pub(super) fn choose(&mut self, seeker: Seeker<'_>, failures: u64) -> Option<Slot> {
        let shared = seeker.shared;
        if let Some(last) = self.last.take().filter(|&last| last != seeker.slot) {
            if self.below(LOOK_ELSEWHERE_AFTER as usize) > 0 {
                return Some(last);
            }
        }
        let victim = if self.below(ALL_SLOTS_EVERY) == 0 {
            Slot::new(self.other(shared.slots_taken(), seeker.slot.get()))
        } else {
            let index = self.choose_index(seeker, failures);
            let slot = index.slot();
            // The thread with that index, or a guest, whose slots come next.
            let is_worker = index.get() < shared.workers;
            if is_worker && (slot == seeker.slot || shared.slot(slot).has_empty_deque()) {
                shared.index_lock(index).holder()
            } else {
                slot
            }
        };
        (victim != seeker.slot).then_some(victim)
    }

    /// A worker, or a guest, whose number comes after those of the workers. The first attempts of a
    /// search, as many as the place has workers and guests, choose among these; then half of them
    /// do, and the others choose among all.
    fn choose_index(&mut self, seeker: Seeker<'_>, failures: u64) -> Index {
        let shared = seeker.shared;
        let (here, guests) = (shared.neighbours_of(seeker.index), shared.guests_seen());
        let near = here.len() + guests;
        let is_near = near > 1 && (failures < near as u64 || self.below(2) == 0);
        let among = if is_near { here } else { 0..shared.workers };
        let chosen = self.other(among.len() + guests, seeker.index.get() - among.start);
        let guest = chosen.checked_sub(among.len());
        Index::new(guest.map_or(among.start + chosen, |guest| shared.workers + guest))
    }

    /// All slots but the thief's own: those of its place first, each group from a random one on.
    pub(super) fn all_near_first(&mut self, seeker: Seeker<'_>) -> Vec<Slot> {
        let shared = seeker.shared;
        let near = shared.neighbours_of(seeker.index);
        let far = (near.end..shared.slots_taken()).chain(0..near.start);
        let mut slots: Vec<_> = near.clone().chain(far).map(Slot::new).collect();
        let (near, far) = slots.split_at_mut(near.len());
        near.rotate_left(self.below(near.len().max(1)));
        far.rotate_left(self.below(far.len().max(1)));
        slots.retain(|&slot| slot != seeker.slot);
        slots
    }

    /// A number below `count`, which is not 0, other than `own` if there is another.
    fn other(&mut self, count: usize, own: usize) -> usize {
        if count < 2 {
            return 0;
        }
        let chosen = self.below(count - 1);
        if chosen < own { chosen } else { chosen + 1 }
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        // Multiply and shift (Lemire 2019) instead of a division.
        ((random * bound as u64) >> 32) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Pool;
    use crate::pool::tests::divided;
    use crate::shared::Shared;
    use crate::sleep::WakeToken;

    /// Calls `check` for each thief of pools of several shapes, of which none has a guest: with the
    /// shape, the pool, and the thief.
    fn thieves(check: impl Fn(&[usize], &Shared, Seeker<'_>)) {
        for shape in [&[1, 1][..], &[1, 3], &[2, 2, 1], &[3, 1, 2, 2], &[4]] {
            let pool = divided(shape).own_threads_only().build().unwrap();
            let (shared, wake_token) = (pool.shared_now(), &WakeToken::new(0..usize::MAX));
            for worker in 0..pool.workers() {
                let index = Index::new(worker);
                let slot = index.slot();
                check(shape, shared, Seeker { shared, slot, index, wake_token, idle: None });
            }
        }
    }

    /// How often each slot is the victim of so many attempts after so many failures.
    fn times(seeker: Seeker<'_>, failures: u64, attempts: usize) -> Vec<usize> {
        let mut times = vec![0; seeker.shared.workers];
        let mut victims = Victims::new(seeker.slot);
        for _ in 0..attempts {
            if let Some(victim) = victims.choose(seeker, failures) {
                times[victim.get()] += 1;
            }
        }
        times
    }

    #[test]
    fn all_slots_but_the_thiefs_own_are_tried_even_if_all_searches_are_short() {
        thieves(|shape, _, seeker| {
            for failures in [0, 1000] {
                for (slot, times) in times(seeker, failures, 4000).iter().enumerate() {
                    let is_own = slot == seeker.slot.get();
                    assert_eq!(
                        *times > 0,
                        !is_own,
                        "{shape:?} {seeker_slot:?} {slot}",
                        seeker_slot = seeker.slot
                    );
                }
            }
        });
    }

    #[test]
    fn nearly_all_searches_begin_with_the_victim_of_the_last_steal() {
        thieves(|_, shared, seeker| {
            for slot in (0..shared.workers).map(Slot::new) {
                let mut victims = Victims::new(seeker.slot);
                let mut elsewhere = 0;
                for _ in 0..61 * 100 {
                    victims.remember(slot);
                    elsewhere += u32::from(victims.choose(seeker, 0) != Some(slot));
                }
                if slot == seeker.slot {
                    assert_eq!(elsewhere, 61 * 100, "it is no victim of itself");
                } else if shared.workers > 2 {
                    assert!((1..150).contains(&elsewhere), "{elsewhere}");
                }
                // A search that has failed there goes on by chance.
                victims.remember(slot);
                victims.choose(seeker, 0);
                let next: Vec<_> = (1..40).map(|it| victims.choose(seeker, it)).collect();
                assert!(shared.workers == 2 || next.iter().any(|it| *it != next[0]));
            }
        });
    }

    /// One of eight attempts chooses among all.
    #[test]
    fn the_own_place_comes_first_for_as_many_attempts_as_it_has_workers() {
        thieves(|shape, shared, seeker| {
            let here = shared.neighbours_of(seeker.index);
            if here.len() == shared.workers {
                return;
            }
            let neighbours = here.len() as u64 - 1;
            let far = |failures| {
                let times = times(seeker, failures, 8000);
                let far = times.iter().enumerate().filter(|(slot, _)| !here.contains(slot));
                far.map(|(_, times)| times).sum::<usize>()
            };
            if neighbours > 0 {
                assert!(far(neighbours) <= 1100, "{shape:?}");
                // Half of the others are in the own place, and half anywhere.
                let anywhere = 1000 + 7000 / 2;
                let expected = anywhere * (shared.workers - here.len()) / (shared.workers - 1);
                let range = expected * 9 / 10..=expected * 11 / 10;
                assert!(range.contains(&far(neighbours + 1)), "{shape:?}");
            } else {
                assert!(far(0) > 7000, "{shape:?}: it is alone");
            }
        });
    }

    #[test]
    fn a_sweep_looks_at_all_slots_and_at_the_own_place_first() {
        thieves(|shape, shared, seeker| {
            let near = shared.neighbours_of(seeker.index);
            let mut first = Vec::new();
            for _ in 0..40 {
                let all = Victims::new(Slot::new(first.len())).all_near_first(seeker);
                let is_near = |slot: &Slot| near.contains(&slot.get());
                assert!(all.iter().map(is_near).is_sorted_by(|a, b| a >= b), "{shape:?}: {all:?}");
                let mut sorted: Vec<_> = all.iter().map(|slot| slot.get()).collect();
                sorted.sort_unstable();
                let expected: Vec<_> =
                    (0..shared.workers).filter(|&slot| slot != seeker.slot.get()).collect();
                assert_eq!(sorted, expected, "{shape:?}");
                first.push(all[0]);
            }
            first.dedup();
            assert!(first.len() > 1 || shared.workers == 2 || near.len() == 2, "{shape:?}");
        });
    }

    #[test]
    fn the_only_worker_of_a_pool_has_no_victim() {
        let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
        let (shared, wake_token) = (pool.shared_now(), &WakeToken::new(0..usize::MAX));
        let (index, slot) = (Index::new(0), Slot::new(0));
        let seeker = Seeker { shared, slot, index, wake_token, idle: None };
        let mut victims = Victims::new(slot);
        assert!((0..100).all(|failures| victims.choose(seeker, failures).is_none()));
        assert!(victims.all_near_first(seeker).is_empty());
    }
}
