//! What code that catches panics may use, as with std's and tokio's types.

use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};

use locksley_sync::{Acquire, Barrier, Condvar, OnceCell, Permit, Semaphore};

fn assert_safe<T: UnwindSafe + RefUnwindSafe>() {}

#[test]
fn the_types_are_unwind_safe() {
    assert_safe::<Condvar>();
    assert_safe::<Barrier>();
    assert_safe::<Semaphore>();
    assert_safe::<Acquire<'_>>();
    assert_safe::<Permit<'_>>();
    assert_safe::<OnceCell<u8>>();
    let changed = Condvar::new();
    assert!(catch_unwind(|| changed.notify_all()).is_ok());
}
