//! The processor that a thread last ran on, where the C library has registered the thread with the
//! kernel for restartable sequences (`rseq`; Linux's `include/uapi/linux/rseq.h`, glibc's
//! `sys/rseq.h`).

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

/// Written by the kernel alone, with every return to the thread.
pub(super) type ProcessorNumber = AtomicU32;

/// Where the number of the processor lies in the area that kernel and thread share.
const CPU_ID: isize = 4;

/// The word of the calling thread in which the kernel keeps the number of its processor. It is
/// there while the thread lives; a number below 0 says that none is known.
pub(super) fn number_of_this_thread() -> Result<NonNull<ProcessorNumber>, String> {
    let offset = offset()?;
    let pointer = thread_pointer().ok_or("not known on this architecture")?;
    // The area lies in the thread's own block of memory, and so behind its thread pointer or before
    // it.
    let word = pointer.wrapping_byte_offset(offset + CPU_ID);
    NonNull::new(word.cast::<ProcessorNumber>().cast_mut()).ok_or_else(|| "no address".to_owned())
}

/// Distance of a thread's area from its thread pointer, if the C library has such areas.
fn offset() -> Result<isize, String> {
    static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
    let find = || {
        let size = symbol(c"__rseq_size")?.cast::<libc::c_uint>();
        // SAFETY: glibc defines it as a constant `unsigned int`, which is 0 where threads are not
        // registered.
        let size = unsafe { size.read() };
        let offset = symbol(c"__rseq_offset")?.cast::<isize>();
        // SAFETY: glibc defines it as a constant `ptrdiff_t`.
        let offset = unsafe { offset.read() };
        (size > 0).then_some(offset)
    };
    let offset = *OFFSET.get_or_init(find);
    offset.ok_or_else(|| "the C library does not register threads".to_owned())
}

fn symbol(name: &std::ffi::CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: the name is a text that ends with a zero.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<*const u8> {
    let pointer;
    // SAFETY: on x86-64 Linux the first word of a thread's block is the block's own address.
    unsafe {
        std::arch::asm!(
            "mov {}, fs:[0]",
            out(reg) pointer,
            options(nostack, readonly, preserves_flags)
        );
    }
    Some(pointer)
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> Option<*const u8> {
    let pointer;
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!(
            "mrs {}, tpidr_el0",
            out(reg) pointer,
            options(nostack, nomem, preserves_flags)
        );
    }
    Some(pointer)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn thread_pointer() -> Option<*const u8> {
    None
}
