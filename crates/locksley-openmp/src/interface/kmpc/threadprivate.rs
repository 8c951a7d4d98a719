//! `threadprivate` variables of programs that have no thread-local storage for them. The initial
//! thread has the variable itself, every other thread a copy.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::{ptr, slice};

use rustix::process::getpid;
use rustix::thread::gettid;

use super::{Place, Thread};
use crate::memory::Memory;
use crate::mutex::lock;
use crate::tasks::Function;

type Constructor = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// How a copy begins and ends.
#[derive(Clone, Default)]
struct Variable {
    constructor: Option<Constructor>,
    destructor: Option<Function>,
    /// The variable's first value, with which copies begin if they have no constructor.
    value: Vec<u8>,
}

static VARIABLES: Mutex<BTreeMap<usize, Variable>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// What the thread has of each variable; `None` for the variable itself.
    static COPIES: RefCell<BTreeMap<usize, Option<Copy>>> = const { RefCell::new(BTreeMap::new()) };
}

struct Copy(Memory, Option<Function>);

impl Copy {
    fn new(variable: &Variable) -> Self {
        let (memory, value) = (Memory::new(variable.value.len()), &variable.value);
        match variable.constructor {
            // SAFETY: the compiler's function, and memory for the variable.
            Some(constructor) => _ = unsafe { constructor(memory.start()) },
            // SAFETY: as above.
            None => unsafe {
                ptr::copy_nonoverlapping(value.as_ptr(), memory.start().cast(), value.len());
            },
        }
        Self(memory, variable.destructor)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(destructor) = self.1 {
            // SAFETY: the compiler's function; the thread ends.
            unsafe { destructor(self.0.start()) };
        }
    }
}

/// What is known of a variable, after `change`.
fn known(variable: *mut c_void, change: impl FnOnce(&mut Variable)) -> Variable {
    let mut variables = lock(&VARIABLES);
    let known = variables.entry(variable.addr()).or_default();
    change(known);
    known.clone()
}

export! {
    __kmpc_threadprivate_register(
        _place: Place, variable: *mut c_void, constructor: Option<Constructor>,
        _copier: *const c_void, destructor: Option<Function>,
    ) -> () {
        known(variable, |it| (it.constructor, it.destructor) = (constructor, destructor));
    }

    __kmpc_threadprivate_cached(
        _place: Place, _thread: Thread, variable: *mut c_void, size: usize,
    ) -> *mut c_void {
        let place = |it: &Option<Copy>| it.as_ref().map_or(variable, |it| it.0.start());
        let find = |it: &RefCell<BTreeMap<_, _>>| it.borrow().get(&variable.addr()).map(place);
        if let Some(found) = COPIES.try_with(find).ok().flatten() {
            return found;
        }
        let known = known(variable, |it| {
            if it.value.is_empty() {
                // SAFETY: the variable has this size. A thread that changes it calls this first.
                it.value = unsafe { slice::from_raw_parts(variable.cast::<u8>(), size) }.to_vec();
            }
        });
        let copy = (gettid() != getpid()).then(|| Copy::new(&known));
        let found = place(&copy);
        // At the thread's exit the copy is leaked.
        let copy = ManuallyDrop::new(copy);
        let insert = |it: &RefCell<BTreeMap<_, _>>| {
            it.borrow_mut().insert(variable.addr(), ManuallyDrop::into_inner(copy));
        };
        let _ = COPIES.try_with(insert);
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;
    use crate::interface::{read, write};

    static ENDED: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn construct(place: *mut c_void) -> *mut c_void {
        write(place.cast(), 7_u32);
        place
    }

    unsafe extern "C" fn destroy(place: *mut c_void) {
        ENDED.fetch_add(read(place.cast()), Ordering::Relaxed);
    }

    #[test]
    fn copies_are_constructed_and_destroyed() {
        let variable: &'static mut u32 = Box::leak(Box::new(5));
        let (variable, size) = (ptr::from_mut(variable).expose_provenance(), size_of::<u32>());
        let find = move || {
            let variable = ptr::with_exposed_provenance_mut(variable);
            // SAFETY: the variable has this size.
            unsafe { __kmpc_threadprivate_cached(ptr::null(), 0, variable, size) }.cast::<u32>()
        };
        let value = || thread::spawn(move || read(find())).join().unwrap();
        assert_eq!(value(), 5);
        let place = ptr::with_exposed_provenance_mut(variable);
        // SAFETY: functions for such a variable.
        unsafe {
            __kmpc_threadprivate_register(
                ptr::null(),
                place,
                Some(construct),
                ptr::null(),
                Some(destroy),
            );
        }
        write(find(), 9);
        assert_eq!((read(find()), value(), read(place.cast::<u32>())), (9, 7, 5));
        assert_eq!(ENDED.load(Ordering::Relaxed), 7);
    }
}
