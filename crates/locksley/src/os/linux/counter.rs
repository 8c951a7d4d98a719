//! Whether threads may time themselves by the processor's time-stamp counter (`man 2 PR_SET_TSC`; the kernel's document
//! timers/timekeeping).

use std::fs;
use std::sync::OnceLock;

/// Whether the counter may be read, and the kernel would go by it on all processors together. It stops to trust it where the processors'
/// counters are seen not to agree, as in some machines with several sockets.
pub(crate) fn trusts_counter() -> bool {
    static TRUSTS: OnceLock<bool> = OnceLock::new();
    *TRUSTS.get_or_init(|| may_be_read() && names_counter(&clock_sources()))
}

/// Where it may not, whoever reads it gets a signal.
fn may_be_read() -> bool {
    let mut permission: libc::c_int = 0;
    // SAFETY: it writes to the number that it is given.
    let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut permission) };
    result == 0 && permission == libc::PR_TSC_ENABLE
}

/// Those that the kernel could use. What it has found out to be unstable is not among them.
fn clock_sources() -> String {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    fs::read_to_string(FILE).unwrap_or_default()
}

fn names_counter(sources: &str) -> bool {
    sources.split_ascii_whitespace().any(|source| source == "tsc")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_trusted_where_the_kernel_names_it() {
        assert!(names_counter("tsc hpet acpi_pm \n") && names_counter("kvm-clock tsc\n"));
        for other in ["", "\n", "kvm-clock acpi_pm", "hyperv_clocksource_tsc_page", "tsc-early"] {
            assert!(!names_counter(other), "{other}");
        }
    }

    /// In a thread of its own, which alone is forbidden to read it.
    #[test]
    fn a_thread_may_be_forbidden_to_read_it() {
        std::thread::spawn(|| {
            assert!(may_be_read());
            // SAFETY: no memory is involved; this thread reads the counter no more.
            let result = unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
            assert_eq!(result, 0);
            assert!(!may_be_read());
            // SAFETY: as above; for what the thread's end may call.
            unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_ENABLE) };
        })
        .join()
        .unwrap();
    }
}
