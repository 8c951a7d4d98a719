//! Reductions that tasks take part in, as clang states them: the library has a copy of each
//! variable for each thread that takes part, and combines them when the group ends.
//!
//! Of an array of a length unknown to the compiler, `begin` and `combine` read the length from
//! a thread-local variable that a task sets before it asks for a copy. So the task's thread calls
//! both, and the end of the task adds the copy to the variable.

use std::ffi::c_void;
use std::ptr::fn_addr_eq;
use std::sync::OnceLock;

use super::{Copier, Function};
use crate::memory::Memory;

/// A variable, and the compiler's functions for it (`kmp_taskred_input_t`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Variable {
    shared: *mut c_void,
    original: *mut c_void,
    size: usize,
    /// Begins a copy, given the original.
    begin: Option<Copier>,
    end: Option<Function>,
    /// Adds a copy to the variable.
    combine: Copier,
    flags: u32,
}

impl Variable {
    /// True for arrays of a length that only a task that takes part knows.
    pub(crate) fn is_begun_by_task(&self) -> bool {
        self.flags & 1 != 0
    }

    /// True if a task that reduces `other` changes the length that `combine` reads for this one.
    pub(crate) fn is_changed_by(&self, other: &Self) -> bool {
        fn_addr_eq(self.combine, other.combine) && self.size != other.size
    }

    /// # Safety
    /// The variable is the compiler's, and the copy has room for it.
    pub(crate) unsafe fn begin(&self, copy: *mut c_void) {
        if let Some(begin) = self.begin {
            // SAFETY: as the caller promises.
            unsafe { begin(copy, self.original) };
        }
    }

    /// Adds a copy to the variable, and ends it.
    ///
    /// # Safety
    /// The copy has begun, and no task uses it any more.
    pub(crate) unsafe fn combine(&self, copy: *mut c_void) {
        // SAFETY: the compiler's function for this variable.
        unsafe { (self.combine)(self.shared, copy) };
        if let Some(end) = self.end {
            // SAFETY: as above.
            unsafe { end(copy) };
        }
    }
}

/// Some variables, and the copies of each by thread.
#[derive(Debug)]
pub(crate) struct Copies(Vec<(Variable, Box<[OnceLock<Memory>]>)>);

// SAFETY: the pointers are the compiler's, which uses them from any thread of the team.
unsafe impl Send for Copies {}
// SAFETY: as above.
unsafe impl Sync for Copies {}

impl Copies {
    /// # Safety
    /// The variables are the compiler's.
    pub(crate) unsafe fn new(variables: &[Variable], threads: usize) -> Self {
        let copies = || (0..threads).map(|_| OnceLock::new()).collect();
        Self(variables.iter().map(|it| (*it, copies())).collect())
    }

    /// A variable, which is named by its own address or by that of any copy, and the copy that
    /// `thread` has, which is the calling one.
    pub(super) fn find(&self, address: usize, thread: usize) -> Option<(Variable, *mut c_void)> {
        let is_it = |(variable, copies): &&(Variable, Box<[OnceLock<Memory>]>)| {
            variable.shared.addr() == address
                || copies.iter().filter_map(OnceLock::get).any(|it| it.contains(address))
        };
        let (variable, copies) = self.0.iter().find(is_it)?;
        let begin = || {
            let copy = Memory::new(variable.size);
            if !variable.is_begun_by_task() {
                // SAFETY: the compiler's variable, as the caller of `new` has promised.
                unsafe { variable.begin(copy.start()) };
            }
            copy
        };
        Some((*variable, copies.get(thread)?.get_or_init(begin).start()))
    }

    /// Adds the copies to the variables. No task uses them any more.
    pub(super) fn combine(&self) {
        for (variable, copies) in self.0.iter().filter(|it| !it.0.is_begun_by_task()) {
            for copy in copies.iter().filter_map(OnceLock::get) {
                // SAFETY: `find` has begun it.
                unsafe { variable.combine(copy.start()) };
            }
        }
    }
}
