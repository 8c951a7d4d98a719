//! What a loop can run over: anything of known length that can be divided.

use std::ops::Range;

/// A sequence that a loop divides among workers.
///
/// # Examples
/// Two slices side by side:
/// ```
/// use locksley::loops::{Parts, for_each};
///
/// struct Pairs<'a>(&'a mut [f64], &'a [f64]);
/// impl<'a> Parts for Pairs<'a> {
///     type Item = (&'a mut f64, &'a f64);
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///     fn split_at(self, middle: usize) -> (Self, Self) {
///         let ((a, b), (c, d)) = (self.0.split_at_mut(middle), self.1.split_at(middle));
///         (Pairs(a, c), Pairs(b, d))
///     }
///     fn into_items(self) -> impl Iterator<Item = Self::Item> {
///         self.0.iter_mut().zip(self.1)
///     }
/// }
///
/// let (mut sums, addends) = (vec![1.0; 1000], vec![0.5; 1000]);
/// for_each(Pairs(&mut sums, &addends), |(sum, addend)| *sum += addend);
/// assert!(sums.iter().all(|&sum| sum == 1.5));
/// ```
#[allow(clippy::len_without_is_empty, reason = "a loop only asks for the length")]
pub trait Parts: Sized + Send {
    /// What the body of the loop is given.
    type Item;

    /// How many items there are.
    fn len(&self) -> usize;

    /// The first `middle` items, and the others. `middle` is at most the length.
    fn split_at(self, middle: usize) -> (Self, Self);

    /// The items one after the other.
    fn into_items(self) -> impl Iterator<Item = Self::Item>;
}

macro_rules! ranges {
    ($($number:ty)*) => {$(
        /// # Panics
        /// A loop over a range with more numbers than a `usize` can count panics.
        impl Parts for Range<$number> {
            type Item = $number;
            fn len(&self) -> usize {
                if self.is_empty() {
                    return 0;
                }
                let length = self.end as i128 - self.start as i128;
                usize::try_from(length).expect("a range with more numbers than a usize can count")
            }
            fn split_at(self, middle: usize) -> (Self, Self) {
                // The sum lies in the range, so it is a number of this type; on the way there it may wrap.
                let middle = self.start.wrapping_add(middle as $number);
                (self.start..middle, middle..self.end)
            }
            fn into_items(self) -> impl Iterator<Item = $number> {
                self
            }
        }
    )*};
}

ranges!(u8 u16 u32 u64 i8 i16 i32 i64 isize);

impl Parts for Range<usize> {
    type Item = usize;
    fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let middle = self.start + middle;
        (self.start..middle, middle..self.end)
    }
    fn into_items(self) -> impl Iterator<Item = usize> {
        self
    }
}

impl<'a, T: Sync> Parts for &'a [T] {
    type Item = &'a T;
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        <[T]>::split_at(self, middle)
    }
    fn into_items(self) -> impl Iterator<Item = &'a T> {
        self.iter()
    }
}

impl<'a, T: Send> Parts for &'a mut [T] {
    type Item = &'a mut T;
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        self.split_at_mut(middle)
    }
    fn into_items(self) -> impl Iterator<Item = &'a mut T> {
        self.iter_mut()
    }
}

/// A slice in chunks of equal length, the last of which may be shorter. See [`chunks_mut`].
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    items: &'a mut [T],
    size: usize,
}

/// A slice in chunks of `size` items, the last of which may be shorter, each of which a loop's body is given as a whole.
///
/// # Panics
/// If `size` is 0.
///
/// # Examples
/// ```
/// use locksley::loops::{chunks_mut, for_each};
///
/// let mut rows = vec![3, 1, 2, 9, 8, 7];
/// for_each(chunks_mut(&mut rows, 3), <[_]>::sort);
/// assert_eq!(rows, [1, 2, 3, 7, 8, 9]);
/// ```
pub fn chunks_mut<T: Send>(items: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "chunks of no items");
    ChunksMut { items, size }
}

impl<'a, T: Send> Parts for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    fn len(&self) -> usize {
        self.items.len().div_ceil(self.size)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let end = middle.saturating_mul(self.size).min(self.items.len());
        let (left, right) = self.items.split_at_mut(end);
        (Self { items: left, size: self.size }, Self { items: right, size: self.size })
    }
    fn into_items(self) -> impl Iterator<Item = &'a mut [T]> {
        self.items.chunks_mut(self.size)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted_and_divided_to_their_ends() {
        let reversed = std::ops::Range { start: 5_u8, end: 3 };
        assert_eq!(Parts::len(&reversed), 0);
        assert_eq!(Parts::len(&(i8::MIN..i8::MAX)), 255);
        let (left, right) = Parts::split_at(i8::MIN..i8::MAX, 200);
        assert_eq!((left, right), (i8::MIN..72, 72..i8::MAX));
        assert_eq!(Parts::len(&(i64::MIN..0)), 1 << 63);
    }

    #[test]
    fn the_last_chunk_may_be_shorter() {
        let mut items = [0; 10];
        let (left, right) = chunks_mut(&mut items, 4).split_at(2);
        assert_eq!((Parts::len(&left), Parts::len(&right)), (2, 1));
        assert_eq!(right.into_items().map(|chunk| chunk.len()).collect::<Vec<_>>(), [2]);
        assert_eq!(Parts::len(&chunks_mut::<u8>(&mut [], 4)), 0);
    }
}
