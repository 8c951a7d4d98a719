//! Memory for places: each thread keeps that of one place which it has freed.
//!
//! Who waits again and again, while others are woken on the same thread, then needs no allocator.

use super::waiter::Waiter;

#[cfg(loom)]
pub(super) fn placed(waiter: Waiter) -> std::ptr::NonNull<Waiter> {
    std::ptr::NonNull::from(Box::leak(Box::new(waiter)))
}

#[cfg(not(loom))]
pub(super) use memory::{free, placed};

#[cfg(not(loom))]
mod memory {
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::ptr::NonNull;

    use super::Waiter;

    type Memory = Box<MaybeUninit<Waiter>>;

    thread_local! {
        static SPARE: Cell<Option<Memory>> = const { Cell::new(None) };
    }

    /// A place of its own.
    pub(in super::super) fn placed(waiter: Waiter) -> NonNull<Waiter> {
        let mut memory = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_else(Box::new_uninit);
        memory.write(waiter);
        NonNull::from(Box::leak(memory)).cast()
    }

    /// # Safety
    /// Made by [`placed`], and nobody has it any more.
    pub(in super::super) unsafe fn free(waiter: NonNull<Waiter>) {
        // SAFETY: made by `placed`, and not used again.
        unsafe { waiter.drop_in_place() };
        // SAFETY: `placed` has leaked a box of that type.
        let memory: Memory = unsafe { Box::from_raw(waiter.cast().as_ptr()) };
        // What was kept before is freed; and so is this, by a thread that is being torn down.
        let _ = SPARE.try_with(|spare| drop(spare.replace(Some(memory))));
    }
}
