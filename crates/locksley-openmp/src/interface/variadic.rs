//! Functions that take as many arguments as the compiler passes, and calls of such functions. Rust
//! has neither: the former spill the registers for a function that can read them.

use std::ffi::c_void;

/// How many arguments of a call are in registers.
#[cfg(target_arch = "x86_64")]
const IN_REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const IN_REGISTERS: usize = 8;

/// The arguments of a call.
pub(super) struct Arguments {
    pub(super) registers: *const u64,
    pub(super) stack: *const u64,
}

impl Arguments {
    /// # Safety
    /// The call has that argument.
    pub(super) unsafe fn get(&self, at: usize) -> u64 {
        let place = match at.checked_sub(IN_REGISTERS) {
            None => self.registers.wrapping_add(at),
            Some(at) => self.stack.wrapping_add(at),
        };
        // SAFETY: as the caller promises.
        unsafe { *place }
    }
}

macro_rules! variadic {
    (@one $name:ident $function:ident) => {
        /// Has another function read the arguments.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                "lea rax, [rsp + 8]",
                "push rbp",
                "mov rbp, rsp",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "mov rdi, rsp",
                "mov rsi, rax",
                "call {function}",
                "leave",
                "ret",
                function = sym $function,
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "mov x29, sp",
                "add x0, sp, #16",
                "add x1, sp, #80",
                "bl {function}",
                "ldp x29, x30, [sp], #80",
                "ret",
                function = sym $function,
            );
        }
    };
    ($($($name:ident)+ => $function:ident;)+) => {$($(variadic!(@one $name $function);)+)+};
}
pub(super) use variadic;

/// How many pointers [`call`] reads at least.
pub(super) const FEWEST_POINTERS: usize = 6;

/// Calls `function(number, number, pointers[0], ..., pointers[count - 1])`. If the function has
/// fewer parameters, the others do no harm: the caller of a C function removes the arguments.
///
/// # Safety
/// It is a C function with so many such parameters at most. There are `count` pointers, and
/// [`FEWEST_POINTERS`].
#[unsafe(naked)]
pub(super) unsafe extern "C" fn call(
    function: *const c_void,
    number: *const i32,
    pointers: *const usize,
    count: usize,
) {
    // Those that have no register go to the stack, the last one first. It stays aligned to 16
    // bytes.
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rax, rdi",
        "mov r10, rdx",
        "mov rdi, rsi",
        "lea rdx, [rcx + 1]",
        "and rdx, -2",
        "shl rdx, 3",
        "sub rsp, rdx",
        "2: cmp rcx, 4",
        "jle 3f",
        "mov rdx, [r10 + 8 * rcx - 8]",
        "mov [rsp + 8 * rcx - 40], rdx",
        "dec rcx",
        "jmp 2b",
        "3: mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        "call rax",
        "leave",
        "ret",
    );
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, x0",
        "mov x10, x2",
        "mov x0, x1",
        "add x11, x3, #1",
        "and x11, x11, #-2",
        "sub sp, sp, x11, lsl #3",
        "2: cmp x3, #6",
        "b.le 3f",
        "sub x3, x3, #1",
        "ldr x12, [x10, x3, lsl #3]",
        "sub x11, x3, #6",
        "str x12, [sp, x11, lsl #3]",
        "b 2b",
        "3: ldp x2, x3, [x10]",
        "ldp x4, x5, [x10, #16]",
        "ldp x6, x7, [x10, #32]",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    );
}
