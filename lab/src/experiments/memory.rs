//! The memory that this process holds.

use crate::fault::{Fault, Outcome};
use crate::machine::memory_field;

/// The resident memory, in bytes.
///
/// # Errors
///
/// [`Fault::Missing`] if the system does not tell.
pub(crate) fn resident() -> Outcome<u64> {
    memory_field("/proc/self/status", "VmRSS:").ok_or_else(|| {
        Fault::Missing("this system does not tell how much memory a process holds".to_owned())
    })
}

/// Whether the system tells.
pub(super) fn can_be_told() -> bool {
    resident().is_ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_is_resident() {
        let bytes = std::hint::black_box(vec![1u8; 128 << 20]);
        // Of what else there is, other tests take some and give some back.
        assert!(resident().unwrap() >= 128 << 20);
        drop(bytes);
    }
}
