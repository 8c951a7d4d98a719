//! The time-stamp counter of x86-64, a clock that is read in some nanoseconds (Intel, "Software
//! Developer's Manual", volume 3, "Time-Stamp Counter"; AMD, "Architecture Programmer's Manual",
//! volume 3, CPUID Fn8000_0007).

use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};
use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time after which the rate is exact to a thousandth: reading both clocks takes some ten
/// nanoseconds.
const LONG_ENOUGH: Duration = Duration::from_millis(1);

/// True if the counter is invariant (one rate, at every frequency and while idle), and agrees
/// with those of other processors.
pub fn is_reliable() -> bool {
    const HIGHEST: u32 = 0x8000_0000;
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    static IS_RELIABLE: OnceLock<bool> = OnceLock::new();
    if cfg!(manycore) {
        return false; // it is the host's
    }
    *IS_RELIABLE.get_or_init(|| {
        is_trusted()
            && cpuid(HIGHEST).eax >= POWER_MANAGEMENT
            && cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
    })
}

#[allow(unused_unsafe, reason = "older compilers require it")]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every processor of this architecture has the instruction, and this leaf, or a
    // lower one in its place.
    unsafe { __cpuid(leaf) }
}

/// The ticks since some moment.
#[inline(always)]
pub fn read() -> i64 {
    // SAFETY: every processor of this architecture has the counter. No memory is involved.
    unsafe { _rdtsc() as i64 }
}

/// Ticks per nanosecond, by the monotonic clock. The error shrinks with the time since the
/// first call.
pub fn rate() -> f64 {
    static FIRST: OnceLock<(Instant, i64)> = OnceLock::new();
    let &(then, ticks_then) = FIRST.get_or_init(both);
    while then.elapsed() < LONG_ENOUGH {
        std::hint::spin_loop();
    }
    let (now, ticks) = both();
    (ticks - ticks_then) as f64 / (now - then).as_nanos() as f64
}

/// One moment on both clocks: the shortest of a few readings.
fn both() -> (Instant, i64) {
    const READINGS: usize = 5;
    let reading = || {
        let (before, now, after) = (read(), Instant::now(), read());
        let took = after - before;
        (took, now, before + took / 2)
    };
    let readings = (0..READINGS).map(|_| reading());
    let shortest = readings.min_by_key(|&(took, ..)| took.unsigned_abs());
    let (_, now, ticks) = shortest.expect("there are readings");
    (now, ticks)
}

/// True if the kernel trusts the time-stamp counter. It does not list the counter if those of
/// different processors disagree.
fn is_trusted() -> bool {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    names_counter(&fs::read_to_string(FILE).unwrap_or_default())
}

fn names_counter(sources: &str) -> bool {
    sources.split_ascii_whitespace().any(|source| source == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_trusted_where_the_kernel_names_it() {
        assert!(names_counter("tsc hpet acpi_pm \n") && names_counter("kvm-clock tsc\n"));
        for other in ["", "\n", "kvm-clock acpi_pm", "hyperv_clocksource_tsc_page", "tsc-early"] {
            assert!(!names_counter(other), "{other}");
        }
    }
}
