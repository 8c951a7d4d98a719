//! The values that a thread has for itself.

use std::any::Any;

/// A value is not there because the thread is about to end, and has dropped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

impl std::fmt::Display for AccessError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the thread has already dropped the value")
    }
}

impl std::error::Error for AccessError {}

enum Slot {
    Unused,
    Value(*mut dyn Any),
    Dropped,
}

/// The locals of one thread, by key.
#[derive(Default)]
pub(crate) struct Locals {
    slots: Vec<Slot>,
    /// Keys in the order in which their values were made.
    made: Vec<usize>,
}

impl Locals {
    /// The value with this key, if the thread has made it.
    pub(crate) fn get(&self, key: usize) -> Result<Option<*mut dyn Any>, AccessError> {
        match self.slots.get(key) {
            None | Some(Slot::Unused) => Ok(None),
            Some(Slot::Value(value)) => Ok(Some(*value)),
            Some(Slot::Dropped) => Err(AccessError),
        }
    }

    pub(crate) fn insert(&mut self, key: usize, value: *mut dyn Any) {
        if self.slots.len() <= key {
            self.slots.resize_with(key + 1, || Slot::Unused);
        }
        self.slots[key] = Slot::Value(value);
        self.made.push(key);
    }

    /// The value that was made last of those that are left. Later uses find that it is gone.
    pub(crate) fn take_last(&mut self) -> Option<Owned> {
        let key = self.made.pop()?;
        match std::mem::replace(&mut self.slots[key], Slot::Dropped) {
            Slot::Value(value) => Some(Owned(value)),
            Slot::Unused | Slot::Dropped => self.take_last(),
        }
    }
}

/// A value that is dropped with this. It came from a box.
pub(crate) struct Owned(*mut dyn Any);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the thread has taken it out of its slot.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
