//! Zeroed memory for the program's variables.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;

/// Memory for a variable, aligned for any type. It shares no cache line with other memory.
#[derive(Debug)]
pub(crate) struct Memory(*mut u8, Layout);

// SAFETY: the compiler, which has the address, says on which thread it is used.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new(size: usize) -> Self {
        let layout = Layout::from_size_align(size.next_multiple_of(LINE).max(LINE), LINE);
        let layout = layout.expect("a compiler asks for sensible sizes");
        // SAFETY: the size is not 0.
        Self(unsafe { zeroed(layout) }, layout)
    }

    pub(crate) fn start(&self) -> *mut c_void {
        self.0.cast()
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.0.addr()..self.0.addr() + self.1.size()).contains(&address)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.0, self.1) };
    }
}

const LINE: usize = 64;

/// # Safety
/// The size is not 0.
pub(crate) unsafe fn zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}
