//! What a task executes: a function of the compiler's, and a copy of the data it captured.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// A function that the compiler made of a construct's body.
pub(crate) type Function = unsafe extern "C" fn(*mut c_void);
/// A function that constructs a task's data from those of the thread that creates it.
pub(crate) type Copier = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A function and its data.
#[derive(Debug)]
pub(crate) struct Body {
    function: Function,
    /// Gets the data of a task that is cancelled.
    discard: Option<Function>,
    data: NonNull<u8>,
    layout: Layout,
    is_constructed: bool,
}

// SAFETY: a task may run on any thread of its team, which the compiler knows.
unsafe impl Send for Body {}

impl Body {
    /// Copies `size` bytes of data, or has `copier` do it.
    ///
    /// # Safety
    /// `data` has that size, or is what `copier` expects. The alignment is a power of 2.
    pub(crate) unsafe fn copy(
        (function, discard): (Function, Option<Function>),
        data: *mut c_void,
        copier: Option<Copier>,
        size: usize,
        align: usize,
    ) -> Self {
        let layout = Layout::from_size_align(size.max(1), align.max(16))
            .expect("a compiler asks for sensible sizes");
        // SAFETY: the size is not 0.
        let Some(copy) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        match copier {
            // SAFETY: the data are what the copier expects, and the copy has room and alignment.
            Some(copier) => unsafe { copier(copy.as_ptr().cast(), data) },
            // SAFETY: both have `size` bytes, and the copy is new memory.
            None if size > 0 => unsafe {
                ptr::copy_nonoverlapping(data.cast::<u8>(), copy.as_ptr(), size);
            },
            None => (),
        }
        Self { function, discard, data: copy, layout, is_constructed: copier.is_some() }
    }

    /// The copy of the data.
    pub(crate) fn data(&self) -> *mut c_void {
        self.data.as_ptr().cast()
    }

    /// True if a copier has constructed the data. Then the function destroys them, so it has to
    /// run.
    pub(crate) fn is_constructed(&self) -> bool {
        self.is_constructed
    }

    /// The task is cancelled.
    pub(crate) fn discard(self) {
        if let Some(discard) = self.discard {
            // SAFETY: the function and its data belong together; both were given to `copy`.
            unsafe { discard(self.data()) };
        }
    }

    /// Executes the function.
    pub(crate) fn run(self) {
        // SAFETY: the function and its data belong together; both were given to `copy`.
        unsafe { (self.function)(self.data()) };
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}
