//! Detects uses of memory after its end, in loom's models: loom does not see them.

/// A part of an allocation that fails a model if the allocation is used after its end, or leaks.
/// Outside of models it has no size, and does nothing.
#[derive(Debug)]
pub struct Life(#[cfg(loom)] loom::cell::UnsafeCell<Option<loom::alloc::Track<()>>>);

/// The life begins.
impl Default for Life {
    fn default() -> Self {
        Self(
            #[cfg(loom)]
            loom::cell::UnsafeCell::new(Some(loom::alloc::Track::new(()))),
        )
    }
}

impl Life {
    /// Fails the model if the life has ended. To be called wherever the allocation is used.
    #[inline]
    pub fn assert_alive(&self) {
        #[cfg(loom)]
        // SAFETY: loom checks that no thread ends it at the same time.
        self.0.with(|life| assert!(unsafe { &*life }.is_some(), "used after its end"));
    }

    /// The life ends.
    pub fn end(&self) {
        #[cfg(loom)]
        // SAFETY: loom checks that no thread uses it at the same time.
        self.0.with_mut(|life| drop(unsafe { &mut *life }.take()));
    }
}
