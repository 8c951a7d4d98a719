//! Recordings of programs that are started with `LOCKSLEY_TRACE`.

/// Runs before `main`: `join` has no instruction that asks for the variable.
extern "C" fn at_start() {
    locksley_trace::init_library();
}

#[used]
// SAFETY: the section has pointers to functions of this type, which the system calls.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;
