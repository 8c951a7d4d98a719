//! Reductions that tasks take part in (`task_reduction`, `in_reduction`).
//!
//! The compiler describes them by words, in a descriptor that the program owns: 0 the number of
//! variables; 1 the size of one thread's copies; 2 their alignment, then the memory of all copies;
//! 4 the next descriptor; 5 not 0 at the head of a registration; 6 the end of the memory. From word
//! 7 on, each variable has three: its address, its offset in a thread's copies, one for the
//! library.

use std::alloc::{Layout, dealloc};
use std::iter::successors;

use crate::memory::zeroed;

/// A chain of descriptors, the innermost first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reductions(*mut usize);

const COUNT: usize = 0;
const SIZE: usize = 1;
const MEMORY: usize = 2;
const ALIGNMENT: usize = 3;
const NEXT: usize = 4;
const IS_HEAD: usize = 5;
const END: usize = 6;
const VARIABLES: usize = 7;

impl Reductions {
    /// The chain that begins with this descriptor; null for none.
    pub(crate) fn new(descriptor: *mut usize) -> Self {
        Self(descriptor)
    }

    fn get(self, word: usize) -> usize {
        // SAFETY: a registered descriptor is not null and has this word.
        unsafe { *self.0.wrapping_add(word) }
    }

    fn set(self, word: usize, value: usize) {
        // SAFETY: as in `get`; the thread that registers or unregisters is the only one.
        unsafe { *self.0.wrapping_add(word) = value };
    }

    fn next(self) -> Option<Self> {
        Self(self.get(NEXT) as *mut usize).some()
    }

    fn some(self) -> Option<Self> {
        (!self.0.is_null()).then_some(self)
    }

    /// This descriptor, and those that follow it.
    fn chain(self) -> impl Iterator<Item = Self> {
        successors(self.some(), |it| it.next())
    }

    /// Registers new descriptors, which come before those of `outer`, with memory for `threads`.
    /// If another thread has registered the same reductions, as `first`, its memory is used.
    pub(crate) fn register(self, outer: Self, threads: usize, first: Option<Self>) {
        let (mut last, mut first) = (self, first);
        for descriptor in self.chain() {
            match first {
                Some(registered) => {
                    for word in [MEMORY, ALIGNMENT, END] {
                        descriptor.set(word, registered.get(word));
                    }
                }
                None => descriptor.allocate(threads),
            }
            descriptor.set(IS_HEAD, usize::from(descriptor.0 == self.0));
            (last, first) = (descriptor, first.and_then(Self::next));
        }
        last.set(NEXT, outer.0 as usize);
    }

    fn layout(size: usize, alignment: usize) -> Layout {
        Layout::from_size_align(size.max(1), alignment.max(64).next_power_of_two())
            .expect("a compiler asks for sensible sizes")
    }

    fn allocate(self, threads: usize) {
        let (size, alignment) = (self.get(SIZE) * threads, self.get(MEMORY));
        // SAFETY: the size is not 0.
        let memory = unsafe { zeroed(Self::layout(size, alignment)) };
        self.set(MEMORY, memory as usize);
        self.set(ALIGNMENT, alignment);
        self.set(END, memory as usize + size);
    }

    /// Frees the memory of a registration, which begins with this descriptor.
    pub(crate) fn unregister(self) {
        for descriptor in self.chain().take_while(|it| it.0 == self.0 || it.get(IS_HEAD) == 0) {
            let (memory, end) = (descriptor.get(MEMORY), descriptor.get(END));
            let layout = Self::layout(end - memory, descriptor.get(ALIGNMENT));
            // SAFETY: `allocate` has allocated it with this layout; no task uses it any more.
            unsafe { dealloc(memory as *mut u8, layout) };
        }
    }

    /// The copy of a variable that `thread` has, and the variable. `address` is the variable's, or
    /// that of any thread's copy.
    pub(crate) fn find(self, address: usize, thread: usize) -> Option<(usize, usize)> {
        for descriptor in self.chain() {
            let (memory, size) = (descriptor.get(MEMORY), descriptor.get(SIZE));
            let is_copy = (memory..descriptor.get(END)).contains(&address);
            let offset = is_copy.then(|| (address - memory) % size);
            for variable in (0..descriptor.get(COUNT)).map(|it| VARIABLES + 3 * it) {
                let (original, at) = (descriptor.get(variable), descriptor.get(variable + 1));
                if original == address || offset == Some(at) {
                    return Some((memory + thread * size + at, original));
                }
            }
            // A copy of a part of a variable has no entry of its own.
            if let Some(offset) = offset {
                return Some((memory + thread * size + offset, address));
            }
        }
        None
    }
}
