//! Loops whose iterations wait for others by number (`depend(sink)` and `depend(source)`).
//!
//! One thread executes an iteration that the team shares, and the inner iterations within it in
//! ascending order. So for each shared iteration one word tells how far it has come: the number of
//! the last inner iteration that was posted, plus 1.

use locksley_sys::primitive::{AtomicU64, Ordering};

use crate::race_detector;
use crate::waiting::Event;

/// How far the iterations of such a loop have come.
#[derive(Debug)]
pub(crate) struct Doacross {
    /// The numbers of iterations of the nested loops, the outermost first.
    counts: Vec<u64>,
    /// How many of all iterations lie within a shared one.
    inner: u64,
    posted: Box<[AtomicU64]>,
    progress: Event,
}

impl Doacross {
    /// Nested loops, of which the outermost ones are shared: together they have `shared`
    /// iterations.
    pub(crate) fn new(shared: u64, counts: &[u64]) -> Self {
        // Wraps only for loops that no machine finishes, here and below.
        let all = counts.iter().fold(1, |product: u64, count| product.wrapping_mul(*count));
        let posted = (0..shared).map(|_| AtomicU64::new(0)).collect();
        let inner = all.checked_div(shared).unwrap_or(0).max(1);
        Self { counts: counts.to_vec(), inner, posted, progress: Event::new() }
    }

    /// How many loops are nested.
    pub(crate) fn levels(&self) -> usize {
        self.counts.len()
    }

    /// The number of an iteration among all, and the word for it. `None` if it does not exist.
    fn find(&self, iteration: &[u64]) -> Option<(u64, &AtomicU64)> {
        let mut number = 0_u64;
        for (at, count) in iteration.iter().zip(&self.counts) {
            number = (at < count).then(|| number.wrapping_mul(*count).wrapping_add(*at))?;
        }
        Some((number, self.posted.get((number / self.inner) as usize)?))
    }

    /// Posts an iteration.
    pub(crate) fn post(&self, iteration: &[u64]) {
        if let Some((number, posted)) = self.find(iteration) {
            race_detector::release(posted);
            // Release: pairs with the acquire in `wait`.
            posted.store(number + 1, Ordering::Release);
            self.progress.notify_all();
        }
    }

    /// Waits until an iteration has been posted. Returns at once for one that does not exist.
    pub(crate) fn wait(&self, iteration: &[u64]) {
        if let Some((number, posted)) = self.find(iteration) {
            // Acquire: pairs with the release in `post`.
            self.progress.wait(|| posted.load(Ordering::Acquire) > number);
            race_detector::acquire(posted);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_waits_for_the_ones_it_names() {
        let doacross = Doacross::new(2, &[2, 3, 4]);
        assert_eq!(doacross.levels(), 3);
        doacross.wait(&[2, 0, 0]);
        doacross.wait(&[u64::MAX, 0, 0]);
        doacross.wait(&[0, 0, 4]);
        doacross.post(&[0, 2, 1]);
        doacross.wait(&[0, 2, 0]);
        doacross.wait(&[0, 1, 3]);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| doacross.wait(&[1, 1, 2]));
            doacross.post(&[1, 0, 0]);
            doacross.post(&[1, 1, 2]);
            waiter.join().unwrap();
        });
    }

    #[test]
    fn several_loops_may_be_shared() {
        let doacross = Doacross::new(6, &[2, 3, 4]);
        doacross.post(&[1, 1, 3]);
        doacross.post(&[1, 0, 2]);
        doacross.wait(&[1, 1, 0]);
        doacross.wait(&[1, 0, 2]);
        doacross.wait(&[0, 3, 0]);
        Doacross::new(0, &[0, 3]).wait(&[0, 0]);
    }
}
