//! The text that describes a thread and its affinity.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::affinity::{describe, format, print, set_format};
use crate::team::current;

/// The calling thread in a format.
fn text(format: &str) -> String {
    describe(format, &current().description())
}

fn c_text(start: *const c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the program's string ends with a zero.
    unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
}

/// A string of Fortran, without the blanks at its end.
fn fortran_text(start: *const u8, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: Fortran passes the length of the string.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    String::from_utf8_lossy(bytes).trim_end_matches(' ').to_owned()
}

/// Copies as much as there is room for, and ends it with a zero. Returns the length of all.
fn give(text: &str, to: *mut u8, room: usize) -> usize {
    if let Some(most) = room.checked_sub(1) {
        let count = text.len().min(most);
        // SAFETY: the program's buffer has that much room.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), to, count) };
        // SAFETY: `count` is less than the room.
        let end = unsafe { to.add(count) };
        // SAFETY: as above.
        unsafe { *end = 0 };
    }
    text.len()
}

/// Copies as much as there is room for, and fills the rest with blanks. Returns the length of all.
fn give_fortran(text: &str, to: *mut u8, room: usize) -> c_int {
    let count = text.len().min(room);
    // SAFETY: the program's buffer has that much room.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), to, count) };
    // SAFETY: `count` is at most the room.
    let end = unsafe { to.add(count) };
    // SAFETY: as above.
    unsafe { ptr::write_bytes(end, b' ', room - count) };
    text.len() as c_int
}

export! {
    omp_set_affinity_format(format: *const c_char) -> () {
        set_format(c_text(format));
    }

    omp_set_affinity_format_(format: *const u8, length: usize) -> () {
        set_format(fortran_text(format, length));
    }

    omp_get_affinity_format(to: *mut u8, room: usize) -> usize {
        give(&format(), to, room)
    }

    omp_get_affinity_format_(to: *mut u8, room: usize) -> c_int {
        give_fortran(&format(), to, room)
    }

    omp_display_affinity(format: *const c_char) -> () {
        print(&text(&c_text(format)));
    }

    omp_display_affinity_(format: *const u8, length: usize) -> () {
        print(&text(&fortran_text(format, length)));
    }

    omp_capture_affinity(to: *mut u8, room: usize, format: *const c_char) -> usize {
        give(&text(&c_text(format)), to, room)
    }

    omp_capture_affinity_(to: *mut u8, format: *const u8, room: usize, length: usize) -> c_int {
        give_fortran(&text(&fortran_text(format, length)), to, room)
    }
}
