//! The line on standard error that `LOCKSLEY_VERBOSE=1` asks for: what is granted, and which
//! library this one replaces.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::Once;

use locksley_sys::os::online_processors;

use crate::environment::settings;
use crate::messages::print;
use crate::waiting::granted;

/// How the files of OpenMP libraries begin: those of GNU, LLVM and Intel.
const NAMES: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// Prints the line, if it is asked for and was not printed in this process. Called when a thread
/// uses OpenMP for the first time: by then the libraries are loaded that the program uses for it.
pub(crate) fn print_once() {
    static ONCE: Once = Once::new();
    if settings().is_verbose {
        ONCE.call_once(|| print(&line()));
    }
}

fn line() -> String {
    let granted = granted();
    let all = online_processors().map_or(granted, |it| it as u32).max(granted);
    let others = others();
    let others = match others.as_slice() {
        [] => "no other OpenMP library is loaded".to_owned(),
        others if is_first() => format!("takes the place of {}", others.join(" and ")),
        others => format!("is used beside {}, which comes first", others.join(" and ")),
    };
    format!("locksley-openmp: {granted} of {all} processors granted; {others}\n")
}

/// The file names of the other OpenMP libraries in this process.
fn others() -> Vec<String> {
    let mut found = Found { own: base(is_first as *const c_void), names: Vec::new() };
    // SAFETY: the function gets the address of `found`, which lives during the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found.names
}

struct Found {
    /// Where this library is loaded.
    own: *mut c_void,
    names: Vec<String>,
}

/// Notes the name of a loaded object if it is another OpenMP library.
unsafe extern "C" fn note(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: `others` passes its variable.
    let found = unsafe { &mut *found.cast::<Found>() };
    // SAFETY: the dynamic linker passes the description of an object.
    let object = unsafe { &*object };
    if object.dlpi_name.is_null() || object.dlpi_addr as usize == found.own.addr() {
        return 0;
    }
    // SAFETY: the object's path, which ends with a zero.
    let path = unsafe { CStr::from_ptr(object.dlpi_name) }.to_string_lossy();
    let name =
        Path::new(&*path).file_name().map_or_else(String::new, |it| it.to_string_lossy().into());
    if NAMES.iter().any(|it| name.starts_with(it)) {
        found.names.push(name);
    }
    0
}

/// True if libraries that are loaded from now on find this library's functions first.
fn is_first() -> bool {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"GOMP_parallel".as_ptr()) };
    !found.is_null() && base(found) == base(is_first as *const c_void)
}

/// Where the object is loaded that contains an address; null if none does.
fn base(address: *const c_void) -> *mut c_void {
    // SAFETY: integers and pointers, which may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address may be any, and `info` lives during the call.
    unsafe { libc::dladdr(address, &raw mut info) };
    info.dli_fbase
}
