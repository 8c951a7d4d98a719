//! Whether the machine is simulated: then what is measured on it says nothing about any machine.

/// What simulates this machine's processors, instruction by instruction, if that is known. A
/// virtual machine with programs that run on the processors themselves is not simulated.
#[must_use]
pub fn here() -> Option<&'static str> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return x86::simulator(&raw_cpuid::CpuId::new());
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    return None; // There a processor says its own name only.
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use raw_cpuid::{CpuId, CpuIdReader, Hypervisor};

    /// By the name that the processor gives to what it is run by. QEMU has one for where it has no
    /// help from the machine's own processor (TCG).
    pub(super) fn simulator<R: CpuIdReader>(processor: &CpuId<R>) -> Option<&'static str> {
        match processor.get_hypervisor_info()?.identify() {
            Hypervisor::QEMU => Some("QEMU"),
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use raw_cpuid::CpuIdResult;

        /// A processor that says so of itself: whether it is virtual, and by which hypervisor.
        fn processor(is_virtual: bool, name: [u8; 12]) -> CpuId<impl CpuIdReader> {
            let word = move |at: usize| u32::from_le_bytes(name[at..at + 4].try_into().unwrap());
            let none = CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };
            CpuId::with_cpuid_fn(move |leaf, _| match leaf {
                0 => CpuIdResult { eax: 1, ..none },
                1 => CpuIdResult { ecx: u32::from(is_virtual) << 31, ..none },
                0x4000_0000 => CpuIdResult { eax: leaf, ebx: word(0), ecx: word(4), edx: word(8) },
                _ => none,
            })
        }

        #[test]
        fn only_what_is_run_step_by_step_is_simulated() {
            let of = |is_virtual, name: &[u8; 12]| simulator(&processor(is_virtual, *name));
            assert_eq!(of(true, b"TCGTCGTCGTCG"), Some("QEMU"));
            assert_eq!(of(true, b"KVMKVMKVM\0\0\0"), None);
            assert_eq!(of(true, b"Microsoft Hv"), None);
            assert_eq!(of(false, b"TCGTCGTCGTCG"), None, "it is no virtual machine");
        }
    }
}
