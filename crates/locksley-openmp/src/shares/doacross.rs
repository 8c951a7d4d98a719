//! Loops whose iterations wait for others by number (`depend(sink)` and `depend(source)`).
//!
//! One thread executes an iteration of the outer loop, and its inner iterations in ascending order.
//! So for each outer iteration one word tells how far it has come: the number of the last inner
//! iteration that was posted, plus 1.

use locksley_sys::primitive::{AtomicU64, Ordering};

use crate::waiting::Event;

/// How far the iterations of such a loop have come.
#[derive(Debug)]
pub(crate) struct Doacross {
    /// The numbers of iterations of the inner loops.
    inner: Vec<u64>,
    posted: Box<[AtomicU64]>,
    progress: Event,
}

impl Doacross {
    /// Loops with these numbers of iterations, the outermost first.
    pub(crate) fn new(counts: &[u64]) -> Self {
        let (outer, inner) = counts.split_first().expect("a loop has at least one level");
        let posted = (0..*outer).map(|_| AtomicU64::new(0)).collect();
        Self { inner: inner.to_vec(), posted, progress: Event::new() }
    }

    /// How many loops are nested.
    pub(crate) fn levels(&self) -> usize {
        self.inner.len() + 1
    }

    fn number_of_inner(&self, inner: &[u64]) -> u64 {
        // Wraps only for loops that no machine finishes.
        let step = |sum: u64, (count, number): (&u64, &u64)| {
            sum.wrapping_mul(*count).wrapping_add(*number)
        };
        self.inner.iter().zip(inner).fold(0, step)
    }

    /// Posts an iteration.
    pub(crate) fn post(&self, iteration: &[u64]) {
        let Some((outer, inner)) = iteration.split_first() else { return };
        if let Some(posted) = self.posted.get(*outer as usize) {
            // Release: pairs with the acquire in `wait`.
            posted.store(self.number_of_inner(inner) + 1, Ordering::Release);
            self.progress.notify_all();
        }
    }

    /// Waits until an iteration has been posted. Returns at once for one that does not exist.
    pub(crate) fn wait(&self, iteration: &[u64]) {
        let Some((outer, inner)) = iteration.split_first() else { return };
        let is_inside = inner.iter().zip(&self.inner).all(|(number, count)| number < count);
        let Some(posted) = self.posted.get(*outer as usize).filter(|_| is_inside) else { return };
        let wanted = self.number_of_inner(inner);
        // Acquire: pairs with the release in `post`.
        self.progress.wait(|| posted.load(Ordering::Acquire) > wanted);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_waits_for_the_ones_it_names() {
        let doacross = Doacross::new(&[2, 3, 4]);
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
}
