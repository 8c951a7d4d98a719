//! Atomics of the size and alignment of std's. Each operation is one access to the line of its
//! address.
//!
//! Within a machine, memory is sequentially consistent, whatever the orderings say; they decide
//! costs. A sequentially consistent store costs what an exchange costs, and other stores retire
//! early, as on x86. The host's operation has the given ordering, too: an atomic may be shared by
//! threads of the host.

use std::sync::atomic as host;
use std::sync::atomic::Ordering::Relaxed;
pub use std::sync::atomic::{Ordering, compiler_fence};

use crate::coherence::Access;
use crate::engine::engine;

/// As [`std::sync::atomic::fence`]: a sequentially consistent one waits for the stores of its
/// processor; others cost nothing.
#[inline]
pub fn fence(order: Ordering) {
    host::fence(order);
    if let (Ordering::SeqCst, Some(here)) = (order, engine()) {
        here.fence();
    }
}

#[inline(always)]
#[track_caller]
fn access<A, R>(atomic: &A, access: Access, operation: impl FnOnce() -> R) -> R {
    match engine() {
        Some(here) => here.access(std::ptr::from_ref(atomic).cast(), access, operation),
        None => operation(),
    }
}

/// Declares an atomic with the methods that all have, and the given ones, which read and write.
macro_rules! atomic {
    ($name:ident$(<$t:ident>)?, $host:ty, $value:ty, $default:expr, $($method:ident)*) => {
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`], at a cost.")]
        #[repr(transparent)]
        pub struct $name$(<$t>)?($host);

        impl$(<$t>)? $name$(<$t>)? {
            /// Makes an atomic.
            pub const fn new(value: $value) -> Self {
                Self(<$host>::new(value))
            }

            /// Reads the value.
            ///
            /// # Panics
            /// As std's, if the ordering is one of stores.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                access(self, Access::Load, || self.0.load(order))
            }

            /// Replaces the value.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let kind = match order {
                    Ordering::SeqCst => Access::ReadModifyWrite,
                    _ => Access::Store,
                };
                access(self, kind, || self.0.store(value, order));
            }

            /// Replaces the value, and returns the old one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                access(self, Access::ReadModifyWrite, || self.0.swap(value, order))
            }

            /// Replaces the value if it is `old`.
            ///
            /// # Errors
            /// The value, if it is another one.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let exchange = || self.0.compare_exchange(old, new, success, failure);
                access(self, Access::ReadModifyWrite, exchange)
            }

            /// As [`compare_exchange`](Self::compare_exchange): it does not fail spuriously.
            ///
            /// # Errors
            /// The value, if it is another one.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(old, new, success, failure)
            }

            /// Replaces the value by what `update` makes of it.
            ///
            /// # Errors
            /// The value, if `update` returns `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(failure);
                while let Some(new) = update(old) {
                    match self.compare_exchange(old, new, success, failure) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }

            /// The value, without a cost and without a step: for checks and for statistics.
            pub fn peek(&self) -> $value {
                self.0.load(Relaxed)
            }

            /// The value, to which the caller has the only reference.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The value.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// A pointer to the value. What uses it costs nothing.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            $(
                /// As std's method of this name.
                #[inline]
                #[track_caller]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    access(self, Access::ReadModifyWrite, || self.0.$method(value, order))
                }
            )*
        }

        impl$(<$t>)? Default for $name$(<$t>)? {
            fn default() -> Self {
                Self::new($default)
            }
        }

        impl$(<$t>)? From<$value> for $name$(<$t>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl$(<$t>)? std::fmt::Debug for $name$(<$t>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident $value:ty,)*) => {$(
        atomic!($name, host::$name, $value, 0, fetch_add fetch_sub fetch_and fetch_nand fetch_or
            fetch_xor fetch_max fetch_min);
    )*};
}

integers! {
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
}
atomic!(AtomicBool, host::AtomicBool, bool, false, fetch_and fetch_nand fetch_or fetch_xor);
atomic!(AtomicPtr<T>, host::AtomicPtr<T>, *mut T, std::ptr::null_mut(),);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_have_the_layout_of_std_s() {
        assert_eq!(size_of::<AtomicU8>(), 1);
        assert_eq!(align_of::<AtomicU64>(), align_of::<host::AtomicU64>());
        assert_eq!(size_of::<AtomicPtr<u8>>(), size_of::<usize>());
    }

    #[test]
    fn atomics_work_outside_of_a_machine() {
        let atomic = AtomicU32::new(1);
        assert_eq!(atomic.fetch_add(2, Ordering::SeqCst), 1);
        assert_eq!(atomic.compare_exchange(1, 5, Ordering::SeqCst, Ordering::Relaxed), Err(3));
        let double = |value: u32| value.checked_mul(2);
        assert_eq!(atomic.fetch_update(Ordering::SeqCst, Ordering::Relaxed, double), Ok(3));
        assert_eq!(atomic.into_inner(), 6);
    }
}
