//! The text that describes a thread and its affinity.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::{read_text, write};
use crate::affinity::{describe, format, set_format};
use crate::messages::print;
use crate::team::current;

/// The calling thread in a format.
fn text(format: &str) -> String {
    describe(format, &current().description())
}

/// A string of Fortran, without the blanks at its end.
fn fortran_text(start: *const c_char, length: usize) -> String {
    read_text(start, Some(length)).trim_end_matches(' ').to_owned()
}

/// Copies as much as there is room for. Returns the length of the copy.
fn copy(text: &str, to: *mut u8, room: usize) -> usize {
    let count = text.len().min(room);
    // SAFETY: the program's buffer has that much room.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), to, count) };
    count
}

/// The same, with a zero at the end. Returns the length of all.
fn give(text: &str, to: *mut u8, room: usize) -> usize {
    if let Some(room) = room.checked_sub(1) {
        let count = copy(text, to, room);
        write(to.wrapping_add(count), 0);
    }
    text.len()
}

/// The same, but the rest of the room is filled with blanks.
fn give_fortran(text: &str, to: *mut u8, room: usize) -> c_int {
    for at in copy(text, to, room)..room {
        write(to.wrapping_add(at), b' ');
    }
    text.len() as c_int
}

// LLVM's `omp.h` gives the functions for C other names.
export! {
    omp_set_affinity_format ompc_set_affinity_format(format: *const c_char) -> () {
        set_format(read_text(format, None));
    }

    omp_set_affinity_format_(format: *const c_char, length: usize) -> () {
        set_format(fortran_text(format, length));
    }

    omp_get_affinity_format ompc_get_affinity_format(to: *mut u8, room: usize) -> usize {
        give(&format(), to, room)
    }

    omp_get_affinity_format_(to: *mut u8, room: usize) -> c_int {
        give_fortran(&format(), to, room)
    }

    omp_display_affinity ompc_display_affinity(format: *const c_char) -> () {
        print(&(text(&read_text(format, None)) + "\n"));
    }

    omp_display_affinity_(format: *const c_char, length: usize) -> () {
        print(&(text(&fortran_text(format, length)) + "\n"));
    }

    omp_capture_affinity ompc_capture_affinity(
        to: *mut u8, room: usize, format: *const c_char,
    ) -> usize {
        give(&text(&read_text(format, None)), to, room)
    }

    omp_capture_affinity_(
        to: *mut u8, format: *const c_char, room: usize, length: usize,
    ) -> c_int {
        give_fortran(&text(&fortran_text(format, length)), to, room)
    }
}
