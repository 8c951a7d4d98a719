//! Sequences of known length that a loop can divide.

use std::ops::{Range, RangeInclusive};

/// A sequence that a loop divides among workers.
///
/// # Examples
/// Two slices side by side:
/// ```
/// use locksley::loops::{Parts, par};
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
/// par(Pairs(&mut sums, &addends)).for_each(|(sum, addend)| *sum += addend);
/// assert!(sums.iter().all(|&sum| sum == 1.5));
/// ```
#[allow(clippy::len_without_is_empty, reason = "a loop only asks for the length")]
pub trait Parts: Sized + Send {
    /// The type of the body's argument.
    type Item;

    /// The number of items.
    fn len(&self) -> usize;

    /// Divides into the first `middle` items and the others. `middle` is more than 0 and less than
    /// the length.
    fn split_at(self, middle: usize) -> (Self, Self);

    /// Iterates over the items, in order.
    fn into_items(self) -> impl Iterator<Item = Self::Item>;
}

/// What [`par`](super::par) accepts: [`Parts`], or a reference to a collection that has them.
#[diagnostic::on_unimplemented(
    message = "`par` cannot divide `{Self}`",
    label = "not a range of integers, a borrowed vector, array or slice, nor a `Parts`",
    note = "write `par(0..n)`, `par(a..=b)`, `par(&items)`, `par(&mut items)`, or \
            `par(&items).chunks(64)` for chunks",
    note = "an iterator cannot be divided: collect its items, and write `par(&items)`",
    note = "items must be `Sync` for `par(&items)`, and `Send` for `par(&mut items)`"
)]
pub trait IntoParts {
    /// The sequence that the loop divides.
    type Parts: Parts;

    /// Returns the sequence. [`par`](super::par) calls it once.
    fn into_parts(self) -> Self::Parts;
}

// Errors name the trait above, with its notes.
#[diagnostic::do_not_recommend]
impl<P: Parts> IntoParts for P {
    type Parts = P;
    fn into_parts(self) -> P {
        self
    }
}

macro_rules! slices {
    ($([$($generics:tt)*] $slices:ty),*) => {$(
        impl<'a, T: Sync, $($generics)*> IntoParts for &'a $slices {
            type Parts = &'a [T];
            fn into_parts(self) -> &'a [T] {
                self
            }
        }

        impl<'a, T: Send, $($generics)*> IntoParts for &'a mut $slices {
            type Parts = &'a mut [T];
            fn into_parts(self) -> &'a mut [T] {
                self
            }
        }
    )*};
}

slices!([] Vec<T>, [const N: usize] [T; N]);

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

/// The integer types. The trait cannot be named outside of this crate, so no other type has it.
#[diagnostic::on_unimplemented(message = "`par` cannot divide a range of `{Self}`")]
pub trait Integer: Copy + PartialOrd + Send {
    /// The number of steps to `end`, which is not smaller.
    fn distance_to(self, end: Self) -> usize;

    /// The integer after this many steps. Wraps.
    fn plus(self, steps: usize) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            fn distance_to(self, end: Self) -> usize {
                usize::try_from(end.abs_diff(self)).expect(TOO_LONG)
            }
            fn plus(self, steps: usize) -> Self {
                self.wrapping_add(steps as Self)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

const TOO_LONG: &str = "a range with more integers than a usize can count";

/// # Panics
/// A loop panics if a `usize` cannot count the integers of its range.
impl<N: Integer> Parts for Range<N> {
    type Item = N;
    fn len(&self) -> usize {
        if self.is_empty() { 0 } else { self.start.distance_to(self.end) }
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let middle = self.start.plus(middle);
        (self.start..middle, middle..self.end)
    }
    fn into_items(self) -> impl Iterator<Item = N> {
        items(self.start, Parts::len(&self))
    }
}

/// # Panics
/// A loop panics if a `usize` cannot count the integers of its range.
impl<N: Integer> Parts for RangeInclusive<N> {
    type Item = N;
    fn len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.start().distance_to(*self.end()).checked_add(1).expect(TOO_LONG)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let (start, end) = self.into_inner();
        (start..=start.plus(middle - 1), start.plus(middle)..=end)
    }
    fn into_items(self) -> impl Iterator<Item = N> {
        items(*self.start(), Parts::len(&self))
    }
}

/// The items of both kinds of ranges: a loop over a count is faster than one over an inclusive
/// range.
fn items<N: Integer>(start: N, count: usize) -> impl Iterator<Item = N> {
    (0..count).map(move |steps| start.plus(steps))
}

/// A sequence of chunks of equal length. Only the last may be shorter. See
/// [`Par::chunks`](super::Par::chunks).
#[derive(Debug)]
pub(super) struct Chunks<P> {
    pub(super) parts: P,
    /// More than 0.
    pub(super) size: usize,
}

impl<P: Parts> Parts for Chunks<P> {
    type Item = P;
    fn len(&self) -> usize {
        self.parts.len().div_ceil(self.size)
    }
    fn split_at(self, middle: usize) -> (Self, Self) {
        let Self { parts, size } = self;
        let (left, right) = parts.split_at(middle * size);
        (Self { parts: left, size }, Self { parts: right, size })
    }
    fn into_items(self) -> impl Iterator<Item = P> {
        let mut rest = Some(self.parts).filter(|parts| parts.len() > 0);
        std::iter::from_fn(move || {
            let parts = rest.take()?;
            if parts.len() <= self.size {
                return Some(parts);
            }
            let (chunk, others) = parts.split_at(self.size);
            rest = Some(others);
            Some(chunk)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranges_up_to_the_limits_of_their_type_are_divided() {
        let reversed = Range { start: 5_u8, end: 3 };
        assert_eq!(Parts::len(&reversed), 0);
        assert_eq!(Parts::len(&(i8::MIN..i8::MAX)), 255);
        let (left, right) = Parts::split_at(i8::MIN..i8::MAX, 200);
        assert_eq!((left, right), (i8::MIN..72, 72..i8::MAX));
        assert_eq!(Parts::len(&(i64::MIN..0)), 1 << 63);
    }

    #[test]
    fn inclusive_ranges_have_their_last_item() {
        assert_eq!(Parts::len(&RangeInclusive::new(5_u8, 4)), 0);
        assert_eq!(Parts::len(&(i8::MIN..=i8::MAX)), 256);
        let (left, right) = Parts::split_at(i8::MIN..=i8::MAX, 255);
        assert_eq!((left, right), (i8::MIN..=126, 127..=127));
    }

    #[test]
    #[should_panic(expected = "more integers")]
    fn a_range_that_a_usize_cannot_count_panics() {
        Parts::len(&(0..=usize::MAX));
    }

    #[test]
    fn the_last_chunk_may_be_shorter() {
        let mut items = [0; 10];
        let (left, right) = Chunks { parts: &mut items[..], size: 4 }.split_at(2);
        assert_eq!((Parts::len(&left), Parts::len(&right)), (2, 1));
        assert_eq!(right.into_items().map(|chunk| chunk.len()).collect::<Vec<_>>(), [2]);
        assert_eq!(Chunks { parts: 0..0, size: 4 }.into_items().count(), 0);
        assert_eq!(Chunks { parts: 0..9, size: usize::MAX }.into_items().count(), 1);
    }
}
