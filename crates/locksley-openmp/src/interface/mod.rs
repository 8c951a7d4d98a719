//! libgomp's functions, as gcc calls them (`libgomp_g.h`), those that clang calls, and OpenMP's
//! (`omp.h`, `omp_lib`).
//!
//! A function here reads its arguments and calls the module that has the subject. It declares no
//! arguments behind the last one that it reads: in C's calling conventions here, the caller passes
//! them in registers or removes them from the stack itself.

use std::ffi::{CStr, c_char};
use std::slice;

/// Defines functions of the C interface. Several names are several functions with the same body:
/// `long` and `unsigned long long`, or C and Fortran, may look alike here.
macro_rules! export {
    (@one $name:ident ($($argument:ident: $type:ty),* $(,)?) $result:ty, $body:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result $body
    };
    (@each [$($name:ident)+] $arguments:tt $result:ty, $body:block) => {$(
        export!(@one $name $arguments $result, $body);
    )+};
    ($($($name:ident)+ ($($arguments:tt)*) -> $result:ty $body:block)*) => {$(
        export!(@each [$($name)+] ($($arguments)*) $result, $body);
    )*};
}

/// Defines functions without arguments, each by the value that it returns.
macro_rules! nullary {
    ($result:ty; $($($name:ident)+ => $value:expr;)*) => { export! {$(
        $($name)+() -> $result { $value }
    )*} };
}

/// Defines functions of a number, which Fortran passes by reference, in either of its kinds.
macro_rules! of_a_number {
    ($result:ty => $($name:ident $fortran:ident $fortran_8:ident $function:expr;)*) => { export! {$(
        $name(number: std::ffi::c_int) -> $result {
            ($function)(number)
        }
        $fortran(number: *const i32) -> $result {
            ($function)($crate::interface::read(number))
        }
        $fortran_8(number: *const i64) -> $result {
            ($function)($crate::interface::narrow($crate::interface::read(number)))
        }
    )*} };
}

/// The nearest `int`.
fn narrow(value: i64) -> std::ffi::c_int {
    value.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Reads a variable of the caller's.
fn read<T: Copy>(place: *const T) -> T {
    // SAFETY: the program passes its address, and it lives while the call lasts.
    unsafe { place.read() }
}

/// Writes to a variable of the caller's, if it has passed one.
fn write<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as in `read`.
        unsafe { place.write(value) };
    }
}

/// Reads a text of the caller's: `length` bytes, or those before the first zero. Null stands for
/// an empty one.
fn read_text(start: *const c_char, length: Option<usize>) -> String {
    if start.is_null() {
        return String::new();
    }
    let bytes = match length {
        // SAFETY: the program passes the length of its text.
        Some(length) => unsafe { slice::from_raw_parts(start.cast::<u8>(), length) },
        // SAFETY: the program's text ends with a zero.
        None => unsafe { CStr::from_ptr(start) }.to_bytes(),
    };
    String::from_utf8_lossy(bytes).into_owned()
}

mod affinity;
mod allocators;
mod cancellation;
mod depend;
mod device;
mod diagnostics;
mod doacross;
mod kmpc;
mod levels;
mod locks;
mod loops;
mod parallel;
mod parallel_loops;
mod pause;
mod places;
mod reductions;
mod sections;
mod startup;
mod synchronization;
mod target;
mod taskloop;
mod tasks;
mod teams;
mod variables;
mod variadic;
