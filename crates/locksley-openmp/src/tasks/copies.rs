//! Reductions that tasks take part in, as clang states them: the library has a copy of each
//! variable for each thread, and combines them when the group ends.

use std::cell::UnsafeCell;
use std::ffi::c_void;

use super::{Copier, Function};

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
    /// True for arrays: only a task that takes part can tell their size to `begin` and `combine`.
    pub(crate) fn is_begun_by_task(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// In bytes. No line has memory of two threads.
const LINE: usize = 64;

#[derive(Debug)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "the compiler's memory")] UnsafeCell<[u8; LINE]>);

/// The copies of some variables.
#[derive(Debug)]
pub(crate) struct Copies(Vec<(Variable, Box<[Line]>)>);

// SAFETY: the pointers are the compiler's, which uses them from any thread of the team; a thread
// uses its own copies until all tasks of the group have ended.
unsafe impl Send for Copies {}
// SAFETY: as above.
unsafe impl Sync for Copies {}

impl Copies {
    /// # Safety
    /// The variables are the compiler's.
    pub(crate) unsafe fn new(variables: &[Variable], threads: usize) -> Self {
        let copies = |&variable: &Variable| {
            let lines = 0..threads * lines(&variable);
            let memory: Box<[_]> = lines.map(|_| Line(UnsafeCell::new([0; LINE]))).collect();
            for copy in places(&variable, &memory) {
                if let Some(begin) = variable.begin {
                    // SAFETY: as the caller promises; the copy has room for the variable.
                    unsafe { begin(copy, variable.original) };
                }
            }
            (variable, memory)
        };
        Self(variables.iter().map(copies).collect())
    }

    /// The copy that `thread` has of a variable, which is named by its own address or by that of
    /// any copy.
    pub(super) fn find(&self, address: usize, thread: usize) -> Option<*mut c_void> {
        let is_it = |(variable, memory): &&(Variable, Box<[Line]>)| {
            let memory = memory.as_ptr_range();
            variable.shared.addr() == address
                || (memory.start.addr()..memory.end.addr()).contains(&address)
        };
        let (variable, memory) = self.0.iter().find(is_it)?;
        places(variable, memory).nth(thread)
    }

    /// Adds all copies to the variables. No task uses them any more.
    pub(super) fn combine(&self) {
        for (variable, memory) in &self.0 {
            for copy in places(variable, memory) {
                // SAFETY: the compiler's function for this variable.
                unsafe { (variable.combine)(variable.shared, copy) };
                if let Some(end) = variable.end {
                    // SAFETY: as above.
                    unsafe { end(copy) };
                }
            }
        }
    }
}

/// The length of a copy; at least one, so that each has an address.
fn lines(variable: &Variable) -> usize {
    variable.size.div_ceil(LINE).max(1)
}

/// The places of a variable's copies, by thread.
fn places(variable: &Variable, memory: &[Line]) -> impl Iterator<Item = *mut c_void> {
    memory.chunks(lines(variable)).map(|it| it.as_ptr().cast_mut().cast())
}
