//! How a thread rounds, treats denormal numbers, and traps floating-point exceptions.

/// The control registers of floating-point arithmetic. On other architectures than x86-64 and
/// 64-bit ARM, nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FloatingPoint {
    #[cfg(target_arch = "x86_64")]
    mxcsr: u32,
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    #[cfg(target_arch = "aarch64")]
    fpcr: u64,
}

#[cfg(target_arch = "x86_64")]
impl FloatingPoint {
    /// Those of the calling thread.
    pub(super) fn of_this_thread() -> Self {
        let (mut mxcsr, mut x87) = (0_u32, 0_u16);
        // SAFETY: it writes the register to the variable, which has its size.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
        }
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags));
        }
        Self { mxcsr, x87 }
    }

    /// Sets those of the calling thread.
    pub(super) fn apply(self) {
        let Self { mxcsr, x87 } = self;
        // SAFETY: the value is one that the register had, so that no reserved bit is set. A thread
        // that the other one had started would have it, too: no code of ours that runs here, or
        // there, depends on it.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
        // SAFETY: as above. A pending exception that the new value does not mask would trap, so it
        // is cleared first. The stack of registers stays the same.
        unsafe {
            std::arch::asm!("fnclex", "fldcw [{}]", in(reg) &raw const x87, options(nostack));
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatingPoint {
    /// That of the calling thread.
    pub(super) fn of_this_thread() -> Self {
        let fpcr: u64;
        // SAFETY: it only reads the register.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags));
        }
        Self { fpcr }
    }

    /// Sets that of the calling thread.
    pub(super) fn apply(self) {
        // SAFETY: the value is one that the register had. A thread that the other one had started
        // would have it, too: no code of ours that runs here, or there, depends on it.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.fpcr, options(nomem, nostack)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatingPoint {
    pub(super) fn of_this_thread() -> Self {
        Self {}
    }

    pub(super) fn apply(self) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_the_control_of_another_one() {
        let expected = FloatingPoint::of_this_thread();
        // Round to zero.
        let mut other = expected;
        #[cfg(target_arch = "x86_64")]
        {
            other.mxcsr |= 0x6000;
            other.x87 |= 0x0c00;
        }
        #[cfg(target_arch = "aarch64")]
        {
            other.fpcr |= 0xc0_0000;
        }
        std::thread::spawn(move || {
            other.apply();
            assert_eq!(FloatingPoint::of_this_thread(), other);
            expected.apply();
            assert_eq!(FloatingPoint::of_this_thread(), expected);
        })
        .join()
        .unwrap();
    }
}
