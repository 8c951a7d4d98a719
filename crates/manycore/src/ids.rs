//! Numbers with types, tables of what they count, and virtual time.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Virtual time since the machine started, or a duration, in nanoseconds.
pub type Nanos = u64;

/// One microsecond.
pub(crate) const MICROSECOND: Nanos = 1_000;
/// One millisecond.
pub(crate) const MILLISECOND: Nanos = 1_000_000;

/// A number that counts values of one kind.
pub(crate) trait Id: Copy {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($number:ty), $limit:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl $name {
            /// Its index in tables. (The trait's cannot be `const`, and is private.)
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            fn new(index: usize) -> Self {
                Self(<$number>::try_from(index).expect($limit))
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A virtual processor, counted from 0 in the order of the topology.
    Cpu(u16), "a machine has at most 4,096 processors";
    /// A virtual thread, counted from 0 in the order of creation.
    ThreadId(u32), "there are fewer than 2^32 threads";
    /// A program: threads that share an address space. The closure that `run` is given is
    /// program 0.
    ProgramId(u16), "there are at most 65,536 programs";
    /// A control group, counted from 0 in the order of creation.
    GroupId(u32), "there are fewer than 2^32 groups";
    /// The number of a cache line in the table of lines.
    LineIndex(u32), "there are fewer than 2^32 lines";
}

/// Values by their number.
#[derive(Clone)]
pub(crate) struct Table<I, T>(Vec<T>, PhantomData<I>);

impl<I: Id, T> Table<I, T> {
    /// Adds a value, and returns its number.
    pub(crate) fn push(&mut self, value: T) -> I {
        self.0.push(value);
        I::new(self.0.len() - 1)
    }

    /// The values with their numbers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.0.iter().enumerate().map(|(index, value)| (I::new(index), value))
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(values: Vec<T>) -> Self {
        Self(values, PhantomData)
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<V: IntoIterator<Item = T>>(values: V) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T> Deref for Table<I, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<I, T> DerefMut for Table<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.0[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.index()]
    }
}
