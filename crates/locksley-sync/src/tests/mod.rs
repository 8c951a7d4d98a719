//! Unit tests: each type against a sequential oracle under random schedules, and the stall harness.

mod barrier;
mod condvar;
mod once_cell;
mod polled;
mod semaphore;
#[cfg(debug_assertions)]
mod stall;
#[cfg(debug_assertions)]
mod wakers;

/// A generator of random choices (splitmix64, Steele, Lea and Flood 2014).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % limit as u64) as usize
    }

    /// Removes a random element.
    fn take<T>(&mut self, of: &mut Vec<T>) -> Option<T> {
        if of.is_empty() { None } else { Some(of.remove(self.below(of.len()))) }
    }
}
