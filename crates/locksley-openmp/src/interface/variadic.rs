//! Functions that take as many arguments as the compiler passes. Rust cannot define such functions,
//! so these spill the registers for one that can read them.

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
